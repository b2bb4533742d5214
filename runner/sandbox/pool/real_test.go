package pool_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/templates"
)

func TestMain(m *testing.M) {
	process.Init()
	embedded.Child()
	os.Exit(m.Run())
}

// real returns backends with real guests.
func real(t testing.TB) map[string]sandbox.Warmer {
	all := map[string]sandbox.Warmer{"embedded": embedded.New(&embedded.Options{RuntimeDir: t.TempDir()})}
	if runtime.GOOS == "linux" {
		all["process"] = process.New(&process.Options{LookPath: exec.LookPath, Node: "node", Python: "python3"})
	}
	return all
}

// one runs a script and returns its output, that on standard error first, and how it ended.
func one(t testing.TB, b sandbox.Backend, lang sandbox.Language, spec sandbox.Spec, code string) (string, sandbox.Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rt, _ := b.Runtime(lang)
	name := map[sandbox.Language]string{sandbox.LangTypeScript: "script.ts", sandbox.LangPython: "script.py"}[lang]
	job, err := script.Read(ctx, script.Source{Name: name, Code: code, Language: lang}, script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	spec.ID, spec.Secret, spec.Runtime, spec.Stdout, spec.Stderr = "run", "of the run", rt, &stdout, &stderr
	spec.Args, spec.Guest = templates.RuntimeArgs(string(rt)), templates.Guest(string(rt))
	p, err := b.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(ctx)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(context.Context, *call.Request) (*call.Result, error) { return nil, fmt.Errorf("no tools here") }
	if _, err := bridge.Serve(ctx, conn, bridge.Options{Secret: p.Secret(), Job: *job.Job, Handler: refuse}); err != nil && err != bridge.ErrClosed {
		t.Error(err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Error(err)
	}
	return stderr.String() + stdout.String(), exit
}

// idle waits until the pool has n idle guests.
func idle(t testing.TB, p *pool.Pool, n int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); p.Stats().Idle < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no idle guest: %+v", p.Stats())
		}
	}
}

// programs leave behind everything they can, and look for what others have left.
var programs = map[sandbox.Language]string{
	sandbox.LangTypeScript: `
		import fs from "node:fs";
		const seen = [...fs.readdirSync("/tmp"), ...fs.readdirSync(".")].filter((f) => f.startsWith("left"));
		console.log("seen", (globalThis as any).left ?? "nothing", seen.join(), fs.readFileSync("mine", "utf8"));
		(globalThis as any).left = "something";
		(Array.prototype as any).left = "something";
		fs.writeFileSync("/tmp/left", "x");
		fs.writeFileSync("left", "x");
	`,
	sandbox.LangPython: `
import builtins, os
seen = [f for f in os.listdir("/tmp") + os.listdir(".") if f.startswith("left")]
print("seen", getattr(builtins, "left", "nothing"), ",".join(seen), open("mine").read())
builtins.left = "something"
os.environ["left"] = "something"
open("/tmp/left", "w").close()
open("left", "w").close()
`,
}

