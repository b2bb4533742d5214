//go:build linux || darwin

package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// launching returns a Launcher that starts daemons in this process, and counts them.
type launching struct {
	t    *testing.T
	opt  ServeOptions
	n    atomic.Int32
	fail error
}

func (l *launching) launch(ready *os.File) error {
	if l.fail != nil {
		return l.fail
	}
	l.n.Add(1)
	// The process would inherit its own copy, so the caller closes this one.
	fd, err := dupFile(ready)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	opt := l.opt
	opt.Ready = func() { fd.Close() }
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer fd.Close()
		if err := Serve(ctx, opt); err != nil && !errors.Is(err, ErrRunning) {
			l.t.Error(err)
		}
	}()
	l.t.Cleanup(func() { cancel(); <-done })
	return nil
}

func pid(context.Context, *Work) int { return 11 }

func TestStartOnDemand(t *testing.T) {
	opt := testOptions(t)
	l := &launching{t: t, opt: ServeOptions{Options: opt, Handler: pid}}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if code, err := NewClient(opt, l.launch).Run(t.Context(), &Job{}, Streams{}); code != 11 || err != nil {
				t.Errorf("code %d, %v, want 11 and no error", code, err)
			}
		})
	}
	all.Wait()
	if n := l.n.Load(); n != 1 {
		t.Errorf("%d daemons were started, want 1", n)
	}
}

func TestNoDaemon(t *testing.T) {
	opt := testOptions(t)
	c := NewClient(opt, nil)
	if _, ok, err := c.Status(t.Context()); ok || err != nil {
		t.Errorf("status: %v, %v", ok, err)
	}
	if _, ok, err := c.Stop(t.Context(), true, nil); ok || err != nil {
		t.Errorf("stop: %v, %v", ok, err)
	}
	broken := errors.New("no such program")
	l := &launching{t: t, fail: broken}
	ends := &launching{t: t, opt: ServeOptions{Options: opt, Handler: pid}}
	for name, launch := range map[string]Launcher{
		"none": nil, "does not start": l.launch,
		"ends at once": func(ready *os.File) error { return nil },
		"never ready": func(ready *os.File) error {
			fd, err := dupFile(ready)
			t.Cleanup(func() { fd.Close() })
			return err
		},
	} {
		patience := time.Minute
		if name == "never ready" {
			patience = 300 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := NewClient(opt, launch).Run(ctx, &Job{}, Streams{})
		cancel()
		var no *UnavailableError
		if name == "never ready" {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want %v", name, err, context.DeadlineExceeded)
			}
		} else if !errors.As(err, &no) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, err := NewClient(opt, ends.launch).Run(t.Context(), &Job{}, Streams{}); code != 11 || err != nil {
		t.Errorf("after all that: code %d, %v, want 11 and no error", code, err)
	}
}

// TestOtherBuild checks that a daemon that meets a client of another build takes no more jobs and finishes those in progress,
// and that no other daemon starts before it has ended.
func TestOtherBuild(t *testing.T) {
	opt := testOptions(t)
	began, end := make(chan struct{}), make(chan struct{})
	old := serving(t, ServeOptions{Options: opt, Handler: func(context.Context, *Work) int { close(began); <-end; return 1 }})
	var first sync.WaitGroup
	first.Go(func() {
		if code, err := NewClient(opt, nil).Run(t.Context(), &Job{}, Streams{}); code != 1 || err != nil {
			t.Errorf("the old job: code %d, %v, want 1 and no error", code, err)
		}
	})
	<-began
	newer := opt
	newer.Build = "newer"
	l := &launching{t: t, opt: ServeOptions{Options: newer, Handler: pid}}
	for _, c := range []*Client{NewClient(newer, l.launch), NewClient(opt, l.launch)} {
		if _, err := c.Run(t.Context(), &Job{}, Streams{}); !isUnavailable(err) {
			t.Errorf("Run() while it ends = %v, want an UnavailableError", err)
		}
	}
	select {
	case err := <-old:
		t.Errorf("the old daemon has left its job: %v", err)
	default:
	}
	close(end)
	first.Wait()
	if err := <-old; err != nil {
		t.Error(err)
	}
	if code, err := NewClient(newer, l.launch).Run(t.Context(), &Job{}, Streams{}); code != 11 || err != nil || l.n.Load() != 1 {
		t.Errorf("Run() afterwards = %d, %v, with %d daemons started", code, err, l.n.Load())
	}
}

func isUnavailable(err error) bool {
	_, ok := errors.AsType[*UnavailableError](err)
	return ok
}

func TestStart(t *testing.T) {
	opt := testOptions(t)
	serving(t, ServeOptions{Options: opt, Handler: pid})
	if s, began, err := NewClient(opt, nil).Start(t.Context()); err != nil || began || s.PID != os.Getpid() {
		t.Errorf("%+v, %v, %v", s, began, err)
	}
	opt.Build = "newer"
	l := &launching{t: t, opt: ServeOptions{Options: opt, Handler: pid, Version: "2", Describe: func() []string { return []string{"a pot of gold"} }}}
	s, began, err := NewClient(opt, l.launch).Start(t.Context())
	if err != nil || !began || s.Version != "2" || len(s.Kept) != 1 || s.Differs != "" {
		t.Errorf("%+v, %v, %v", s, began, err)
	}
}

func TestStop(t *testing.T) {
	opt := testOptions(t)
	for _, now := range []bool{false, true} {
		began, end := make(chan struct{}), make(chan struct{})
		if now {
			close(end)
		}
		var closed atomic.Bool
		ended := serving(t, ServeOptions{Options: opt, Close: func() { closed.Store(true) }, Handler: func(ctx context.Context, _ *Work) int {
			close(began)
			if now {
				<-ctx.Done()
			}
			<-end
			return 2
		}})
		c := NewClient(opt, nil)
		var job sync.WaitGroup
		job.Go(func() {
			if code, err := c.Run(t.Context(), &Job{}, Streams{}); code != 2 || err != nil {
				t.Errorf("code %d, %v, want 2 and no error", code, err)
			}
		})
		<-began
		s, ok, err := c.Stop(t.Context(), now, func(s *Status) {
			if s.Running != 1 {
				t.Errorf("%d jobs are under way, want 1", s.Running)
			}
			if _, err := c.Run(t.Context(), &Job{}, Streams{}); !isUnavailable(err) {
				t.Errorf("Run() while it ends = %v, want an UnavailableError", err)
			}
			if !now {
				close(end)
			}
		})
		if !ok || err != nil || s.PID != os.Getpid() || !closed.Load() {
			t.Errorf("%+v, %v, %v, closed %v", s, ok, err, closed.Load())
		}
		job.Wait()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if files, err := os.ReadDir(opt.Dir); err != nil || len(files) != 1 || files[0].Name() != lockName {
			t.Errorf("left: %v, %v", files, err)
		}
	}
}

// TestStuckJob checks that a daemon that waits for a job can still be told to interrupt it, and ends without the job if the job ignores the
// interruption.
func TestStuckJob(t *testing.T) {
	opt := testOptions(t)
	began, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		ended <- Serve(t.Context(), ServeOptions{Options: opt, EndTime: time.Second, Ready: func() { close(ready) }, Handler: func(context.Context, *Work) int {
			close(began)
			<-release
			return 0
		}})
	}()
	<-ready
	defer close(release)
	c := NewClient(opt, nil)
	go func() { _, _ = c.Run(t.Context(), &Job{}, Streams{}) }()
	<-began
	var both sync.WaitGroup
	defer both.Wait()
	told := make(chan struct{})
	both.Go(func() {
		if _, ok, err := c.Stop(t.Context(), false, func(*Status) { close(told) }); !ok || err != nil {
			t.Errorf("Stop() = %v, %v", ok, err)
		}
	})
	<-told
	if s, ok, err := c.Stop(t.Context(), true, nil); !ok || err != nil || s.Running != 1 {
		t.Errorf("Stop() now = %+v, %v, %v, want the daemon that is ending", s, ok, err)
	}
	if stuck, ok := errors.AsType[*StuckError](<-ended); !ok || stuck.Jobs != 1 {
		t.Errorf("Serve() = %v, want one stuck job", stuck)
	}
	if files, err := os.ReadDir(opt.Dir); err != nil || len(files) != 1 || files[0].Name() != lockName {
		t.Errorf("left: %v, %v", files, err)
	}
}

