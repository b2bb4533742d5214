package daemon

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Client uses the daemon of one folder. It is safe for concurrent use.
type Client struct {
	opt    Options
	launch Launcher
}

// NewClient returns a Client. It uses launch to start a missing daemon; if launch is nil, it starts none.
func NewClient(opt Options, launch Launcher) *Client {
	return &Client{opt: opt, launch: launch}
}

// Start starts a daemon of this build unless one is running; one of another build is stopped first. It reports whether it
// started one.
func (c *Client) Start(ctx context.Context) (s *Status, started bool, err error) {
	s, ok, err := c.Status(ctx)
	if err == nil && ok && s.Build != c.opt.Build {
		_, _, err = c.Stop(ctx, false, nil)
		ok = false
	}
	if err != nil || ok {
		return s, false, err
	}
	conn, err := c.start(ctx)
	if err != nil {
		return nil, false, err
	}
	conn.Close()
	if s, ok, err = c.Status(ctx); err == nil && !ok {
		err = errors.New("start the daemon: it ended at once")
	}
	return s, true, err
}

// Status returns the daemon's status; ok is false if none is running.
func (c *Client) Status(ctx context.Context) (s *Status, ok bool, err error) {
	return c.ask(ctx, hello{Op: opStatus}, nil)
}

// Stop ends the daemon and returns when it has ended. The daemon takes no more jobs and finishes those in progress, or interrupts them if
// now is set. begun, which may be nil, gets the daemon's status when it begins to end. ok is false if no daemon was running. Stop stops
// waiting when ctx ends.
func (c *Client) Stop(ctx context.Context, now bool, begun func(*Status)) (s *Status, ok bool, err error) {
	if begun == nil {
		begun = func(*Status) {}
	}
	return c.ask(ctx, hello{Op: opStop, Now: now}, begun)
}

// ask sends a hello to the daemon, which answers with its status. If ending is not nil, ask passes it the status and waits for
// the daemon's end.
func (c *Client) ask(ctx context.Context, h hello, ending func(*Status)) (*Status, bool, error) {
	conn, err := dial(ctx, c.opt.Dir)
	if errors.Is(err, errAbsent) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r := &reader{r: conn}
	kind, payload, err := c.greet(&wire{conn: conn}, r, h)
	switch {
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case disconnected(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case kind != kindStatus:
		return nil, false, errProtocol
	}
	s, err := decode[Status](payload)
	if err != nil {
		return nil, false, err
	}
	if ending != nil {
		ending(s)
		_, _, _ = r.next() // returns when the connection ends
		if ctx.Err() != nil {
			return s, true, context.Cause(ctx)
		}
	}
	return s, true, nil
}

// greet sends hello and reads the answer.
func (c *Client) greet(w *wire, r *reader, h hello) (kind byte, payload []byte, err error) {
	h.Protocol, h.Build, h.Environment = protocol, c.opt.Build, c.opt.Environment
	if err := w.conn.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return 0, nil, err
	}
	if err := w.writeJSON(kindHello, h); err != nil {
		return 0, nil, err
	}
	if kind, payload, err = r.next(); err != nil {
		return 0, nil, err
	}
	return kind, payload, w.conn.SetDeadline(time.Time{})
}

// disconnected reports whether an error means that the other end closed the connection or ended.
func disconnected(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &op) && !op.Timeout()
}

