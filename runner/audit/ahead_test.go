package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// aheadFiles returns the names of the write-ahead files, without the random part, and their lines.
func aheadFiles(t *testing.T, prefix string) (names string, lines []string) {
	t.Helper()
	found, err := filepath.Glob(prefix + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		names += filepath.Ext(path) + " "
		for line := range strings.Lines(string(text)) {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(names), lines
}

// callsOf returns which calls the rows of a record are about: +1 for the intent of the first, -1 for its end.
func callsOf(t *testing.T, m *memory) string {
	t.Helper()
	var got []string
	rows, _ := m.kept()
	for _, r := range rows {
		row, err := audit.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Call int }
		if err := json.Unmarshal(row.Body, &body); err != nil {
			t.Fatal(err)
		}
		if sign := "+"; row.Kind != audit.KindCall {
			got = append(got, fmt.Sprint("-", body.Call))
		} else {
			got = append(got, fmt.Sprint(sign, body.Call))
		}
	}
	checkTree(t, m, len(rows))
	return strings.Join(got, " ")
}

// TestIntend: what Intend has written is in a file at once, and in the store a moment later. Nothing is left when the log is closed.
func TestIntend(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "ahead-")
	m := &memory{}
	synctest.Test(t, func(t *testing.T) {
		l := open(t, m, audit.Options{Ahead: prefix})
		for n := range 3 {
			intent, end := call(n)
			if err := l.Intend(t.Context(), intent); err != nil {
				t.Fatal(err)
			}
			l.Later(end)
		}
		rows, _ := m.kept()
		if names, lines := aheadFiles(t, prefix); names != ".0 .1 .lock" || len(lines) != 6 || len(rows) != 0 {
			t.Errorf("the files %s have %d lines, the store %d rows, want 6 and 0", names, len(lines), len(rows))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		_, transactions := m.kept()
		if _, lines := aheadFiles(t, prefix); len(lines) != 0 || callsOf(t, m) != "+0 -0 +1 -1 +2 -2" || transactions != 1 {
			t.Errorf("a second later the files have %d lines, and the store %s in %d transactions", len(lines), callsOf(t, m), transactions)
		}
		intent, _ := call(3)
		if err := l.Intend(t.Context(), intent); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Intend(t.Context(), intent); !errors.Is(err, audit.ErrClosed) {
			t.Errorf("Intend() after Close() = %v", err)
		}
	})
	if names, _ := aheadFiles(t, prefix); names != "" || callsOf(t, m) != "+0 -0 +1 -1 +2 -2 +3" {
		t.Errorf("after Close() there are the files %q, and the store has %s", names, callsOf(t, m))
	}
}

// TestIntendInFullStore: rows that were acknowledged are kept while the store is full, and nothing more is acknowledged. When there is room
// again, the store has each once, in order.
func TestIntendInFullStore(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "ahead-")
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		full.Store(true)
		m := &memory{}
		m.fail = func() error {
			if full.Load() {
				return store.ErrFull
			}
			return nil
		}
		l := open(t, m, audit.Options{Ahead: prefix})
		intend := func(n int) error {
			intent, _ := call(n)
			return l.Intend(t.Context(), intent)
		}
		if err := errors.Join(intend(1), intend(2)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond) // it fails, and is tried again
		synctest.Wait()
		for n := 3; n < 6; n++ {
			if err := intend(n); !errors.Is(err, store.ErrFull) {
				t.Errorf("Intend() = %v in a full store, want ErrFull", err)
			}
		}
		if err := l.Flush(t.Context()); !errors.Is(err, store.ErrFull) {
			t.Errorf("Flush() = %v", err)
		}
		full.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := callsOf(t, m); got != "+1 +2" {
			t.Errorf("with room again, the store has %s", got)
		}
		if err := errors.Join(intend(6), l.Close()); err != nil {
			t.Fatal(err)
		}
		if got := callsOf(t, m); got != "+1 +2 +6" {
			t.Errorf("the store has %s, want what was acknowledged", got)
		}
		if names, _ := aheadFiles(t, prefix); names != "" {
			t.Errorf("the files %s are left", names)
		}
	})
}

