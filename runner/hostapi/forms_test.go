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

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/form"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// TestFillForm uses parameters that our libraries never send, too.
func TestFillForm(t *testing.T) {
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
	defer s.Close()
	tools, err := catalog.New([]catalog.Server{{Key: "mail", Dir: "mail", Tools: []catalog.Tool{{ID: "mail__send", Name: "send", Input: json.RawMessage(`{"type":"object"}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	h := &Methods{Forms: &Forms{
		Folder: form.NewFolder(dir), Tools: func() (*catalog.Catalog, error) { return tools, nil },
		Kept: &form.Kept{State: func(context.Context) (store.Store, error) { return s, nil }, Secret: func() ([]byte, error) { return bytes.Repeat([]byte{7}, 32), nil }},
	}}
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
		{`{"form":"bad"}`, `argument form/fill: bad.yaml:2: submit.tool: the tree has no tool "mail__sent"`},
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
