package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	// ErrGone is the cause of a job's end whose client has gone.
	ErrGone    = errors.New("the command that asked for it has ended")
	errStopped = errors.New("the daemon was told to stop")
	errOver    = errors.New("the command that asked for it is over")
)

// SignalError is the cause of a job's end whose client got a signal, or gave up for a reason of its own, which is told as
// SIGINT.
type SignalError struct{ Number int }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by signal %d", e.Number) }

// job is one that is under way.
type job struct {
	wire *wire
	over chan struct{} // closed when the work is done
	gone chan struct{} // closed when nothing comes from the client any more

	input  chan []byte // what standard input gave; empty at its end
	wanted chan struct{}

	mu     sync.Mutex
	known  map[string]variable
	names  []string // of Job.Known
	asking map[string][]chan variable
}

// lastWords is how long a client has to read what a job prints after the daemon was told to end it. One that is stopped, or
// whose output nobody reads, would keep the daemon for ever.
const lastWords = 3 * time.Second

// work does one job.
func (s *server) work(w *wire, r *reader, description *Job) error {
	if err := w.write(kindWelcome, nil); err != nil {
		return err
	}
	j := &job{wire: w, over: make(chan struct{}), gone: make(chan struct{}), input: make(chan []byte, 1), wanted: make(chan struct{}, 1),
		known: map[string]variable{}, names: description.Known, asking: map[string][]chan variable{}}
	for name, value := range description.Env {
		j.known[name] = variable{Name: name, Value: value, Set: true}
	}
	ctx, cancel := context.WithCancelCause(s.life)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { _ = w.conn.SetWriteDeadline(time.Now().Add(lastWords)) })()
	go func() {
		defer close(j.gone)
		cancel(j.listen(r, cancel))
	}()
	code, broke := s.handle(ctx, &Work{
		Job: *description, Stdin: &input{job: j}, Stdout: output{w, kindStdout}, Stderr: output{w, kindStderr}, LookupEnv: j.lookup,
	})
	close(j.over)
	var err error
	if broke != nil {
		err = w.write(kindBroken, []byte(broke.Error()))
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

// handle calls the handler, and survives it.
func (s *server) handle(ctx context.Context, w *Work) (code int, broke error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a job broke", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			broke = fmt.Errorf("mcprun is broken at this point: %v", p)
		}
	}()
	return s.opt.Handler(ctx, w), nil
}

// listen takes what the client sends, until it is gone; it returns the reason.
func (j *job) listen(r *reader, cancel context.CancelCauseFunc) error {
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
				j.input <- slices.Clone(payload) // there is room: it is wanted once
			default:
				return errProtocol
			}
		case kindVariable:
			v, err := decode[variable](payload)
			if err != nil {
				return err
			}
			j.learn(*v)
		default:
			return errProtocol
		}
	}
}

// output is one of the streams that the job prints to.
type output struct {
	w    *wire
	kind byte
}

// Write sends p in pieces.
func (o output) Write(p []byte) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(n+maxChunk, len(p))]
		if err := o.w.write(o.kind, piece); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// input is the client's standard input. The client reads when this is read.
type input struct {
	job *job

	mu      sync.Mutex
	asked   bool
	rest    []byte
	stopped bool
}

// Read asks the client for input and waits for it. It ends with the job.
func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if len(in.rest) == 0 {
		if in.stopped {
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
			in.stopped = true
			return io.EOF
		}
		return nil
	case <-in.job.over:
	case <-in.job.gone:
	}
	return errOver
}

// complete tells whether the client sent all variables that a name stands for.
func (j *job) complete(name string) bool {
	return slices.ContainsFunc(j.names, func(known string) bool {
		prefix, all := strings.CutSuffix(known, "*")
		return known == name || all && strings.HasPrefix(name, prefix)
	})
}

// lookup finds a variable of the client.
func (j *job) lookup(name string) (string, bool) {
	j.mu.Lock()
	v, ok := j.known[name]
	if ok || j.complete(name) {
		j.mu.Unlock()
		return v.Value, v.Set
	}
	answer := make(chan variable, 1)
	first := len(j.asking[name]) == 0
	j.asking[name] = append(j.asking[name], answer)
	j.mu.Unlock()
	if first {
		if err := j.wire.write(kindAsk, []byte(name)); err != nil {
			return "", false
		}
	}
	select {
	case v = <-answer:
		return v.Value, v.Set
	case <-j.over:
	case <-j.gone:
	}
	return "", false
}

// learn notes the answer to a question. One that was not asked is dropped.
func (j *job) learn(v variable) {
	j.mu.Lock()
	defer j.mu.Unlock()
	waiting, asked := j.asking[v.Name]
	if !asked {
		return
	}
	delete(j.asking, v.Name)
	j.known[v.Name] = v
	for _, answer := range waiting {
		answer <- v
	}
}
