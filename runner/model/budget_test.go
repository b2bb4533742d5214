package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/model/modeltest"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// state opens the store in a file.
func state(t testing.TB, path string) store.Opener {
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return func(context.Context) (store.Store, error) { return s, nil }
}

// refusedBy asks, and reports which budget is used up.
func refusedBy(t testing.TB, c model.Client) string {
	t.Helper()
	_, err := c.Generate(t.Context(), ask())
	if err == nil {
		return ""
	}
	over, ok := errors.AsType[*model.BudgetError](err)
	if !ok || !strings.Contains(over.Hint(), "model.budget."+over.Of) {
		t.Fatalf("Generate() error %v, want a BudgetError with a remedy", err)
	}
	return over.Of
}

// TestBudgetOfRun checks that a client sends nothing after it has used up its tokens, or its money. A new one begins again.
func TestBudgetOfRun(t *testing.T) {
	for _, limit := range []model.Limit{{Tokens: 2000}, {Cost: 0.02}} {
		s := modeltest.New(t, modeltest.Answer{Input: 500, Output: 900}, modeltest.Answer{Input: 500, Output: 900}, modeltest.Answer{})
		o := endpoints(s)["anthropic"] // $2 and $10
		o.Budget.Run = limit
		c := client(t, o)
		for i, want := range []string{"", "", "run", "run"} {
			if got := refusedBy(t, c); got != want {
				t.Errorf("%+v: request %d was refused by %q, want %q", limit, i, got, want)
			}
		}
		if got := refusedBy(t, client(t, o)); got != "" {
			t.Errorf("a new run was refused by %q", got)
		}
	}
}

// TestBudgetOfDay checks that clients with stores of their own on one file count together, also what failed answers have used, and that a day
// ends.
func TestBudgetOfDay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := modeltest.New(t, modeltest.Answer{Input: 600, Output: 300}, modeltest.Answer{Nonsense: `{"x":"` + strings.Repeat("word ", 300) + `"}`}, modeltest.Answer{Input: 90, Output: 9}, modeltest.Answer{})
	open := func() model.Client {
		o := endpoints(s)["azure"]
		o.Budget = model.Budget{Day: model.Limit{Tokens: 1000}, State: state(t, path)}
		return client(t, o)
	}
	a, b := open(), open()
	if got := refusedBy(t, a); got != "" {
		t.Fatalf("the first request was refused by %q", got)
	}
	if _, err := b.Generate(t.Context(), ask()); err == nil || !strings.Contains(err.Error(), "why it ends") {
		t.Fatalf("Generate() error %v, want one of the answer", err)
	}
	if got := refusedBy(t, open()); got != "" {
		t.Fatalf("the third request was refused by %q", got)
	}
	if got := refusedBy(t, a); got != "day" {
		t.Errorf("a fourth request was refused by %q, want day", got)
	}
	db, _ := state(t, path)(t.Context())
	d, err := db.Document(t.Context(), store.Key{Kind: "model", Name: "day"})
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(d.Value, &kept); err != nil {
		t.Fatal(err)
	}
	kept["day"] = time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	d.Value, _ = json.Marshal(kept)
	if _, err := db.SetDocument(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := refusedBy(t, b); got != "" {
		t.Errorf("the next day was refused by %q", got)
	}
	d.Value, d.Version = []byte(`{"day":"2999-01-01","input":-5}`), d.Version+2
	if _, err := db.SetDocument(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Generate(t.Context(), ask()); err == nil || !strings.Contains(err.Error(), "damaged: delete it") {
		t.Errorf("Generate() error %v, want that the document is damaged", err)
	}
}

// TestBudgetTogether checks that many clients exceed a budget by no more than the requests that were under way.
func TestBudgetTogether(t *testing.T) {
	const clients, each, limit = 8, 20, 1000 // tokens: 100 for a request
	path := filepath.Join(t.TempDir(), "state.db")
	s := modeltest.New(t)
	s.Answer = func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Input: 60, Output: 40} }
	var all sync.WaitGroup
	for range clients {
		o := endpoints(s)["openai"]
		o.Budget = model.Budget{Day: model.Limit{Tokens: limit}, State: state(t, path)}
		c := client(t, o)
		all.Go(func() {
			for range each {
				if _, err := c.Generate(t.Context(), ask()); err != nil {
					if _, ok := errors.AsType[*model.BudgetError](err); !ok {
						t.Errorf("Generate() error %v, want a BudgetError", err)
					}
					return
				}
			}
			t.Error("a client was never refused")
		})
	}
	all.Wait()
	if n := len(s.Requests()); n < limit/100 || n > limit/100+clients-1 {
		t.Errorf("%d requests of 100 tokens were sent, want %d and at most %d more", n, limit/100, clients-1)
	}
	db, _ := state(t, path)(t.Context())
	d, err := db.Document(t.Context(), store.Key{Kind: "model", Name: "day"})
	if err != nil {
		t.Fatal(err)
	}
	var kept model.Usage
	if err := json.Unmarshal(d.Value, &kept); err != nil || kept.Input != int64(60*len(s.Requests())) {
		t.Errorf("counted %s (%v), want %d tokens read", d.Value, err, 60*len(s.Requests()))
	}
}

// TestBudgetOfUnanswered checks that a request counts whose answer the client has not waited for.
func TestBudgetOfUnanswered(t *testing.T) {
	s := modeltest.New(t, modeltest.Answer{Wait: make(chan struct{})})
	o := endpoints(s)["anthropic"]
	o.Timeout, o.Budget.Run.Tokens = 50*time.Millisecond, 10
	c := client(t, o)
	if _, err := c.Generate(t.Context(), ask()); err == nil || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("Generate() error %v, want a time-out", err)
	}
	if got := refusedBy(t, c); got != "run" {
		t.Errorf("the next request was refused by %q, want run", got)
	}
}

// TestClaims checks that tokens are estimated if an endpoint does not count them, or claims a negative number.
func TestClaims(t *testing.T) {
	for name := range endpoints(&modeltest.Server{}) {
		s := modeltest.New(t, modeltest.Answer{Text: strings.Repeat("a long answer ", 100), Input: -1}, modeltest.Answer{Input: 1 << 62, Output: 1 << 62})
		c := client(t, endpoints(s)[name])
		got, err := c.Generate(t.Context(), ask())
		if err != nil || got.Usage.Input < 20 || got.Usage.Input > 200 || got.Usage.Output < 200 || got.Usage.Output > 600 {
			t.Errorf("%s: Generate() = %+v, %v, want estimates", name, got, err)
		}
		if got, err := c.Generate(t.Context(), ask()); err != nil || got.Usage.Input > 1e9 || got.Usage.Output > 1e9 {
			t.Errorf("%s: Generate() = %+v, %v, want bounded numbers", name, got, err)
		}
	}
}
