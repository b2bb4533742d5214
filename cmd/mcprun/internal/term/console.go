// Package term is mcprun at a person's terminal: where the script's output, mcprun's own lines, the progress line and questions
// of servers meet ([Console]), who answers those questions ([Elicitor]), and the line that shows the calls in flight ([Watcher]).
//
// Texts of servers are hostile. All that is printed here passes through [cli.Escape], [cli.EscapeLine] or [cli.Neutral] first.
// Questions are asked only if standard error is a terminal.
package term

import (
	"io"
	"sync"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// maxHeld is how much of a script's output is kept while a person is asked something, in bytes. A script that writes more has to
// wait, so that its output never appears below a question.
const maxHeld = 1 << 20

// restore undoes what a script may have done to a terminal: it shows text and cursor, and ends colours, other character sets and
// scroll regions.
const restore = "\x1b[!p\x1b[0m\x1b(B\x0f\x1b[?25h"

// Console is where a script's output, mcprun's own lines, the progress line and questions to a person meet, so that none runs
// into another. It tracks whether the last line was ended, so that what is printed next starts on its own line. Its methods may be
// called from several goroutines.
type Console struct {
	stdout, stderr io.Writer
	shared         bool // both are the same terminal, pipe or file
	terminal       bool // stderr is one

	mu     sync.Mutex
	open   bool // the last line on stderr, or on what it shares, is not ended
	status string
	drawn  bool // status is on the screen, as the last line
	asking bool
	asked  sync.Cond // no longer asking
	held   []piece   // written while asking
	size   int
	script *stream // the script's stdout
	lost   error
}

// piece is output that is held.
type piece struct {
	to   *stream
	data []byte
}

// NewConsole returns a console for the streams of app.
func NewConsole(app *cli.App) *Console {
	c := &Console{stdout: app.Stdout, stderr: app.Stderr, shared: app.Terminal.Shared, terminal: app.Terminal.Stderr}
	c.asked.L = &c.mu
	return c
}

// Streams returns the two streams that a script prints to. Uncaught errors of servers reach stderr, so control characters are
// escaped there on a terminal.
func (c *Console) Streams() (stdout, stderr io.Writer) {
	c.script = &stream{c, c.stdout, c.shared}
	stderr = &stream{c, c.stderr, true}
	if c.terminal {
		stderr = cli.Neutral(stderr)
	}
	return c.script, stderr
}

// Other returns stderr for writers other than the script.
func (c *Console) Other() io.Writer { return &stream{c, c.stderr, true} }

// stream is one of the script's two streams. A watched stream writes to the same place as stderr.
type stream struct {
	c       *Console
	w       io.Writer
	watched bool
}

func (t *stream) Write(p []byte) (int, error) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	for t.c.asking && t.watched && t.c.size+len(p) > maxHeld {
		t.c.asked.Wait()
	}
	if t.c.asking && t.watched {
		t.c.held = append(t.c.held, piece{t, append([]byte(nil), p...)})
		t.c.size += len(p)
		return len(p), nil
	}
	return t.c.write(t, p)
}

func (c *Console) write(t *stream, p []byte) (int, error) {
	if t.watched {
		c.erase()
		defer c.draw()
	}
	n, err := t.w.Write(p)
	if t.watched && n > 0 {
		c.open = p[n-1] != '\n'
	}
	if err != nil && t == c.script && c.lost == nil {
		c.lost = err
	}
	return n, err
}

// Loss returns why some of the script's output was lost, such as a full disk; nil if none was.
func (c *Console) Loss() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// Say prints a message of mcprun.
func (c *Console) Say(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := []byte(line + "\n")
	to := &stream{c, c.stderr, true}
	if c.asking {
		c.held = append(c.held, piece{to, text})
		return
	}
	c.erase()
	c.endLine()
	_, _ = c.write(to, text)
}

// setStatus changes the progress line; an empty one removes it.
func (c *Console) setStatus(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line == c.status {
		return
	}
	c.erase()
	c.status = line
	c.draw()
}

// ask gives f the terminal: f writes to stderr, and other output is held until it returns.
func (c *Console) ask(f func(w io.Writer)) {
	c.mu.Lock()
	c.erase()
	c.endLine()
	c.asking = true
	if c.terminal && c.shared {
		_, _ = io.WriteString(c.stderr, restore)
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asking = false
		for _, p := range c.held {
			_, _ = c.write(p.to, p.data)
		}
		c.held, c.size = nil, 0
		c.draw()
		c.asked.Broadcast()
	}()
	f(c.stderr)
}

// Close removes the progress line and ends an open line. Nothing may be written afterwards.
func (c *Console) Close() {
	c.setStatus("")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLine()
}

func (c *Console) endLine() {
	if c.open {
		_, _ = io.WriteString(c.stderr, "\n")
		c.open = false
	}
}

func (c *Console) erase() {
	if c.drawn {
		_, _ = io.WriteString(c.stderr, cli.ClearLine)
		c.drawn = false
	}
}

// draw shows the status on a line of its own, so that it can be erased.
func (c *Console) draw() {
	if c.status != "" && !c.open && !c.asking && !c.drawn {
		_, _ = io.WriteString(c.stderr, c.status)
		c.drawn = true
	}
}
