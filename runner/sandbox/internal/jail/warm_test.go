//go:build linux && (amd64 || arm64)

package jail_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// openDir returns a folder that every user can write to, below folders that every user can enter.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jail")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// warmShell returns a shell that reports that it is running, and runs script as soon as it reads a line from the bridge.
func warmShell(script string) jail.Config {
	cfg := shell(`echo ready >&3; read line <&3; cd "$PWD"; ` + script)
	cfg.Warm, cfg.Dirs, cfg.Dir = true, []string{"/ws", "/ro/tree"}, "/ws"
	return cfg
}

// warm starts cfg and returns when its program is waiting.
func warm(t testing.TB, ctx context.Context, cfg jail.Config) (*jail.Child, func()) {
	t.Helper()
	c, err := jail.Start(ctx, cfg)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	conn := c.Bridge()
	t.Cleanup(func() { conn.Close() })
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v, want %q", line, err, "ready\n")
	}
	return c, func() { fmt.Fprintln(conn, "go") }
}

// adopt binds c, lets it continue and waits for its end.
func adopt(t testing.TB, c *jail.Child, goOn func(), b jail.Binding) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	b.Stdout, b.Stderr = &stdout, &stderr
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Bind(ctx, b); err != nil {
		_, _ = c.Wait()
		t.Fatalf("bind: %v %s", err, stderr.String())
	}
	goOn()
	exit, err := c.Wait()
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return outcome{exit, stdout.String(), stderr.String()}
}

