package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// maxConns bounds the open connections, including those that have sent no hello yet.
const maxConns = 256

// Serve runs jobs until there has been none for Idle and it is not busy otherwise, a client stops it, or a client of another build connects. It also ends when ctx does,
// which interrupts the jobs in progress. Serve returns when all jobs have ended. It keeps the socket until then, so that no other daemon
// starts in the meantime, and clients can ask it to interrupt the jobs.
func Serve(ctx context.Context, opt ServeOptions) error {
	l, err := listen(opt.Dir)
	if err != nil {
		return err
	}
	return newServer(ctx, opt, l).serve(ctx)
}

// newServer returns a server that accepts connections from l and finally closes l.
func newServer(ctx context.Context, opt ServeOptions, l net.Listener) *server {
	s := &server{opt: opt, log: opt.Logger, listener: l, stopped: make(chan struct{}), started: time.Now(), changed: time.Now()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opt.Ready == nil {
		s.opt.Ready = func() {}
	}
	if s.opt.Close == nil {
		s.opt.Close = func() {}
	}
	if s.opt.Describe == nil {
		s.opt.Describe = func() []string { return nil }
	}
	if s.opt.Busy == nil {
		s.opt.Busy = func() bool { return false }
	}
	s.opt.Idle = cmp.Or(opt.Idle, 10*time.Minute)
	s.opt.Jobs = cmp.Or(opt.Jobs, 64)
	s.opt.EndTime = cmp.Or(opt.EndTime, 20*time.Second)
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = time.AfterFunc(s.opt.Idle, s.idle)
	return s
}

// serve runs the daemon.
func (s *server) serve(ctx context.Context) error {
	defer s.cancel(nil)
	stop := context.AfterFunc(ctx, s.stop)
	defer stop()
	s.opt.Ready()
	if s.opt.Background != nil {
		s.jobs.Go(func() { s.opt.Background(s.ctx, s.stopped) })
	}
	var err error
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		err = s.accept()
	}()
	select {
	case <-accepted:
	case <-s.stopped:
	}
	s.stop()
	ended := s.inTime(s.jobs.Wait)
	s.listener.Close()
	<-accepted
	switch {
	case !ended:
		err = errors.Join(err, &StuckError{Jobs: s.jobCount()})
	case !s.inTime(func() { s.conns.Wait(); s.opt.Close() }):
		err = errors.Join(err, errors.New("closing what the daemon kept took too long"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.waiting {
		conn.Close()
	}
	return err
}

// inTime reports whether f returned. It waits indefinitely until the jobs are interrupted, and then for EndTime.
func (s *server) inTime(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-s.ctx.Done():
	}
	clock := time.NewTimer(s.opt.EndTime)
	defer clock.Stop()
	select {
	case <-done:
		return true
	case <-clock.C:
		return false
	}
}

// StuckError reports that jobs did not end although they were interrupted.
type StuckError struct{ Jobs int }

func (e *StuckError) Error() string {
	return fmt.Sprintf("%d interrupted jobs did not end in time", e.Jobs)
}

// server is a running daemon.
type server struct {
	opt      ServeOptions
	log      *slog.Logger
	listener net.Listener
	ctx      context.Context // the context of the jobs
	cancel   context.CancelCauseFunc
	conns    sync.WaitGroup
	jobs     sync.WaitGroup
	stopped  chan struct{} // closed by stop
	started  time.Time

	mu            sync.Mutex
	stopping      bool
	connCount     int
	waiting       []net.Conn // connections of clients that wait for the end
	running       int
	done, refused int64
	changed       time.Time // when running became zero
	clock         *time.Timer
}

// accept accepts connections until the listener is closed.
func (s *server) accept() error {
	pause := time.Millisecond
	for {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			pause = time.Millisecond
		case s.isStopping():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept commands: %w", err)
		default: // out of descriptors, for example
			s.log.Warn("a command could not be accepted", "error", err)
			time.Sleep(pause)
			pause = min(2*pause, time.Second)
			continue
		}
		if !s.admit() {
			conn.Close()
			continue
		}
		s.conns.Go(func() {
			defer s.release()
			if err := s.serveConn(conn); err != nil {
				s.log.Info("a connection ended", "error", err)
			}
		})
	}
}

func (s *server) jobCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

func (s *server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// admit counts a connection, and reports false if there are too many.
func (s *server) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connCount >= maxConns {
		return false
	}
	s.connCount++
	return true
}

func (s *server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connCount--
}

// stop accepts no more jobs; those in progress continue.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.stopping = true
	close(s.stopped)
	s.clock.Stop()
}

