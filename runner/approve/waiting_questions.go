package approve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Bounds of the messages between the page and the processes that ask.
const (
	askTime    = 2 * time.Second
	startTime  = time.Minute // more than a process needs to listen on a socket that it made
	maxWaiting = 32 << 20
	maxCode    = 200 << 10

	leaseTime = 15 * time.Second // after which a question whose process was killed is on the page again

	maxListed     = 8   // arguments of a call in the list of questions
	maxListedText = 200 // bytes of each
)

// socketEnd is the suffix of the sockets' names.
const socketEnd = ".sock"

// PageApprover is an Approver that asks on the page of mcprun approvals, which another process serves. While a question waits, the process
// listens on a Unix socket in a folder that only the user may enter. So the page finds the questions of all processes. A server whose tools
// read and write files, even in that folder, cannot answer a question, because one cannot write to a socket as to a file. On Linux the
// process talks only to processes that run the same program.
//
// If the process ends while a question waits, the question stays in Kept, and the page asks it on. The answer is used when the same is asked
// again.
type PageApprover struct {
	// Kept keeps questions whose process ends. Nil: they end with it. Set the fields before the first question.
	Kept *Kept
	// Waits is called when a question begins to wait. May be nil.
	Waits func()
	// Ends reports whether a question that is cancelled with this cause is to be kept, because only its process ends. Nil: none is.
	Ends func(cause error) bool

	dir, project string
	lasts        time.Duration // of leases; see leaseTime

	mu      sync.Mutex
	waiting map[string]*pending
	server  *http.Server // nil: nothing waits
}

// pending is a question on the page.
type pending struct {
	view   Waiting
	answer chan Scope // of capacity 1
}

// Waiting is a waiting question as the page shows it.
type Waiting struct {
	// Socket is the socket of the process that asks, and ID the question's id.
	Socket string `json:"-"` // empty: the process has ended
	ID     string `json:"id"`
	// Name is that of its document, if it is kept.
	Name string `json:"name,omitempty"`
	// Project is the word for the project; see [NewPageApprover].
	Project string    `json:"project,omitempty"`
	Since   time.Time `json:"since"`
	Title   string    `json:"title"`
	Lines   []string  `json:"lines"`
	Others  []string  `json:"others,omitempty"`
	// More is the number of calls in a batch besides this one.
	More int `json:"more,omitempty"`
	// The arguments, cut, for the list of questions.
	Arguments []string `json:"arguments,omitempty"`
	Script    string   `json:"script,omitempty"`
	Customer  string   `json:"customer,omitempty"`
	Risk      string   `json:"risk"`
	Code      string   `json:"code,omitempty"`
	// Missing is the number of bytes at the script's end that Code leaves out.
	Missing int     `json:"missing,omitempty"`
	Scopes  []Scope `json:"scopes"`

	// Again says what an answer is for that is given after the process has ended, and Until when that answer expires. Answered is the answer that
	// the question has by then; empty: none yet.
	Again    string    `json:"again,omitempty"`
	Until    time.Time `json:"-"`
	Answered string    `json:"-"`
}

// NewPageApprover returns the PageApprover of a process. dir is the folder of sockets; project is a word of letters and digits for the project.
func NewPageApprover(dir, project string) *PageApprover {
	return &PageApprover{dir: dir, project: project, lasts: leaseTime, waiting: map[string]*pending{}}
}

// Approve implements Approver.
func (d *PageApprover) Approve(ctx context.Context, q *Question) (Answer, error) {
	shown, err := q.View(maxPage)
	if err != nil {
		return Answer{}, fmt.Errorf("ask on the page: %w", err)
	}
	text, missing := code(q)
	p := &pending{answer: make(chan Scope, 1), view: Waiting{
		ID: rand.Text(), Project: d.project, Since: time.Now(), Title: q.Title(), Lines: shown.Lines, Others: shown.Others, Code: text, Missing: missing, Scopes: shown.Scopes,
		Arguments: listed(q), Script: visible(q.Script), Customer: visible(q.Customer), Risk: q.risk(), Again: q.again(),
	}}
	if slices.Contains(shown.Scopes, Batch) {
		p.view.More = len(q.Others())
	}
	if d.Kept != nil {
		if p.view.Name, err = d.Kept.name(d.project, q); err != nil {
			d.notKept(err)
		}
	}
	if a := d.attach(ctx, p); a != nil {
		return *a, nil
	}
	if err := d.enter(p); err != nil {
		d.detach(ctx, p)
		return Answer{}, err
	}
	defer d.leave(p)
	if d.Waits != nil {
		d.Waits()
	}
	renew := time.NewTicker(d.lasts / 3)
	defer renew.Stop()
	for {
		select {
		case scope := <-p.answer:
			d.detach(ctx, p)
			return Answer{Scope: scope, By: "page"}, nil
		case <-ctx.Done():
			d.detach(ctx, p)
			return Answer{}, ctx.Err()
		case <-renew.C:
			if a := d.attach(ctx, p); a != nil {
				return *a, nil
			}
		}
	}
}

// attach keeps a question, or returns the answer that it got while no process waited for it.
func (d *PageApprover) attach(ctx context.Context, p *pending) *Answer {
	if p.view.Name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	a, err := d.Kept.attach(ctx, p.view.Name, p.view.ID, &p.view, d.lasts)
	if err != nil && !errors.Is(err, context.Canceled) {
		d.notKept(err)
	}
	return a
}

