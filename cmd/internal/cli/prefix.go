package cli

import (
	"bytes"
	"io"
	"sync"
)

// Prefixed returns a function that creates writers which put a name before each line and clean it, for example for what servers
// write to their standard error. Lines of several such writers don't mix. Each Write must be one or more whole lines.
func Prefixed(w io.Writer) func(name string) io.Writer {
	var mu sync.Mutex
	return func(name string) io.Writer { return &prefixed{mu: &mu, w: w, prefix: EscapeLine(name) + ": "} }
}

type prefixed struct {
	mu     *sync.Mutex
	w      io.Writer
	prefix string
}

func (p *prefixed) Write(b []byte) (int, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		out.WriteString(p.prefix + EscapeLine(string(bytes.TrimRight(line, "\r\n"))) + "\n")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}
