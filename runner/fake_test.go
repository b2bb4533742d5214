package runner_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// fakeBackend runs a Go function as the guest, over a pipe.
type fakeBackend struct {
	// guest is the guest's whole life; its return value is how the process ended.
	guest    func(g *guest) sandbox.Exit
	startErr error
	status   sandbox.Status
	name     string
	remote   bool  // its workspace is a copy
	broke    error // how the sandbox itself breaks; nil: it does not
}

func (b *fakeBackend) Name() string {
	if b.name != "" {
		return b.name
	}
	return "fake"
}
func (b *fakeBackend) Strength() sandbox.Strength {
	switch b.name {
	case "docker":
		return sandbox.Container
	case "gvisor":
		return sandbox.OwnKernel
	}
	return sandbox.SharedKernel
}
func (b *fakeBackend) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	switch {
	case b.name == "embedded":
		return sandbox.QuickJS, lang == sandbox.LangTypeScript
	case lang == sandbox.LangPython:
		return sandbox.Python, true
	}
	return sandbox.Node, b.name != "" && b.name != "fake"
}
func (b *fakeBackend) Probe(context.Context) sandbox.Status { return b.status }
func (b *fakeBackend) Sweep(context.Context) error          { return nil }
func (b *fakeBackend) Close() error                         { return nil }

func (b *fakeBackend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if b.startErr != nil {
		return nil, b.startErr
	}
	ours, theirs := net.Pipe()
	ctx, kill := context.WithCancel(ctx)
	p := &fakeProcess{host: ours, secret: spec.Secret, kill: kill, exited: make(chan struct{}), remote: b.remote, broke: b.broke}
	g := &guest{ctx: ctx, conn: theirs, in: bufio.NewReader(theirs), spec: spec}
	go func() {
		defer close(p.exited)
		p.exit = b.guest(g)
		theirs.Close()
	}()
	return p, nil
}

type fakeProcess struct {
	host   net.Conn
	secret string
	kill   func()
	exited chan struct{}
	exit   sandbox.Exit
	remote bool
	broke  error
}

func (p *fakeProcess) Remote() bool { return p.remote }

func (p *fakeProcess) Bridge(ctx context.Context) (net.Conn, error) { return p.host, nil }
func (p *fakeProcess) Secret() string                               { return p.secret }
func (p *fakeProcess) Kill()                                        { p.kill() }
func (p *fakeProcess) Wait() (sandbox.Exit, error) {
	<-p.exited
	return p.exit, p.broke
}

// guest is the far end of the bridge.
type guest struct {
	ctx  context.Context // ends when the guest is killed
	conn net.Conn
	in   *bufio.Reader
	spec sandbox.Spec
}

func (g *guest) send(v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	g.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
}

func (g *guest) receive() map[string]json.RawMessage {
	var size [4]byte
	if _, err := io.ReadFull(g.in, size[:]); err != nil {
		return nil
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(g.in, body); err != nil {
		return nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		panic(err)
	}
	return m
}

type object = map[string]any

// begin shakes hands and returns the job.
func (g *guest) begin() map[string]json.RawMessage {
	g.send(object{"type": "hello", "protocol": 1, "secret": g.spec.Secret, "runtime": "fake 1"})
	return g.receive()
}

// call makes one call and returns the reply.
func (g *guest) call(id int, tool string, args any) map[string]json.RawMessage {
	g.send(object{"type": "call", "id": id, "tool": tool, "args": args})
	return g.receive()
}

// done ends the script.
func (g *guest) done(members object) {
	m := object{"type": "done"}
	for k, v := range members {
		m[k] = v
	}
	g.send(m)
	g.receive()
}

// killed waits until the guest is killed.
func (g *guest) killed() sandbox.Exit {
	<-g.ctx.Done()
	return sandbox.Exit{Code: 137}
}

// fakeUpstreams answers calls from a table of answers and notes what was asked.
type fakeUpstreams struct {
	answers map[string]*upstream.CallResult // by server/tool
	errs    map[string]error

	mu   sync.Mutex
	seen []string
}

func (u *fakeUpstreams) Call(ctx context.Context, server, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	u.mu.Lock()
	u.seen = append(u.seen, server+"/"+tool+" "+string(args))
	u.mu.Unlock()
	if err := u.errs[server+"/"+tool]; err != nil {
		if errors.Is(err, errHang) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, err
	}
	return u.answers[server+"/"+tool], nil
}

// errHang makes a call wait for its context.
var errHang = errors.New("hang")

// newRunner runs against the checked-in tree.
func newRunner(t *testing.T, up chain.Upstreams) *runner.Runner {
	t.Helper()
	r, err := runner.New(&runner.Options{Tree: "../servers", Upstreams: up})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs a guest to its end.
func run(t *testing.T, up chain.Upstreams, s runner.Script, g func(*guest) sandbox.Exit) (*runner.Result, error) {
	t.Helper()
	s.Backend = &fakeBackend{guest: g}
	s.Language = sandbox.LangPython
	if s.Name == "" {
		s.Name = "script.py"
	}
	return newRunner(t, up).Run(t.Context(), s)
}
