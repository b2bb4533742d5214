//go:build linux || darwin

package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// testOptions returns options with a new folder, whose path is short enough for a socket.
func testOptions(t *testing.T) Options {
	t.Helper()
	dir, err := os.MkdirTemp("", "daemon")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return Options{Dir: dir, Build: "build", Environment: Environment{"umask": "1"}}
}

// serving starts a daemon in this process, and ends it with the test.
func serving(t *testing.T, opt ServeOptions) (ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	opt.Ready = func() { close(ready) }
	go func() { done <- Serve(ctx, opt) }()
	finished := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		err := <-done
		result <- err
		close(finished)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-finished:
		case <-time.After(30 * time.Second):
			t.Error("the daemon does not end")
		}
	})
	select {
	case <-ready:
	case err := <-result:
		t.Fatalf("the daemon does not start: %v", err)
	}
	return result
}

func TestRun(t *testing.T) {
	opt := testOptions(t)
	big := strings.Repeat("0123456789", 40_000)
	serving(t, ServeOptions{Options: opt, Handler: func(_ context.Context, w *Work) int {
		fmt.Fprintf(w.Stdout, "%q %s %v %d\n", w.Args, w.Dir, w.Terminal, w.Columns)
		for _, name := range []string{"SENT", "EMPTY", "NOT_SET"} {
			v, ok := w.LookupEnv(name)
			fmt.Fprintln(w.Stdout, name, v, ok)
		}
		in, err := io.ReadAll(w.Stdin)
		fmt.Fprintln(w.Stdout, len(in), string(in) == big, err)
		fmt.Fprint(w.Stderr, "to the other")
		fmt.Fprint(w.Stdout, big)
		return -7
	}})
	var out, errOut bytes.Buffer
	code, err := NewClient(opt, nil).Run(t.Context(), &Job{
		Args: []string{"a", "b\nc"}, Dir: "/some/where", Env: map[string]string{"SENT": "1", "EMPTY": ""},
		Terminal: Terminal{Stdout: true}, Columns: 97,
	}, Streams{Stdin: strings.NewReader(big), Stdout: &out, Stderr: &errOut})
	if code != -7 || err != nil {
		t.Fatalf("code %d, %v, want -7 and no error", code, err)
	}
	want := `["a" "b\nc"] /some/where {false true false false} 97
SENT 1 true
EMPTY  true
NOT_SET  false
400000 true <nil>
` + big
	if got := out.String(); got != want {
		t.Errorf("stdout %.600q, want %v", got, want)
	}
	if errOut.String() != "to the other" {
		t.Errorf("stderr %q", &errOut)
	}
}

// reads counts calls of Read.
type reads struct{ n atomic.Int32 }

func (r *reads) Read([]byte) (int, error) { r.n.Add(1); return 0, io.EOF }

func TestStdinIsReadOnDemand(t *testing.T) {
	opt := testOptions(t)
	read := false
	serving(t, ServeOptions{Options: opt, Handler: func(_ context.Context, w *Work) int {
		if read {
			_, _ = w.Stdin.Read(nil)
			n, err := w.Stdin.Read(make([]byte, 5))
			n2, err2 := w.Stdin.Read(make([]byte, 5))
			if n+n2 != 0 || err != io.EOF || err2 != io.EOF {
				t.Errorf("%d %v, %d %v, want n+n2 0, %v and %v", n, err, n2, err2, io.EOF, io.EOF)
			}
		}
		return 0
	}})
	for _, read = range []bool{false, true} {
		var in reads
		if _, err := NewClient(opt, nil).Run(t.Context(), &Job{}, Streams{Stdin: &in}); err != nil {
			t.Fatal(err)
		}
		if got, want := in.n.Load() > 0, read; got != want {
			t.Errorf("read %v, want %v", got, want)
		}
	}
}

// TestReadEndsWithJob checks that a read that the client does not answer ends with the job.
func TestReadEndsWithJob(t *testing.T) {
	opt := testOptions(t)
	ended := make(chan error, 1)
	serving(t, ServeOptions{Options: opt, Handler: func(_ context.Context, w *Work) int {
		wants := make(chan struct{})
		go func() {
			close(wants)
			_, err := w.Stdin.Read(make([]byte, 5))
			ended <- err
		}()
		<-wants
		return 3
	}})
	never, w := io.Pipe()
	defer w.Close()
	code, err := NewClient(opt, nil).Run(t.Context(), &Job{}, Streams{Stdin: never})
	if code != 3 || err != nil {
		t.Errorf("code %d, %v, want 3 and no error", code, err)
	}
	if err := <-ended; err == nil || err == io.EOF {
		t.Errorf("the read ends with %v", err)
	}
}

