package approve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

//go:embed page.css
var pageStyle string

// PageOptions configure a Page.
type PageOptions struct {
	// Dir and Project are as in NewPageApprover. The page shows the questions of the approvers created with them.
	Dir, Project string
	// Address is where the page is served, as HOST:PORT of a loopback interface.
	Address string
	// Title names the project.
	Title string
	// Kept has the questions whose processes have ended. Nil: the page does not show them.
	Kept *Kept
	// Runs returns recent runs.
	Runs func(ctx context.Context) ([]PageRun, error)
}

// PageRun is a run on the page.
type PageRun struct {
	At                    time.Time
	Script, Outcome, Note string
	Calls                 []PageCall
}

// PageCall is a call of a run on the page.
type PageCall struct{ Tool, Outcome string }

// Page is the web page where a person answers questions and looks at recent runs. It runs no JavaScript. The first browser
// that opens the address with the token gets a cookie; the token works only once. Every answer also needs a word that only the
// page's forms have.
type Page struct {
	opt           PageOptions
	cookie, forms string

	mu    sync.Mutex
	token string // empty once it was used
}

const cookieName = "mcprun-approvals"

// NewPage returns a page.
func NewPage(opt PageOptions) *Page {
	return &Page{opt: opt, cookie: rand.Text(), forms: rand.Text(), token: rand.Text()}
}

// URL returns the address that lets one browser in.
func (p *Page) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "http://" + p.opt.Address + "/?token=" + p.token
}

// Handler serves the page.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.list)
	mux.HandleFunc("GET /question", p.question)
	mux.HandleFunc("GET /runs", p.runs)
	mux.HandleFunc("POST /answer", p.answer)
	return p.guard(http.NewCrossOriginProtection().Handler(mux))
}

// guard admits only the browser with the cookie, and only under the page's own host name, so that another site cannot reach
// the page by DNS rebinding.
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		c, err := r.Cookie(cookieName)
		switch {
		case r.Host != p.opt.Address:
			http.Error(w, "forbidden: open this page at the address shown in the terminal", http.StatusForbidden)
		case p.redeem(r):
			http.SetCookie(w, &http.Cookie{Name: cookieName, Value: p.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case err != nil || !same(c.Value, p.cookie):
			http.Error(w, "forbidden: the address in the terminal works once, in one browser; run mcprun approvals again to get a new one", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// redeem reports whether a request has the token. If so, the token is used up.
func (p *Page) redeem(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Method != http.MethodGet || r.URL.Path != "/" || p.token == "" || !same(r.URL.Query().Get("token"), p.token) {
		return false
	}
	p.token = ""
	return true
}

// pageData is what a page shows.
type pageData struct {
	Title, Forms, Note string
	Refresh            bool // only the list refreshes: what a person may be about to click must not move
	Waiting            []Waiting
	Question           *Waiting
	Runs               []PageRun
	ShowRuns           bool
}

func (p *Page) show(w http.ResponseWriter, status int, d *pageData) {
	d.Title, d.Forms = p.opt.Title, p.forms
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = d.write(w)
}

func (p *Page) list(w http.ResponseWriter, r *http.Request) {
	list, err := p.waiting(r.Context())
	d := &pageData{Refresh: true, Waiting: list}
	if err != nil {
		d.Note = visible(err.Error())
	}
	p.show(w, http.StatusOK, d)
}

// waiting returns the questions of all processes of the project, and then those whose processes have ended. It returns some even with an error about
// others.
func (p *Page) waiting(ctx context.Context) ([]Waiting, error) {
	list, err := waitingAt(ctx, p.opt.Dir, p.opt.Project)
	if p.opt.Kept == nil {
		return list, err
	}
	names := map[string]bool{}
	for i := range list {
		names[list[i].Name] = true
	}
	kept, failed := p.opt.Kept.questions(ctx, p.opt.Project)
	for _, q := range kept {
		if !names[q.Name] {
			list = append(list, q)
		}
	}
	return list, errors.Join(err, failed)
}

// find returns the question that a form or address names, or nil if it is no longer waiting.
func (p *Page) find(r *http.Request) *Waiting {
	list, _ := p.waiting(r.Context())
	i := slices.IndexFunc(list, func(q Waiting) bool {
		return q.Socket == r.FormValue("socket") && same(q.ID, r.FormValue("id"))
	})
	if i < 0 {
		return nil
	}
	return &list[i]
}

func (p *Page) question(w http.ResponseWriter, r *http.Request) {
	q := p.find(r)
	if q == nil {
		p.show(w, http.StatusNotFound, &pageData{Note: "This question is no longer waiting."})
		return
	}
	p.show(w, http.StatusOK, &pageData{Question: q})
}

func (p *Page) answer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if !same(r.PostFormValue("form"), p.forms) {
		http.Error(w, "forbidden: this form did not come from this page; reload it and answer again", http.StatusForbidden)
		return
	}
	q := p.find(r)
	if q == nil {
		p.show(w, http.StatusNotFound, &pageData{Note: "This question is no longer waiting. Your answer was not recorded."})
		return
	}
	scope := Scope(r.PostFormValue("answer"))
	if scope == no {
		scope = Refused
	}
	if err := p.give(r.Context(), q, scope); err != nil {
		p.show(w, http.StatusConflict, &pageData{Note: "Your answer was not accepted: " + visible(err.Error())})
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// give gives an answer to the process that asks, or keeps it for the next one. That uses it once.
func (p *Page) give(ctx context.Context, q *Waiting, scope Scope) error {
	if q.Socket == "" {
		return p.opt.Kept.answer(ctx, q.Name, scope.allows())
	}
	form := url.Values{"id": {q.ID}, "answer": {string(scope)}}
	_, err := callProcess(ctx, filepath.Join(p.opt.Dir, q.Socket), http.MethodPost, "/answer", form)
	return err
}

func (p *Page) runs(w http.ResponseWriter, r *http.Request) {
	d := &pageData{ShowRuns: true}
	if p.opt.Runs != nil {
		list, err := p.opt.Runs(r.Context())
		if d.Runs = list; err != nil {
			d.Note = err.Error()
		}
	}
	for i := range d.Runs {
		run := &d.Runs[i]
		run.Script, run.Note = visible(run.Script), visible(run.Note)
		for j := range run.Calls {
			run.Calls[j].Tool = visible(run.Calls[j].Tool)
		}
	}
	p.show(w, http.StatusOK, d)
}
