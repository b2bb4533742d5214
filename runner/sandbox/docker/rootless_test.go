package docker

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/rundir"
)

// An engine with no control groups of its own can be used where this process can hold the limits, and nowhere else.
func TestRootlessEngineWithoutControlGroupsIsWatched(t *testing.T) {
	info := system.Info{OSType: "linux", SecurityOptions: []string{"name=seccomp,profile=default", "name=rootless"}}
	e, refused := engineFrom(info, "")
	if refused != nil {
		t.Fatal(refused)
	}
	if !e.watched || !strings.HasPrefix(strings.Join(e.missing, "\n"), "cgroup: ") || !hasMissing(e, "cpu quota") || hasMissing(e, "swap limit") {
		t.Errorf("judged %+v", e)
	}
	b := New(Options{Host: "unix:///nonexistent"})
	err := b.checkWatched(e)
	if can := runtime.GOOS == "linux"; (err == nil) != can {
		t.Errorf("on this machine: %v", err)
	}
	e.remote = "it is on another machine"
	var hinted *EngineError
	if err := b.checkWatched(e); !errors.As(err, &hinted) || hinted.Hint() == "" {
		t.Errorf("on another machine: %v", err)
	}
	if err := b.checkWatched(&engine{remote: "it is on another machine"}); err != nil {
		t.Errorf("with control groups: %v", err)
	}
	info.MemoryLimit, info.PidsLimit = true, true
	if e, err := engineFrom(info, ""); err != nil || e.watched || hasMissing(e, "cgroup") {
		t.Errorf("with control groups: %+v, %v", e, err)
	}
}

// Podman says of itself, behind Docker's interface, that it is not rootless and limits everything.
func TestPodmanIsCorrected(t *testing.T) {
	for name, c := range map[string]struct {
		answer                        string
		rootless, memory, pids, quota bool
	}{
		"rootless, no control groups":       {`{"host": {"cgroupVersion": "v1", "cgroupControllers": [], "security": {"rootless": true}, "idMappings": {"uidmap": [{"size": 1}, {"size": 65536}]}}}`, true, false, false, false},
		"rootless, two delegated":           {`{"host": {"cgroupVersion": "v2", "cgroupControllers": ["memory", "pids"], "security": {"rootless": true}, "idMappings": {"uidmap": [{"size": 1}, {"size": 65536}]}}}`, true, true, true, false},
		"of root, control groups 2":         {`{"host": {"cgroupVersion": "v2", "cgroupControllers": ["cpu", "memory", "pids"], "security": {"rootless": false}}}`, false, true, true, true},
		"of root, control groups 1":         {`{"host": {"cgroupVersion": "v1", "cgroupControllers": ["memory"], "security": {"rootless": false}}}`, false, true, true, false},
		"of root, and says no more of them": {`{"host": {}}`, false, true, true, false},
	} {
		b := answering(t, c.answer)
		info := system.Info{MemoryLimit: true, PidsLimit: true, SecurityOptions: []string{"name=seccomp"}}
		if err := b.queryPodman(t.Context(), &info); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if hasOption(info.SecurityOptions, "rootless") != c.rootless || info.MemoryLimit != c.memory || info.PidsLimit != c.pids || info.CPUCfsQuota != c.quota {
			t.Errorf("%s: %+v", name, info)
		}
	}
	for _, bad := range []string{`no JSON`, `{"host": {"security": {"rootless": true}, "idMappings": {"uidmap": [{"size": 1}]}}}`} {
		if err := answering(t, bad).queryPodman(t.Context(), &system.Info{MemoryLimit: true}); err == nil {
			t.Errorf("%s was taken: got no error, want an error", bad)
		}
	}
}

// answering is a backend whose engine says the same to everything.
func answering(t *testing.T, text string) *Backend {
	t.Helper()
	return served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v4.0.0/libpod/info" {
			w.Write([]byte(text))
			return
		}
		http.NotFound(w, r)
	})
}

// served is a backend whose engine is a function.
func served(t *testing.T, engine http.HandlerFunc) *Backend {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcprun-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: engine}}
	s.Start()
	t.Cleanup(s.Close)
	b := New(Options{Host: "unix://" + filepath.Join(dir, "s")})
	t.Cleanup(func() { b.Close() })
	return b
}

// Rootless Podman sets no limits of processes and shows who runs it: the guest is not its root, and bounds itself.
func TestContainerOfRootlessPodman(t *testing.T) {
	b := New(Options{})
	b.uid, b.gid = 1000, 100
	spec := sandbox.Spec{ID: "x", Runtime: sandbox.Python, Workspace: "/w"}
	e := &engine{podman: true, rootless: true, watched: true}
	got := b.localOptions(t.Context(), spec, e, image{id: "img"}, &runDir{Dir: &rundir.Dir{Path: "/run-dir"}})
	h := got.HostConfig
	if got.Config.User != "1000:100" || h.UsernsMode != "keep-id" || len(h.Resources.Ulimits) != 0 || h.Resources.Memory != 0 || h.Resources.PidsLimit != nil {
		t.Errorf("user %q, %+v", got.Config.User, h)
	}
	limits := got.Config.Cmd[5]
	for _, want := range []string{"core=0:0", "fsize=", "nofile="} {
		if !strings.Contains(limits, want) {
			t.Errorf("limits %q without %s", limits, want)
		}
	}
	e = &engine{rootless: true}
	got = b.localOptions(t.Context(), spec, e, image{id: "img"}, &runDir{Dir: &rundir.Dir{Path: "/run-dir"}})
	h = got.HostConfig
	if got.Config.User != "0:0" || h.UsernsMode != container.UsernsMode("") || len(h.Resources.Ulimits) == 0 || h.Resources.Memory == 0 || !strings.Contains(strings.Join(h.ReadonlyPaths, " "), "/dev") {
		t.Errorf("rootless Docker: user %q, %+v", got.Config.User, h)
	}
}
