package chain

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// answers answers each tool with a result.
type answers map[string]*upstream.CallResult

func (a answers) Call(_ context.Context, _, tool string, _ json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	return a[tool], nil
}

// seen is an Observer that fails.
type seen struct{ all []string }

func (s *seen) Flush() error { return nil }

func (s *seen) Observe(o *learn.Observation) error {
	line := o.Tool.Server + "/" + o.Tool.Name + " " + string(o.Reply.Value)
	if o.Reply.Text {
		line += " of a text"
	}
	s.all = append(s.all, line)
	return errors.New("the disk is full")
}

func TestResultsAreObserved(t *testing.T) {
	var definitions []json.RawMessage
	for _, d := range []string{
		`{"name":"declared","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`, `{"name":"json","inputSchema":{"type":"object"}}`,
		`{"name":"structured","inputSchema":{"type":"object"}}`, `{"name":"text","inputSchema":{"type":"object"}}`, `{"name":"fails","inputSchema":{"type":"object"}}`,
	} {
		definitions = append(definitions, json.RawMessage(d))
	}
	server, _ := catalog.NewServer("s", "", "", definitions)
	quiet, _ := catalog.NewServer("quiet", "", "", definitions)
	cat, err := catalog.New([]catalog.Server{server, quiet})
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) []json.RawMessage {
		block, _ := json.Marshal(map[string]string{"type": "text", "text": s})
		return []json.RawMessage{block}
	}
	observer := &seen{}
	ch := New(Options{
		Catalog: cat, Logger: slog.New(slog.DiscardHandler), Servers: map[string]ServerSettings{"quiet": {TextResults: true}},
		Upstreams: answers{
			"declared": {Structured: json.RawMessage(`{"a":1}`)}, "json": {Content: text(` {"a":1} `)}, "structured": {Structured: json.RawMessage(`{"b":1}`)},
			"text": {Content: text("hello")}, "fails": {Content: text(`{"c":1}`), IsError: true},
		},
	})
	var warnings []string
	c, err := ch.NewCalls(t.Context(), Run{Settings: Settings{Observer: observer}, Watch: func(e Event) {
		if e.Kind == EventWarning {
			warnings = append(warnings, e.Message)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	handler := c.Handler()
	for i, tool := range []string{"s__declared", "s__json", "s__structured", "s__text", "s__fails", "quiet__json"} {
		_, err := handler(t.Context(), &call.Request{Tool: tool, Args: json.RawMessage(`{}`), Seq: i + 1})
		if (err != nil) != (tool == "s__fails") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if _, err := handler(t.Context(), &call.Request{Tool: "s__json", Args: json.RawMessage(`{}`), Seq: 9, Raw: true}); err != nil {
		t.Error(err)
	}
	want := []string{`s/json {"a":1} of a text`, `s/structured {"b":1}`, `s/text "hello"`}
	if got := observer.all; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("observed %q, want %q", got, want)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "the disk is full") {
		t.Errorf("warnings %q, want one that says what failed", warnings)
	}
}

func TestSecretsAreNoNames(t *testing.T) {
	ch := New(Options{Catalog: &catalog.Catalog{}, Upstreams: hiding{}, Logger: slog.New(slog.DiscardHandler)})
	for name, want := range map[string]bool{"hushword": true, "ada@example.org": true, "title": false} {
		if got := ch.isData(name); got != want {
			t.Errorf("isData(%q) = %v, want %v", name, got, want)
		}
	}
}

type hiding struct{ answers }

func (hiding) Conceal(text string) string { return strings.ReplaceAll(text, "hushword", "[SECRET]") }
