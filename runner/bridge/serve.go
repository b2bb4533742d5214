package bridge

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// byeTimeout bounds how long a guest that said done may take to read what has not yet reached it.
const byeTimeout = 2 * time.Second

// Serve talks to the guest at the other end of conn until its script is done, the connection is lost, the guest breaks
// the protocol, or ctx ends. It takes ownership of conn and closes it. It returns after every call of the handler has
// returned.
//
// The outcome is never nil. The error is nil when the guest said done; otherwise it is, or wraps, [ErrClosed],
// [ErrHandshake], a *[ViolationError] or the cause of ctx's end.
func Serve(ctx context.Context, conn net.Conn, opts Options) (*Outcome, error) {
	out := &Outcome{}
	opts, err := opts.withDefaults()
	if err != nil {
		return out, errors.Join(err, conn.Close())
	}
	outer := ctx
	ctx, end := context.WithCancelCause(outer)
	// Closing is the only way to interrupt reads and writes on every kind of connection.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s := &session{
		opts: opts, conn: conn, end: end, out: out,
		in:      bufio.NewReaderSize(conn, 64<<10),
		w:       newWriter(conn, opts.maxFrame),
		running: make(map[int64]*running),
		streams: make(map[int64]*stream),
		slots:   make(chan struct{}, opts.MaxParallel),
		next:    make(chan *running),
		pace:    pace{rate: opts.maxRate},
		ended:   func() bool { return ctx.Err() != nil },
	}
	defer func() {
		end(cmp.Or(context.Cause(outer), ErrClosed)) // a guest that was killed closes its connection too
		stop()
		conn.Close()
		s.closeStreams()
		s.handlers.Wait()
	}()
	if err := s.handshake(); err != nil {
		return out, s.cause(ctx, err)
	}
	err = s.loop(ctx)
	return out, s.cause(ctx, err)
}

// Wait tells a guest that has said hello, or is about to, that there is no job yet. Serve takes over the connection later. The frame fits
// into the buffer of any connection, so Wait does not block.
func Wait(conn io.Writer) error {
	return newWriter(conn, len(waiting)).write([]byte(waiting))
}

const waiting = `{"type":"wait"}`

// session is the state of one connection.
type session struct {
	opts Options
	conn io.Closer
	w    *writer
	out  *Outcome
	// end ends the session with a cause. It may be called from any goroutine.
	end context.CancelCauseFunc
	// ended reports whether the session is over.
	ended func() bool

	// The following are used by the reading goroutine only.
	in         *bufio.Reader
	lastID     int64
	lastStream int64
	seq        int // number of the last call or request
	cancels    int
	pace       pace

	slots    chan struct{} // one for each call that is being handled
	next     chan *running // to a goroutine that is waiting for a call
	handlers sync.WaitGroup
	moved    atomic.Int64 // bytes in both directions

	mu      sync.Mutex
	running map[int64]*running // accepted calls without a reply
	pending int                // bytes of their frames
	unread  int                // bytes of answers that are being written
	over    bool               // the guest has said done, so no more replies are sent
	streams map[int64]*stream  // open ones
}

// cause returns the first reason for the end, because closing the connection gives the reader a second error.
func (s *session) cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lost wraps the error of a failed read or write in ErrClosed.
func lost(err error) error {
	var v *ViolationError
	switch {
	case err == nil, errors.As(err, &v):
		return err
	case errors.Is(err, io.EOF):
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

// handshake waits for hello and sends the job.
func (s *session) handshake() error {
	late := fmt.Errorf("%w: no hello within %v", ErrHandshake, s.opts.HandshakeTimeout)
	timer := time.AfterFunc(s.opts.HandshakeTimeout, func() { s.end(late) })
	defer timer.Stop()
	frame, err := readFrame(s.in, min(maxHello, s.opts.maxFrame))
	if err != nil {
		return lost(err)
	}
	msg, err := decode(frame)
	if err != nil {
		return violation("%v", err)
	}
	h, ok := msg.(*hello)
	switch {
	case !ok:
		return violation("the first frame is not hello")
	case !sameSecret(h.secret, s.opts.Secret):
		return fmt.Errorf("%w: wrong secret", ErrHandshake)
	case h.protocol != protocolVersion:
		return fmt.Errorf("%w: the guest speaks version %d, this program %d", ErrHandshake, h.protocol, protocolVersion)
	}
	if !timer.Stop() {
		return late
	}
	s.out.Runtime = strings.ToValidUTF8(ident.Clip(h.runtime, 100), "")
	job, err := jobFrame(s.opts.Job)
	if err != nil {
		return fmt.Errorf("encode job: %w", err)
	}
	if len(job) > s.opts.maxFrame {
		return fmt.Errorf("the script and its modules have %d bytes; the limit is %d", len(job), s.opts.maxFrame)
	}
	s.out.Started = true
	if err := s.w.write(job); err != nil {
		return lost(err)
	}
	if s.opts.Started != nil {
		s.opts.Started()
	}
	return nil
}

// sameSecret compares two secrets in constant time.
func sameSecret(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// loop reads frames until done, which returns nil.
func (s *session) loop(ctx context.Context) error {
	for {
		frame, err := readFrame(s.in, s.opts.maxFrame)
		if err != nil {
			return lost(err)
		}
		if err := s.move(len(frame)); err != nil {
			return err
		}
		if err := s.pace.wait(ctx); err != nil {
			return err
		}
		msg, err := decode(frame)
		if err != nil {
			return violation("%v", err)
		}
		switch msg := msg.(type) {
		case *callMsg:
			err = s.accept(ctx, msg, len(frame))
		case *cancel:
			err = s.cancel(msg.id)
		case *streamMsg:
			err = s.streamed(msg)
		case *done:
			s.finish(msg)
			return nil
		case *hello:
			err = violation("a second hello")
		}
		if err != nil {
			return err
		}
	}
}

// move counts bytes that cross the connection.
func (s *session) move(bytes int) error {
	if s.moved.Add(int64(bytes)) > s.opts.maxTotal {
		return violation("calls and their answers exceed %d bytes in total", s.opts.maxTotal)
	}
	return nil
}

// finish ends the running calls and says bye. If the guest has already gone, its done still counts.
func (s *session) finish(d *done) {
	s.out.Done, s.out.Result, s.out.Error, s.out.Notes, s.out.Wrote = true, d.result, d.err, d.notes, d.wrote
	s.mu.Lock()
	s.over = true
	for _, r := range s.running {
		r.stop()
	}
	s.mu.Unlock()
	timer := time.AfterFunc(byeTimeout, func() { s.conn.Close() })
	defer timer.Stop()
	if err := s.w.write([]byte(`{"type":"bye"}`)); err != nil {
		s.opts.Logger.Debug("send bye to the guest", "error", err)
	}
}