// TestOpenAddsRows: the next process adds what a dead one has left, once, and leaves alone what a living one still writes.
func TestOpenAddsRows(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "ahead-")
	m := &memory{}
	written := func(n int) *audit.Log {
		l := open(t, m, audit.Options{Ahead: prefix})
		intent, end := call(n)
		if err := l.Intend(t.Context(), intent); err != nil {
			t.Fatal(err)
		}
		l.Later(end)
		return l
	}
	reopen := func() error {
		l, err := audit.Open(m, audit.Options{Ahead: prefix})
		return errors.Join(err, l.Close())
	}
	dead, living := written(1), written(2)
	dead.Die()
	if err := errors.Join(reopen(), reopen()); err != nil {
		t.Fatal(err)
	}
	if got := callsOf(t, m); got != "+1 -1" {
		t.Errorf("the store has %s, want what the dead process left", got)
	}
	if err := living.Close(); err != nil {
		t.Fatal(err)
	}
	inStore := written(3)
	_, lines := aheadFiles(t, prefix)
	if err := inStore.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	intent, _ := call(4)
	if err := inStore.Intend(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	inStore.Die() // before it cleared the first file, and while it wrote a row to the second
	found, err := filepath.Glob(prefix + "*.[01]")
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err == nil && len(text) == 0 {
			text = []byte(strings.Join(lines, ""))
		}
		if err = errors.Join(err, os.WriteFile(path, append(text, `{"body":{"call":5`...), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(reopen(), reopen()); err != nil {
		t.Fatal(err)
	}
	if got := callsOf(t, m); got != "+1 -1 +2 -2 +3 -3 +4" {
		t.Errorf("the store has %s, want each row once", got)
	}
	if names, _ := aheadFiles(t, prefix); names != "" {
		t.Errorf("the files %s are left", names)
	}
	if err := os.WriteFile(prefix+"X.0", []byte("no row\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reopen(); err == nil || !strings.Contains(err.Error(), "X.0") || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("Open() = %v with a damaged file, want its name and what to do", err)
	}
}

// TestIntendOfMany: calls at once, with batches that others wait for in between, are each in the store once.
func TestIntendOfMany(t *testing.T) {
	m := &memory{}
	l := open(t, m, audit.Options{Ahead: filepath.Join(t.TempDir(), "ahead-")})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 50 {
				intent, end := call(i*1000 + n)
				write := l.Intend
				if n%10 == 9 {
					write = func(ctx context.Context, e audit.Entry) error { return l.Append(ctx, e) }
				}
				if err := write(t.Context(), intent); err != nil {
					t.Error(err)
				}
				l.Later(end)
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for c := range strings.FieldsSeq(callsOf(t, m)) {
		got[c]++
	}
	for c, n := range got {
		if n != 1 {
			t.Errorf("the store has %s %d times", c, n)
		}
	}
	if len(got) != 1600 {
		t.Errorf("the store has %d rows, want 1600", len(got))
	}
}

// TestBodiesOfCalls compares what is written without reflection with what reflection writes.
func TestBodiesOfCalls(t *testing.T) {
	texts := []string{"", "ok", "a \"b\" <c> & \\ \u2028 ü 😀", "bad \xff \x00 \x1f"}
	for i, text := range texts {
		for _, arguments := range []string{"", "null", "{}", `{"b": 1.50, "a": [1e3, -0, 12345678901234567890, "ü"], "aa": {"z": null, "é": true}}`, `{"bad":`, "{\"x\":\"\xff\"}"} {
			type plainStart audit.CallStart
			type plainEnd audit.CallEnd
			start := audit.CallStart{Call: i - 1, Tool: text, Hint: audit.Text(text), Effect: audit.Text(text), Rule: "r", By: audit.Text(text)}
			end := audit.CallEnd{Call: i, Tool: text, Hint: audit.Text(text), Outcome: text, Error: audit.Text(text), ResultBytes: i, DurationMS: []float64{0, 1e-7, 1234.567, 1e21}[i]}
			if arguments != "" {
				start.Arguments = json.RawMessage(arguments)
			}
			for _, pair := range [][2]any{{start, plainStart(start)}, {end, plainEnd(end)}} {
				got, gotErr := audit.EncodeBody(pair[0])
				want, wantErr := audit.EncodeBody(pair[1])
				if got != want || (gotErr == nil) != (wantErr == nil) {
					t.Errorf("%+v is %s (%v), want %s (%v)", pair[0], got, gotErr, want, wantErr)
				}
			}
		}
	}
}
