package docker

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestEnginesAreJudged(t *testing.T) {
	good := func() system.Info {
		return system.Info{OSType: "linux", OperatingSystem: "Debian", MemoryLimit: true, PidsLimit: true, SwapLimit: true, CPUCfsQuota: true,
			SecurityOptions: []string{"name=apparmor", "name=seccomp,profile=default"}}
	}
	if e, err := engineFrom(good(), ""); err != nil || len(e.missing) != 0 || e.rootless || e.remapped {
		t.Errorf("a good engine: %+v, %v", e, err)
	}
	for name, change := range map[string]func(*system.Info){
		"windows":    func(i *system.Info) { i.OSType = "windows" },
		"no seccomp": func(i *system.Info) { i.SecurityOptions = nil },
		"no memory":  func(i *system.Info) { i.MemoryLimit = false },
		"no pids":    func(i *system.Info) { i.PidsLimit = false },
	} {
		info := good()
		change(&info)
		if _, err := engineFrom(info, ""); err == nil || err.Hint() == "" {
			t.Errorf("%s: accepted, or no hint: %v", name, err)
		}
	}
	info := good()
	info.SecurityOptions = append(info.SecurityOptions, "name=rootless", "name=userns")
	info.SwapLimit = false
	if e, err := engineFrom(info, ""); err != nil || !e.rootless || !e.remapped || len(e.missing) != 2 {
		t.Errorf("a rootless engine: %+v, %v", e, err)
	}
}

func TestRuntimeOfContainers(t *testing.T) {
	b := New(Options{Name: "gvisor", Runtime: "runsc"})
	defer b.Close()
	info := system.Info{MemoryLimit: true, PidsLimit: true, SecurityOptions: []string{"name=seccomp"}}
	if _, err := engineFrom(info, "runsc"); err == nil || !strings.Contains(err.Hint(), "daemon.json") {
		t.Errorf("an engine without the runtime: error = %v, want one that names daemon.json", err)
	}
	info.Runtimes = map[string]system.RuntimeWithStatus{"runsc": {}}
	e, err := engineFrom(info, "runsc")
	if err != nil {
		t.Fatal(err)
	}
	if e.remote = b.whyRemote(info); e.remote == "" {
		t.Error("whyRemote() is empty, want the runtime")
	}
	spec := sandbox.Spec{ID: "x", Runtime: sandbox.Python}
	h := b.remoteOptions(t.Context(), spec, e, image{id: "img"}, "name").HostConfig
	if h.Runtime != "runsc" || *h.PidsLimit <= int64(spec.Limits.WithDefaults().Processes) {
		t.Errorf("runtime = %q, process limit = %d, want runsc and room for its kernel's threads", h.Runtime, *h.PidsLimit)
	}
}

func TestUserOfARootlessEngine(t *testing.T) {
	b := New(Options{})
	b.uid, b.gid = 1000, 100
	if got := b.user(&engine{}); got != "1000:100" {
		t.Errorf(`user %s, want "1000:100"`, got)
	}
	if got := b.user(&engine{rootless: true}); got != "0:0" {
		t.Errorf(`user %s of a rootless engine, want "0:0"`, got)
	}
}

func TestProcessorTimeBoundsAGuestWithoutHost(t *testing.T) {
	ctx := t.Context()
	if got := cpuSeconds(ctx, sandbox.Limits{}); got != 0 {
		t.Errorf("no limit gives %d, want 0", got)
	}
	if got := cpuSeconds(ctx, sandbox.Limits{CPU: 1500 * time.Millisecond}); got != 3 {
		t.Errorf("1.5 s give %d, want 3", got)
	}
}

func TestImageVariablesAreUnset(t *testing.T) {
	got := strings.Join(new(engine).unset(image{unset: []string{"PATH", "NODE_OPTIONS", "LD_PRELOAD", "PYTHONPATH"}}), " ")
	if got != "NODE_OPTIONS LD_PRELOAD PYTHONPATH" {
		t.Errorf(`unset: %s, want "NODE_OPTIONS LD_PRELOAD PYTHONPATH"`, got)
	}
}

