package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/call"
)

// TestCallReadsStdinOnlyIfNeeded: standard input may be a pipe that nobody writes to.
func TestCallReadsStdinOnlyIfNeeded(t *testing.T) {
	silent, writer := io.Pipe()
	defer writer.Close()
	o := &callCommand{Caller: Caller{App: &cli.App{Stdin: silent}}}
	for _, schema := range []string{``, `{}`, `true`, `{"type":"object","properties":{"a":{}}}`, `{"required":[]}`} {
		if args, values, err := o.arguments(t.Context(), json.RawMessage(schema), nil); args != nil || values != nil || err != nil {
			t.Errorf("arguments for %s = %s, %v, %v, want none", schema, args, values, err)
		}
	}
	if args, values, err := o.arguments(t.Context(), json.RawMessage(`{"required":["a"]}`), []string{"a=1"}); args != nil || len(values) != 1 || err != nil {
		t.Errorf("arguments of a=1 = %s, %v, %v, want nil, len(values) 1 and no error", args, values, err)
	}
	signal := errors.New("a signal")
	for _, pairs := range [][]string{nil, {"a=1", "-"}} { // both read
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(signal)
		if _, _, err := o.arguments(ctx, json.RawMessage(`{"required":["a"]}`), pairs); !errors.Is(err, signal) {
			t.Errorf("arguments(%q) after a signal: %v, want %v", pairs, err, signal)
		}
	}
}

func TestCallPrint(t *testing.T) {
	for _, tt := range []struct{ answer, stdout, stderr string }{
		{`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"},{"type":"image","data":"QQ==","text":"x"}]}`, "a\nb\n{\"type\":\"image\",\"data\":\"QQ==\",\"text\":\"x\"}\n", ""},
		{`{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}`, "{\n  \"b\": 1\n}\n", ""},
		{`{"content":[{"type":"text","text":"no"}],"isError":true}`, "", "no\n"},
		{`{"content":[]}`, "", ""},
	} {
		var stdout, stderr bytes.Buffer
		o := &callCommand{Caller: Caller{App: &cli.App{Stdout: &stdout, Stderr: &stderr}}}
		err := o.Print(&call.Result{Raw: json.RawMessage(tt.answer)})
		if stdout.String() != tt.stdout || stderr.String() != tt.stderr || (err != nil) != (tt.stderr != "") {
			t.Errorf("print(%s) = %q, %q, %v, want %q, %q", tt.answer, &stdout, &stderr, err, tt.stdout, tt.stderr)
		}
	}
}
