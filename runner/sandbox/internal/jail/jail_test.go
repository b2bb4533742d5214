//go:build linux && (amd64 || arm64)

package jail_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

const (
	shellEntry = "shell"
	funcEntry  = "func"
)

func TestMain(m *testing.M) {
	jail.Init(shellEntry, nil)
	jail.Init(funcEntry, inside)
	jail.Init("paths", paths)
	jail.Init("wait", wait)
	jail.Init(surfaceEntry, surface)
	jail.Init(panicEntry, func(jail.Inside) int { panic("boom") })
	os.Exit(m.Run())
}

// shell is a jail with the machine's own programs and a shell that runs script.
func shell(script string) jail.Config {
	cfg := jail.Config{ID: "test", Entry: shellEntry, Program: "/bin/sh", Args: []string{"-c", script},
		Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/tmp"}
	for _, dir := range []string{"/usr", "/lib", "/lib64", "/bin", "/sbin"} {
		if _, err := os.Stat(dir); err == nil {
			cfg.Mounts = append(cfg.Mounts, jail.Mount{Source: dir, Target: dir})
		}
	}
	return cfg
}

type outcome struct {
	sandbox.Exit
	stdout, stderr string
}

func run(t *testing.T, cfg jail.Config) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cfg.Stdout, cfg.Stderr = &stdout, &stderr
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := jail.Start(ctx, cfg)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	exit, err := c.Wait()
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return outcome{exit, stdout.String(), stderr.String()}
}

func TestExitCodesAndOutput(t *testing.T) {
	got := run(t, shell("echo out; echo err >&2; exit 7"))
	if got.Code != 7 || got.stdout != "out\n" || got.stderr != "err\n" || got.Killed != "" {
		t.Errorf(`got %+v, want Code 7, stdout %q, stderr %q and Killed ""`, got, "out\n", "err\n")
	}
	if got := run(t, shell("kill -TERM $$")); got.Code != 143 {
		t.Errorf("a program ended by SIGTERM: code %d, want 143", got.Code)
	}
}

func TestStdin(t *testing.T) {
	cfg := shell("cat")
	cfg.Stdin = strings.NewReader("hello")
	if got := run(t, cfg); got.stdout != "hello" {
		t.Errorf(`got %+v, want stdout "hello"`, got)
	}
}

func TestBridgeIsDescriptor3(t *testing.T) {
	cfg := shell("read line <&3; echo got $line >&3")
	c, err := jail.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn := c.Bridge()
	defer conn.Close()
	fmt.Fprintln(conn, "ping")
	answer, err := io.ReadAll(conn)
	if err != nil || string(answer) != "got ping\n" {
		t.Errorf("got %q, %v, want %q and no error", answer, err, "got ping\n")
	}
	if _, err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func TestSecret(t *testing.T) {
	cfg := shell(`cat <&4; echo " end"; cat /proc/*/environ /proc/*/cmdline | grep -ac "4[ ]to 6"`)
	cfg.Secret = "4 to 6"
	if got := run(t, cfg); got.stdout != "4 to 6 end\n0\n" {
		t.Errorf("got %+v, want stdout %q", got, "4 to 6 end\n0\n")
	}
	cfg = shell(`ls /proc/self/fd >fds; echo $(cat fds)`) // the last one is ls's own
	if got := run(t, cfg); got.stdout != "0 1 2 3 4\n" {
		t.Errorf("without a secret: %+v, want stdout %q", got, "0 1 2 3 4\n")
	}
	cfg.Secret = "x"
	if got := run(t, cfg); got.stdout != "0 1 2 3 4 5\n" {
		t.Errorf("with a secret: %+v, want stdout %q", got, "0 1 2 3 4 5\n")
	}
	cfg.Secret = strings.Repeat("x", 1<<20)
	if _, err := jail.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf(`a secret that no pipe holds: %v, want an error and "secret" in it`, err)
	}
}

func TestSeesNothing(t *testing.T) {
	t.Setenv("JAIL_CANARY", "leaked")
	got := run(t, shell(`
		echo "root: $(ls -a /)"
		echo "dev: $(ls /dev)"
		echo "proc: $(ls /proc)"
		ls /proc/self/fd >fds; echo "fds: $(tr '\n' ' ' <fds)"
		tr '\0' '\n' </proc/self/environ; cat /proc/1/environ; cat /proc/*/environ
		grep -E '^(Cap|NoNewPrivs|Seccomp:|Uid|Groups)' /proc/$$/status
		touch /x /usr/x /dev/x /proc/self/comm; echo x >/dev/null && echo null ok
		hostname
	`))
	for _, bad := range []string{"leaked", "etc", "root:x", "home"} {
		if strings.Contains(got.stdout, bad) {
			t.Errorf("output holds %q", bad)
		}
	}
	for _, want := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "null ok", "\nsandbox\n",
		"fds: 0 1 2 3 4 \n"} { // 4 is the folder that ls itself has open
		if !strings.Contains(got.stdout, want) {
			t.Errorf("output lacks %q", want)
		}
	}
}

// inside is a function for a jail: it prints which operations work.
func inside(jail.Inside) int {
	if _, err := os.ReadDir("/etc"); err != nil {
		fmt.Println("no /etc")
	}
	p, err := os.StartProcess("/proc/self/exe", []string{"x"}, &os.ProcAttr{})
	fmt.Println("start:", p != nil, err != nil)
	fmt.Println("environment:", len(os.Environ()))
	return 3
}

// paths creates a file in its only mount and prints whether it has namespaces.
func paths(in jail.Inside) int {
	if err := os.WriteFile(in.Path(in.Args[0])+"/made", nil, 0o600); err != nil {
		fmt.Println(err)
	}
	fmt.Println(in.Namespaces)
	return 0
}

// wait reports that it is running, and after a line from the bridge does what inside and paths do.
func wait(in jail.Inside) int {
	bridge := os.NewFile(jail.BridgeFD, "bridge")
	fmt.Fprintln(bridge, "ready")
	if _, err := bridge.Read(make([]byte, 1)); err != nil {
		return 1
	}
	inside(in)
	paths(in)
	fmt.Println("end")
	return 0
}

func TestFunction(t *testing.T) {
	got := run(t, jail.Config{ID: "f", Entry: funcEntry})
	want := "no /etc\nstart: false true\nenvironment: 0\n"
	if got.Code != 3 || got.stdout != want {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestProbe(t *testing.T) {
	start := time.Now()
	missing, err := jail.Probe(t.Context(), jail.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v, missing %q", time.Since(start), missing)
}
