package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Progress shows on Stderr what is being done, on one line that is rewritten, and prints a line for each thing that is finished.
// After five seconds the rewritten line also shows the elapsed time. In CI, or if Stderr is not a terminal, it prints a line only
// for what has not ended after ten seconds, and again every thirty seconds. Its methods may be called from several goroutines.
type Progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	verb     string
	running  []string
	began    time.Time
	reminder *time.Timer // nil until something runs
}

// firstReminder and nextReminder are for lines that are not on a terminal, firstCount and nextCount for the elapsed time on a terminal.
const (
	firstReminder = 10 * time.Second
	nextReminder  = 30 * time.Second
	firstCount    = 5 * time.Second
	nextCount     = time.Second
)

// ClearLine erases the line of a terminal.
const ClearLine = "\r\x1b[K"

// Progress returns a Progress that shows "verb a, b, c". [Progress.Close] must be called before anything else is printed.
func (a *App) Progress(verb string) *Progress {
	return &Progress{verb: verb, out: a.Stderr, terminal: a.Terminal.Stderr && a.Env("CI") == "" && a.Env("TERM") != "dumb"}
}

// Start says that the thing called name has begun.
func (p *Progress) Start(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, EscapeLine(name))
	if p.reminder == nil {
		first := firstReminder
		if p.terminal {
			first = firstCount
		}
		p.began = time.Now()
		p.reminder = time.AfterFunc(first, p.remind)
	}
	p.draw("")
}

// Done says that the thing called name has ended, and prints note as a line of its own, unless it is empty.
func (p *Progress) Done(name, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.running, EscapeLine(name)); i >= 0 {
		p.running = slices.Delete(p.running, i, i+1)
	}
	p.draw(note)
}

// Close erases the line.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = nil
	if p.reminder != nil {
		p.reminder.Stop()
	}
	p.draw("")
}

// remind reports what is still running, and schedules the next report.
func (p *Progress) remind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.running) == 0 {
		return
	}
	if p.terminal {
		p.draw("")
		p.reminder.Reset(nextCount)
		return
	}
	_, _ = fmt.Fprintf(p.out, "still %s %s (%v)\n", p.verb, Shorten(strings.Join(p.running, ", "), 200), time.Since(p.began).Round(time.Second))
	p.reminder.Reset(nextReminder)
}

func (p *Progress) draw(note string) {
	if !p.terminal {
		return
	}
	text := ClearLine
	if note != "" {
		text += note + "\n"
	}
	if len(p.running) > 0 {
		// Longer lines would wrap, and could not be erased.
		text += Shorten(p.verb+" "+strings.Join(p.running, ", "), 70)
		if waited := time.Since(p.began); waited >= firstCount {
			text += fmt.Sprintf(" (%v)", waited.Truncate(time.Second))
		}
	}
	_, _ = fmt.Fprint(p.out, text)
}