// detach ends a question, or leaves it behind if only the process ends.
func (d *PageApprover) detach(ctx context.Context, p *pending) {
	if p.view.Name == "" {
		return
	}
	keep := ctx.Err() != nil && d.Ends != nil && d.Ends(context.Cause(ctx))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	err := error(nil)
	if keep {
		err = d.Kept.abandon(ctx, p.view.ID)
	} else {
		err = d.Kept.leave(ctx, p.view.Name, p.view.ID)
	}
	if err != nil {
		d.notKept(err)
	}
}

func (d *PageApprover) notKept(err error) {
	d.Kept.say("questions that wait on the page may end with this process: %v", err)
}

// again says which call, or what else, an answer is for that is given after the process has ended.
func (q *Question) again() string {
	switch {
	case q.Plan != nil:
		return "this plan when it is made again"
	case q.Start != nil:
		return "this script when it is started again"
	case q.Connection != "":
		return "this connection when it is made again"
	}
	return "this call when it is made again"
}

// listed returns the arguments for the list of questions.
func listed(q *Question) []string {
	lines := members(q.Arguments)
	switch {
	case q.Plan != nil:
		return nil
	case q.Start != nil:
		lines = q.Start.lines(q)
	}
	more := len(lines) - maxListed
	lines = lines[:min(len(lines), maxListed)]
	for i, line := range lines {
		lines[i] = ident.Clip(strings.TrimSpace(line), maxListedText)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// code returns the beginning of the script, with invisible characters escaped, and the number of bytes left out at its end.
func code(q *Question) (text string, missing int) {
	missing = max(0, len(q.Code)-maxCode)
	lines := strings.Split(strings.ReplaceAll(q.Code[:len(q.Code)-missing], "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n"), missing
}

// enter adds a question, and listens if it is the first.
func (d *PageApprover) enter(p *pending) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server == nil {
		if err := makePrivate(d.dir); err != nil {
			return err
		}
		l, err := net.Listen("unix", filepath.Join(d.dir, d.project+"-"+strings.ToLower(rand.Text()[:8])+socketEnd))
		if err != nil {
			return fmt.Errorf("listen for answers: %w", err)
		}
		mux := http.NewServeMux()
		mux.HandleFunc("GET /waiting", d.list)
		mux.HandleFunc("POST /answer", d.take)
		d.server = &http.Server{Handler: onlySame(mux), ReadTimeout: askTime, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, samePeer(c))
		}}
		go d.server.Serve(l)
	}
	d.waiting[p.view.ID] = p
	return nil
}

// peerKey is the context's key of the error of samePeer.
type peerKey struct{}

// onlySame passes on only requests from processes that run this program.
func onlySame(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err, refused := r.Context().Value(peerKey{}).(error); refused {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// leave removes a question, and stops listening if it was the last. The request that brought the answer still gets its response.
func (d *PageApprover) leave(p *pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, p.view.ID)
	if len(d.waiting) > 0 {
		return
	}
	server := d.server
	d.server = nil
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	go func() {
		defer cancel()
		_ = server.Shutdown(ctx)
	}()
}

// makePrivate creates a folder that only the user may enter, or checks that an existing one is private.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the approvals folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err == nil && (!info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("other users can enter the approvals folder %q: run chmod 700 on it, or remove it if it is not yours", dir)
	}
	return err
}

func (d *PageApprover) list(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	list := []Waiting{}
	for _, p := range d.waiting {
		list = append(list, p.view)
	}
	d.mu.Unlock()
	slices.SortFunc(list, byAge)
	room := maxWaiting
	for i := range list { // the others are shown when these are answered
		text, _ := json.Marshal(list[i])
		if room -= len(text) + 1; room < 0 && i > 0 {
			list = list[:i]
			break
		}
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (d *PageApprover) take(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	p := d.waiting[r.FormValue("id")]
	d.mu.Unlock()
	scope := Scope(r.FormValue("answer"))
	if p == nil || scope != Refused && !slices.Contains(p.view.Scopes, scope) {
		http.Error(w, "this question is not waiting", http.StatusNotFound)
		return
	}
	select {
	case p.answer <- scope:
	default:
		http.Error(w, "it was already answered", http.StatusConflict)
	}
}

// callProcess sends a request to a process that asks. A response with a status other than 200 becomes an error.
func callProcess(ctx context.Context, socket, method, path string, form url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	req, err := http.NewRequestWithContext(ctx, method, "http://desk"+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxWaiting))
	if err == nil && res.StatusCode != http.StatusOK {
		err = &pageError{strings.TrimSpace(ident.Clip(string(text), maxText))}
	}
	return text, err
}

// pageError is the message with which the process of the approval page refuses a request.
type pageError struct{ text string }

func (e *pageError) Error() string { return e.text }

// waitingAt returns the questions of all processes of a project, oldest first. It returns the questions of the other processes even with an
// error about some.
func waitingAt(ctx context.Context, dir, project string) ([]Waiting, error) {
	if err := makePrivate(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []Waiting
	var refused error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), project+"-") || !strings.HasSuffix(e.Name(), socketEnd) {
			continue
		}
		socket := filepath.Join(dir, e.Name())
		text, err := callProcess(ctx, socket, http.MethodGet, "/waiting", nil)
		var list []Waiting
		if err != nil || json.Unmarshal(text, &list) != nil {
			if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && !op.Timeout() && olderThan(e, startTime) {
				_ = os.Remove(socket) // left by a process that was killed
			}
			if said, ok := errors.AsType[*pageError](err); ok {
				refused = said
			}
			continue
		}
		for i := range list {
			list[i].Socket = e.Name()
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, byAge)
	return all, refused
}

// olderThan reports whether a file was created longer ago than that. A socket refuses connections for a moment until its process listens.
func olderThan(e os.DirEntry, age time.Duration) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > age
}

// byAge sorts the oldest question first.
func byAge(a, b Waiting) int {
	return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
}
