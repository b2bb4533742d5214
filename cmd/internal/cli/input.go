package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
)

// maxLine is the longest line a person can answer with, in bytes.
const maxLine = 64 << 10

// Input reads the lines that a person types at a terminal. It reads nothing before a line is wanted.
type Input struct {
	source  io.Reader
	r       *bufio.Reader
	pending chan typed // the line that is being read, if any
}

// typed is a line, or why there is none.
type typed struct {
	line string
	err  error
}

// NewInput reads from a terminal. Closing it is up to the caller.
func NewInput(r io.Reader) *Input { return &Input{source: r, r: bufio.NewReaderSize(r, maxLine)} }

// Discard drops what was typed before a question was asked, including an unfinished line.
func (in *Input) Discard() {
	if f, ok := in.source.(*os.File); ok {
		dropTyped(f)
	}
	select {
	case <-in.pending:
		in.pending = nil
	default:
	}
	if in.pending == nil {
		_, _ = in.r.Discard(in.r.Buffered())
	}
}

// Line returns the next line without its end. io.EOF means that the person ended the input. A read of a terminal cannot be
// cancelled: when ctx ends, the line that is being read remains pending.
func (in *Input) Line(ctx context.Context) (string, error) {
	if in.pending == nil {
		in.pending = make(chan typed, 1)
		go func(pending chan<- typed) {
			line, err := in.r.ReadSlice('\n')
			pending <- typed{strings.TrimRight(string(line), "\r\n"), err}
		}(in.pending)
	}
	select {
	case t := <-in.pending:
		in.pending = nil
		return t.line, t.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
