package form

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func newKept(t *testing.T) (*Kept, store.Store) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &Kept{
		State:  func(context.Context) (store.Store, error) { return s, nil },
		Secret: func() ([]byte, error) { return bytes.Repeat([]byte{7}, 32), nil },
	}, s
}

// begin keeps a complete form, ready to be submitted.
func begin(t *testing.T, k *Kept, f *Form, data string) (*Record, *Filling) {
	t.Helper()
	x, err := f.Fill(json.RawMessage(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &Record{ID: NewID()}
	r.Take(x)
	if err := k.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r, x
}

const complete = `{"name":"Ann","Mail":"ann@example.com","due":"2026-12-31"}`

// TestSubmitOnce checks that many at once submit a form once, and that what was submitted is kept, sealed.
func TestSubmitOnce(t *testing.T) {
	k, s := newKept(t)
	f := readForm(t, lead)
	r, _ := begin(t, k, f, complete)
	var sent atomic.Int32
	var done, working sync.WaitGroup
	var submitted atomic.Int32
	const n = 8
	done.Add(n)
	for range n {
		working.Go(func() {
			mine, err := k.Load(t.Context(), r.ID)
			done.Done()
			done.Wait() // all have loaded it
			if err != nil {
				t.Error(err)
				return
			}
			x, err := f.Filling(mine, nil)
			if err != nil {
				t.Error(err)
				return
			}
			err = k.Submit(t.Context(), mine, x, false, func(_ context.Context, tool string, args json.RawMessage) (*call.Result, error) {
				sent.Add(1)
				return &call.Result{Value: json.RawMessage(`{"id":"7"}`)}, nil
			})
			if err == nil {
				submitted.Add(1)
			} else if !errors.Is(err, store.ErrConflict) {
				t.Error(err)
			}
		})
	}
	working.Wait()
	if sent.Load() != 1 || submitted.Load() != 1 {
		t.Errorf("sent %d times, submitted %d times, want once", sent.Load(), submitted.Load())
	}
	got, err := k.Load(t.Context(), r.ID)
	if err != nil || got.State != Submitted || string(got.Result) != `{"id":"7"}` || !strings.Contains(string(got.Arguments), `"Mail":"ann@example.com"`) || got.From["email"] != "Mail" {
		t.Errorf("Load() = %+v, %v, want what was submitted", got, err)
	}
	x, err := f.Filling(got, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*StateError](k.Submit(t.Context(), got, x, true, nil)); !ok {
		t.Error("a submitted form was submitted again")
	}
	doc, err := s.Document(t.Context(), store.Key{Kind: kind, Name: r.ID})
	if err != nil || bytes.Contains(doc.Value, []byte("ann@")) {
		t.Errorf("the document has %q, %v, want it sealed", doc.Value, err)
	}
	doc.Name = "form-other"
	doc.Version = 0
	if _, err := s.SetDocument(t.Context(), doc); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Load(t.Context(), "form-other"); err == nil {
		t.Error("a form was read under another id")
	}
	other := *k
	other.Customer = "acme"
	if all, err := other.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("List() of another customer = %v, %v, want nothing", all, err)
	}
	if _, ok := errors.AsType[*NotFoundError](func() error { _, err := other.Load(t.Context(), r.ID); return err }()); !ok {
		t.Error("another customer has the form")
	}
}

// TestSubmitOutcomes checks the state after calls that fail, and that an unknown outcome is not sent again by itself.
func TestSubmitOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want State
	}{
		{"refused", &call.Error{Kind: call.KindDenied, Message: "no"}, Open},
		{"bad arguments", &call.Error{Kind: call.KindArgument}, Open},
		{"the tool failed", &call.Error{Kind: call.KindTool}, Open},
		{"not sent", &call.Error{Kind: call.KindConnection, Retryable: true}, Open},
		{"the server's error", &call.Error{Kind: call.KindProtocol, Code: -32603}, Open},
		{"broken answer", &call.Error{Kind: call.KindProtocol}, Unknown},
		{"no answer", &call.Error{Kind: call.KindTimeout}, Unknown},
		{"gone", &call.Error{Kind: call.KindConnection}, Unknown},
		{"interrupted", context.Canceled, Unknown},
		{"cancelled", &call.Error{Kind: call.KindCancelled}, Unknown},
	} {
		k, _ := newKept(t)
		f := readForm(t, lead)
		r, x := begin(t, k, f, complete)
		ctx, cancel := context.WithCancel(t.Context())
		err := k.Submit(ctx, r, x, false, func(context.Context, string, json.RawMessage) (*call.Result, error) {
			cancel() // the end is kept all the same
			return nil, tt.err
		})
		got, failed := k.Load(t.Context(), r.ID)
		if !errors.Is(err, tt.err) || failed != nil || got.State != tt.want || got.Error == "" && tt.err.Error() != "" {
			t.Errorf("%s: %v, %v, %+v, want the state %s", tt.name, err, failed, got, tt.want)
			continue
		}
		sent := 0
		again := func(anyway bool) error {
			return k.Submit(t.Context(), got, x, anyway, func(context.Context, string, json.RawMessage) (*call.Result, error) {
				sent++
				return &call.Result{Value: json.RawMessage(`1`)}, nil
			})
		}
		err = again(false)
		if _, stopped := errors.AsType[*StateError](err); stopped != (tt.want == Unknown) || sent != map[State]int{Open: 1}[tt.want] {
			t.Errorf("%s: submitted again: %v, sent %d times", tt.name, err, sent)
		}
		if tt.want == Unknown {
			if err := again(true); err != nil || got.State != Submitted || sent != 1 {
				t.Errorf("%s: with again: %v, %s, sent %d times, want it submitted", tt.name, err, got.State, sent)
			}
		}
	}
}

