package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

const (
	// maxStderrLine bounds one line, maxStderr all that is passed on of one process. Both are in bytes.
	maxStderrLine = 8 << 10
	maxStderr     = 16 << 20
)

// forwardStderr passes on what a server writes to its standard error, a line at a time, until it ends. It reads on
// when nobody wants more, because a server must not block there.
func forwardStderr(r io.Reader, w io.Writer, secret *redactor, tail *stderrTail) {
	defer close(tail.ended)
	in := bufio.NewReaderSize(r, maxStderrLine)
	budget := maxStderr
	for {
		text, err := in.ReadSlice('\n')
		line := secret.clean(printable(strings.TrimRight(string(text), "\r\n"), maxStderrLine))
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

// stderrTail keeps the last line, which usually says why a server ended.
type stderrTail struct {
	mu    sync.Mutex
	last  string
	ended chan struct{} // closed when there will be no more
}

func (t *stderrTail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = line
}

func (t *stderrTail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == "" {
		return ""
	}
	return ", its last words: " + cut(t.last, 300)
}
