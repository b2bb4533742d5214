package approve

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/page"
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

// Page is the web page where a person answers questions and looks at recent runs. It runs no JavaScript. Who may open it is up to its door.
type Page struct {
	opt  PageOptions
	door *page.Door
}

// NewPage returns a page.
func NewPage(opt PageOptions) *Page {
	return &Page{opt: opt, door: page.NewDoor(opt.Address, "mcprun-approvals", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'", "mcprun approvals")}
}

// URL returns the address that lets one browser in.
func (p *Page) URL() string { return p.door.URL() }

// Handler serves the page.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.list)
	mux.HandleFunc("GET /question", p.question)
	mux.HandleFunc("GET /runs", p.runs)
	mux.HandleFunc("POST /answer", p.answer)
	return p.door.Admit(mux)
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
	d.Title, d.Forms = p.opt.Title, p.door.Word()
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
		return q.Socket == r.FormValue("socket") && page.Same(q.ID, r.FormValue("id"))
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
	if !p.door.Knows(r.PostFormValue("form")) {
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
