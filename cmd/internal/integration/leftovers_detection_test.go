package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// TestLeftoversAreSeen leaves one thing of each kind behind, and checks that the other tests would detect it.
func TestLeftoversAreSeen(t *testing.T) {
	t.Parallel()
	pool, image := engine(), ""
	if pool != nil {
		_, image = needImage(t)
	}
	p := newProject(t, nil)
	child := exec.Command("sleep", "60")
	child.Dir = p.dir
	p.start(child)
	self, ok := lookUp(child.Process.Pid)
	if !ok {
		t.Fatal("the child is not found")
	}
	family := descendants(os.Getpid())
	p.write("run/mcprun/docker-abc/b/s", "")
	want := []string{fmt.Sprintf("process %d:", child.Process.Pid), "file " + p.path("run/mcprun/docker-abc")}
	removeContainer := func() error { return nil }
	if pool != nil {
		c, err := pool.Client.CreateContainer(docker.CreateContainerOptions{Config: &docker.Config{
			Image: image, Cmd: []string{"node"}, Labels: map[string]string{"mcprun.owner": owner.Owner{PID: self.pid, Start: self.started}.String()},
		}})
		if err != nil {
			t.Fatal(err)
		}
		removeContainer = func() error { return pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: c.ID, Force: true}) }
		want = append(want, "container ["+c.Name)
	}
	left := strings.Join(p.leftNow(), "\n")
	for _, each := range want {
		if !strings.Contains(left, each) {
			t.Errorf("%q is not seen in:\n%s", each, left)
		}
	}
	if err := removeContainer(); err != nil {
		t.Error(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait()
	if err := os.RemoveAll(p.path("run/mcprun")); err != nil {
		t.Error(err)
	}
	isChild := func(each process) bool { return each.pid == child.Process.Pid && each.name == "sleep" && !each.alive() }
	for _, each := range family {
		if isChild(each) {
			return
		}
	}
	t.Errorf("the child is not among the descendants, or still alive: %v", family)
}
