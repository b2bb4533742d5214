package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

// stream is a program that stays, and gets events as lines.
type stream struct {
	*program

	mu     sync.Mutex
	now    *connection // nil: it has not been started
	closed bool
}

// connection is one process of a stream.
type connection struct {
	proc    *stdio.Program
	writing chan struct{} // holds an element while a line is written
	ended   chan struct{} // closed when nothing is answered any more, because of err

	mu      sync.Mutex
	err     error
	waiting map[int64]chan *Answer // nil channels are of events whose answers nobody waits for any more
}

// connect returns the process that runs, or starts one. isNew reports whether it has started it.
func (s *stream) connect() (c *connection, isNew bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, errors.New("it has been ended")
	}
	if s.now != nil {
		select {
		case <-s.now.ended:
		default:
			return s.now, false, nil
		}
	}
	proc, err := s.start()
	if err != nil {
		return nil, false, err
	}
	s.now = &connection{proc: proc, writing: make(chan struct{}, 1), ended: make(chan struct{}), waiting: map[int64]chan *Answer{}}
	go s.now.read()
	return s.now, true, nil
}

// Decide implements Hook. An event that meets a process which is about to end is passed to the next one.
func (s *stream) Decide(ctx context.Context, e *Event) (*Answer, error) {
	line, err := s.line(e)
	if err != nil {
		return nil, err
	}
	for {
		c, isNew, err := s.connect()
		if err != nil {
			return nil, err
		}
		answer, err := c.ask(ctx, e.ID, line)
		if _, over := errors.AsType[*endedError](err); !over || isNew {
			return answer, err
		}
	}
}

// endedError says that a process has ended by itself.
type endedError struct{ text string }

func (e *endedError) Error() string { return e.text }

// ask passes on an event and waits for its answer.
func (c *connection) ask(ctx context.Context, id int64, line []byte) (*Answer, error) {
	answered := make(chan *Answer, 1)
	c.mu.Lock()
	c.waiting[id] = answered
	c.mu.Unlock()
	go c.write(line)
	select {
	case answer := <-answered:
		return answer, nil
	case <-c.ended:
		return nil, c.err
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), errLate) {
		c.end(errors.New("it was ended, because it gave no answer to another event in time"))
	} else {
		c.mu.Lock()
		if c.waiting[id] != nil {
			c.waiting[id] = nil
		}
		c.mu.Unlock()
	}
	return nil, context.Cause(ctx)
}

// write writes a line. One that cannot be written is not answered.
func (c *connection) write(line []byte) {
	select {
	case c.writing <- struct{}{}:
		_, _ = c.proc.Write(line)
		<-c.writing
	case <-c.ended:
	}
}

// read passes answers on, until the output ends or has something else in it.
func (c *connection) read() {
	in := bufio.NewReaderSize(c.proc, 64<<10)
	for {
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			how := "it ended"
			if failed := c.proc.Close(); failed != nil {
				how += " with " + stdio.ExitText(failed)
			}
			err = &endedError{how + c.proc.RecentStderr()}
		case err == nil || errors.Is(err, io.EOF):
			err = c.accept(line)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

// readLine returns the next line, of at most maxAnswer bytes.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxAnswer {
			return nil, fmt.Errorf("it wrote more than %d MiB", maxAnswer>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// accept passes on an answer.
func (c *connection) accept(line []byte) error {
	answer, err := parse(line)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, known := c.waiting[answer.ID]
	if !known {
		return fmt.Errorf("it answered event %d, which it was not asked about, or has answered before", answer.ID)
	}
	delete(c.waiting, answer.ID)
	if waiting != nil {
		waiting <- answer
	}
	return nil
}

// end ends the process at once, with everything that it started. Events without an answer fail with the error.
func (c *connection) end(err error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
		close(c.ended)
	}
	c.mu.Unlock()
	if first {
		_ = c.proc.Kill()
	}
}

// Close ends the process, after a moment to end by itself.
func (s *stream) Close() error {
	s.mu.Lock()
	c := s.now
	s.closed = true
	s.mu.Unlock()
	if c != nil {
		_ = c.proc.Close()
		<-c.ended
	}
	return nil
}
