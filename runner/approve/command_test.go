//go:build !windows

package approve

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCommand(t *testing.T) {
	for _, c := range []struct {
		script string
		want   Answer // By: empty is the program
	}{
		{`cat >/dev/null`, Answer{Scope: Once}},
		{`echo '{"answer":"run","by":"ann","reason":"fine"}'`, Answer{Scope: Run, By: "ann", Reason: "fine"}},
		{`echo '{"answer":"no","reason":"not today"}'`, Answer{Scope: "no", Reason: "not today"}},
		{`echo '{"answer":"once"} {"answer":"no"}'`, Answer{Reason: "cannot read the approval command's answer: it printed more than one JSON value"}},
		{`echo yes`, Answer{Reason: "cannot read the approval command's answer: invalid character 'y' looking for beginning of value"}},
		{`echo '{"answer":"once"}'; echo "too
much" >&2; exit 3`, Answer{Reason: `the approval command refused: too\nmuch`}},
		{`head -c 1000000 /dev/zero`, Answer{Reason: "cannot read the approval command's answer: invalid character '\\x00' looking for beginning of value"}},
	} {
		program := filepath.Join(t.TempDir(), "ask")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if c.want.By == "" {
			c.want.By = "ask"
		}
		a, err := (&Command{Args: []string{program}}).Approve(t.Context(), ofRun("delete", 1))
		if err != nil || a != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.script, a, err, c.want)
		}
	}
	if a, err := (&Command{Args: []string{"/nowhere"}}).Approve(t.Context(), ofRun("delete", 1)); err != nil || a.Scope != Refused {
		t.Errorf("a missing program: %+v, %v, want Scope %v and no error", a, err, Refused)
	}
}

func TestCommandGetsTheQuestion(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "ask")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncat >seen\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	q := ofRun("delete", 1)
	q.Script, q.Code = "a.ts", "code"
	if a, err := (&Command{Args: []string{program}, Dir: dir}).Approve(t.Context(), q); err != nil || a.Scope != Once {
		t.Fatal(a, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil || got["tool"] != "delete" || got["code"] != "code" || !strings.HasPrefix(got["sha256"].(string), "5694d08a") {
		t.Errorf(`%s, %v, want "delete", "code", "5694d08a" at its start and no error`, text, err)
	}
}

func TestCommandTimesOut(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ask")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nsleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	a, err := New(200*time.Millisecond, &Command{Args: []string{program}}).Approve(context.Background(), ofRun("delete", 1))
	if err != nil || a.Scope != Refused || !strings.HasPrefix(a.Reason, "nobody answered") || time.Since(start) > 30*time.Second {
		t.Errorf(`%+v, %v after %v, want Scope %v, "nobody answered" at its start, at most %v and no error`, a, err, time.Since(start), Refused, 30*time.Second)
	}
}