// Run runs a job in the daemon, which it starts if necessary, and returns the job's exit code. When ctx ends, Run sends the
// daemon the signal that ended it, and still waits for the exit code.
//
// An [*UnavailableError] means that nothing was done, so the caller may run the job itself; a [*LostError] means that the
// daemon ended during the job. An error of Stdout or Stderr ends the job and is returned unchanged.
func (c *Client) Run(ctx context.Context, job *Job, io Streams) (exitCode int, err error) {
	conn, err := dial(ctx, c.opt.Dir)
	if errors.Is(err, errAbsent) {
		conn, err = c.start(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return 0, &UnavailableError{Reason: "it cannot be reached", Err: err}
	}
	defer conn.Close()
	s := &clientJob{wire: wire{conn: conn}, read: reader{r: conn}, io: io}
	kind, payload, err := c.greet(&s.wire, &s.read, hello{Op: opRun, Job: job})
	switch {
	case err != nil:
		return 0, &UnavailableError{Reason: "it does not answer", Err: err}
	case kind == kindRefused:
		r, err := decode[refusal](payload)
		if err != nil {
			return 0, &UnavailableError{Reason: "it does not answer", Err: err}
		}
		return 0, &UnavailableError{Reason: r.Reason}
	case kind != kindWelcome:
		return 0, &UnavailableError{Reason: "it does not answer", Err: errProtocol}
	}
	return s.follow(ctx)
}

// startTime bounds how long a daemon may take to start.
const startTime = 10 * time.Second

// start starts a daemon and connects to it. If several clients do so, one starts it and the others wait.
func (c *Client) start(ctx context.Context) (net.Conn, error) {
	if c.launch == nil {
		return nil, errAbsent
	}
	if err := makePrivate(c.opt.Dir); err != nil {
		return nil, err
	}
	held, err := lock(c.opt.Dir, startName, true)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if conn, err := dial(ctx, c.opt.Dir); !errors.Is(err, errAbsent) {
		return conn, err
	}
	if err := c.launchAndWait(ctx); err != nil {
		return nil, err
	}
	conn, err := dial(ctx, c.opt.Dir)
	if errors.Is(err, errAbsent) {
		return nil, fmt.Errorf("it ended at once; what it printed is in %q", logPath(c.opt.Dir))
	}
	return conn, err
}

// clientJob is the client's side of a job.
type clientJob struct {
	wire wire
	read reader
	io   Streams
}

// sigint is the number of SIGINT.
const sigint = 2

// follow serves the daemon's requests until the job ends.
func (s *clientJob) follow(ctx context.Context) (exitCode int, err error) {
	stop := context.AfterFunc(ctx, func() {
		number := sigint
		if s.io.Signal != nil {
			number = cmp.Or(s.io.Signal(ctx), sigint)
		}
		_ = s.wire.write(kindSignal, []byte{byte(number)})
	})
	defer stop()
	for {
		kind, payload, err := s.read.next()
		if err != nil {
			return 0, &LostError{Err: err}
		}
		switch kind {
		case kindExit:
			if len(payload) != 4 {
				return 0, &LostError{Err: errProtocol}
			}
			return int(int32(binary.BigEndian.Uint32(payload))), nil
		case kindBroken:
			return 0, &LostError{Err: errors.New(string(payload))}
		}
		if err := s.serve(kind, payload); err != nil {
			return 0, err
		}
	}
}

// serve answers one message of the daemon.
func (s *clientJob) serve(kind byte, payload []byte) error {
	switch kind {
	case kindStdout:
		return writeTo(s.io.Stdout, payload)
	case kindStderr:
		return writeTo(s.io.Stderr, payload)
	case kindWant:
		if len(payload) != 4 {
			return &LostError{Err: errProtocol}
		}
		// There is only one such goroutine at a time, because the daemon waits for the input. It may still be in Read when the job has
		// ended.
		go s.sendInput(int(min(binary.BigEndian.Uint32(payload), maxChunk)))
		return nil
	}
	return &LostError{Err: fmt.Errorf("%w: a message of kind %q", errProtocol, kind)}
}

// sendInput reads standard input once and sends the bytes it got. It treats an error like the end of input.
func (s *clientJob) sendInput(most int) {
	var n int
	buf := make([]byte, most)
	if s.io.Stdin != nil {
		var err error
		for n == 0 && err == nil && most > 0 {
			n, err = s.io.Stdin.Read(buf)
		}
	}
	_ = s.wire.write(kindInput, buf[:n])
}

// writeTo writes to a stream that may be nil.
func writeTo(w io.Writer, p []byte) error {
	if w == nil {
		return nil
	}
	_, err := w.Write(p)
	return err
}