// idle stops the daemon if it has had no job for Idle.
func (s *server) idle() {
	s.mu.Lock()
	used := s.running > 0 || time.Since(s.changed) < s.opt.Idle
	s.mu.Unlock()
	switch {
	case used:
	case s.opt.Busy():
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.stopping {
			s.clock.Reset(s.opt.Idle)
		}
	default:
		s.stop()
	}
}

// begin counts a job, or returns why it is refused.
func (s *server) begin(h *hello) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r *refusal
	switch diff := s.differs(h); {
	case s.stopping:
		r = &refusal{Reason: "it is ending"}
	case h.Job == nil:
		r = &refusal{Reason: "the message has no job"}
	case diff != "":
		r = &refusal{Reason: diff}
	case s.running >= s.opt.Jobs:
		r = &refusal{Reason: fmt.Sprintf("it is busy with %d jobs", s.running)}
	default:
		s.running++
		s.jobs.Add(1)
		s.clock.Stop()
		return nil
	}
	s.refused++
	return r
}

// differs returns why the daemon does not serve a client of the same user, or "" if it serves it.
func (s *server) differs(h *hello) string {
	if h.Protocol != protocol || h.Build != s.opt.Build {
		return "it was built differently from this command"
	}
	if diff := s.opt.Environment.differs(h.Environment); diff != "" {
		return "it was started in another environment than this command; what differs: " + diff
	}
	return ""
}

// finish counts the end of a job.
func (s *server) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.jobs.Done()
	s.done++
	if s.running == 0 && !s.stopping {
		s.changed = time.Now()
		s.clock.Reset(s.opt.Idle)
	}
}

func (s *server) status(h *hello) *Status {
	stays := s.opt.Busy()
	s.mu.Lock()
	st := &Status{
		PID: os.Getpid(), Build: s.opt.Build, Version: s.opt.Version, Started: s.started, Differs: s.differs(h),
		Running: s.running, Done: s.done, Refused: s.refused, Kept: []string{}, Stays: stays,
	}
	if s.running == 0 {
		idle := time.Since(s.changed)
		st.IdleSeconds, st.EndsSeconds = idle.Seconds(), max(0, (s.opt.Idle-idle).Seconds())
	}
	if stays {
		st.EndsSeconds = 0
	}
	s.mu.Unlock()
	st.Kept = append(st.Kept, s.opt.Describe()...)
	return st
}

// serveConn serves one connection and closes it, unless its client waits for the daemon's end.
func (s *server) serveConn(conn net.Conn) (err error) {
	keep := false
	defer func() {
		if !keep {
			conn.Close()
		}
	}()
	if err := checkPeer(conn); err != nil {
		return err
	}
	w, r := &wire{conn: conn}, &reader{r: conn}
	if err := conn.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	kind, payload, err := r.next()
	if err != nil {
		return err
	}
	if kind != kindHello {
		return fmt.Errorf("%w: the first message is of kind %q", errProtocol, kind)
	}
	h, err := decode[hello](payload)
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	r.buf = nil // it holds the job's variables
	switch h.Op {
	case opStatus:
		return w.writeJSON(kindStatus, s.status(h))
	case opStop:
		st := s.status(h)
		s.stop()
		if h.Now {
			s.cancel(errStopped)
		}
		s.mu.Lock()
		s.waiting = append(s.waiting, conn)
		s.mu.Unlock()
		keep = true
		return w.writeJSON(kindStatus, st)
	case opRun:
	default:
		return w.writeJSON(kindRefused, refusal{Reason: fmt.Sprintf("it has no operation %q", h.Op)})
	}
	if h.Protocol != protocol || h.Build != s.opt.Build {
		s.stop()
		return w.writeJSON(kindRefused, refusal{Reason: "it is of another build"})
	}
	if r := s.begin(h); r != nil {
		return w.writeJSON(kindRefused, r)
	}
	defer s.finish()
	return s.runJob(w, r, h.Job)
}
