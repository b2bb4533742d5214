package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

var (
	// ErrGone is the cause with which a job is cancelled when its client has gone.
	ErrGone    = errors.New("the command that asked for it has ended")
	errStopped = errors.New("the daemon was told to stop")
	errOver    = errors.New("the job has ended")
)

// SignalError is the cause with which a job is cancelled when its client got a signal. A client whose context ended for another reason
// sends SIGINT.
type SignalError struct{ Number int }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by signal %d", e.Number) }

// serverJob is the daemon's side of a job.
type serverJob struct {
	wire *wire
	over chan struct{} // closed when the handler has returned
	gone chan struct{} // closed when the client sends nothing more

	input  chan []byte // from standard input; empty at its end
	wanted chan struct{}
}

// unreadTime is how long a client may take to read the output of an interrupted job. Without this limit, a client that is suspended, or
// whose output nobody reads, would keep the daemon running.
const unreadTime = 3 * time.Second

// runJob runs one job.
func (s *server) runJob(w *wire, r *reader, description *Job) error {
	if err := w.write(kindWelcome, nil); err != nil {
		return err
	}
	j := &serverJob{wire: w, over: make(chan struct{}), gone: make(chan struct{}), input: make(chan []byte, 1), wanted: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { _ = w.conn.SetWriteDeadline(time.Now().Add(unreadTime)) })()
	go func() {
		defer close(j.gone)
		cancel(j.receive(r, cancel))
	}()
	code, panicked := s.handle(ctx, &Work{Job: *description, Stdin: &input{job: j}, Stdout: output{w, kindStdout}, Stderr: output{w, kindStderr}})
	close(j.over)
	var err error
	if panicked != nil {
		err = w.write(kindBroken, []byte(panicked.Error()))
	} else {
		err = w.write(kindExit, binary.BigEndian.AppendUint32(nil, uint32(int32(code))))
	}
	w.conn.Close()
	<-j.gone
	if err != nil && context.Cause(ctx) == ErrGone {
		return nil
	}
	return err
}

// handle calls the handler. A panic is returned as an error.
func (s *server) handle(ctx context.Context, w *Work) (code int, panicked error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a job panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			panicked = fmt.Errorf("a bug in mcprun: %v", p)
		}
	}()
	return s.opt.Handler(ctx, w), nil
}

// receive handles the client's messages until it is gone, and returns the reason.
func (j *serverJob) receive(r *reader, cancel context.CancelCauseFunc) error {
	for {
		kind, payload, err := r.next()
		if err != nil {
			return ErrGone
		}
		switch kind {
		case kindSignal:
			if len(payload) != 1 {
				return errProtocol
			}
			cancel(&SignalError{Number: int(payload[0])})
		case kindInput:
			select {
			case <-j.wanted:
				j.input <- slices.Clone(payload) // does not block: input is requested once at a time
			default:
				return errProtocol
			}
		default:
			return errProtocol
		}
	}
}

// output is standard output or standard error of a job.
type output struct {
	w    *wire
	kind byte
}

// Write sends p in chunks.
func (o output) Write(p []byte) (n int, err error) {
	for n < len(p) {
		chunk := p[n:min(n+maxChunk, len(p))]
		if err := o.w.write(o.kind, chunk); err != nil {
			return n, err
		}
		n += len(chunk)
	}
	return n, nil
}

// input is the client's standard input, which is read only when the job reads.
type input struct {
	job *serverJob

	mu    sync.Mutex
	asked bool
	rest  []byte
	eof   bool
}

// Read asks the client for input and waits for it, at most until the job ends.
func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if len(in.rest) == 0 {
		if in.eof {
			return 0, io.EOF
		}
		if err := in.fill(len(p)); err != nil {
			return 0, err
		}
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// fill gets the next bytes of input. The caller holds mu.
func (in *input) fill(most int) error {
	if !in.asked {
		in.job.wanted <- struct{}{}
		if err := in.job.wire.write(kindWant, binary.BigEndian.AppendUint32(nil, uint32(min(most, maxChunk)))); err != nil {
			return err
		}
		in.asked = true
	}
	select {
	case in.rest = <-in.job.input:
		in.asked = false
		if len(in.rest) == 0 {
			in.eof = true
			return io.EOF
		}
		return nil
	case <-in.job.over:
	case <-in.job.gone:
	}
	return errOver
}
