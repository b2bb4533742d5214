package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
)

const (
	// maxAsked bounds the questions of one request.
	maxAsked = 20
	// codeURLElicitation is the error of a server that wants a person to visit pages before it does what was asked of it
	// (MCP 2025-11-25, client/elicitation).
	codeURLElicitation = -32042
	// urlTime bounds how long a request waits for those visits. The request is repeated after firstURLPause, and then with
	// pauses that double up to maxURLPause.
	urlTime       = 5 * time.Minute
	firstURLPause = time.Second
	maxURLPause   = 10 * time.Second
)

var (
	errNobody    = errors.New("there is nobody to ask")
	errAmbiguous = errors.New("calls of several runs are in progress, and the server does not say which one its question is about")
	// errFirstAmbiguous is for calls that began before the server first asked a question without naming its call.
	// errCrowded is for later ones, if there are already maxSpares sessions.
	errFirstAmbiguous = fmt.Errorf("%w; run it again: from now on each run has a session of its own at this server", errAmbiguous)
	errCrowded        = fmt.Errorf("%w; run it again when fewer runs use this server", errAmbiguous)
	errTooMany        = fmt.Errorf("more than %d questions of the server are open", maxOpen)
)

// ask asks one question of a request and returns the ElicitResult. A question that cannot be asked is declined.
func (in *inflight) ask(ctx context.Context, r *activeRequest, params json.RawMessage) json.RawMessage {
	r.noteAsked()
	reply, err := in.askPerson(ctx, r, params)
	if err != nil {
		in.log.Info("the server asked for input from a person; declined", "reason", err)
		r.declined(fmt.Sprintf("a question of the server was declined: %v", err))
		reply = &elicit.Reply{Action: elicit.ActionDecline}
	}
	return reply.Result()
}

// declined reports why nobody was asked a question. A caller without Elicit is not told.
func (r *activeRequest) declined(reason string) {
	r.declining.Lock()
	defer r.declining.Unlock()
	if r.opt.Declined != nil && r.opt.Elicit != nil && r.ctx.Err() == nil {
		r.opt.Declined(reason)
	}
}

func (in *inflight) askPerson(ctx context.Context, r *activeRequest, params json.RawMessage) (*elicit.Reply, error) {
	if r.opt.Elicit == nil {
		return nil, errNobody
	}
	if r.asked.Add(1) > maxAsked {
		return nil, fmt.Errorf("it asked more than %d questions for one call", maxAsked)
	}
	q, err := elicit.Parse(in.server, params)
	if err != nil {
		return nil, err
	}
	reply, err := r.opt.Elicit(ctx, q)
	switch {
	case err != nil || reply == nil:
	case reply.Action == elicit.ActionDecline:
		return &elicit.Reply{Action: elicit.ActionDecline}, nil
	case reply.Action == elicit.ActionAccept && q.URL != "":
		return &elicit.Reply{Action: elicit.ActionAccept}, nil
	case reply.Action == elicit.ActionAccept:
		content, unknown, err := q.Check(reply.Content)
		if len(unknown) > 0 {
			what := fmt.Sprintf("the answer to a question of the server was sent without %s: the form has no such field", ident.Printable(strings.Join(unknown, ", "), 200))
			in.log.Warn(what)
			r.declined(what)
		}
		if err == nil {
			return &elicit.Reply{Action: elicit.ActionAccept, Content: content}, nil
		}
		in.log.Warn("the answer to a question of the server does not fit its form; it was not sent", "err", err)
		r.declined(fmt.Sprintf("the answer to a question of the server was not sent: it does not fit the form: %v", err))
	}
	return &elicit.Reply{Action: elicit.ActionCancel}, nil
}

// answerLegacy answers a question that came as a request of the server, in the older era. It waits for the person. by is
// the request whose answer carried the question, or nil if it came by itself.
func (in *inflight) answerLegacy(by *activeRequest, params json.RawMessage) json.RawMessage {
	if by == nil {
		in.asksAside.Store(in.elicit)
		candidates := in.candidates()
		in.noteAsked()
		if len(candidates) != 1 {
			return in.refuse(candidates)
		}
		by = candidates[0]
	}
	return in.ask(by.ctx, by, params)
}

// candidates returns the requests to which a question that came by itself may belong, one for each owner.
func (in *inflight) candidates() []*activeRequest {
	in.mu.Lock()
	defer in.mu.Unlock()
	first := make(map[any]*activeRequest)
	for _, r := range in.requests {
		owner := r.opt.Owner
		if owner == nil {
			owner = r
		}
		// For each owner, take the earliest request that can be asked.
		if f := first[owner]; f == nil || f.opt.Elicit == nil || r.opt.Elicit != nil && r.token < f.token {
			first[owner] = r
		}
	}
	return slices.Collect(maps.Values(first))
}

// refuse declines a question that cannot be assigned to one request, and tells all the candidates.
func (in *inflight) refuse(candidates []*activeRequest) json.RawMessage {
	reason := errNobody
	early := 0 // requests that began before it was known how the server asks
	for _, r := range candidates {
		reason = errCrowded
		if !r.knownAside {
			early++
		}
	}
	if early > 1 {
		reason = errFirstAmbiguous
	}
	in.log.Warn("the server asked for input from a person; declined", "reason", reason)
	for _, r := range candidates {
		r.declined(fmt.Sprintf("a question of the server was declined: %v", reason))
	}
	return (&elicit.Reply{Action: elicit.ActionDecline}).Result()
}

// urlWait is one request's wait until a person has visited pages. The server refuses the request until then.
type urlWait struct {
	until time.Time // zero before the person was asked
	pause time.Duration
}

// repeat reports whether a failed request may be repeated because the server wants a person to visit pages and the person
// has agreed. It first waits until the person may have finished.
func (in *inflight) repeat(ctx context.Context, r *activeRequest, w *urlWait, failed error) bool {
	pages := pagesOf(failed)
	if len(pages) == 0 || r.opt.Elicit == nil {
		return false
	}
	if w.until.IsZero() {
		if !in.askForPages(ctx, r, pages) {
			return false
		}
		w.until, w.pause = time.Now().Add(urlTime), firstURLPause
	}
	in.tell(r.token, Progress{Message: "waiting until a person has finished at the server's page"})
	if !pause(ctx, w.pause) {
		return false
	}
	w.pause = min(2*w.pause, maxURLPause)
	return time.Now().Before(w.until)
}

// askForPages asks for each page and reports whether all of them were accepted.
func (in *inflight) askForPages(ctx context.Context, r *activeRequest, pages []elicit.Params) bool {
	for _, page := range pages {
		params, err := json.Marshal(page)
		if err != nil {
			return false
		}
		var answer struct {
			Action string `json:"action"`
		}
		if json.Unmarshal(in.ask(ctx, r, params), &answer) != nil || answer.Action != elicit.ActionAccept {
			return false
		}
	}
	return true
}

// pagesOf returns the pages that a codeURLElicitation error names, nil for any other error.
func pagesOf(err error) []elicit.Params {
	var p *ProtocolError
	if !errors.As(err, &p) || p.Code != codeURLElicitation {
		return nil
	}
	var data struct {
		Elicitations []elicit.Params `json:"elicitations"`
	}
	if json.Unmarshal(p.Data, &data) != nil || len(data.Elicitations) > maxRequests {
		return nil
	}
	for _, page := range data.Elicitations {
		if page.Mode != "url" {
			return nil
		}
	}
	return data.Elicitations
}