// TestStopWithoutReader checks that a client that does not read its output does not keep the daemon from ending.
func TestStopWithoutReader(t *testing.T) {
	opt := testOptions(t)
	ended := serving(t, ServeOptions{Options: opt, Handler: func(_ context.Context, w *Work) int {
		for { // like a copy of a script's output, which continues until the script is over
			if _, err := w.Stdout.Write(make([]byte, 1<<20)); err != nil {
				return 0
			}
		}
	}})
	_, r := connected(t, opt, hello{Op: opRun, Job: &Job{}})
	for _, want := range []byte{kindWelcome, kindStdout} {
		if kind, _, err := r.next(); kind != want || err != nil {
			t.Fatalf("kind %q, %v, want %q and no error", kind, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), unreadTime+20*time.Second)
	defer cancel()
	if _, ok, err := NewClient(opt, nil).Stop(ctx, true, nil); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// pretend listens like a daemon, and passes each connection to a function after the connection's hello.
func pretend(t *testing.T, opt Options, with func(w *wire)) {
	t.Helper()
	l, err := listen(opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r := &reader{r: conn}
			if _, _, err := r.next(); err == nil {
				with(&wire{conn: conn})
			}
			conn.Close()
		}
	}()
}

func TestDaemonDies(t *testing.T) {
	for name, c := range map[string]struct {
		with func(w *wire)
		lost bool
	}{
		"before the job":       {func(*wire) {}, false},
		"in the job":           {func(w *wire) { _ = w.write(kindWelcome, nil) }, true},
		"with a strange word":  {func(w *wire) { _ = w.write(kindWelcome, nil); _ = w.write('?', nil) }, true},
		"with half a code":     {func(w *wire) { _ = w.write(kindWelcome, nil); _ = w.write(kindExit, []byte{0}) }, true},
		"with a strange wish":  {func(w *wire) { _ = w.write(kindWelcome, nil); _ = w.write(kindWant, nil) }, true},
		"no answer of its own": {func(w *wire) { _ = w.write('?', nil) }, false},
		"a strange refusal":    {func(w *wire) { _ = w.write(kindRefused, []byte("no")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			opt := testOptions(t)
			pretend(t, opt, c.with)
			_, err := NewClient(opt, nil).Run(t.Context(), &Job{}, Streams{})
			var lost *LostError
			var no *UnavailableError
			if errors.As(err, &lost) != c.lost || errors.As(err, &no) == c.lost {
				t.Errorf("%T %v", err, err)
			}
			if _, _, err := NewClient(opt, nil).Status(t.Context()); name == "no answer of its own" && err == nil {
				t.Error("a status came out of nothing")
			}
		})
	}
}

// TestStaleSocket checks that a daemon starts although a killed daemon has left its socket behind.
func TestStaleSocket(t *testing.T) {
	opt := testOptions(t)
	l, err := net.Listen("unix", socketPath(opt.Dir))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	launch := &launching{t: t, opt: ServeOptions{Options: opt, Handler: pid}}
	if code, err := NewClient(opt, launch.launch).Run(t.Context(), &Job{}, Streams{}); code != 11 || err != nil {
		t.Errorf("code %d, %v, want 11 and no error", code, err)
	}
}

func TestOneDaemon(t *testing.T) {
	opt := testOptions(t)
	serving(t, ServeOptions{Options: opt, Handler: pid})
	if err := Serve(t.Context(), ServeOptions{Options: opt, Handler: pid}); !errors.Is(err, ErrRunning) {
		t.Errorf("a second one: %v, want %v", err, ErrRunning)
	}
	if code, err := NewClient(opt, nil).Run(t.Context(), &Job{}, Streams{}); code != 11 || err != nil {
		t.Errorf("the first one: code %d, %v, want 11 and no error", code, err)
	}
}

// silent is a listener to which no client connects.
type silent struct {
	net.Listener
	closed chan struct{}
	once   sync.Once
}

func (s *silent) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s *silent) Close() error              { s.once.Do(func() { close(s.closed) }); return nil }

// TestBusy has a daemon that stays while it is busy, and waits for what it does beside the jobs.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &silent{closed: make(chan struct{})}
		began := time.Now()
		busy := func() bool { return time.Since(began) < 150*time.Second }
		s := newServer(t.Context(), ServeOptions{Idle: time.Minute, Busy: busy, Background: func(_ context.Context, stopping <-chan struct{}) {
			<-stopping
			time.Sleep(5 * time.Second)
		}}, l)
		var ended time.Duration
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.serve(t.Context()); err != nil {
				t.Error(err)
			}
			ended = time.Since(began)
		})
		time.Sleep(90 * time.Second)
		if st := s.status(&hello{}); !st.Stays || st.EndsSeconds != 0 {
			t.Errorf("status: %+v, want Stays and EndsSeconds 0", st)
		}
		all.Wait()
		if want := 185 * time.Second; ended != want {
			t.Errorf("ended after %v, want %v", ended, want)
		}
	})
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &silent{closed: make(chan struct{})}
		s := newServer(t.Context(), ServeOptions{Idle: time.Minute}, l)
		began := time.Now()
		var ended time.Duration
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.serve(t.Context()); err != nil {
				t.Error(err)
			}
			ended = time.Since(began)
		})
		time.Sleep(50 * time.Second)
		job := &hello{Protocol: protocol, Job: &Job{}}
		if r := s.begin(job); r != nil {
			t.Fatal(r.Reason)
		}
		if st := s.status(job); st.Running != 1 || st.IdleSeconds != 0 || st.EndsSeconds != 0 {
			t.Errorf("status in a job: %+v, want Running 1, IdleSeconds 0 and EndsSeconds 0", st)
		}
		time.Sleep(10 * time.Minute) // a long job keeps it
		s.finish()
		time.Sleep(30 * time.Second)
		if st := s.status(job); st.Running != 0 || st.Done != 1 || st.IdleSeconds != 30 || st.EndsSeconds != 30 {
			t.Errorf("status after it: %+v, want Running 0, Done 1, IdleSeconds 30 and EndsSeconds 30", st)
		}
		all.Wait()
		if want := 50*time.Second + 10*time.Minute + time.Minute; ended != want {
			t.Errorf("ended after %v, want %v", ended, want)
		}
		if r := s.begin(job); r == nil {
			t.Errorf("a job after the end: %+v", r)
		}
	})
}
