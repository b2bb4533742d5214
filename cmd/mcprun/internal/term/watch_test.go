package term

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// watchedOn is a watcher on a terminal of that many columns.
func watchedOn(t *testing.T, columns int, quiet bool) (w *watcher, shown func() string) {
	t.Helper()
	con, _, stderr := newTestConsole(true)
	app := &cli.App{Stdout: stderr, Stderr: stderr, Terminal: cli.Terminal{Stderr: columns > 0, Columns: columns}}
	app.LookupEnv = func(name string) (string, bool) { v, ok := map[string]string{"NO_COLOR": "1"}[name]; return v, ok }
	return NewWatcher(app, con, quiet), func() string { return screen(stderr.String()) }
}

func TestWatchOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, shown := watchedOn(t, 60, false)
		w.Event(chain.Event{Kind: chain.EventStarted, Call: 1, Tool: "drive__get"})
		time.Sleep(quickCall - time.Millisecond)
		w.Event(chain.Event{Kind: chain.EventEnded, Call: 1, Tool: "drive__get"})
		time.Sleep(time.Second)
		if shown() != "" {
			t.Errorf("a quick call is shown: %q", shown())
		}
		w.Event(chain.Event{Kind: chain.EventStarted, Call: 2, Tool: "drive__copy"})
		w.Event(chain.Event{Kind: chain.EventStarted, Call: 3, Tool: "drive__other"})
		time.Sleep(1200 * time.Millisecond)
		synctest.Wait()
		if got := shown(); got != "drive__copy  1s, and 1 more" {
			t.Errorf(`%q, want "drive__copy  1s, and 1 more"`, got)
		}
		w.Event(chain.Event{Kind: chain.EventProgress, Call: 2, Tool: "drive__copy", Progress: upstream.Progress{Progress: 2, Total: 8, Message: "half\x1b[2J\nway"}})
		time.Sleep(time.Second)
		synctest.Wait()
		if got := shown(); got != `drive__copy  2s, and 1 more  25 % half\x1b[2J\nway` {
			t.Errorf("%q, want %q", got, `drive__copy  2s, and 1 more  25 % half\x1b[2J\nway`)
		}
		w.Event(chain.Event{Kind: chain.EventProgress, Call: 2, Tool: "drive__copy", Progress: upstream.Progress{Progress: 3, Message: strings.Repeat("日本", 99)}})
		w.Event(chain.Event{Kind: chain.EventEnded, Call: 3})
		w.Event(chain.Event{Kind: chain.EventWarning, Call: 2, Tool: "drive__copy", Message: "not as\nsaid"})
		time.Sleep(time.Second)
		synctest.Wait()
		lines := strings.Split(shown(), "\n")
		if len(lines) != 2 || lines[0] != `mcprun: warning: drive__copy: not as\nsaid` || !strings.HasPrefix(lines[1], "drive__copy  3s  3 日本") || len([]rune(lines[1])) > 45 {
			t.Errorf("%q", lines)
		}
		w.Close()
		if !strings.HasSuffix(shown(), "said\n") {
			t.Errorf("%q, want %q at its end", shown(), "said\n")
		}
	})
}

func TestWatchElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, quiet := range []bool{false, true} {
			w, shown := watchedOn(t, 0, quiet)
			w.Event(chain.Event{Kind: chain.EventStarted, Call: 1, Tool: "x__y"})
			time.Sleep(time.Minute)
			w.Event(chain.Event{Kind: chain.EventRetry, Call: 1, Tool: "x__y", Message: "the connection broke; once more"})
			for call, took := range map[int]time.Duration{2: startNotice - time.Millisecond, 3: startNotice + time.Millisecond} {
				w.Event(chain.Event{Kind: chain.EventStarted, Call: call})
				w.Event(chain.Event{Kind: chain.EventStarting, Call: call, Message: fmt.Sprintf("server %d is starting", call)})
				time.Sleep(took)
				synctest.Wait()
				w.Event(chain.Event{Kind: chain.EventStarting, Call: call})
			}
			w.Close()
			if got, want := shown(), "mcprun: x__y: the connection broke; once more\nmcprun: server 3 is starting\n"; got != want && !quiet || quiet && got != "" {
				t.Errorf("quiet %v: %q", quiet, got)
			}
		}
	})
}

func TestProgressWords(t *testing.T) {
	for want, p := range map[string]upstream.Progress{
		"50 %": {Progress: 1, Total: 2}, "3 of it": {Progress: 3, Message: "of it"}, "": {Progress: -1, Total: -5}, "7": {Progress: 7, Total: 5}, "x": {Message: "x"},
	} {
		if got := progressWords(chain.Event{Progress: p}); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}
