package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// outcome is the result of a run.
type outcome struct {
	sandbox.Exit
	*testhost.Result
	stdout, stderr string
}

// kind is a backend and the way in which its guests get their runs.
type kind struct {
	*Backend
	warm bool
}

// kinds runs f with both ways to confine a child, each with guests started for their run and before it.
func kinds(t *testing.T, f func(t *testing.T, b kind)) {
	for _, unjailed := range []bool{false, true} {
		for _, warm := range []bool{false, true} {
			t.Run(fmt.Sprintf("unjailed=%v,warm=%v", unjailed, warm), func(t *testing.T) {
				f(t, kind{New(&Options{unjailed: unjailed, RuntimeDir: privateDir(t)}), warm})
			})
		}
	}
}

// Start starts a guest, or has one adopted.
func (k kind) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	start, err := k.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	return start(ctx, spec)
}

// prepare does what can be done before there is a run, and returns the function that then starts the run.
func (k kind) prepare(ctx context.Context, spec sandbox.Spec) (func(context.Context, sandbox.Spec) (sandbox.Process, error), error) {
	if !k.warm {
		return k.Backend.Start, nil
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	i, err := k.Warm(life, sandbox.Spec{ID: "idle", Runtime: spec.Runtime, Secret: spec.Secret})
	if err != nil {
		end()
		return nil, err
	}
	conn, err := i.Bridge(ctx)
	if err != nil {
		end()
		return nil, errors.Join(err, i.Close())
	}
	hello, err := testhost.ReadFrame(conn)
	if err != nil {
		end()
		return nil, errors.Join(fmt.Errorf("hello: %w", err), i.Close(), conn.Close())
	}
	return func(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
		defer end()
		p, err := i.Adopt(ctx, spec)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return &adopted{p, &greeted{conn, append(binary.BigEndian.AppendUint32(nil, uint32(len(hello))), hello...)}}, nil
	}, nil
}

// adopted is a process whose hello has already been read.
type adopted struct {
	sandbox.Process
	conn net.Conn
}

func (a *adopted) Bridge(context.Context) (net.Conn, error) { return a.conn, nil }

type greeted struct {
	net.Conn
	first []byte
}

func (g *greeted) Read(b []byte) (int, error) {
	if len(g.first) == 0 {
		return g.Conn.Read(b)
	}
	n := copy(b, g.first)
	g.first = g.first[n:]
	return n, nil
}

// starter is the part of a backend that a run needs.
type starter interface {
	Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error)
}

func execute(t testing.TB, b starter, spec sandbox.Spec, h testhost.Host, code string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return executeCtx(t, ctx, b, spec, h, code)
}

