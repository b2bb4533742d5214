package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Progress shows on Stderr what is being done right now, on one line that is rewritten, and leaves a line for each
// thing that is done. Off a terminal, or in CI, it prints nothing. Its methods may be called from several goroutines.
type Progress struct {
	mu      sync.Mutex
	out     io.Writer // nil: print nothing
	verb    string
	running []string
}

// Progress returns one that says "verb a, b, c". [Progress.Close] must be called before anything else is printed.
func (a *App) Progress(verb string) *Progress {
	p := &Progress{verb: verb}
	if a.Terminal.Stderr && a.Env("CI") == "" && a.Env("TERM") != "dumb" {
		p.out = a.Stderr
	}
	return p
}

// Start says that the thing called name has begun.
func (p *Progress) Start(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, CleanLine(name))
	p.draw("")
}

// Done says that it has ended, and leaves note as a line of its own. An empty note leaves nothing.
func (p *Progress) Done(name, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.running, CleanLine(name)); i >= 0 {
		p.running = slices.Delete(p.running, i, i+1)
	}
	p.draw(note)
}

// Close takes the line away.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = nil
	p.draw("")
}

func (p *Progress) draw(note string) {
	if p.out == nil {
		return
	}
	const clearLine = "\r\x1b[K"
	text := clearLine
	if note != "" {
		text += note + "\n"
	}
	if len(p.running) > 0 {
		// Longer lines would wrap, and a wrapped line can't be taken back.
		text += Shorten(p.verb+" "+strings.Join(p.running, ", "), 78)
	}
	_, _ = fmt.Fprint(p.out, text)
}
