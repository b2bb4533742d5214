package form

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/runner/internal/page"
)

// editor is dist/jsoneditor.js of @json-editor/json-editor, compressed.
//
//go:embed jsoneditor-2.17.2.js.gz
var editor []byte

//go:embed page.js
var pageScript string

//go:embed page.css
var pageStyle string

// maxAnswer bounds what the page sends, in bytes.
const maxAnswer = 4 << 20

// Page asks a person for a form's values on a page of this machine, nested ones too. Its handlers change the filling; use that again when Done is
// closed.
type Page struct {
	x    *Filling
	door *page.Door

	mu       sync.Mutex
	finished bool
	done     chan struct{}
}

// NewPage returns a page at an address, HOST:PORT of a loopback interface.
func NewPage(x *Filling, address string) *Page {
	const policy = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
	return &Page{x: x, door: page.NewDoor(address, "mcprun-form", policy, "mcprun form"), done: make(chan struct{})}
}

// URL returns the address that lets one browser in.
func (p *Page) URL() string { return p.door.URL() }

// Done is closed when the form is complete, or the person leaves it open.
func (p *Page) Done() <-chan struct{} { return p.done }

// Handler serves the page.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.show)
	mux.HandleFunc("GET /form.json", p.form)
	mux.HandleFunc("POST /answer", p.answer)
	mux.HandleFunc("GET /editor.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		script(w, editor)
	})
	mux.HandleFunc("GET /page.js", func(w http.ResponseWriter, _ *http.Request) { script(w, []byte(pageScript)) })
	return p.door.Admit(mux)
}

func script(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(text)
}

func (p *Page) show(w http.ResponseWriter, _ *http.Request) {
	el, attr, text := page.El, page.Attr, page.Text
	button := func(id, label string) page.Node {
		return el("button", attr("type", "button"), attr("id", id), text(label))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Write(w, &page.Page{
		Title: p.x.form.Title, Style: pageStyle,
		Head: []page.Node{el("meta", attr("name", "word"), attr("content", p.door.Word()))},
		Body: []page.Node{
			el("h1", text(p.x.form.Title)),
			el("div", attr("id", "main"), el("div", attr("id", "form")), button("send", "Fill in"), button("leave", "Leave it open")),
			el("ul", attr("id", "problems")),
			el("script", attr("src", "editor.js")), el("script", attr("src", "page.js")),
		},
	})
}

// state is what the page shows.
type state struct {
	Schema   json.RawMessage `json:"schema,omitempty"`
	Values   json.RawMessage `json:"values,omitempty"`
	Problems []Problem       `json:"problems"`
	Missing  []string        `json:"missing"`
	Complete bool            `json:"complete"`
	Done     bool            `json:"done"`
}

func (p *Page) form(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(w, state{Schema: forEditor(p.x.form.root).AppendJSON(nil), Values: p.x.Values()})
}

// write answers with the state of the form. The mutex is held.
func (p *Page) write(w http.ResponseWriter, s state) {
	s.Problems, s.Missing = append([]Problem{}, p.x.Problems...), append([]string{}, p.x.Missing...)
	s.Complete, s.Done = p.x.Complete(), p.finished
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s)
}

func (p *Page) answer(w http.ResponseWriter, r *http.Request) {
	if !p.door.Knows(r.Header.Get("X-Word")) {
		http.Error(w, "forbidden: this did not come from this page; reload it", http.StatusForbidden)
		return
	}
	var in struct {
		Leave  bool            `json:"leave"`
		Values json.RawMessage `json:"values"`
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil {
		http.Error(w, "the values cannot be read", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		http.Error(w, "the form is no longer waiting", http.StatusConflict)
		return
	}
	if !in.Leave {
		if err := p.x.Replace(in.Values, "page"); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	p.finished = in.Leave || p.x.Complete()
	p.write(w, state{})
	if p.finished {
		close(p.done)
	}
}

// editable are the keywords that the page's editor gets. It has others, which fetch, link to or calculate something.
var editable = []string{
	"type", "properties", "required", "items", "enum", "const", "title", "description", "default", "minLength", "maxLength", "pattern", "minimum", "maximum",
	"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "anyOf", "oneOf", "allOf", "$defs", "definitions", "$ref", "format",
}

// forEditor returns a schema with the keywords in editable. The editor writes titles and descriptions as HTML, so they have no < there.
func forEditor(v *jsonschema.Value) *jsonschema.Value {
	if v == nil || v.Kind != jsonschema.KindObject {
		return v
	}
	out := &jsonschema.Value{Kind: jsonschema.KindObject}
	for _, m := range v.Members {
		switch {
		case !slices.Contains(editable, m.Key):
		case m.Key == "format" && !slices.Contains([]string{"date", "email"}, m.Value.Text):
		case m.Key == "$ref" && !strings.HasPrefix(m.Value.Text, "#"):
		case m.Key == "title" || m.Key == "description":
			out.Set(m.Key, jsonschema.Text(strings.ReplaceAll(m.Value.Text, "<", "‹")))
		case m.Key == "properties" || m.Key == "$defs" || m.Key == "definitions":
			all := &jsonschema.Value{Kind: jsonschema.KindObject}
			for _, each := range m.Value.Members {
				all.Set(each.Key, forEditor(each.Value))
			}
			out.Set(m.Key, all)
		case m.Value.Kind == jsonschema.KindArray && slices.Contains([]string{"anyOf", "oneOf", "allOf", "items"}, m.Key):
			list := make([]*jsonschema.Value, len(m.Value.Items))
			for i, each := range m.Value.Items {
				list[i] = forEditor(each)
			}
			out.Set(m.Key, jsonschema.List(list...))
		case m.Key == "items":
			out.Set(m.Key, forEditor(m.Value))
		default:
			out.Set(m.Key, m.Value)
		}
	}
	return out
}
