package gvisor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
)

const spin = "print('running', flush=True)\nwhile True: pass"

func TestContextEndsABusyGuest(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := spec(sandbox.Python, spin)
		s.Stdout = writer(func(p []byte) { cancel() })
		p, err := b.Start(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if exit, err := p.Wait(); err != nil || exit.Code != 137 || exit.Killed != "" {
			t.Errorf(`%+v %v, want Code 137, Killed "" and no error`, exit, err)
		}
		if time.Since(began) > 20*time.Second {
			t.Errorf("it took %v, want at most %v", time.Since(began), 20*time.Second)
		}
		p.Kill() // it has no effect, and does no harm
	})
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestBrokenRunscIsAnError(t *testing.T) {
	dir := t.TempDir()
	real, err := exec.LookPath("runsc")
	if err != nil {
		t.Fatal(err)
	}
	// It answers queries like runsc, but fails when it has to run something.
	path := filepath.Join(dir, "runsc")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *--bundle=*) echo 'no such luck' >&2; exit 128;; esac\nexec %q \"$@\"\n", real)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b := gvisor.New(gvisor.Options{Runsc: path, RuntimeDir: runtimeDir(t), LookPath: exec.LookPath})
	p, err := b.Start(t.Context(), spec(sandbox.Python, "print(1)"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err == nil || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf(`%v, want an error and "no such luck" in it`, err)
	}
}

func TestWithoutGVisor(t *testing.T) {
	b := gvisor.New(gvisor.Options{Runsc: "/nowhere/runsc", RuntimeDir: runtimeDir(t), LookPath: exec.LookPath})
	st := b.Probe(t.Context())
	if st.Usable || st.Detail == "" || !strings.Contains(st.Remedy, "install") {
		t.Errorf("%+v", st)
	}
	_, err := b.Start(t.Context(), spec(sandbox.Python, "print(1)"))
	var coder interface{ ExitCode() int }
	if !errors.As(err, &coder) || coder.ExitCode() != 127 {
		t.Errorf("%v", err)
	}
}

// childVariable makes the test binary start a guest.
const childVariable = "GVISOR_TEST_HOST"

func TestMain(m *testing.M) {
	gvisor.Init()
	if args := os.Getenv(childVariable); args != "" {
		host(args)
	}
	if args := os.Getenv(sharedVariable); args != "" {
		adoptWhereMountsAreShared(args)
	}
	os.Exit(m.Run())
}

// host starts a guest that reports its start and fills its workspace, and ends with the guest. It never returns.
func host(args string) {
	runsc, dir, _ := strings.Cut(args, "|")
	dir, workspace, _ := strings.Cut(dir, "|")
	b := gvisor.New(gvisor.Options{Runsc: runsc, RuntimeDir: dir, LookPath: exec.LookPath})
	s := spec(sandbox.Python, spin)
	if s.Workspace = workspace; workspace != "" {
		s = spec(sandbox.Python, `
import os
print("running", open("/proc/self/status").read().count("CapEff:\t0000000000000000"), flush=True)
open("out.txt", "w").write("kept")
for place in "/", "/dev/shm", "/mcp", "/usr/bin", "/etc":
    try: open(place + "/new", "w"); print("wrote below", place)
    except OSError: pass
a = []
while not os.path.exists("queue"): a.append(bytearray(1 << 20))
import fcntl, time
for i in range(450): # in pipes, gVisor's kernel has it
    a.append(os.pipe())
    fcntl.fcntl(a[-1][1], fcntl.F_SETPIPE_SZ, 1 << 20)
    os.write(a[-1][1], bytes(1 << 20))
time.sleep(60)
`)
		s.Workspace, s.Limits.Memory = workspace, 100_000_000
	}
	s.Stdout, s.Stderr = os.Stdout, os.Stdout
	p, err := b.Start(context.Background(), s)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	exit, err := p.Wait()
	fmt.Println(exit.Code, exit.Killed, err)
	os.Exit(0)
}

// TestWithoutRoot: an ordinary user runs guests as themselves, in a user namespace and without a control group.
func TestWithoutRoot(t *testing.T) {
	t.Run("own memory", func(t *testing.T) { withoutRoot(t, false) })
	t.Run("memory of the kernel", func(t *testing.T) { withoutRoot(t, true) })
}

func withoutRoot(t *testing.T, queue bool) {
	t.Helper()
	backend(t, "module")
	module, err := filepath.Abs(built)
	if err != nil {
		t.Fatal(err)
	}
	dir, ws := runtimeDir(t), workspace(t)
	if queue {
		if err := os.WriteFile(filepath.Join(ws, "queue"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"="+module+"|"+dir+"|"+ws)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if err := errors.Join(os.Chown(dir, nobody, nobody), os.Chown(ws, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := cmd.CombinedOutput()
	if want := "running 1\n137 memory <nil>\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
	if got, err := os.ReadFile(filepath.Join(ws, "out.txt")); err != nil || string(got) != "kept" {
		t.Errorf(`%q %v, want "kept" and no error`, got, err)
	}
}

const nobody = 65534

// startHost starts such a process and returns when its guest is running.
func startHost(t *testing.T, runsc, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"="+runsc+"|"+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	said := make([]byte, 500)
	n, err := out.Read(said)
	if err != nil || !bytes.HasPrefix(said[:n], []byte("running")) {
		t.Fatalf("%q %v", said[:n], err)
	}
	return cmd
}

func TestNothingOutlivesAKilledHost(t *testing.T) {
	module, err := filepath.Abs(built)
	if err != nil {
		t.Fatal(err)
	}
	for name, runsc := range map[string]string{"debian": "runsc", "module": module} {
		t.Run(name, func(t *testing.T) {
			backend(t, name) // otherwise there is nothing to test
			dir := runtimeDir(t)
			cmd := startHost(t, runsc, dir)
			mine := runscs(t, dir)
			if len(mine) < 3 {
				t.Errorf("processes %v, want len(mine) at least 3", mine)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			look := func() []string {
				left := runscs(t, dir)
				for _, pattern := range []string{dir + "/gvisor-*", fmt.Sprintf("/sys/fs/cgroup/*/mcprun-%d-*", cmd.Process.Pid)} {
					found, _ := filepath.Glob(pattern)
					left = append(left, found...)
				}
				return left
			}
			for end := time.Now().Add(30 * time.Second); len(look()) > 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("left behind: %v", look())
				}
			}
		})
	}
}

// runscs lists gVisor's processes that are related to a folder.
func runscs(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err == nil && bytes.Contains(text, []byte("runsc")) && bytes.Contains(text, []byte(dir+"/"+"gvisor-")) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}
