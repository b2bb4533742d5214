package term

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

// Input shares a terminal's input: input goes to the script, or line by line to the prompt while one is open.
// Reading starts with the first reader.
type Input struct {
	r io.Reader

	mu      sync.Mutex
	changed *sync.Cond
	started bool
	asking  bool
	script  []byte // for the script
	ended   bool   // the script has had its end of input
	lines   []byte // for the prompt
	closed  bool   // the end of input came while asking; a terminal can go on after it
	err     error  // the terminal is gone, or close was called
}

func NewInput(r io.Reader) *Input {
	in := &Input{r: r}
	in.changed = sync.NewCond(&in.mu)
	return in
}

// start begins reading. The lock is held.
func (in *Input) start() {
	if !in.started {
		in.started = true
		go in.pump()
	}
}

// pump reads until close: a read of a terminal cannot be taken back. Nothing is read ahead of the script.
func (in *Input) pump() {
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
func (in *Input) Read(p []byte) (int, error) {
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

// Close ends all waiting. What a read that is under way brings is lost.
func (in *Input) Close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err == nil {
		in.err = os.ErrClosed
	}
	in.changed.Broadcast()
}

// ask directs the input to the questioner until end is called.
func (in *Input) ask() (end func()) {
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

// line returns the next line without its end. io.EOF means that the person ended the input.
func (in *Input) line(ctx context.Context) (string, error) {
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
