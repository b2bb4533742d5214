package sandboxtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/templates"
)

// startTimeout bounds how long a sandbox may take to start, and a script to print something, on a busy machine.
const startTimeout = 30 * time.Second

// execute performs one run as the runner does.
func (x *execution) execute(j *recorder, c testCase, w *world) *result {
	x.t.Helper()
	rt, _ := x.backend.Runtime(x.lang)
	src := script.Source{Name: "script" + x.lang.Extensions()[0],
		Code: w.fill(c.code[x.lang]), Language: x.lang, Args: c.args}
	spec := sandbox.Spec{
		ID: w.nextID(), Runtime: rt, Args: templates.RuntimeArgs(string(rt)), Guest: templates.Guest(string(rt)), Secret: rand.Text(),
		Tree: w.tree, Skills: w.skills, Workspace: w.workspace, Limits: c.limits, Stdin: strings.NewReader(c.stdin),
	}
	var connect func(net.Conn)
	if c.network {
		spec.Network, connect = true, shout
	}
	opt := script.Options{Tree: spec.Tree, Skills: spec.Skills}
	if c.packages {
		opt.Packages = w.packages
		if x.lang == sandbox.LangPython {
			spec.Packages, spec.Preload = filepath.Join(w.packages, "python"), []string{"confpkg", "confbad"}
		}
	}
	if c.noTree {
		spec.Tree, spec.Skills, opt.Tree, opt.Skills = "", "", "", ""
	}
	if c.noWorkspace {
		spec.Workspace = ""
	}
	if c.beside != nil {
		src.Dir = x.t.TempDir()
		for name, text := range c.beside {
			file := filepath.Join(src.Dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				x.t.Fatal(err)
			}
		}
	}
	job, err := script.Read(x.t.Context(), src, opt)
	if err != nil {
		return &result{refused: err, outcome: &bridge.Outcome{}}
	}
	timeout := c.timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, cancel := context.WithTimeout(x.t.Context(), 2*startTimeout+timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	clock := &clock{timeout: timeout, end: cancel}
	defer clock.stop()
	spec.Stdout, spec.Stderr = io.MultiWriter(&stdout, w.watch, clock), &stderr
	r := &result{outcome: &bridge.Outcome{}}
	p, conn, err := x.start(ctx, spec)
	if err != nil {
		r.notStarted = err
		return r
	}
	if conn == nil {
		conn, err = p.Bridge(ctx)
	}
	if err == nil {
		serving, drop := context.WithCancelCause(ctx)
		defer drop(nil)
		w.drop = func() { drop(bridge.ErrClosed) }
		r.outcome, r.bridgeErr = bridge.Serve(serving, conn, bridge.Options{Secret: p.Secret(), Job: *job.Job, Handler: w.handle, Answers: answers(job),
			Started: clock.begin, Connect: connect})
		if r.bridgeErr != nil && !errors.Is(r.bridgeErr, bridge.ErrClosed) {
			p.Kill() // as the runner does with a guest that breaks the protocol
		}
	}
	r.bridgeErr = errors.Join(err, r.bridgeErr)
	r.exit, err = p.Wait()
	if err != nil {
		j.Errorf("wait: %v", err)
	}
	if r.began = clock.stop(); !r.began.IsZero() {
		r.elapsed = time.Since(r.began)
	}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	return r
}

// clock ends a run when its time is over. The time starts when the guest gets its job, and restarts at its first output.
type clock struct {
	timeout time.Duration
	end     func()

	mu    sync.Mutex
	began time.Time
	wrote bool
	timer *time.Timer
}

func (c *clock) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrote { // it has printed already, so the time is running
		return
	}
	c.began, c.timer = time.Now(), time.AfterFunc(max(c.timeout, startTimeout), c.end)
}

func (c *clock) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.wrote {
		if c.timer != nil {
			c.timer.Stop()
		}
		c.wrote, c.began, c.timer = true, time.Now(), time.AfterFunc(c.timeout, c.end)
	}
	return len(p), nil
}

// stop returns when the time began.
func (c *clock) stop() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	return c.began
}

// start starts a guest, or warms one up and adopts it. Only in the latter case does the connection already exist.
func (x *execution) start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, net.Conn, error) {
	if !x.opt.Warm {
		p, err := x.backend.Start(ctx, spec)
		return p, nil, err
	}
	b, ok := x.backend.(sandbox.Warmer)
	if !ok {
		x.t.Fatalf("backend %q cannot warm guests", x.backend.Name())
	}
	shape := b.Shape(spec)
	warm := spec
	warm.Workspace, warm.Skills, warm.Tree = shape.Workspace, shape.Skills, shape.Tree
	warm.Limits, warm.Stdin, warm.Stdout, warm.Stderr = shape.Limits, nil, nil, nil
	idle, err := b.Warm(ctx, warm)
	if err != nil {
		return nil, nil, err
	}
	conn, err := idle.Bridge(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, idle.Close())
	}
	// The guest is ready when it has sent its hello. The bridge reads these bytes again.
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		return nil, nil, errors.Join(err, conn.Close(), idle.Close())
	}
	if err := bridge.Wait(conn); err != nil {
		return nil, nil, errors.Join(err, conn.Close(), idle.Close())
	}
	p, err := idle.Adopt(ctx, spec)
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return p, &peeked{Conn: conn, first: first}, nil
}

// peeked is a connection whose first bytes have been read.
type peeked struct {
	net.Conn
	first []byte
}

func (p *peeked) Read(b []byte) (int, error) {
	if len(p.first) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.first)
	p.first = p.first[n:]
	return n, nil
}

// neighbour starts another customer's script and returns when it is running. The returned function ends that script.
func (x *execution) neighbour(w *world) func() *result {
	x.t.Helper()
	other := newWorld(x.t, x.secret)
	w.other = other
	c := testCase{code: programs("neighbour")}
	done := make(chan *result, 1)
	j := &recorder{}
	go func() { done <- x.execute(j, c, other) }()
	deadline := time.Now().Add(30 * time.Second)
	for other.watch.when("ready").IsZero() {
		select {
		case r := <-done:
			x.t.Fatalf("the neighbour ended at once: %v %v", r, j.problems)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			x.t.Fatal("the neighbour did not get ready")
		}
	}
	return func() *result { close(other.release); return <-done }
}

// answers serves the imports that a script makes while it runs.
func answers(job *script.Program) call.Answerer {
	return func(ctx context.Context, ask *call.Ask) (json.RawMessage, error) {
		var in struct{ Specifier, From string }
		if err := json.Unmarshal(ask.Params, &in); err != nil || ask.Method != "import" || job.Import == nil {
			return nil, &call.Error{Kind: call.KindArgument, Message: fmt.Sprintf("unknown method %q: nothing is asked for here but modules", ask.Method)}
		}
		id, code, err := job.Import(ctx, in.Specifier, in.From)
		if err != nil {
			return nil, &call.Error{Kind: call.KindArgument, Message: err.Error()}
		}
		return json.Marshal(map[string]string{"id": id, "code": code})
	}
}

// shout answers on a connection with what it gets, in capital letters.
func shout(c net.Conn) {
	go func() {
		defer c.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := c.Read(buf)
			if _, failed := c.Write(bytes.ToUpper(buf[:n])); err != nil || failed != nil {
				return
			}
		}
	}()
}
