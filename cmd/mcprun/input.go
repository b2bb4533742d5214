package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

// maxLine is the longest line a person can answer with, in bytes.
const maxLine = 64 << 10

var errLongLine = errors.New("the line is too long")

// input shares a terminal's input: what comes goes to the script, and while a person is asked something, line by line to
// who asks. Reading starts when somebody wants something.
type input struct {
	r io.Reader

	mu      sync.Mutex
	changed *sync.Cond
	started bool
	asking  bool
	script  []byte // for the script
	ended   bool   // the script has had its end of input
	lines   []byte // for who asks
	closed  bool   // the end of input came while asking; a terminal can go on after it
	err     error  // the terminal is gone, or close was called
}

func newInput(r io.Reader) *input {
	in := &input{r: r}
	in.changed = sync.NewCond(&in.mu)
	return in
}

// start begins reading. The lock is held.
func (in *input) start() {
	if !in.started {
		in.started = true
		go in.pump()
	}
}

// pump reads until close: a read of a terminal cannot be taken back. Nothing is read ahead of the script.
func (in *input) pump() {
	buf := make([]byte, 32<<10)
	for {
		n, err := in.r.Read(buf)
		in.mu.Lock()
		switch {
		case in.asking:
			in.lines = append(in.lines, buf[:n]...)
			in.closed = in.closed || errors.Is(err, io.EOF)
		default:
			in.script = append(in.script, buf[:n]...)
			in.ended = in.ended || errors.Is(err, io.EOF)
		}
		if err != nil && !errors.Is(err, io.EOF) && in.err == nil {
			in.err = err
		}
		in.changed.Broadcast()
		for in.err == nil && !in.asking && (len(in.script) > 0 || in.ended) {
			in.changed.Wait()
		}
		for in.err == nil && in.asking && in.closed { // not again and again from what stays at its end
			in.changed.Wait()
		}
		gone := in.err != nil
		in.mu.Unlock()
		if gone {
			return
		}
	}
}

// Read is the script's.
func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.start()
	for len(in.script) == 0 {
		switch {
		case in.ended:
			return 0, io.EOF
		case in.err != nil:
			return 0, in.err
		}
		in.changed.Wait()
	}
	n := copy(p, in.script)
	in.script = in.script[n:]
	in.changed.Broadcast()
	return n, nil
}

// close ends all waiting. What a read that is under way brings is lost.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err == nil {
		in.err = os.ErrClosed
	}
	in.changed.Broadcast()
}

// ask turns the input to who asks, until end is called.
func (in *input) ask() (end func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.asking, in.closed, in.lines = true, false, nil
	in.start()
	in.changed.Broadcast()
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.asking, in.closed, in.lines = false, false, nil
		in.changed.Broadcast()
	}
}

// line is the next line, without its end. io.EOF says that the person wants to say no more.
func (in *input) line(ctx context.Context) (string, error) {
	stop := context.AfterFunc(ctx, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.changed.Broadcast()
	})
	defer stop()
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		if i := bytes.IndexByte(in.lines, '\n'); i >= 0 {
			line := string(bytes.TrimSuffix(in.lines[:i], []byte("\r")))
			in.lines = in.lines[i+1:]
			return line, nil
		}
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case in.closed:
			return "", io.EOF
		case in.err != nil:
			return "", in.err
		case len(in.lines) > maxLine:
			return "", errLongLine
		}
		in.changed.Wait()
	}
}
