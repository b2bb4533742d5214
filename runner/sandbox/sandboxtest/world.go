package sandboxtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/templates"
)

// world is the surroundings of the runs of one case: their folders, and things on the host that no script may see.
type world struct {
	id                      string
	base                    string // the folder that holds all of this
	workspace, tree, skills string
	packages                string // has the folders python and node_modules
	pooled                  bool   // as Options.Pooled
	elsewhere               string // a folder outside the sandbox that all users may write to
	secret                  string // in the canary file, the canary variable and the answer of the listeners
	canary                  string // a file outside all of these, readable by all
	other                   *world // the neighbour's world, or nil
	listeners
	drop    func()        // closes the host's end of the bridge
	release chan struct{} // ends the tool test__wait
	hangs   chan struct{} // closed when test__hang is entered
	hang    sync.Once
	all     chan struct{} // closed when test__together is entered for the twentieth time

	gathered atomic.Int32

	mu       sync.Mutex
	calls    []string
	runs     int
	canceled chan string // ids of calls whose context ended
	watch    *watcher    // the scripts' output as it arrives
}

// canaryVariable is set in the test's own process.
const canaryVariable = "SANDBOXTEST_CANARY"

func newSecret() string { return "canary-" + rand.Text() }

func newWorld(t *testing.T, secret string) *world {
	t.Helper()
	w := &world{id: "conf-" + strings.ToLower(rand.Text()[:10]), secret: secret,
		canceled: make(chan string, 100), release: make(chan struct{}), hangs: make(chan struct{}), all: make(chan struct{}), watch: &watcher{}}
	// Not t.TempDir, because a backend that runs guests as another user needs folders that others may enter.
	base, err := os.MkdirTemp("", "sandboxtest-")
	must(t, err)
	t.Cleanup(func() { must(t, removeAll(base)) })
	must(t, os.Chmod(base, 0o755))
	w.base = base
	for name, dir := range map[string]*string{"workspace": &w.workspace, "tree": &w.tree, "skills": &w.skills, "packages": &w.packages, "elsewhere": &w.elsewhere} {
		*dir = filepath.Join(base, name)
		must(t, os.Mkdir(*dir, 0o755))
	}
	must(t, os.Chmod(w.elsewhere, 0o777))
	w.canary = filepath.Join(base, "canary")
	for _, dir := range []string{filepath.Join(w.tree, "big_files"), filepath.Join(w.packages, "python/confpkg"), filepath.Join(w.packages, "node_modules/confpkg")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for name, text := range map[string]string{
		w.canary:                                    w.secret,
		filepath.Join(w.tree, "client.ts"):          templates.Text("ts/client.ts"),
		filepath.Join(w.tree, "client.py"):          templates.Text("py/client.py"),
		filepath.Join(w.tree, "__init__.py"):        "",
		filepath.Join(w.tree, "big_files/index.ts"): "export const size = 3;\n",
		filepath.Join(w.tree, "a.txt"):              "generated",
		filepath.Join(w.skills, "saved.txt"):        "a skill",

		filepath.Join(w.packages, "python/confpkg/__init__.py"):        "import sys\nsize = 3\nearly = '__main__' not in sys.modules or hasattr(sys.modules['__main__'], 'wait_for_job')\n",
		filepath.Join(w.packages, "python/confbad.py"):                 "raise RuntimeError('it is broken')\n",
		filepath.Join(w.packages, "python/colorsys.py"):                "raise RuntimeError('it comes before the standard library')\n",
		filepath.Join(w.packages, "python/conf.pth"):                   "import builtins; builtins.pth = True\n",
		filepath.Join(w.packages, "node_modules/confpkg/index.js"):     "require('./node'); exports.size = require('./lib.json').size;\n",
		filepath.Join(w.packages, "node_modules/confpkg/node.js"):      "exports.path = require('node:path');\n",
		filepath.Join(w.packages, "node_modules/confpkg/lib.json"):     `{"size": 3}`,
		filepath.Join(w.packages, "node_modules/confpkg/package.json"): `{"name": "confpkg", "version": "1.0.0", "browser": {"./node.js": false}}`,
		filepath.Join(w.elsewhere, "somebody.txt"):                     "somebody's",
	} {
		must(t, os.WriteFile(name, []byte(text), 0o644))
		must(t, os.Chmod(name, 0o666)) // their protection must not depend on permissions
	}
	w.listen(t)
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// removeAll removes a folder, even if scripts have locked folders in it.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// nextID names the next run.
func (w *world) nextID() string {
	w.runs++
	return fmt.Sprintf("%s-%d", w.id, w.runs)
}

// outside lists all files beside the workspace, with digests of their content.
func (w *world) outside(t testing.TB) []string {
	t.Helper()
	var list []string
	must(t, filepath.WalkDir(w.base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == w.workspace {
			if path == w.workspace {
				return fs.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entry := fmt.Sprintf("%s %v", strings.TrimPrefix(path, w.base), info.Mode())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			entry += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		list = append(list, entry)
		return nil
	}))
	slices.Sort(list)
	return list
}

// fill replaces the placeholders in a script.
func (w *world) fill(code string) string {
	host, _ := os.Hostname()
	pairs := []string{"@CANARY@", w.canary, "@VARIABLE@", canaryVariable, "@ID@", w.id, "@HOSTWORKSPACE@", w.workspace,
		"@ELSEWHERE@", w.elsewhere, "@BASE@", w.base, "@HOSTNAME@", host,
		"@PORT@", w.port, "@PORT6@", w.port6, "@UDP@", w.udp, "@ABSTRACT@", w.abstract, "@FREE@", w.free}
	if w.other != nil {
		pairs = append(pairs, "@OTHER@", w.other.workspace, "@OTHERID@", w.other.id)
	}
	return strings.NewReplacer(pairs...).Replace(code)
}

// handle answers calls of the tools of the suite.
func (w *world) handle(ctx context.Context, req *call.Request) (*call.Result, error) {
	w.mu.Lock()
	if len(w.calls) < 1000 {
		w.calls = append(w.calls, req.Tool)
	}
	w.mu.Unlock()
	value := func(v any) (*call.Result, error) {
		raw, err := json.Marshal(v)
		return &call.Result{Value: raw, Raw: raw}, err
	}
	await := func(event <-chan struct{}) (*call.Result, error) {
		select {
		case <-event:
			return value(true)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch req.Tool {
	case "test__echo":
		return value(req.Args)
	case "test__text":
		return value("plain text")
	case "test__members": // a declared result
		out, err := value(map[string]any{"items": []any{map[string]any{"id": 1}, map[string]any{"id": 2}}})
		out.As = call.AsMembers
		return out, err
	case "test__json": // a JSON text
		out, err := value(" {\"rows\": [9007199254740993,\n1.50]}")
		out.As = call.AsJSON
		return out, err
	case "test__large":
		return value(strings.Repeat("x", 4<<20))
	case "test__together": // answers once twenty calls have arrived
		if w.gathered.Add(1) == 20 {
			close(w.all)
		}
		return await(w.all)
	case "test__when_early": // answers once the script's output has a line "early"
		for w.watch.when("early").IsZero() {
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return value(true)
	case "test__hang":
		w.hang.Do(func() { close(w.hangs) })
		<-ctx.Done()
		select {
		case w.canceled <- req.Tool:
		default: // enough have been recorded
		}
		return nil, ctx.Err()
	case "test__when_hanging": // answers once test__hang was entered
		return await(w.hangs)
	case "test__wait":
		return await(w.release)
	case "test__drop_soon": // once the call has been answered
		time.AfterFunc(300*time.Millisecond, w.drop)
		return value(true)
	case "test__drop":
		w.drop()
		return value(true)
	case "test__dial": // whether the host reaches a port that the script listens on
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+w.free, time.Second)
		if err == nil {
			conn.Close()
		}
		return value(err == nil)
	}
	if kind, ok := strings.CutPrefix(req.Tool, "test__fail_"); ok {
		return nil, &call.Error{Kind: call.Kind(kind), Message: "no luck", Server: "test", Tool: req.Tool,
			Content: json.RawMessage(`[{"type":"text","text":"detail"}]`), Code: -32000, Data: json.RawMessage(`{"why":"x"}`)}
	}
	return nil, &call.Error{Kind: call.KindArgument, Message: "unknown tool", Tool: req.Tool}
}

// called lists the tools that were called, in order.
func (w *world) called() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// watcher records when each piece of output arrived.
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

// when returns the time at which text first arrived.
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