// TestNothingIsCarriedOver runs scripts with workspaces of their own, eight at once.
func TestNothingIsCarriedOver(t *testing.T) {
	for name, b := range real(t) {
		for lang, code := range programs {
			if _, ok := b.Runtime(lang); !ok {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", name, lang), func(t *testing.T) {
				p := pool.New(noClose{b}, nil)
				one(t, p, lang, sandbox.Spec{}, "")
				idle(t, p, 1)
				var runs sync.WaitGroup
				for i := range 8 {
					runs.Go(func() {
						for j := range 3 {
							ws := t.TempDir()
							mine := fmt.Sprintf("%d.%d", i, j)
							if err := os.WriteFile(filepath.Join(ws, "mine"), []byte(mine), 0o644); err != nil {
								t.Error(err)
								return
							}
							out, exit := one(t, p, lang, sandbox.Spec{Workspace: ws}, code)
							if want := "seen nothing  " + mine + "\n"; out != want || exit.Code != 0 {
								t.Errorf("it wrote %q, want %q; %+v", out, want, exit)
							}
							if _, err := os.Stat(filepath.Join(ws, "left")); err != nil {
								t.Errorf("it wrote elsewhere: %v", err)
							}
						}
					})
				}
				runs.Wait()
				s := p.Stats()
				if s.Warm < 1 || s.Warm+s.Cold != 25 || s.Failed != 0 || s.Died != 0 {
					t.Errorf("%+v, want Warm at least 1, s.Warm+s.Cold 25, Failed 0 and Died 0", s)
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestLimitsAreTheRuns gives guests of one shape different limits each time.
func TestLimitsAreTheRuns(t *testing.T) {
	for name, b := range real(t) {
		t.Run(name, func(t *testing.T) {
			p := pool.New(noClose{b}, nil)
			defer p.Close()
			code := `const keep: unknown[] = []; for (let i = 0; i < 300; i++) keep.push(new Uint8Array(1 << 20).fill(1)); console.log(keep.length);`
			one(t, p, sandbox.LangTypeScript, sandbox.Spec{}, "")
			for i, memory := range []int64{1 << 30, 150 << 20, 1 << 30} {
				idle(t, p, 1)
				out, exit := one(t, p, sandbox.LangTypeScript, sandbox.Spec{Limits: sandbox.Limits{Memory: memory}}, code)
				if enough := memory > 400<<20; (out == "300\n") != enough || (exit.Killed == sandbox.LimitMemory) == enough {
					t.Errorf("run %d: %q, %+v", i, strings.TrimSpace(out), exit)
				}
			}
			if s := p.Stats(); s.Warm != 3 {
				t.Errorf("%+v, want Warm 3", s)
			}
		})
	}
}

// noClose is a backend for more than one pool.
type noClose struct{ sandbox.Warmer }

func (noClose) Close() error { return nil }

// BenchmarkFirstLine measures the time from Start to the first byte of output, with an idle guest.
func BenchmarkFirstLine(b *testing.B) {
	for name, backend := range real(b) {
		for lang, code := range map[sandbox.Language]string{sandbox.LangTypeScript: `console.log("x")`, sandbox.LangPython: `print("x")`} {
			if _, ok := backend.Runtime(lang); !ok {
				continue
			}
			b.Run(fmt.Sprintf("%s/%s", name, lang), func(b *testing.B) {
				p := pool.New(noClose{backend}, nil)
				defer p.Close()
				one(b, p, lang, sandbox.Spec{}, "")
				ws := b.TempDir()
				var total time.Duration
				for b.Loop() {
					b.StopTimer()
					idle(b, p, 1)
					b.StartTimer()
					began := time.Now()
					one(b, p, lang, sandbox.Spec{Workspace: ws}, code)
					total += time.Since(began)
				}
				b.ReportMetric(float64(total.Microseconds())/float64(b.N)/1e3, "ms-whole-run")
			})
		}
	}
}

// TestNoDescriptorsLeft runs scripts that fail for lack of descriptors. The guest program, which then has none either, must report this and
// not fail itself.
func TestNoDescriptorsLeft(t *testing.T) {
	code := map[sandbox.Language]string{
		sandbox.LangTypeScript: `import fs from "node:fs"; fs.writeFileSync("f", ""); for (;;) fs.openSync("f", "r");`,
		sandbox.LangPython:     "open('f', 'w').close()\nkeep = []\nwhile True: keep.append(open('f'))\n",
	}
	for name, b := range real(t) {
		for lang := range code {
			if _, ok := b.Runtime(lang); !ok || name == "embedded" { // its scripts cannot open any
				continue
			}
			out, exit := one(t, b, lang, sandbox.Spec{Limits: sandbox.Limits{Files: 64}}, code[lang])
			if exit.Code != 1 || exit.Killed != "" {
				t.Errorf(`%s: %+v, it wrote %.2000s, want Code 1 and Killed ""`, lang, exit, out)
			}
		}
	}
}

// TestPackagesAreImportedAhead checks that a waiting guest imports what is to be preloaded, says what it could not import but not what it printed, and serves
// only runs with the same packages, even after these were removed.
func TestPackagesAreImportedAhead(t *testing.T) {
	b := real(t)["process"]
	if b == nil {
		return // there is no such sandbox on this system
	}
	p := pool.New(noClose{b}, nil)
	defer p.Close()
	set := func(value string) sandbox.Spec {
		dir, err := os.MkdirTemp("", "packages-") // not t.TempDir, which the guest's user may not enter
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		for name, text := range map[string]string{"mine.py": "print('loaded')\nvalue = " + value, "broken.py": "raise SystemExit(3)"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return sandbox.Spec{Packages: dir, Preload: []string{"broken", "mine", "absent"}}
	}
	const code = "import sys\nearly = 'mine' in sys.modules\nimport mine\nprint(mine.value, early)"
	const warning = "mcprun: not imported ahead of the run: broken (SystemExit: 3), absent (ModuleNotFoundError: No module named 'absent')\n"
	one := func(spec sandbox.Spec) string {
		out, exit := one(t, p, sandbox.LangPython, spec, code)
		if exit.Code != 0 {
			t.Errorf("%+v: %s", exit, out)
		}
		return out
	}
	first, second := set("1"), set("2")
	if out := one(first); out != "loaded\n1 False\n" {
		t.Errorf("a cold run printed %q, want %q", out, "loaded\n1 False\n")
	}
	out := ""
	for wait := 100 * time.Millisecond; out != warning+"1 True\n"; wait *= 2 {
		if wait > 10*time.Second {
			t.Fatalf("a warm run printed %q, want %q", out, warning+"1 True\n")
		}
		idle(t, p, 1)
		time.Sleep(wait)
		out = one(first)
	}
	idle(t, p, 1)
	if err := os.RemoveAll(first.Packages); err != nil {
		t.Fatal(err)
	}
	if out := one(second); !strings.HasSuffix(out, "2 False\n") {
		t.Errorf("a run with other packages printed %q, want 2 of a new guest", out)
	}
}
