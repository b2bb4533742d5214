package docker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// ownEngine is a Docker Engine of the test's own, that can be killed. It has a network of its own: an engine without a
// bridge would take down that of the machine's.
type ownEngine struct {
	t    *testing.T
	dir  string
	args []string
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	log  bytes.Buffer

	containerd *exec.Cmd // lives on when the engine is killed, as it does on people's machines
}

// newEngine starts an engine that has the pinned image, and ends it with the test.
func newEngine(t *testing.T, flags ...string) *ownEngine {
	t.Helper()
	program, err := exec.LookPath("dockerd")
	containerd, err2 := exec.LookPath("containerd")
	if err != nil || err2 != nil || os.Geteuid() != 0 {
		cannotRun(t, "starting an engine takes root, dockerd and containerd")
	}
	e := &ownEngine{t: t, dir: shortDir(t)}
	at := func(name string) string { return filepath.Join(e.dir, name) }
	e.args = append([]string{
		program, "--host=" + e.host(), "--data-root=" + at("data"), "--exec-root=" + at("exec"), "--pidfile=" + at("pid"),
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--config-file=" + at("none.json"),
		"--containerd=" + at("c"), "--log-level=error",
	}, flags...)
	config := fmt.Sprintf("version = 2\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %q\n", at("croot"), at("cstate"), at("c"))
	for name, text := range map[string]string{"none.json": "{}", "c.toml": config} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.containerd = exec.Command(containerd, "--config", at("c.toml"), "--log-level=error")
	e.containerd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.containerd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.end)
	e.start()
	e.loadImage()
	return e
}

func (e *ownEngine) host() string { return "unix://" + filepath.Join(e.dir, "s") }

func (e *ownEngine) start() {
	e.t.Helper()
	e.cmd = exec.Command(e.args[0], e.args[1:]...)
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true}
	e.cmd.Stderr = &e.log
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) { cmd.Wait(); close(done) }(e.cmd, e.done)
	c := e.client()
	defer c.Close()
	for range 600 {
		if _, err := c.Ping(e.t.Context(), client.PingOptions{}); err == nil {
			return
		}
		select {
		case <-e.done:
			e.t.Fatalf("dockerd ended: %s", &e.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	e.t.Fatal("dockerd does not come up")
}

func (e *ownEngine) client() *client.Client {
	c, err := client.New(client.WithHost(e.host()))
	if err != nil {
		e.t.Fatal(err)
	}
	return c
}

func (e *ownEngine) loadImage() {
	e.t.Helper()
	to := e.client()
	defer to.Close()
	copyImage(e.t, to)
}

// copyImage gives an engine the machine's image.
func copyImage(t *testing.T, to *client.Client) {
	t.Helper()
	from, err := client.New(client.WithHost(host()))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	saved, err := from.ImageSave(t.Context(), []string{pinnedTag(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	loaded, err := to.ImageLoad(t.Context(), saved)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	var said bytes.Buffer
	if _, err := said.ReadFrom(loaded); err != nil {
		t.Fatal(err, said.String())
	}
}

// pinnedTag is the name of the image that the package pins.
func pinnedTag(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("image.lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Images map[string]struct{ ID string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	return "mcpgen/sandbox:" + strings.TrimPrefix(lock.Images[goarch()].ID, "sha256:")[:12]
}

func (e *ownEngine) signal(sig syscall.Signal) {
	e.t.Helper()
	if err := e.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		e.t.Fatal(err)
	}
}

func (e *ownEngine) wait() {
	e.t.Helper()
	select {
	case <-e.done:
	case <-time.After(30 * time.Second):
		e.t.Fatal("dockerd does not end")
	}
}

// left lists the engine's containers.
func (e *ownEngine) left() []string {
	e.t.Helper()
	c := e.client()
	defer c.Close()
	list, err := c.ContainerList(e.t.Context(), client.ContainerListOptions{All: true})
	if err != nil {
		e.t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.ID+" "+item.Status)
	}
	return names
}

// end stops the engine and whatever it has left.
func (e *ownEngine) end() {
	if e.done != nil {
		e.cmd.Process.Signal(syscall.SIGCONT)
		e.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-e.done:
		case <-time.After(20 * time.Second):
			e.cmd.Process.Kill()
			<-e.done
		}
	}
	e.containerd.Process.Signal(syscall.SIGTERM)
	e.containerd.Wait()
	e.endShims()
	unmountBelow(e.dir)
}

// unmountBelow takes down what an engine has left mounted.
func unmountBelow(dir string) {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for _, line := range bytes.Split(mounts, []byte("\n")) {
		if fields := bytes.Fields(line); len(fields) > 4 && bytes.HasPrefix(fields[4], []byte(dir+"/")) {
			syscall.Unmount(string(fields[4]), syscall.MNT_DETACH)
		}
	}
}

// endShims ends the processes that hold the engine's containers, which nobody holds to account any more.
func (e *ownEngine) endShims() {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(e.dir+"/")) || !bytes.Contains(line, []byte("containerd-shim")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// waitFor is for what another process does.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
