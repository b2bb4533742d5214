package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
)

// everything is @modelcontextprotocol/server-everything, a server on the official TypeScript SDK in the older era.
type everything struct {
	script, kind, address string
	cmd                   *exec.Cmd
}

// newEverything starts the server over one of its transports, and ends it with the test. Over stdio the pool starts it.
func newEverything(t *testing.T, kind string) (*everything, config.Server) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server from npm")
	}
	script, err := filepath.Abs("../../testdata/npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(script)
	if _, err := exec.LookPath("node"); err != nil || missing != nil {
		why := "node or the npm package server-everything is missing: npm ci --prefix testdata/npm --ignore-scripts"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	e := &everything{script: script, kind: kind}
	if kind == "stdio" {
		srv := config.Server{Key: "fake", Transport: config.TransportStdio, Command: "node", Args: []string{script, kind}, Cwd: t.TempDir()}
		return e, srv
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e.address = l.Addr().String()
	l.Close()
	e.start(t)
	t.Cleanup(e.stop)
	if kind == "sse" {
		return e, config.Server{Key: "fake", Transport: config.TransportSSE, URL: "http://" + e.address + "/sse"}
	}
	return e, config.Server{Key: "fake", Transport: config.TransportHTTP, URL: "http://" + e.address + "/mcp"}
}

func (e *everything) start(t *testing.T) {
	t.Helper()
	_, port, _ := net.SplitHostPort(e.address)
	e.cmd = exec.Command("node", e.script, e.kind)
	e.cmd.Env = append(os.Environ(), "PORT="+port)
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for ctx := testContext(t); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", e.address); err == nil {
			conn.Close()
			return
		}
	}
	t.Fatal("server-everything does not listen")
}

func (e *everything) stop() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

// TestQuestionsOfARealServer checks that three runs which a server asks at the same time each get their own question.
func TestQuestionsOfARealServer(t *testing.T) {
	for kind, sessions := range map[string]int{"stdio": 3, "streamableHttp": 1, "sse": 3} {
		t.Run(kind, func(t *testing.T) {
			_, srv := newEverything(t, kind)
			p := testPool(t, asking(), srv)
			ask := func(who string, before func()) {
				res, err := p.Call(testContext(t), "fake", "trigger-elicitation-request", nil, &CallOptions{
					Owner: who, Declined: func(why string) { t.Errorf("%s: %s", who, why) },
					Elicit: func(context.Context, *Question) (*Reply, error) {
						before()
						return &Reply{Action: ActionAccept, Content: json.RawMessage(`{"name":"` + who + `"}`)}, nil
					},
				})
				if err != nil || !strings.Contains(string(res.Raw), "Name: "+who) {
					t.Errorf("the call of %s = %v, %v, want one with the answer", who, res, err)
				}
			}
			ask("first", func() {})
			var asked, runs sync.WaitGroup
			asked.Add(3)
			for _, who := range []string{"ann", "bob", "cyd"} {
				runs.Go(func() {
					ask(who, func() {
						asked.Done()
						asked.Wait()
					})
				})
			}
			runs.Wait()
			if n := len(p.members["fake"].all()); n != sessions {
				t.Errorf("%d sessions, want %d", n, sessions)
			}
		})
	}
}

// TestRestartOfARealServer checks that what is asked of a restarted server first is answered.
func TestRestartOfARealServer(t *testing.T) {
	for _, kind := range []string{"streamableHttp", "sse"} {
		t.Run(kind, func(t *testing.T) {
			e, srv := newEverything(t, kind)
			p := testPool(t, testOptions(), srv)
			for name, request := range map[string]func(context.Context) error{
				"resources/list": func(ctx context.Context) error {
					_, err := p.ListResources(ctx, "fake")
					return err
				},
				"tools/list": func(ctx context.Context) error {
					s, err := p.Connect(ctx, "fake")
					if err == nil {
						s.conn.changes.Add(1) // the list that it knows is out of date
						_, err = p.Definition(ctx, "fake", "echo")
					}
					return err
				},
				"tools/call": func(ctx context.Context) error {
					_, err := p.Call(ctx, "fake", "echo", fmt.Appendf(nil, `{"message":%q}`, "x"), nil)
					return err
				},
			} {
				if err := request(testContext(t)); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				e.stop()
				e.start(t)
				if err := request(testContext(t)); err != nil {
					t.Errorf("%s after a restart: %v", name, err)
				}
			}
		})
	}
}

// patient forwards connections to an address, and lets them wait until somebody listens there: on a busy machine the server
// takes longer to start than the SDK tries to connect again.
func patient(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	forward := func(in net.Conn) {
		defer in.Close()
		out, err := net.Dial("tcp", address)
		for end := time.Now().Add(testTime); err != nil && time.Now().Before(end); out, err = net.Dial("tcp", address) {
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			return
		}
		defer out.Close()
		go func() {
			_, _ = io.Copy(out, in)
			out.Close()
		}()
		_, _ = io.Copy(in, out)
	}
	go func() {
		for in, err := l.Accept(); err == nil; in, err = l.Accept() {
			go forward(in)
		}
	}()
	return l.Addr().String()
}

// TestRestartDuringACall: whether a call took effect that was under way when the server was restarted is unknown, so it is
// not made again. The next call has a new session.
func TestRestartDuringACall(t *testing.T) {
	e, srv := newEverything(t, "streamableHttp")
	srv.URL = "http://" + patient(t, e.address) + "/mcp"
	p := testPool(t, testOptions(), srv)
	var once sync.Once
	restarted := make(chan struct{})
	_, err := p.Call(testContext(t), "fake", "trigger-long-running-operation", json.RawMessage(`{"duration":30,"steps":300}`), &CallOptions{
		Progress: func(Progress) {
			once.Do(func() {
				defer close(restarted)
				e.stop()
				e.start(t)
			})
		},
	})
	<-restarted
	wantConnectionError(t, err, "restarted; whether the request took effect is unknown")
	var gone *ConnectionError
	if errors.As(err, &gone); gone.NotSent {
		t.Error("the call counts as not sent")
	}
	poolCall(t, p, "echo", `{"message":"x"}`)
	if s := p.Stats()[0]; s.Calls != 2 || s.Restarts != 1 || s.Failures != 0 {
		t.Errorf("statistics %+v, want 2 calls, 1 restart and no failures", s)
	}
}