func executeCtx(t testing.TB, ctx context.Context, b starter, spec sandbox.Spec, h testhost.Host, code string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	spec.ID, spec.Runtime, spec.Secret = "test", sandbox.QuickJS, "secret"
	if spec.Stdout == nil {
		spec.Stdout = io.Discard
	}
	spec.Stdout, spec.Stderr = io.MultiWriter(&stdout, spec.Stdout), &stderr
	h.Secret = "secret"
	p, err := b.Start(ctx, spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	conn, err := p.Bridge(ctx)
	if err != nil {
		t.Fatalf("bridge: %v", err)
	}
	res, err := h.Serve(conn, code)
	if err != nil {
		t.Errorf("bridge: %v", err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Errorf("wait: %v", err)
	}
	return outcome{exit, res, stdout.String(), stderr.String()}
}

func TestRun(t *testing.T) {
	kinds(t, func(t *testing.T, b kind) {
		ws, tree, skills := t.TempDir(), t.TempDir(), t.TempDir()
		for name, text := range map[string]string{filepath.Join(tree, "index.ts"): "// tree", filepath.Join(skills, "a.ts"): "// skill"} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := execute(t, b, sandbox.Spec{Workspace: ws, Tree: tree, Skills: skills}, testhost.Host{}, `
			import fs from "node:fs";
			const r = await globalThis[Symbol.for("mcprun.transport")].call("a__b", { x: 1 });
			fs.writeFileSync("out.txt", JSON.stringify(r));
			fs.writeFileSync("/tmp/x", "tmp");
			console.log(fs.readdirSync("/"), fs.readdirSync("."), fs.readFileSync("./servers/index.ts", "utf8"), fs.readFileSync("/tmp/x", "utf8"));
			console.log(fs.readFileSync("./skills/a.ts", "utf8"), fs.readFileSync("/mcp/skills/a.ts", "utf8"), fs.readdirSync("/mcp"));
			for (const name of ["./servers/x", "/mcp/servers/index.ts", "./skills/x", "/mcp/skills/a.ts", "/mcp/x", "/x"])
				try { fs.writeFileSync(name, "") } catch (e) { console.error(e.code) }
			export const result = { n: 42 };
		`)
		want := "[ 'mcp', 'tmp', 'workspace' ] [ 'out.txt', 'servers', 'skills' ] // tree tmp\n// skill // skill [ 'servers', 'skills' ]\n"
		if got.Code != 0 || got.stdout != want || got.stderr != strings.Repeat("EROFS\n", 6) || got.Result.Result != `{"n":42}` {
			t.Errorf("got %+v\n%s", got, got.Exit.Killed)
		}
		if b, err := os.ReadFile(filepath.Join(ws, "out.txt")); err != nil || string(b) != `{"ok":true}` {
			t.Errorf("the written file: %q %v, want %q and no error", b, err, `{"ok":true}`)
		}
		left, _ := os.ReadDir(b.opts.RuntimeDir)
		if len(left) > 0 {
			t.Errorf("left behind: %v, want len(left) at most 0", left)
		}
	})
}

func TestCrashIsTheChildsAlone(t *testing.T) {
	// If the engine's limit lets something through, the process's limit must stop it. Here the engine may use all memory.
	kinds(t, func(t *testing.T, b kind) {
		got := execute(t, b, sandbox.Spec{Limits: sandbox.Limits{Memory: 100_000_000}}, testhost.Host{}, `
			console.log("running");
			const keep = []; for (;;) keep.push("x".repeat(1e5) + keep.length);
		`)
		if got.Code != 137 || got.Killed != "memory" || got.stdout != "running\n" {
			t.Errorf(`%+v stdout %q stderr %q, want Code 137, Killed "memory" and %q`, got.Exit, got.stdout, got.stderr, "running\n")
		}
		if again := execute(t, b, sandbox.Spec{}, testhost.Host{}, `console.log("fine")`); again.stdout != "fine\n" {
			t.Errorf("the next run: %+v %q: got %v, want %q", again.Exit, again.stderr, again.stdout, "fine\n")
		}
	})
}

func TestKillEndsWhatNeverYields(t *testing.T) {
	for name, code := range map[string]string{
		"loop":   `console.log("running"); for (;;);`,
		"native": `console.log("running"); new Array(1e9).join("x")`,
		"regexp": `console.log("running"); /^(a+)+$/.test("a".repeat(50) + "!")`,
		"jobs":   `console.log("running"); const f = () => Promise.resolve().then(f); f()`,
		"timers": `console.log("running"); setInterval(() => {}, 0)`,
		"sleep":  `console.log("running"); await new Promise((ok) => setTimeout(ok, 1e9))`,
	} {
		kinds(t, func(t *testing.T, b kind) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			killed := make(chan time.Time, 1)
			kill := time.AfterFunc(time.Hour, func() { killed <- time.Now(); cancel() })
			defer kill.Stop()
			running := func() { kill.Reset(200 * time.Millisecond) } // once it runs code that never yields
			got := executeCtx(t, ctx, b, sandbox.Spec{Stdout: writer(running)}, testhost.Host{}, code)
			if got.Code != 137 || got.Killed != "" || got.stdout != "running\n" {
				t.Errorf(`%s: %+v stdout %q stderr %q, want Code 137, Killed "" and %q`, name, got.Exit, got.stdout, got.stderr, "running\n")
			}
			select {
			case at := <-killed:
				if took := time.Since(at); took > 2*time.Second {
					t.Errorf("%s: it ended %v after the kill, want at most %v", name, took, 2*time.Second)
				}
			default:
				t.Errorf("%s: it ended before the kill", name)
			}
		})
	}
}

// writer is called for each piece of output.
type writer func()

func (w writer) Write(p []byte) (int, error) { w(); return len(p), nil }

func TestStartErrors(t *testing.T) {
	b := New(&Options{RuntimeDir: privateDir(t)})
	if _, err := b.Start(t.Context(), sandbox.Spec{ID: "x", Runtime: sandbox.Python}); err == nil {
		t.Error("python was started: got no error, want an error")
	}
	if _, err := b.Start(t.Context(), sandbox.Spec{ID: "x", Runtime: sandbox.QuickJS, Workspace: "/does/not/exist"}); err == nil {
		t.Error("a workspace that does not exist was accepted: got no error, want an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Start(ctx, sandbox.Spec{ID: "x", Runtime: sandbox.QuickJS}); err == nil {
		t.Error("started with a context that had ended: got no error, want an error")
	}
	bad := New(&Options{Exe: "/bin/true", RuntimeDir: privateDir(t)})
	if p, err := bad.Start(t.Context(), sandbox.Spec{ID: "x", Runtime: sandbox.QuickJS}); err == nil {
		p.Kill()
		_, _ = p.Wait()
		t.Error("a program that is not ours was taken for a guest")
	}
}

func TestWaitWithoutBridge(t *testing.T) {
	kinds(t, func(t *testing.T, b kind) {
		p, err := b.Start(t.Context(), sandbox.Spec{ID: "x", Runtime: sandbox.QuickJS, Secret: "s"})
		if err != nil {
			t.Fatal(err)
		}
		p.Kill()
		p.Kill()
		if exit, err := p.Wait(); err != nil || exit.Code != 137 || exit.Killed != "" {
			t.Errorf(`%+v %v, want Code 137, Killed "" and no error`, exit, err)
		}
		left, _ := os.ReadDir(b.opts.RuntimeDir)
		if len(left) > 0 {
			t.Errorf("left behind: %v, want len(left) at most 0", left)
		}
	})
}

func TestProbe(t *testing.T) {
	kinds(t, func(t *testing.T, b kind) {
		start := time.Now()
		s := b.Probe(t.Context())
		if !s.Usable || s.Detail == "" || len(s.Languages) != 1 || time.Since(start) > 20*time.Second {
			t.Errorf("%+v", s)
		}
		if b.opts.unjailed && len(s.Missing) == 0 {
			t.Error("a child without a jail is said to lack nothing")
		}
		if rt, ok := b.Runtime(sandbox.LangTypeScript); rt != sandbox.QuickJS || !ok {
			t.Error("no TypeScript")
		}
		if _, ok := b.Runtime(sandbox.LangPython); ok {
			t.Error("Python")
		}
	})
}

// privateDir is a folder for runs that no other user can enter.
func privateDir(t testing.TB) string { return filepath.Join(t.TempDir(), "runs") }