// TestSubmitCrash checks that a form whose process died while it was sent is not sent again.
func TestSubmitCrash(t *testing.T) {
	k, _ := newKept(t)
	f := readForm(t, lead)
	r, x := begin(t, k, f, complete)
	func() {
		defer func() { _ = recover() }()
		_ = k.Submit(t.Context(), r, x, false, func(context.Context, string, json.RawMessage) (*call.Result, error) { panic("killed") })
	}()
	left, err := k.Load(t.Context(), r.ID)
	if err != nil || left.State != Sending {
		t.Fatalf("Load() = %+v, %v, want the state sending", left, err)
	}
	err = k.Submit(t.Context(), left, x, false, nil)
	if stopped, ok := errors.AsType[*StateError](err); !ok || !strings.Contains(stopped.Error(), "unknown whether") || !strings.Contains(stopped.Hint(), "--again") {
		t.Errorf("Submit() = %v, want that it is unknown", err)
	}
}

func TestSubmitOpen(t *testing.T) {
	k, _ := newKept(t)
	f := readForm(t, lead)
	r, x := begin(t, k, f, `{"due":"soon","Mail":"a@b.c"}`)
	err := k.Submit(t.Context(), r, x, false, nil)
	if open, ok := errors.AsType[*OpenError](err); !ok || len(open.Problems) != 1 || strings.Join(open.Missing, " ") != "name" {
		t.Errorf("Submit() = %v, want the problem of due, and that name is missing", err)
	}
	if got, err := k.Load(t.Context(), r.ID); err != nil || got.State != Open {
		t.Errorf("Load() = %+v, %v, want it open", got, err)
	}
	r, x = begin(t, k, f, complete)
	err = k.Submit(t.Context(), r, x, false, func(context.Context, string, json.RawMessage) (*call.Result, error) {
		return &call.Result{As: call.AsDry, Value: json.RawMessage(`{"call":1}`)}, nil
	})
	if !errors.Is(err, ErrDry) || r.State != Open || r.Result != nil {
		t.Errorf("a dry run: %v, %+v, want it open", err, r)
	}
}

// TestRemove checks that forms are removed by their ids, all or nothing, and by age, of one customer only.
func TestRemove(t *testing.T) {
	k, s := newKept(t)
	f := readForm(t, lead)
	var ids []string
	for range 3 {
		r, _ := begin(t, k, f, complete)
		ids = append(ids, r.ID)
	}
	other := *k
	other.Customer = "acme"
	begin(t, &other, f, complete)
	if missing, ok := errors.AsType[*NotFoundError](k.Remove(t.Context(), ids[0], "form-none")); !ok || missing.ID != "form-none" {
		t.Errorf("Remove() of one that does not exist = %v", missing)
	}
	if err := k.Remove(t.Context(), ids[0]); err != nil {
		t.Errorf("Remove() = %v", err)
	}
	now := time.Now()
	for _, tt := range []struct {
		before time.Time
		dry    bool
		n      int
	}{{now.Add(-time.Hour), false, 0}, {now.Add(time.Hour), true, 2}, {now.Add(time.Hour), false, 2}, {now.Add(time.Hour), false, 0}} {
		if n, bytes, err := Sweep(t.Context(), s, "", tt.before, tt.dry); err != nil || n != tt.n || (bytes > 0) != (n > 0) {
			t.Errorf("Sweep(%v, %v) = %d, %d, %v, want %d", tt.before, tt.dry, n, bytes, err, tt.n)
		}
	}
	if left, err := other.List(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("another customer has %d forms, %v, want 1", len(left), err)
	}
	if n, err := other.Sweep(t.Context(), now.Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("its Sweep() = %d, %v, want 1", n, err)
	}
}

