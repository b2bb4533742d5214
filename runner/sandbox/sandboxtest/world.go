package sandboxtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/templates"
)

// world is what surrounds one run: its folders, and things on the host that no script may see.
type world struct {
	id              string
	workspace, tree string
	secret          string // in the canary file, the canary variable and the answer of the listener
	canary          string // a file outside of everything, readable by all
	socket          string // a unix socket of the host in the workspace
	port            string // of a listener on the loopback interface
	connections     atomic.Int32
	drop            func() // closes the host's end of the bridge

	mu       sync.Mutex
	calls    []string
	canceled chan string // ids of calls whose context ended
	watch    *watcher    // the script's output as it comes
}

// canaryVariable is set in the test's own process.
const canaryVariable = "SANDBOXTEST_CANARY"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{id: "conf-" + strings.ToLower(rand.Text()[:10]), secret: "canary-" + rand.Text(),
		canceled: make(chan string, 100), watch: &watcher{}}
	// Not t.TempDir: a backend that runs guests as another user needs folders that others may enter.
	base, err := os.MkdirTemp("", "sandboxtest-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(base)) })
	must(t, os.Chmod(base, 0o755))
	w.workspace, w.tree, w.canary = filepath.Join(base, "workspace"), filepath.Join(base, "tree"), filepath.Join(base, "canary")
	must(t, os.Mkdir(w.workspace, 0o755))
	must(t, os.Mkdir(w.tree, 0o755))
	must(t, os.WriteFile(w.canary, []byte(w.secret), 0o644))
	must(t, os.Chmod(w.canary, 0o644))
	for name, from := range map[string]string{"client.ts": "ts/client.ts", "client.py": "py/client.py"} {
		must(t, os.WriteFile(filepath.Join(w.tree, name), []byte(templates.Text(from)), 0o644))
	}
	must(t, os.WriteFile(filepath.Join(w.tree, "__init__.py"), nil, 0o644))
	t.Setenv(canaryVariable, w.secret)
	w.listen(t)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listen offers the canary on the loopback interface and on a socket file in the workspace.
func (w *world) listen(t *testing.T) {
	t.Helper()
	w.socket = filepath.Join(w.workspace, "host.sock")
	for network, addr := range map[string]string{"tcp": "127.0.0.1:0", "unix": w.socket} {
		l, err := net.Listen(network, addr)
		must(t, err)
		t.Cleanup(func() { l.Close() })
		if network == "tcp" {
			_, w.port, _ = net.SplitHostPort(l.Addr().String())
		} else {
			must(t, os.Chmod(addr, 0o777))
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				w.connections.Add(1)
				_, _ = conn.Write([]byte(w.secret))
				conn.Close()
			}
		}()
	}
}

// fill replaces the names in a script.
func (w *world) fill(code string) string {
	return strings.NewReplacer("@CANARY@", w.canary, "@PORT@", w.port, "@VARIABLE@", canaryVariable, "@ID@", w.id,
		"@HOSTWORKSPACE@", w.workspace).Replace(code)
}

// handle answers the suite's tools.
func (w *world) handle(ctx context.Context, req *call.Request) (*call.Result, error) {
	w.mu.Lock()
	w.calls = append(w.calls, req.Tool)
	w.mu.Unlock()
	value := func(v any) (*call.Result, error) {
		raw, err := json.Marshal(v)
		return &call.Result{Value: raw, Raw: raw}, err
	}
	switch req.Tool {
	case "test__echo":
		return value(req.Args)
	case "test__text":
		return value("plain text")
	case "test__sleep":
		select {
		case <-time.After(100 * time.Millisecond):
			return value(true)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "test__hang":
		<-ctx.Done()
		w.canceled <- req.Tool
		return nil, ctx.Err()
	case "test__drop":
		w.drop()
		return value(true)
	}
	if kind, ok := strings.CutPrefix(req.Tool, "test__fail_"); ok {
		return nil, &call.Error{Kind: call.Kind(kind), Message: "no luck", Server: "test", Tool: req.Tool,
			Content: json.RawMessage(`[{"type":"text","text":"detail"}]`), Code: -32000, Data: json.RawMessage(`{"why":"x"}`)}
	}
	return nil, &call.Error{Kind: call.KindArgument, Message: "unknown tool", Tool: req.Tool}
}

// watcher notes when each piece of output came.
type watcher struct {
	mu    sync.Mutex
	lines []arrival
	bytes int
}

type arrival struct {
	at   time.Time
	text string
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += len(p)
	if len(w.lines) < 1000 {
		w.lines = append(w.lines, arrival{time.Now(), string(p)})
	}
	return len(p), nil
}

// when is the time at which text was first seen.
func (w *watcher) when(text string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lines {
		if strings.Contains(l.text, text) {
			return l.at
		}
	}
	return time.Time{}
}