// What is pinned in three places has to agree.
func TestPinsAgree(t *testing.T) {
	var lock struct {
		Images map[string]struct {
			Node struct{ Package, Version, Integrity string }
		}
	}
	if err := json.Unmarshal(imageLock, &lock); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "npm", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var npm struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	if err := json.Unmarshal(data, &npm); err != nil {
		t.Fatal(err)
	}
	dockerfile, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if len(lock.Images) == 0 {
		t.Error("no image is pinned")
	}
	for arch, img := range lock.Images {
		p := npm.Packages["node_modules/"+img.Node.Package]
		if p.Version != img.Node.Version || p.Integrity != img.Node.Integrity {
			t.Errorf("%s: the image has node %s, npm's lock %s", arch, img.Node.Version, p.Version)
		}
		if !bytes.Contains(dockerfile, []byte("FROM node:"+img.Node.Version+"-")) {
			t.Errorf("%s: the Dockerfile does not build from node %s", arch, img.Node.Version)
		}
	}
}

func TestSeccompProfileIsWhole(t *testing.T) {
	var p struct {
		DefaultAction string
		Syscalls      []struct {
			Names  []string
			Action string
		}
	}
	if err := json.Unmarshal([]byte(seccompProfile), &p); err != nil {
		t.Fatal(err)
	}
	all := len(p.Syscalls)
	p.Syscalls = nil
	if err := json.Unmarshal([]byte((&engine{watched: true}).seccomp(false)), &p); err != nil || len(p.Syscalls) != all+2 {
		t.Fatalf("a watched container has %d rules, %v; want %d", len(p.Syscalls), err, all+2)
	}
	if p.DefaultAction != "SCMP_ACT_ERRNO" {
		t.Errorf(`what is not named is answered with %s, want "SCMP_ACT_ERRNO"`, p.DefaultAction)
	}
	never := "ptrace bpf keyctl add_key request_key io_uring_setup io_uring_enter io_uring_register mount umount2 unshare setns " +
		"userfaultfd perf_event_open process_vm_readv process_vm_writev kexec_load init_module finit_module open_by_handle_at pivot_root chroot memfd_create"
	for _, rule := range p.Syscalls {
		for _, name := range rule.Names {
			if rule.Action == "SCMP_ACT_ALLOW" && strings.Contains(" "+never+" ", " "+name+" ") {
				t.Errorf("%s is allowed", name)
			}
		}
	}
}

// TestImagesSayTheirPython checks from what an image's version of Python is known.
func TestImagesSayTheirPython(t *testing.T) {
	pins, err := readLock(imageLock)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []bool{false, true} {
		for arch, pin := range pins.of(data) {
			if got := pin.python(); got != debianPython {
				t.Errorf("the pinned image for %s (data %v) has Python %q, want %s", arch, data, got, debianPython)
			}
		}
	}
	for config, want := range map[string]string{
		`{}`: "", `{"Config": {"Env": ["PYTHON_VERSION=3"]}}`: "",
		`{"Config": {"Env": ["PATH=/bin", "PYTHON_VERSION=3.12.4"]}}`:                         "3.12",
		`{"Config": {"Env": ["PYTHON_VERSION=3.12.4"], "Labels": {"mcpgen.python": "3.13"}}}`: "3.13",
	} {
		var found client.ImageInspectResult
		if err := json.Unmarshal([]byte(config), &found); err != nil {
			t.Fatal(err)
		}
		if img, err := (&Backend{}).usable("mine", found); err != nil || img.python != want {
			t.Errorf("an image with %s has Python %q, %v, want %q", config, img.python, err, want)
		}
		if found.Config == nil {
			continue
		}
		if want == "" {
			want = debianPython
		}
		if img, err := (&Backend{}).usable(repository+":0123456789ab", found); err != nil || img.python != want {
			t.Errorf("an image of ours with %s has Python %q, %v, want %q", config, img.python, err, want)
		}
	}
}