// TestAsk checks that a person is asked for what can be asked for, again if need be, and that the rest is named.
func TestAsk(t *testing.T) {
	f := readForm(t, lead)
	x, err := f.Fill(json.RawMessage(`{"Mail":"nobody","site":"://","address":{}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, left, err := x.Question()
	if err != nil || len(q.Fields) != 4 || strings.Join(left, " ") != "address" || !strings.Contains(q.Message, "\nemail: expected") {
		t.Fatalf("Question() = %+v, %v, %v, want name, email, due and site; address left", q, left, err)
	}
	for _, field := range q.Fields {
		if field.Required != (field.Name != "site") {
			t.Errorf("%s: required = %v", field.Name, field.Required)
		}
	}
	asked := 0
	err = x.Ask(t.Context(), func(_ context.Context, q *elicit.Question) (*elicit.Reply, error) {
		if asked++; asked == 1 {
			return &elicit.Reply{Action: elicit.ActionAccept, Content: json.RawMessage(`{"name":" Ann ","email":"ann@example.com","due":"2026-12-31"}`)}, nil
		}
		return &elicit.Reply{Action: elicit.ActionDecline}, nil
	})
	if err != nil || asked != 1 || string(x.Values()) != `{"name":"Ann","email":"ann@example.com","due":"2026-12-31","address":{},"source":"web"}` || strings.Join(x.Missing, " ") != "address.city" || len(x.Problems) > 0 {
		t.Errorf("after %d questions: %v, %s, %v, %v, want only address.city missing", asked, err, x.Values(), x.Missing, x.Problems)
	}
	x, _ = f.Fill(json.RawMessage(`{}`), nil)
	err = x.Ask(t.Context(), func(context.Context, *elicit.Question) (*elicit.Reply, error) {
		return &elicit.Reply{Action: elicit.ActionAccept, Content: json.RawMessage(`{"name":"A","email":"nobody","due":"2026-12-31"}`)}, nil
	})
	if err == nil || x.Complete() {
		t.Errorf("an answer that does not fit: %v, %v", err, x.Complete())
	}
}

// writer is a model that answers with a text.
type writer struct {
	text string
	stop model.Stop
	got  *model.Request
}

func (*writer) Name() string { return "test" }

func (w *writer) Generate(_ context.Context, r *model.Request) (*model.Response, error) {
	w.got = r
	return &model.Response{Text: w.text, Stop: w.stop}, nil
}

// TestWords checks that a model sees tokens only, and that what it answers is data.
func TestWords(t *testing.T) {
	f := readForm(t, lead)
	for _, tt := range []struct{ text, want string }{
		{`{"name":"Ann","email":"[EMAIL_1]"}`, `{"name":"Ann","email":"ann@example.com"}`},
		{"Here it is:\n```json\n{\"name\": \"A {b}\"}\n```\nDone {not}.", `{"name": "A {b}"}`},
		{"{oops} {\"name\":1}", `{"name":1}`},
		{"I cannot do that.", "error: the model's answer has no JSON object"},
		{"{" + strings.Repeat("{", 10000), "error: the model's answer has no JSON object"},
		{`["name"]`, "error: the model's answer has no JSON object"},
	} {
		w := &writer{text: tt.text, stop: model.StopEnd}
		got, _, err := f.Read(t.Context(), Words{
			Text: "ann@example.com wants a quote", Client: w,
			Mask: func(text string) string { return strings.ReplaceAll(text, "ann@example.com", "[EMAIL_1]") },
			Restore: func(raw json.RawMessage, masked string) (json.RawMessage, error) {
				if masked != "[EMAIL_1] wants a quote" {
					t.Errorf("Restore got the words %q, want masked ones", masked)
				}
				return bytes.ReplaceAll(raw, []byte("[EMAIL_1]"), []byte("ann@example.com")), nil
			},
		})
		if text := string(got); err != nil && "error: "+err.Error() != tt.want || err == nil && text != tt.want {
			t.Errorf("Read() of %.40q = %s, %v, want %s", tt.text, text, err, tt.want)
		}
		if sent := fmt.Sprint(w.got.Messages); strings.Contains(sent, "ann@") || !strings.Contains(sent, `"format":"email"`) {
			t.Errorf("the model got %s, want tokens and the schema", sent)
		}
	}
	for _, stop := range []model.Stop{model.StopLength, model.StopRefusal} {
		if got, _, err := f.Read(t.Context(), Words{Text: "x", Client: &writer{text: `{"name":"x"}`, stop: stop}}); err == nil {
			t.Errorf("%s: Read() = %s, want an error", stop, got)
		}
	}
	x, err := f.Fill(nil, nil)
	if err == nil {
		err = x.Set(json.RawMessage(`{"name":{"evil":1},"due":"now","tool":"rm","submit":true}`), "model")
	}
	if err != nil || x.Complete() || len(x.Problems) != 2 || string(x.values["tool"]) != "" {
		t.Errorf("an answer that does not fit: %v, %v, want two problems", err, x.Problems)
	}
}