func TestSignal(t *testing.T) {
	opt := testOptions(t)
	began := make(chan struct{}, 1)
	serving(t, ServeOptions{Options: opt, Handler: func(ctx context.Context, w *Work) int {
		began <- struct{}{}
		<-ctx.Done()
		fmt.Fprint(w.Stdout, "last words")
		var sig *SignalError
		if !errors.As(context.Cause(ctx), &sig) {
			t.Errorf("cause %v", context.Cause(ctx))
			return 1
		}
		return 128 + sig.Number
	}})
	for _, c := range []struct {
		signal func(context.Context) int
		code   int
	}{{nil, 130}, {func(context.Context) int { return 15 }, 143}, {func(context.Context) int { return 0 }, 130}} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		var out bytes.Buffer
		code, err := NewClient(opt, nil).Run(ctx, &Job{}, Streams{Stdout: &out, Signal: c.signal})
		if code != c.code || err != nil || out.String() != "last words" {
			t.Errorf(`code %d, %v, %q, want %d, out.String() "last words" and no error`, code, err, &out, c.code)
		}
	}
}

// connected returns a connection that has sent its hello, for tests that break the protocol.
func connected(t *testing.T, opt Options, h hello) (net.Conn, *reader) {
	t.Helper()
	conn, err := dial(t.Context(), opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	h.Protocol, h.Build, h.Environment = protocol, opt.Build, opt.Environment
	if err := (&wire{conn: conn}).writeJSON(kindHello, h); err != nil {
		t.Fatal(err)
	}
	return conn, &reader{r: conn}
}

func TestClientGone(t *testing.T) {
	for name, leave := range map[string]func(conn net.Conn){
		"dies":              func(conn net.Conn) { conn.Close() },
		"unasked input":     func(conn net.Conn) { _ = (&wire{conn: conn}).write(kindInput, []byte("x")) },
		"unknown message":   func(conn net.Conn) { _ = (&wire{conn: conn}).write('?', nil) },
		"no signal":         func(conn net.Conn) { _ = (&wire{conn: conn}).write(kindSignal, nil) },
		"a message too big": func(conn net.Conn) { _, _ = conn.Write([]byte{kindInput, 0xff, 0xff, 0xff, 0xff}) },
	} {
		t.Run(name, func(t *testing.T) {
			opt := testOptions(t)
			causes := make(chan error, 1)
			serving(t, ServeOptions{Options: opt, Handler: func(ctx context.Context, w *Work) int {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return 0
			}})
			conn, r := connected(t, opt, hello{Op: opRun, Job: &Job{}})
			if kind, _, err := r.next(); kind != kindWelcome || err != nil {
				t.Fatalf("kind %q, %v, want %q and no error", kind, err, kindWelcome)
			}
			leave(conn)
			if err := <-causes; err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("cause %v", err)
			}
		})
	}
}

func TestPanic(t *testing.T) {
	opt := testOptions(t)
	serving(t, ServeOptions{Options: opt, Handler: func(_ context.Context, w *Work) int {
		if len(w.Args) > 0 {
			panic("at the disco")
		}
		return 5
	}})
	c := NewClient(opt, nil)
	var lost *LostError
	if _, err := c.Run(t.Context(), &Job{Args: []string{"x"}}, Streams{}); !errors.As(err, &lost) || !strings.Contains(err.Error(), "at the disco") || lost.Hint() == "" {
		t.Errorf("error %v", err)
	}
	if code, err := c.Run(t.Context(), &Job{}, Streams{}); code != 5 || err != nil {
		t.Errorf("the next job: code %d, %v, want 5 and no error", code, err)
	}
}

// TestOutputError checks that an error of the client's writer ends the job.
func TestOutputError(t *testing.T) {
	opt := testOptions(t)
	ended := make(chan error, 1)
	serving(t, ServeOptions{Options: opt, Handler: func(ctx context.Context, w *Work) int {
		fmt.Fprint(w.Stdout, "some")
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return 0
	}})
	r, w := io.Pipe()
	r.CloseWithError(errOver)
	if _, err := NewClient(opt, nil).Run(t.Context(), &Job{}, Streams{Stdout: w}); !errors.Is(err, errOver) {
		t.Errorf("error %v, want %v", err, errOver)
	}
	if err := <-ended; !errors.Is(err, ErrGone) {
		t.Errorf("the job's cause %v, want %v", err, ErrGone)
	}
}

func TestRefusals(t *testing.T) {
	opt := testOptions(t)
	began, end := make(chan struct{}), make(chan struct{})
	serving(t, ServeOptions{Options: opt, Jobs: 1, Handler: func(context.Context, *Work) int { close(began); <-end; return 0 }})
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := NewClient(opt, nil).Run(t.Context(), &Job{}, Streams{}); err != nil {
			t.Error(err)
		}
	})
	<-began
	elsewhere := opt
	elsewhere.Environment = Environment{"umask": "2", "the root folder": "3"}
	for name, c := range map[string]struct {
		opt  Options
		want string
	}{"busy": {opt, "busy with 1 job"}, "environment": {elsewhere, "what differs: the root folder, umask"}} {
		_, err := NewClient(c.opt, nil).Run(t.Context(), &Job{}, Streams{})
		var no *UnavailableError
		if !errors.As(err, &no) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Run() = %v, want an UnavailableError with %q", name, err, c.want)
		}
	}
	st, ok, err := NewClient(elsewhere, nil).Status(t.Context())
	if !ok || err != nil || st.Running != 1 || st.Refused != 2 || st.PID != os.Getpid() || !strings.Contains(st.Differs, "umask") {
		t.Errorf("status %+v, %v, %v", st, ok, err)
	}
	close(end)
	first.Wait()
}
