package stdio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

const (
	// maxStderrLine bounds one line, and maxStderr everything that is passed on from one process, in bytes.
	maxStderrLine = 8 << 10
	maxStderr     = 16 << 20
)

// forwardStderr passes the lines of a server's standard error on to w until it ends. It keeps reading even if w
// fails, because a server must not block on its standard error.
func forwardStderr(r io.Reader, w io.Writer, secret *redact.Redactor, tail *stderrTail) {
	defer close(tail.ended)
	in := bufio.NewReaderSize(r, maxStderrLine)
	budget := maxStderr
	for {
		text, err := in.ReadSlice('\n')
		line := secret.Clean(ident.Printable(strings.TrimRight(string(text), "\r\n"), maxStderrLine))
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line is dropped
			_, err = in.ReadSlice('\n')
		}
		if line != "" {
			tail.add(line)
			budget -= len(line)
			switch {
			case w == nil || budget < -maxStderrLine:
			case budget < 0:
				fmt.Fprintf(w, "(more than %d MiB of output; the rest is dropped)\n", maxStderr>>20)
				budget = -2 * maxStderrLine
			default:
				io.WriteString(w, line+"\n")
			}
		}
		if err != nil {
			return
		}
	}
}

// maxRecent is the maximum number of last lines that are quoted when a server does not become ready.
const maxRecent = 5

// stderrTail keeps the last lines, and the line that most likely says why a server ended: the last one before what
// runtimes and package managers print after the reason.
type stderrTail struct {
	mu     sync.Mutex
	last   string
	recent []string
	ended  chan struct{} // closed when there will be no more
}

func (t *stderrTail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent = append(t.recent[max(0, len(t.recent)+1-maxRecent):], ident.Clip(line, 200))
	if t.last == "" || couldBeReason(line) && !isNpmReason(t.last) {
		t.last = line
	}
}

// couldBeReason reports whether a line is not a stack frame, a bracket or a version.
func couldBeReason(line string) bool {
	switch {
	case strings.Trim(line, "^~{}[]() ") == "", strings.HasPrefix(line, " "):
		return false
	case strings.HasPrefix(line, "Node.js v"), strings.HasPrefix(line, "Require stack:"), strings.HasPrefix(line, "- "):
		return false
	}
	return true
}

// isNpmReason reports whether a line is one in which npm says more than a code. Advice follows it.
func isNpmReason(line string) bool {
	return strings.HasPrefix(line, "npm error ") && !strings.HasPrefix(line, "npm error code ")
}

// quote quotes the line that most likely says why the server ended.
func (t *stderrTail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == "" {
		return ""
	}
	quoted := ", last line of its standard error: " + ident.Clip(t.last, 300)
	if strings.HasPrefix(t.last, "npm error 404 ") {
		quoted += `; npm does not find this package, or asks for a login: check its name in "args"`
	}
	return quoted
}

// quoteRecent quotes the last lines.
func (t *stderrTail) quoteRecent() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.recent) == 0 {
		return "; it wrote nothing to standard error"
	}
	return "; the last lines of its standard error: " + strings.Join(t.recent, " | ")
}