func TestWarmProgramGetsItsRun(t *testing.T) {
	ws, tree := openDir(t), openDir(t)
	if err := os.WriteFile(filepath.Join(tree, "tool"), []byte("generated"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := warmShell(`pwd; cat /ro/tree/tool tree/tool; echo; cat >out; ls
		for f in /x /ro/x /ro/tree/tool /ro/tree/x tree/x /usr/x; do (echo x >$f) 2>/dev/null && echo "wrote $f"; done
		mkdir /tmp/a && echo x >/tmp/a/b && mv /tmp/a/b /tmp/b && echo moved
		grep -E '^(CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs|Seccomp:)' /proc/$$/status
		ulimit -n; ulimit -f; ulimit -Hn; head -c 3000000 /dev/zero >/tmp/big; wc -c </tmp/big
		for p in /proc/[0-9]*; do cat $p/environ; done; ls /proc/1/root/ /proc/1/fd 2>&1 | wc -l`)
	c, goOn := warm(t, t.Context(), cfg)
	got := adopt(t, c, goOn, jail.Binding{
		Mounts: []jail.Mount{{Source: ws, Target: "/ws", Writable: true}, {Source: tree, Target: "/ro/tree"}, {Source: tree, Target: "/ws/tree"}},
		Limits: sandbox.Limits{Files: 77, FileSize: 4 << 20, Tmp: 1 << 20}, Stdin: strings.NewReader("input"),
	})
	want := "/ws\ngeneratedgenerated\nout\ntree\nmoved\n" +
		"CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n" +
		"77\n8192\n77\n"
	if got.Code != 0 || !strings.HasPrefix(got.stdout, want) {
		t.Errorf("got %+v\nwant %q", got, want)
	}
	rest := strings.Fields(strings.TrimPrefix(got.stdout, want))
	if len(rest) == 0 || rest[0] == "3000000" {
		t.Errorf("/tmp held more than its limit: %q", rest)
	}
	if text, err := os.ReadFile(filepath.Join(ws, "out")); err != nil || string(text) != "input" {
		t.Errorf(`%q %v, want "input" and no error`, text, err)
	}
	if text, err := os.ReadFile(filepath.Join(tree, "tool")); err != nil || string(text) != "generated" {
		t.Errorf(`the tree was changed: %q %v, want "generated" and no error`, text, err)
	}
}

// TestWarmProgramIsInItsGroup checks this from the host, because a process outside the jail's control group escapes its limits.
func TestWarmProgramIsInItsGroup(t *testing.T) {
	c, goOn := warm(t, t.Context(), warmShell("exit 0"))
	groups := func(pid int) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	seen := 0
	for _, pid := range c.PIDs() {
		if pid == c.PID() {
			continue
		}
		seen++
		if got, want := groups(pid), groups(c.PID()); got != want {
			t.Errorf("the program is in\n%sand the jail in\n%s", got, want)
		}
	}
	if seen == 0 {
		t.Error("no program was seen")
	}
	if got := adopt(t, c, goOn, jail.Binding{}); got.Code != 0 {
		t.Errorf("%+v, want Code 0", got)
	}
}

// TestWarmProgramHasAllItsTime checks that processor time used before the run does not count.
func TestWarmProgramHasAllItsTime(t *testing.T) {
	cfg := warmShell("sleep 0.3")
	cfg.Args[1] = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; " + cfg.Args[1]
	c, goOn := warm(t, t.Context(), cfg)
	if got := adopt(t, c, goOn, jail.Binding{Limits: sandbox.Limits{CPU: 200 * time.Millisecond}}); got.Code != 0 || got.Killed != "" {
		t.Errorf(`%+v, want Code 0 and Killed ""`, got)
	}
	withoutRoot(t)
}

// TestWarmInitIsConfined examines the jail's first process from the host, before and after it is bound.
func TestWarmInitIsConfined(t *testing.T) {
	for name, cfg := range map[string]jail.Config{"program": warmShell("sleep 60"), "function": {Entry: "wait"}} {
		t.Run(name, func(t *testing.T) {
			cfg.ID, cfg.Warm = "w", true
			c, _ := warm(t, t.Context(), cfg)
			if err := c.Bind(t.Context(), jail.Binding{}); err != nil {
				t.Fatal(err)
			}
			tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", c.PID()))
			if err != nil || len(tasks) == 0 {
				t.Fatalf("no threads of the jail's init are seen: %v", err)
			}
			for _, file := range tasks {
				text, err := os.ReadFile(file)
				if errors.Is(err, os.ErrNotExist) {
					continue // the mounter has just ended
				}
				for _, want := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapInh:\t0000000000000000",
					"CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "Groups:\t"} {
					if !strings.Contains(string(text), want) {
						t.Errorf("%s lacks %q", file, want)
					}
				}
				if os.Geteuid() == 0 && !strings.Contains(string(text), fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d", jail.UID)) {
					t.Errorf("%s is another user:\n%s", file, text)
				}
			}
			c.Kill()
			if _, err := c.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWarmFunctionGetsItsRun(t *testing.T) {
	ws := openDir(t)
	c, goOn := warm(t, t.Context(), jail.Config{ID: "w", Entry: "wait", Warm: true, Dirs: []string{"/in"}, Args: []string{"/in"}})
	got := adopt(t, c, goOn, jail.Binding{Mounts: []jail.Mount{{Source: ws, Target: "/in", Writable: true}}})
	want := "no /etc\nstart: false true\nenvironment: 0\ntrue\nend\n"
	if got.Code != 0 || got.stdout != want {
		t.Errorf("got %+v\nwant %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(ws, "made")); err != nil {
		t.Error(err)
	}
}

func TestWarmLimitsCanRiseAndFall(t *testing.T) {
	for _, from := range []int64{64 << 20, 2 << 30} {
		cfg := warmShell(`exec python3 -c 'print(len(b"x" * 150000000))'`)
		cfg.Limits.Memory, cfg.Limits.Files = from, 50
		c, goOn := warm(t, t.Context(), cfg)
		if got := adopt(t, c, goOn, jail.Binding{Limits: sandbox.Limits{Memory: 1 << 30}}); got.stdout != "150000000\n" {
			t.Errorf("from %d up: %+v: got %v, want %q", from, got.Exit, got.stdout, "150000000\n")
		}
		c, goOn = warm(t, t.Context(), cfg)
		if got := adopt(t, c, goOn, jail.Binding{Limits: sandbox.Limits{Memory: 100 << 20}}); got.Killed != "memory" {
			t.Errorf(`from %d down: %+v: got %v, want "memory"`, from, got.Exit, got.Killed)
		}
	}
}

func TestWarmTmpfs(t *testing.T) {
	c, goOn := warm(t, t.Context(), warmShell("echo x >/ws/file; cat file; ls"))
	if got := adopt(t, c, goOn, jail.Binding{Tmpfs: []string{"/ws"}}); got.stdout != "x\nfile\n" {
		t.Errorf("%+v, want stdout %q", got, "x\nfile\n")
	}
}

func TestWarmEnds(t *testing.T) {
	t.Run("unbound", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, _ := warm(t, ctx, warmShell("true"))
		cancel()
		<-c.Done()
		if err := c.Bind(t.Context(), jail.Binding{}); err == nil {
			t.Error("a dead jail was bound: got no error, want an error")
		}
		if _, err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("bound, with the new context only", func(t *testing.T) {
		before, end := context.WithCancel(t.Context())
		c, goOn := warm(t, before, warmShell("echo started; sleep 60"))
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(first, 1)
		if err := c.Bind(ctx, jail.Binding{Stdout: seen}); err != nil {
			t.Fatal(err)
		}
		goOn()
		<-seen
		end()
		select {
		case <-c.Done():
			t.Error("ended with the context it was started with")
		case <-time.After(50 * time.Millisecond):
		}
		cancel()
		if exit, err := c.Wait(); err != nil || exit.Code != 137 {
			t.Errorf("%+v %v, want Code 137 and no error", exit, err)
		}
	})
	t.Run("context over", func(t *testing.T) {
		c, _ := warm(t, t.Context(), warmShell("true"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Bind(ctx, jail.Binding{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if _, err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("twice", func(t *testing.T) {
		c, goOn := warm(t, t.Context(), warmShell("exit 3"))
		if err := c.Bind(t.Context(), jail.Binding{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Bind(t.Context(), jail.Binding{}); err == nil {
			t.Error("bound twice: got no error, want an error")
		}
		goOn()
		if exit, err := c.Wait(); err != nil || exit.Code != 3 {
			t.Errorf("%+v %v, want Code 3 and no error", exit, err)
		}
	})
}

func TestWarmRefusesWrongMounts(t *testing.T) {
	ws := openDir(t)
	if err := os.Symlink("/tmp", filepath.Join(ws, "link")); err != nil {
		t.Fatal(err)
	}
	for name, mounts := range map[string][]jail.Mount{
		"no source": {{Source: filepath.Join(ws, "none"), Target: "/ws"}},
		"no place":  {{Source: ws, Target: "/elsewhere"}},
		"a link":    {{Source: ws, Target: "/ws", Writable: true}, {Source: ws, Target: "/ws/link"}},
	} {
		c, _ := warm(t, t.Context(), warmShell("true"))
		if err := c.Bind(t.Context(), jail.Binding{Mounts: mounts}); err == nil {
			t.Errorf("%s: bound: got no error, want an error", name)
		}
		if _, err := c.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type first chan struct{}

func (f first) Write(p []byte) (int, error) {
	select {
	case f <- struct{}{}:
	default:
	}
	return len(p), nil
}

func BenchmarkBind(b *testing.B) {
	ws := openDir(b)
	for b.Loop() {
		b.StopTimer()
		c, goOn := warm(b, b.Context(), warmShell("echo x"))
		w := make(first, 1)
		b.StartTimer()
		if err := c.Bind(b.Context(), jail.Binding{Stdout: w, Mounts: []jail.Mount{{Source: ws, Target: "/ws", Writable: true}}}); err != nil {
			b.Fatal(err)
		}
		goOn()
		<-w
		b.StopTimer()
		_, _ = c.Wait()
		b.StartTimer()
	}
}
