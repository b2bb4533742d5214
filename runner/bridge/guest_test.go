package bridge

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/call"
)

const secret = "correct horse battery staple"

const helloFrame = `{"type":"hello","protocol":1,"secret":"` + secret + `","runtime":"test 1"}`

// peer is a hand-written guest that sends what a test tells it to.
type peer struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

type served struct {
	out *Outcome
	err error
}

// start serves one end of a pipe and returns the other.
func start(t testing.TB, ctx context.Context, opts Options) (*peer, <-chan served) {
	t.Helper()
	host, guest := net.Pipe()
	return startOn(t, ctx, opts, host, guest)
}

func startOn(t testing.TB, ctx context.Context, opts Options, host, guest net.Conn) (*peer, <-chan served) {
	if opts.Secret == "" {
		opts.Secret = secret
	}
	if opts.Job.Name == "" {
		opts.Job = Job{Language: "python", Name: "script.py", Code: "pass"}
	}
	if opts.Handler == nil {
		opts.Handler = echo
	}
	result := make(chan served, 1)
	go func() {
		out, err := Serve(ctx, host, opts)
		result <- served{out, err}
	}()
	t.Cleanup(func() { guest.Close() })
	return &peer{t: t, conn: guest, in: bufio.NewReader(guest)}, result
}

// echo answers a call with its arguments.
func echo(_ context.Context, req *call.Request) (*call.Result, error) {
	return &call.Result{Value: req.Args}, nil
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if err := p.trySend(fmt.Sprintf(format, args...)); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

func (p *peer) trySend(frame string) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(frame)))
	_, err := p.conn.Write(append(b, frame...))
	return err
}

func (p *peer) read() string {
	p.t.Helper()
	frame, err := readFrame(p.in, 64<<20)
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	return string(frame)
}

// greet performs the handshake.
func (p *peer) greet() {
	p.t.Helper()
	p.send(helloFrame)
	if job := p.read(); !strings.HasPrefix(job, `{"type":"job"`) {
		p.t.Fatalf("job = %.200s", job)
	}
}

// finish says done and expects bye.
func (p *peer) finish() {
	p.t.Helper()
	p.send(`{"type":"done"}`)
	for frame := p.read(); frame != `{"type":"bye"}`; frame = p.read() {
		if !strings.HasPrefix(frame, `{"type":"reply"`) {
			p.t.Fatalf("frame after done = %.200s", frame)
		}
	}
}

// reply is a reply as a guest understands it.
type reply struct {
	Type  string
	ID    int64
	Value json.RawMessage
	Error *call.Error
}

func (p *peer) reply() reply {
	p.t.Helper()
	var r reply
	if err := json.Unmarshal([]byte(p.read()), &r); err != nil || r.Type != "reply" {
		p.t.Fatalf("reply = %+v, %v", r, err)
	}
	return r
}
