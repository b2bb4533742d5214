package hostapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/form"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// withForms returns methods with the forms mail, other and bad, and their folder.
func withForms(t *testing.T) (*Methods, string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const schema = "schema: {type: object, required: [to], properties: {to: {type: string, format: email}}}\n"
	write("mail.yaml", schema+"submit: {tool: mail__send}\n")
	write("other.yaml", schema+"submit: {tool: mail__send}\n")
	write("bad.yaml", schema+"submit: {tool: mail__sent}\n")
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	tools, err := catalog.New([]catalog.Server{{Key: "mail", Dir: "mail", Tools: []catalog.Tool{{ID: "mail__send", Name: "send", Input: json.RawMessage(`{"type":"object"}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	return &Methods{Forms: &Forms{
		Folder: form.NewFolder(dir), Tree: func() (*gen.Tree, error) { return &gen.Tree{Catalog: tools, Lock: &catalog.Lock{}}, nil },
		Kept: &form.Kept{State: func(context.Context) (store.Store, error) { return s, nil }, Secret: func() ([]byte, error) { return bytes.Repeat([]byte{7}, 32), nil }},
	}}, dir
}

// TestFillForm uses parameters that our libraries never send, too.
func TestFillForm(t *testing.T) {
	h, dir := withForms(t)
	fill := h.Calling()["form/fill"]
	var sent []string
	var failure error
	host := &chain.Host{Run: "run-1", Call: func(_ context.Context, req *call.Request) (*call.Result, error) {
		sent = append(sent, req.Tool+string(req.Args))
		return &call.Result{Value: json.RawMessage(`"sent"`)}, failure
	}, Ask: func(_ context.Context, q *upstream.Question) (*upstream.Reply, error) {
		if !q.Own || q.Server != "form mail" {
			t.Errorf("the question is %+v", q)
		}
		return &upstream.Reply{Action: upstream.ActionAccept, Content: json.RawMessage(`{"to":"asked@example.com"}`)}, nil
	}}
	for _, tt := range []struct{ params, want string }{
		{`{"form":"mail","data":{"to":"a@b.c"}}`, `"status":"submitted"`},
		{`{"form":"mail","data":{"to":"a@b.c"},"submit":false}`, `"status":"open"`},
		{`{"form":"mail","data":{"to":"nobody"},"ask":false}`, `"status":"invalid","id":"form-`},
		{`{"form":"mail","ask":false}`, `"missing":["to"]`},
		{`{"form":"mail"}`, `"status":"submitted"`},
		{`{"form":"mail","data":[1]}`, "argument form/fill: the data is not one JSON object"},
		{`{"form":"mail","data":"x"}`, "argument form/fill: the data is not one JSON object"},
		{`{"form":5}`, "argument form/fill: form is a JSON number"},
		{`[]`, "argument form/fill: invalid parameters"},
		{`{}`, `argument form/fill: there is no form ""`},
		{`{"form":"../mail"}`, `argument form/fill: there is no form "../mail"`},
		{`{"form":"mial"}`, `did you mean mail?`},
		{`{"form":"bad"}`, `argument form/fill: bad.yaml:2: submit.tool: no tool "mail__sent" in the tree`},
		{`{"form":"mail","id":"form-x"}`, `argument form/fill: no form "form-x" is kept`},
	} {
		got, err := fill(t.Context(), json.RawMessage(tt.params), host)
		text := string(got)
		if failed, ok := errors.AsType[*call.Error](err); ok {
			text = string(failed.Kind) + " " + failed.Message
		} else if err != nil {
			t.Errorf("%s: %v, want a *call.Error", tt.params, err)
		}
		if !strings.Contains(text, tt.want) || strings.Contains(text, dir) {
			t.Errorf("%s: %s, want %s", tt.params, text, tt.want)
		}
	}
	if got := strings.Join(sent, " "); got != `mail__send{"to":"a@b.c"} mail__send{"to":"asked@example.com"}` {
		t.Errorf("sent %s", got)
	}
	ask := func(params string) (out filledForm, err error) {
		raw, err := fill(t.Context(), json.RawMessage(params), host)
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		return out, err
	}
	open, err := ask(`{"form":"mail","ask":false}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(`{"form":"other","id":"` + open.ID + `"}`); err == nil || !strings.Contains(err.Error(), "is a form mail") {
		t.Errorf("another form: %v, want an error", err)
	}
	failure = &call.Error{Kind: call.KindTimeout, Message: "no answer"}
	if _, err := ask(`{"form":"mail","id":"` + open.ID + `","data":{"to":"a@b.c"}}`); !errors.Is(err, failure) {
		t.Errorf("a call without an answer: %v, want its error", err)
	}
	failure, sent = nil, nil
	if _, err := ask(`{"form":"mail","id":"` + open.ID + `"}`); err == nil || !strings.Contains(err.Error(), "it is unknown whether the form") || len(sent) > 0 {
		t.Errorf("after it: %v, sent %v, want that it is unknown", err, sent)
	}
	host.Replay = true
	before, err := h.Forms.Kept.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := ask(`{"form":"mail","data":{"to":"a@b.c"}}`); err != nil || out.Status != "submitted" {
		t.Errorf("a replay: %+v, %v", out, err)
	}
	if after, err := h.Forms.Kept.List(t.Context()); err != nil || len(after) != len(before) {
		t.Errorf("a replay keeps %d forms, %v, want none", len(after)-len(before), err)
	}
	if (&Methods{}).Calling() != nil {
		t.Error("a run without forms offers them")
	}
}

// TestFillFormAgain kills a run at each place of a submission, and continues it from its beginning: there is one form, and the journal decides
// whether its call is made.
func TestFillFormAgain(t *testing.T) {
	h, _ := withForms(t)
	var journal []*call.Error // the outcomes that it has; nil: a result
	var sent int
	var dies string
	host := &chain.Host{Run: "run-1", Place: `"wf-1" "pay"`}
	begin := func() func(params string) (filledForm, error) { // an execution
		fill, asked := h.Calling()["form/fill"], 0
		host.Call = func(_ context.Context, req *call.Request) (*call.Result, error) {
			if dies == "before" {
				panic(dies)
			}
			if asked++; asked > len(journal) {
				journal, sent = append(journal, &call.Error{Kind: call.KindConnection, Message: "unknown", Cause: &call.UnknownError{}}), sent+1
				if dies == "within" {
					panic(dies)
				}
				journal[asked-1] = nil
			}
			if dies == "after" {
				panic(dies)
			}
			if failed := journal[asked-1]; failed != nil {
				return nil, failed
			}
			return &call.Result{Value: json.RawMessage(`"sent"`)}, nil
		}
		return func(params string) (out filledForm, err error) {
			defer func() {
				if dead := recover(); dead != nil {
					err = errors.New("died")
				}
			}()
			raw, err := fill(t.Context(), json.RawMessage(params), host)
			if err == nil {
				err = json.Unmarshal(raw, &out)
			}
			return out, err
		}
	}
	forms := func() []form.Record {
		all, err := h.Forms.Kept.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	const mail = `{"form":"mail","data":{"to":"a@b.c"}}`
	for _, tt := range []struct {
		dies  string
		state form.State
		sent  int
	}{{"before", form.Submitted, 1}, {"within", form.Unknown, 1}, {"after", form.Submitted, 1}} {
		journal, sent, host.Place = nil, 0, `"wf-1" "`+tt.dies+`"`
		before := len(forms())
		dies = tt.dies
		if _, err := begin()(mail); err == nil || err.Error() != "died" {
			t.Fatalf("%s: %v, want that it died", tt.dies, err)
		}
		dies = ""
		for range 2 {
			out, err := begin()(mail)
			all := forms()
			if len(all) != before+1 || all[0].State != tt.state || sent != tt.sent || (err == nil) != (tt.state == form.Submitted) || err == nil && string(out.Result) != `"sent"` {
				t.Errorf("%s: continued: %+v, %v; %d forms, the last %s; sent %d times; want 1 form, %s, %d", tt.dies, out, err, len(all)-before, all[0].State, sent, tt.state, tt.sent)
			}
		}
	}
	// Equal requests of one execution are different forms, and two steps too. A later execution has the same ones.
	journal, sent, host.Place = nil, 0, `"wf-2" ""`
	before := len(forms())
	for range 2 {
		run := begin()
		for range 2 {
			if out, err := run(mail); err != nil || out.Status != formSubmitted {
				t.Errorf("%+v, %v", out, err)
			}
		}
		open, err := run(`{"form":"mail","data":{"to":"a@b.c"},"submit":false}`)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := run(`{"form":"mail","id":"` + open.ID + `"}`); err != nil || done.Status != formSubmitted {
			t.Errorf("%+v, %v", done, err)
		}
	}
	if n := len(forms()) - before; n != 3 || sent != 3 {
		t.Errorf("%d forms, sent %d times, want 3 and 3", n, sent)
	}
}

// TestSubmitAgainOnce checks that a person sends a form of a workflow whose outcome is unknown once more, and no more.
func TestSubmitAgainOnce(t *testing.T) {
	h, _ := withForms(t)
	host := &chain.Host{Run: "run-1", Place: `"wf-1" "pay"`, Call: func(context.Context, *call.Request) (*call.Result, error) {
		return nil, &call.Error{Kind: call.KindTimeout, Message: "no answer"}
	}}
	for range 2 { // two executions
		if _, err := h.Calling()["form/fill"](t.Context(), json.RawMessage(`{"form":"mail","data":{"to":"a@b.c"}}`), host); err == nil {
			t.Fatal("no error")
		}
	}
	kept, sent := h.Forms.Kept, 0
	all, err := kept.List(t.Context())
	if err != nil || len(all) != 1 || all[0].State != form.Unknown {
		t.Fatalf("List() = %+v, %v, want one form that is unknown", all, err)
	}
	for n := range 2 {
		r, err := kept.Load(t.Context(), all[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		f, err := h.Forms.Folder.Read("mail")
		if err != nil {
			t.Fatal(err)
		}
		x, err := f.Filling(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = kept.Submit(t.Context(), r, x, true, func(context.Context, string, json.RawMessage) (*call.Result, error) {
			sent++
			return &call.Result{Value: json.RawMessage(`1`)}, nil
		})
		if (err == nil) != (n == 0) {
			t.Errorf("Submit() %d = %v", n, err)
		}
	}
	if sent != 1 {
		t.Errorf("sent %d times, want once", sent)
	}
}
