package docker_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dc "github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// polite ends when its host does, as the guest programs do; stubborn does not.
const (
	polite = `
import socket
s = socket.socket(fileno=3); s.sendall(b"x")
s.recv(1)
`
	stubborn = `
import socket
s = socket.socket(fileno=3); s.sendall(b"x")
while True: pass
`
)

// TestHost is the host that the other tests kill: it runs in a process of its own.
func TestHost(t *testing.T) {
	dir, code := os.Getenv("MCPRUN_TEST_DIR"), os.Getenv("MCPRUN_TEST_GUEST")
	if dir == "" {
		return
	}
	b := docker.New(docker.Options{Host: host(), RuntimeDir: dir, Exe: os.Args[0]})
	g := newGuest(t, sandbox.Python, code)
	g.ID = os.Getenv("MCPRUN_TEST_ID")
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("up\n")
	p.Wait()
	conn.Close() // until now, or the collector closes it, and a guest that writes to it ends
}

// killedHost runs a guest whose host is then killed with SIGKILL.
func killedHost(t *testing.T, id, dir, code string) {
	t.Helper()
	cmd := startHost(t, id, dir, code)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}

func startHost(t *testing.T, id, dir, code string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHost$", "-test.v")
	cmd.Env = append(os.Environ(), "MCPRUN_TEST_DIR="+dir, "MCPRUN_TEST_ID="+id, "MCPRUN_TEST_GUEST="+code)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if strings.HasSuffix(sc.Text(), "up") {
			return cmd
		}
	}
	t.Fatal("the host did not come up")
	return nil
}

func containers(t *testing.T, id string) []dc.APIContainers {
	t.Helper()
	list, err := pool(t).Client.ListContainers(dc.ListContainersOptions{All: true, Filters: map[string][]string{"label": {"mcprun.run=" + id}}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestMain serves as the process that cleans up after a killed one.
func TestMain(m *testing.M) {
	docker.Init()
	os.Exit(m.Run())
}

// goneTime is how long what a killed host has left may stay.
const goneTime = 10 * time.Second

// goneWithin waits until nothing is left of a killed host.
func goneWithin(t *testing.T, d time.Duration, left func() bool) {
	t.Helper()
	for end := time.Now().Add(d); left(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("a container or folder is there %v after its host was killed", d)
		}
	}
}

func isLeft(t *testing.T, id, dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	return len(files) > 0 || len(containers(t, id)) > 0
}

// Containers and folders of a host that was killed go without another start of it.
func TestKilledHost(t *testing.T) {
	for id, code := range map[string]string{"polite": polite, "stubborn": stubborn} {
		t.Run(id, func(t *testing.T) {
			dir := shortDir(t)
			newBackend(t)
			killedHost(t, id, dir, code)
			goneWithin(t, goneTime, func() bool { return isLeft(t, id, dir) })
		})
	}
}

// Only the containers of the killed host are removed.
func TestKilledHostBesideOthers(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	living := startHost(t, "living", dir, stubborn)
	g := newGuest(t, sandbox.Python, polite)
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	other := shortDir(t)
	killedHost(t, "killed", other, stubborn)
	goneWithin(t, goneTime, func() bool { return isLeft(t, "killed", other) })
	if n := len(containers(t, "living")) + len(containers(t, g.ID)); n != 2 {
		t.Errorf("got %d containers, want 2", n)
	}
	if dirs, _ := filepath.Glob(filepath.Join(dir, "*")); len(dirs) != 2 {
		t.Errorf("folders: %v, want len(dirs) 2", dirs)
	}
	conn.Close()
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("the run was disturbed: %+v, %v, want Code 0 and no error", exit, err)
	}
	if err := living.Process.Kill(); err != nil {
		t.Error(err)
	}
	goneWithin(t, goneTime, func() bool { return isLeft(t, "living", dir) })
}
