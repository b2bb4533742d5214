//go:build linux && (amd64 || arm64)

package jail

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Looking at every process, thread and counter of a jail takes a while, and most runs wait for most of their time. So the
// watch glances first: a process that uses memory faults pages, one that does anything uses processor time, and each
// thread has a list of the processes it has started. Where nothing of that has changed, the last look still holds.
const (
	// maxGlance is how many files are read at a glance; where there would be more, all is looked at each time.
	maxGlance = 64
	// glanceTime is how long glances are enough. Processor time is told in hundredths of a second, and what is done in less
	// must not add up.
	glanceTime = time.Second
)

// restTicks is how many glances must have found nothing before they come more seldom.
const restTicks = 20

// nextGlance is how long to wait for the next glance. Where a control group holds the jail to its memory, nothing can be missed
// but when processor time runs out.
func (c *Child) nextGlance(ticks int) time.Duration {
	switch {
	case ticks < restTicks:
		return watchInterval
	case c.group.BoundsMemory() && c.group.BoundsTasks():
		return 4 * watchInterval
	}
	return 2 * watchInterval
}

// rest says that the jail does nothing, or that it does something again.
func (c *Child) rest(quiet bool) {
	c.restMu.Lock()
	defer c.restMu.Unlock()
	switch {
	case quiet && c.resting == nil:
		c.resting = make(chan struct{})
	case !quiet && c.resting != nil:
		close(c.resting)
		c.resting = nil
	}
}

// atRest returns, while the jail does nothing, a channel that is closed when it does something again; else nil.
func (c *Child) atRest() <-chan struct{} {
	c.restMu.Lock()
	defer c.restMu.Unlock()
	return c.resting
}

// glance is what a look at the jail's processes stands on.
type glance struct {
	files  []*os.File // of each process its counters, and what its threads have started
	seen   []string
	looked time.Time
}

// same tells whether nothing has been done since the last look.
func (g *glance) same() bool {
	return time.Since(g.looked) < glanceTime && !g.changed()
}

// changed tells whether anything has been done since the last look, be that old.
func (g *glance) changed() bool {
	if len(g.files) == 0 {
		return true
	}
	for i, f := range g.files {
		if now := counters(f); now == unknown || now != g.seen[i] {
			return true
		}
	}
	return false
}

// expect is told, before a look, that one begins.
func (g *glance) expect() {
	g.looked = time.Now()
	for i, f := range g.files {
		g.seen[i] = counters(f)
	}
}

// note is told, after a look, what there is.
func (g *glance) note(u usage) {
	known := len(u.files) == len(g.files)
	for i := range g.files {
		known = known && g.files[i].Name() == u.files[i]
	}
	if known && !u.blind {
		return
	}
	g.close()
	if u.blind || len(u.files) > maxGlance {
		return
	}
	for _, name := range u.files {
		f, err := os.Open(name)
		if err != nil {
			g.close()
			return
		}
		// What it holds now may be of after the look: only the next look begins with all of them known.
		g.files, g.seen = append(g.files, f), append(g.seen, unknown)
	}
}

func (g *glance) close() {
	for _, f := range g.files {
		f.Close()
	}
	g.files, g.seen = nil, nil
}

// Positions in /proc/<pid>/stat after the name: page faults and processor time, each its own and of children that were
// waited for; threads; resident pages (proc(5)).
const (
	statFaults  = 7
	statTimes   = 15
	statThreads = 17
	statPages   = 21
)

// unknown is what a file holds that cannot be read.
const unknown = "?"

// counters reads from an open file what changes when something is done: some fields of a process's stat, or a list.
func counters(f *os.File) string {
	var buf [1024]byte
	n, err := unix.Pread(int(f.Fd()), buf[:], 0) // once: ReadAt would ask again for more
	if err != nil || n == len(buf) {
		return unknown
	}
	text := string(buf[:n])
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return text
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) <= statPages {
		return unknown
	}
	return strings.Join(fields[statFaults:statTimes], " ") + " " + fields[statThreads] + " " + fields[statPages]
}
