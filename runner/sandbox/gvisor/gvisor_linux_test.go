package gvisor_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
)

// built is where .ci/tools puts the runsc that it builds from the Go module.
const built = "../../../build/runsc/runsc"

// each runs a test with every runsc that mcprun supports: Debian's, and one built from the Go module.
func each(t *testing.T, test func(t *testing.T, b *gvisor.Backend)) {
	t.Helper()
	for _, kind := range []string{"debian", "module"} {
		t.Run(kind, func(t *testing.T) { test(t, backend(t, kind)) })
	}
}

func backend(t testing.TB, kind string) *gvisor.Backend {
	t.Helper()
	opts := gvisor.Options{Runsc: "runsc", LookPath: exec.LookPath, RuntimeDir: runtimeDir(t)}
	if kind == "module" {
		path, err := filepath.Abs(built)
		if err != nil {
			t.Fatal(err)
		}
		opts.Runsc = path
	}
	b := gvisor.New(opts)
	if st := b.Probe(t.Context()); !st.Usable {
		if os.Getenv("CI") == "" {
			t.Skip(st.Detail)
		}
		t.Fatalf("not usable: %s; %s", st.Detail, st.Remedy)
	}
	return b
}

// runtimeDir returns a folder with a short name, for the sockets in it. It must be empty in the end.
func runtimeDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in the runtime folder: %v %v, want len(left) at most 0 and no error", left, err)
		}
		os.RemoveAll(dir)
	})
	return dir
}

// spec returns a run whose guest program is code itself.
func spec(rt sandbox.Runtime, code string) sandbox.Spec {
	return sandbox.Spec{ID: "test", Runtime: rt, Secret: "s3cret",
		Guest: map[string][]byte{sandbox.GuestMain(rt): []byte(code)}}
}

func run(t testing.TB, b sandbox.Backend, s sandbox.Spec) (sandbox.Exit, string, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	s.Stdout, s.Stderr = &stdout, &stderr
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	p, err := b.Start(ctx, s)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return exit, stdout.String(), stderr.String()
}

func TestGuestIsGivenWhatItNeeds(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		s := spec(sandbox.Python, `
import os, socket, sys, json, ssl, sqlite3, ctypes, subprocess, getpass
conn = socket.socket(fileno=3)
conn.sendall(b"hello")
print(conn.recv(100), os.read(4, 100), os.read(4, 1), sys.stdin.read(), sys.argv[1:])
print(os.getcwd(), sys.executable, getpass.getuser(), sorted(os.environ))
print(subprocess.run([sys.executable, "-c", "print(6*7)"], capture_output=True, text=True).stdout.strip())
print("to stderr", file=sys.stderr)
sys.exit(7)
`)
		s.Args = []string{"-I", "-B", "-u"}
		s.Stdin = strings.NewReader("input")
		var stdout, stderr bytes.Buffer
		s.Stdout, s.Stderr = &stdout, &stderr
		p, err := b.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := p.Bridge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		buf := make([]byte, 100)
		n, err := conn.Read(buf)
		if err != nil || string(buf[:n]) != "hello" {
			t.Errorf(`%q %v, want "hello" and no error`, buf[:n], err)
		}
		_, _ = conn.Write([]byte("back"))
		exit, err := p.Wait()
		want := "b'back' b's3cret' b'' input ['fd:3']\n/workspace /usr/bin/python3 sandbox ['HOME', 'LANG', 'PATH']\n42\n"
		got := strings.ReplaceAll(stdout.String(), "'LC_CTYPE', ", "")
		if err != nil || exit.Code != 7 || got != want || stderr.String() != "to stderr\n" {
			t.Errorf("%+v %v\n%s\nwant %s\n%s", exit, err, stdout.String(), want, stderr.String())
		}
	})
}
