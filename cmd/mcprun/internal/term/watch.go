package term

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/chain"
)

const (
	quickCall   = 500 * time.Millisecond // a call that takes less is not shown
	redrawEvery = 250 * time.Millisecond
	startNotice = 3 * time.Second // without a progress line, a server that takes longer to start is named
)

// watcher shows the calls of a run as a progress line on a terminal, and prints warnings.
type watcher struct {
	con   *Console
	style cli.Style
	width int  // of the terminal; 0: no progress line
	quiet bool // no warnings
	alone bool // no person reads standard error

	mu   sync.Mutex
	live []*liveCall            // oldest first
	slow map[string]*time.Timer // by message: servers that are being started, or were
	done chan struct{}
	over sync.WaitGroup
}

// liveCall is a call in progress.
type liveCall struct {
	number int
	tool   string
	began  time.Time
	said   string // the progress that the server reported
}

// NewWatcher starts a watcher, which Close ends. There is no progress line without a terminal, in CI, or on a terminal that
// cannot erase lines.
func NewWatcher(app *cli.App, con *Console, quiet bool) *watcher {
	w := &watcher{slow: map[string]*time.Timer{}, con: con, style: app.ErrStyle(), quiet: quiet, alone: !app.Terminal.Stderr, done: make(chan struct{})}
	if !quiet && app.Env("CI") == "" && app.Env("TERM") != "dumb" {
		w.width = app.ErrColumns()
	}
	if w.width > 0 {
		w.over.Go(w.redraw)
	}
	return w
}

func (w *watcher) Close() {
	close(w.done)
	w.over.Wait()
	w.mu.Lock()
	for _, notice := range w.slow {
		notice.Stop()
	}
	w.mu.Unlock()
	w.con.setStatus("")
}

func (w *watcher) redraw() {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
			w.con.setStatus(w.line(time.Now()))
		}
	}
}

// Event implements Script.Watch.
func (w *watcher) Event(e chain.Event) {
	if e.Message != "" && !w.quiet {
		switch e.Kind {
		case chain.EventWarning:
			w.con.Say("mcprun: " + w.style.Yellow("warning:") + " " + about(e))
		case chain.EventAdvice:
			if !w.alone {
				w.con.Say("mcprun: " + w.style.Bold("hint:") + " " + about(e))
			}
		case chain.EventRetry:
			w.con.Say("mcprun: " + about(e))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case chain.EventStarted:
		w.live = append(w.live, &liveCall{number: e.Call, tool: e.Tool, began: time.Now()})
	case chain.EventProgress:
		w.say(e.Call, progressWords(e))
	case chain.EventStarting:
		w.say(e.Call, cli.EscapeLine(e.Message))
		if e.Message != "" && w.width == 0 && !w.quiet && w.slow[e.Message] == nil {
			w.slow[e.Message] = time.AfterFunc(startNotice, func() { w.noticeStart(e.Message) })
		}
	case chain.EventEnded:
		for i, c := range w.live {
			if c.number == e.Call {
				w.live = append(w.live[:i:i], w.live[i+1:]...)
				break
			}
		}
	}
}

// say sets the progress of a call.
func (w *watcher) say(call int, text string) {
	for _, c := range w.live {
		if c.number == call {
			c.said = text
		}
	}
}

// noticeStart names a server that is still being started.
func (w *watcher) noticeStart(message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := cli.EscapeLine(message)
	if slices.ContainsFunc(w.live, func(c *liveCall) bool { return c.said == text }) {
		w.con.Say("mcprun: " + text)
	}
}

// about returns an event's message, with the name of its tool.
func about(e chain.Event) string {
	text := cli.EscapeLine(cli.Shorten(e.Message, 1000))
	if e.Tool == "" || strings.Contains(text, e.Tool) {
		return text
	}
	return cli.EscapeLine(e.Tool) + ": " + text
}

// progressWords describes the progress that a server reported.
func progressWords(e chain.Event) string {
	p := e.Progress
	var words []string
	switch {
	case p.Total > 0 && p.Progress >= 0 && p.Progress <= p.Total:
		words = append(words, fmt.Sprintf("%.0f %%", 100*p.Progress/p.Total))
	case p.Progress > 0 && p.Progress < 1e15:
		words = append(words, fmt.Sprintf("%.4g", p.Progress))
	}
	if p.Message != "" {
		words = append(words, cli.EscapeLine(cli.Shorten(p.Message, 200)))
	}
	return strings.Join(words, " ")
}

// line returns the progress line: the longest running call, what its server reported, and the number of other calls.
func (w *watcher) line(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.live) == 0 || now.Sub(w.live[0].began) < quickCall {
		return ""
	}
	first := w.live[0]
	text := fmt.Sprintf("%s  %ds", cli.EscapeLine(first.tool), int(now.Sub(first.began).Seconds()))
	if n := len(w.live) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	if first.said != "" {
		text += "  " + first.said
	}
	return w.style.Dim(fit(text, w.width-1)) // a line that fills the last column may wrap, and could not be erased
}

// fit cuts a text to a terminal's width. Non-ASCII characters may be two columns wide.
func fit(text string, width int) string {
	columns := 0
	for i, r := range text {
		columns++
		if r > 0x7e {
			columns++
		}
		if columns > width {
			return strings.TrimRight(text[:i], " ")
		}
	}
	return text
}
