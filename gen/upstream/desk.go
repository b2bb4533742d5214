package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxAsked bounds the questions of one request, maxAsking those that a session of the older era has open at once.
	maxAsked  = 20
	maxAsking = 8
)

// desk knows which requests are under way in a session, so that what the server says of one of them finds it: its
// progress, and what it asks a person because of it.
type desk struct {
	server string
	log    *slog.Logger
	// asks says that questions are put at all.
	asks bool

	mu      sync.Mutex
	last    int64 // token
	flights map[int64]*flight
	asking  map[jsonrpc.ID]context.CancelFunc // the questions of the older era that are open
	open    int
	visits  map[*sight]bool // pages that requests wait for
}

// flight is one request under way.
type flight struct {
	ctx      context.Context
	opt      CallOptions
	token    int64
	progress *pump // nil when nobody wants to know

	turn  sync.Mutex // one question at a time
	asked int        // guarded by turn
}

func newDesk(server string, asks bool, log *slog.Logger) *desk {
	return &desk{
		server: server, asks: asks, log: log,
		flights: make(map[int64]*flight), asking: make(map[jsonrpc.ID]context.CancelFunc), visits: make(map[*sight]bool),
	}
}

// begin notes a request, which has to end. ctx is the request's own.
func (d *desk) begin(ctx context.Context, opt *CallOptions) *flight {
	fl := &flight{ctx: ctx}
	if opt != nil {
		fl.opt = *opt
	}
	if !d.asks {
		fl.opt.Elicit = nil
	}
	if fl.opt.Progress != nil {
		fl.progress = newPump(fl.opt.Progress)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	fl.token = d.last
	d.flights[fl.token] = fl
	return fl
}

// end forgets the request; progress that has come by then is passed on first.
func (d *desk) end(fl *flight) {
	d.mu.Lock()
	delete(d.flights, fl.token)
	d.mu.Unlock()
	if fl.progress != nil {
		fl.progress.close()
	}
}

// busy reports whether requests are under way.
func (d *desk) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.flights) > 0
}

// noteProgress passes a notification of progress on to the request that it names.
func (d *desk) noteProgress(params json.RawMessage) {
	var note struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
	}
	var token int64
	if json.Unmarshal(params, &note) != nil || json.Unmarshal(unquoted(note.Token), &token) != nil {
		return
	}
	d.mu.Lock()
	fl := d.flights[token]
	d.mu.Unlock()
	if fl != nil && fl.progress != nil {
		fl.progress.put(Progress{Progress: note.Progress, Total: note.Total, Message: printable(note.Message, maxProgressText)})
	}
}

// unquoted takes the quotes off a token: some servers make a text of a number.
func unquoted(token json.RawMessage) json.RawMessage {
	if len(token) > 2 && token[0] == '"' {
		return token[1 : len(token)-1]
	}
	return token
}

var (
	errNobody    = errors.New("nobody is there to ask")
	errAmbiguous = errors.New("calls of several runs are under way, and it does not say which one it asks for")
)

// whose finds the request that a question of the older era belongs to: it names none, so that all that are under way
// have to be of one owner.
func (d *desk) whose() (*flight, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found, any *flight
	for _, fl := range d.flights {
		if any != nil && (any.opt.Owner == nil || any.opt.Owner != fl.opt.Owner) {
			return nil, errAmbiguous
		}
		any = fl
		if fl.opt.Elicit != nil && (found == nil || fl.token < found.token) {
			found = fl
		}
	}
	if found == nil {
		return nil, errNobody
	}
	return found, nil
}

// askFor answers a question that came as a request of the server, in the older era. It waits for the person.
func (d *desk) askFor(id jsonrpc.ID, params json.RawMessage) json.RawMessage {
	fl, err := d.whose()
	if err != nil {
		d.log.Info("the server asked for input from a person; declined", "reason", err)
		return answerOf(&Reply{Action: ActionDecline})
	}
	ctx, cancel := context.WithCancel(fl.ctx)
	defer cancel()
	d.mu.Lock()
	d.asking[id] = cancel
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.asking, id)
		d.mu.Unlock()
	}()
	return d.ask(ctx, fl, params)
}

// withdraw ends a question that the server no longer wants an answer to.
func (d *desk) withdraw(params json.RawMessage) {
	var note struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(params, &note) != nil {
		return
	}
	id, err := jsonrpc.MakeID(note.ID)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if cancel := d.asking[id]; cancel != nil {
		cancel()
	}
}

// enter takes one of the places for open questions of the older era.
func (d *desk) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open >= maxAsking {
		return false
	}
	d.open++
	return true
}

func (d *desk) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
}

// sight is a page that a person was sent to.
type sight struct {
	id      string
	visited chan struct{} // closed when the server says that it is done
}

// await makes a request wait for a page.
func (d *desk) await(v *visit, id string) {
	p := &sight{id: id, visited: make(chan struct{})}
	v.done = append(v.done, p)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.visits[p] = true
}

// noteVisited takes the server's word that a page is done.
func (d *desk) noteVisited(params json.RawMessage) {
	var note struct {
		ID string `json:"elicitationId"`
	}
	if json.Unmarshal(params, &note) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.visits {
		if p.id == note.ID {
			close(p.visited)
			delete(d.visits, p)
		}
	}
}

// forget drops what a request still waits for.
func (d *desk) forget(v *visit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range v.done {
		delete(d.visits, p)
	}
}
