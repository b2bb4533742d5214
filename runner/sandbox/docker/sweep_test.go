package docker_test

import (
	"bufio"
	"context"
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
	b := docker.New(docker.Options{Host: host(), RuntimeDir: dir})
	g := newGuest(t, sandbox.Python, code)
	g.ID = os.Getenv("MCPRUN_TEST_ID")
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Bridge(t.Context()); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("up\n")
	p.Wait()
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

// A guest that ends with its host takes its container along; the folder waits for the next Sweep.
func TestContainerOfAKilledHostRemovesItself(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	killedHost(t, "polite", dir, polite)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for len(containers(t, "polite")) > 0 {
		select {
		case <-ctx.Done():
			t.Fatal("the container is still there")
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, "polite", dir)
}

func TestSweepRemovesWhatAKilledHostLeft(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	killedHost(t, "stubborn", dir, stubborn)
	if n := len(containers(t, "stubborn")); n != 1 {
		t.Fatalf("%d containers are there, want the one that does not end", n)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, "stubborn", dir)
}

func TestSweepLeavesTheLivingAlone(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	startHost(t, "living", dir, stubborn)
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
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(containers(t, "living")) + len(containers(t, g.ID)); n != 2 {
		t.Errorf("%d containers are there, want 2", n)
	}
	if dirs, _ := filepath.Glob(filepath.Join(dir, "*")); len(dirs) != 2 {
		t.Errorf("folders: %v", dirs)
	}
	conn.Close()
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("the run was disturbed: %+v, %v", exit, err)
	}
	for _, c := range containers(t, "living") {
		pool(t).Client.RemoveContainer(dc.RemoveContainerOptions{ID: c.ID, Force: true})
	}
}
