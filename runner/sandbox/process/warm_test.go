//go:build linux

package process_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// waiting returns guests that say hello and then, when they receive a byte, run code where they were started.
func waiting(rt sandbox.Runtime, code string) sandbox.Spec {
	if rt == sandbox.Node {
		return spec(rt, `import fs from "node:fs"; import os from "node:os";
fs.writeSync(3, "hello"); for (;;) try { fs.readSync(3, Buffer.alloc(1)); break } catch (e) { if (e.code !== "EAGAIN") throw e }
process.chdir(process.cwd());
`+code)
	}
	return spec(rt, `
import os, sys
os.write(3, b"hello"); os.read(3, 1); os.chdir(os.getcwd())
`+code)
}

// warmed returns a waiting guest and its connection.
func warmed(t testing.TB, ctx context.Context, b sandbox.Warmer, s sandbox.Spec) (sandbox.Idle, net.Conn) {
	t.Helper()
	i, err := b.Warm(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := i.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	return i, conn
}

// adopted returns the result of a waiting guest in run s.
func adopted(t testing.TB, i sandbox.Idle, conn net.Conn, s sandbox.Spec) (sandbox.Exit, string) {
	t.Helper()
	var out bytes.Buffer
	s.Stdout, s.Stderr = &out, &out
	p, err := i.Adopt(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Bridge(t.Context()); err == nil {
		t.Error("the bridge was given twice: got no error, want an error")
	}
	if p.Secret() != "s3cret" {
		t.Errorf("secret %q", p.Secret())
	}
	if _, err := conn.Write([]byte("g")); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit, out.String()
}

// shownFolders returns a workspace, a tree and skills.
func shownFolders(t *testing.T) sandbox.Spec {
	s := sandbox.Spec{ID: "run", Workspace: t.TempDir(), Tree: t.TempDir(), Skills: t.TempDir()}
	for dir, name := range map[string]string{s.Workspace: "mine", s.Tree: "tool", s.Skills: "skill"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestWarmGuestsGetTheirRun(t *testing.T) {
	for rt, code := range map[sandbox.Runtime]string{
		sandbox.Python: `
for f in "mine", "servers/tool", "skills/skill", "/mcp/servers/tool", "/mcp/skills/skill": print(open(f).read(), end=" ")
for f in "servers/x", "skills/x", "/mcp/servers/x", "/mcp/skills/skill", "/mcp/guest/x", "/x", "/usr/x":
    try: open(f, "w"); print("wrote", f)
    except OSError: pass
open("out", "w").write("kept"); print(sys.stdin.read())
`,
		sandbox.Node: `
for (const f of ["mine", "servers/tool", "skills/skill", "/mcp/servers/tool", "/mcp/skills/skill"]) process.stdout.write(fs.readFileSync(f, "utf8") + " ");
for (const f of ["servers/x", "skills/x", "/mcp/servers/x", "/mcp/skills/skill", "/mcp/guest/x", "/x", "/usr/x"])
  try { fs.writeFileSync(f, ""); console.log("wrote", f) } catch {}
fs.writeFileSync("out", "kept"); console.log(fs.readFileSync(0, "utf8"));
`} {
		b := backend(t)
		i, conn := warmed(t, t.Context(), b, waiting(rt, code))
		s := shownFolders(t)
		s.Runtime, s.Stdin = rt, strings.NewReader("given")
		other := sandbox.Spec{Runtime: rt, Limits: sandbox.Limits{Files: 1, Tmp: 1, Memory: 1}}
		if b.Shape(s) != b.Shape(other) {
			t.Error("guests know more than their interpreter")
		}
		if other.Limits.Memory = 2_000_000_000; (b.Shape(s) == b.Shape(other)) == (rt == sandbox.Node) {
			t.Error("node's guests know of a heap that may get large, and no others")
		}
		exit, out := adopted(t, i, conn, s)
		if want := "mine tool skill tool skill given\n"; exit.Code != 0 || out != want {
			t.Errorf("%s: %+v, want Code 0 and %s\n%s", rt, exit, want, out)
		}
		if text, err := os.ReadFile(filepath.Join(s.Workspace, "out")); err != nil || string(text) != "kept" {
			t.Errorf(`%s: %q %v, want "kept" and no error`, rt, text, err)
		}
	}
}

func TestWarmGuestsWithoutAWorkspace(t *testing.T) {
	i, conn := warmed(t, t.Context(), backend(t), waiting(sandbox.Python, `
open("x", "w").write("1"); print(os.getcwd(), os.listdir())
try: open("big", "wb").write(bytes(3 << 20))
except OSError as e: print(e.errno)
`))
	exit, out := adopted(t, i, conn, sandbox.Spec{Runtime: sandbox.Python, Limits: sandbox.Limits{Tmp: 1 << 20}})
	if exit.Code != 0 || out != "/workspace ['x']\n28\n" {
		t.Errorf("%+v %q, want Code 0 and %q", exit, out, "/workspace ['x']\n28\n")
	}
}

func TestWarmGuestsAreLimited(t *testing.T) {
	for want, c := range map[string]struct {
		limits sandbox.Limits
		code   string
	}{
		sandbox.LimitMemory: {sandbox.Limits{Memory: 80_000_000}, "a = []\nwhile True: a.append(bytearray(1 << 20))"},
		sandbox.LimitCPU:    {sandbox.Limits{CPU: time.Second}, "while True: pass"},
		sandbox.LimitOutput: {sandbox.Limits{Output: 1 << 20}, "while True: print('x' * 1000)"},
		sandbox.LimitDisk:   {sandbox.Limits{Disk: 4 << 20}, "f = open('f', 'wb')\nwhile True: f.write(bytes(1 << 20)); f.flush()"},
	} {
		i, conn := warmed(t, t.Context(), backend(t), waiting(sandbox.Python, c.code))
		exit, out := adopted(t, i, conn, sandbox.Spec{Runtime: sandbox.Python, Workspace: t.TempDir(), Limits: c.limits})
		if exit.Killed != want || len(exit.Hit) != 1 || exit.Hit[0] != want {
			t.Errorf("%s: %+v, %d bytes of output: %.300q", want, exit, len(out), out)
		}
	}
}

func TestWarmGuestsThatNobodyTakes(t *testing.T) {
	b := backend(t)
	i, _ := warmed(t, t.Context(), b, waiting(sandbox.Python, ""))
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	<-i.Done()

	ctx, cancel := context.WithCancel(t.Context())
	i, _ = warmed(t, ctx, b, waiting(sandbox.Python, ""))
	cancel()
	<-i.Done()
	if _, err := i.Adopt(t.Context(), sandbox.Spec{Runtime: sandbox.Python}); err == nil {
		t.Error("a guest that had ended was handed over: got no error, want an error")
	}

	i, _ = warmed(t, t.Context(), b, waiting(sandbox.Python, ""))
	if _, err := i.Adopt(t.Context(), sandbox.Spec{Runtime: sandbox.Node}); err == nil {
		t.Error("a guest was handed over that runs another language: got no error, want an error")
	}
	<-i.Done()

	i, _ = warmed(t, t.Context(), b, waiting(sandbox.Node, ""))
	if _, err := i.Adopt(t.Context(), sandbox.Spec{Runtime: sandbox.Node, Limits: sandbox.Limits{Memory: 2 << 30}}); err == nil {
		t.Error("a guest was handed over whose heap is of another size: got no error, want an error")
	}
	<-i.Done()
}

// BenchmarkWarm measures the time from a spec to the first line of a script.
func BenchmarkWarm(b *testing.B) {
	be := backend(b)
	for rt, code := range map[sandbox.Runtime]string{sandbox.Node: "console.log(1)", sandbox.Python: "print(1, flush=True)"} {
		b.Run(string(rt), func(b *testing.B) {
			dir := b.TempDir()
			var took []time.Duration
			for b.Loop() {
				i, conn := warmed(b, b.Context(), be, waiting(rt, code))
				w := make(first, 1)
				began := time.Now()
				p, err := i.Adopt(b.Context(), sandbox.Spec{Runtime: rt, Workspace: dir, Stdout: w})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := conn.Write([]byte("g")); err != nil {
					b.Fatal(err)
				}
				<-w
				took = append(took, time.Since(began))
				_, _ = p.Wait()
			}
			sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "µs-p95")
		})
	}
}
