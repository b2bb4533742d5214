package docker

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/imagelock"
)

func TestAbandoned(t *testing.T) {
	me, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	foreign, gone := me, me
	foreign.Boot, gone.PID = "x", 1<<30
	now := time.Now()
	for name, c := range map[string]struct {
		owner string
		state container.ContainerState
		age   time.Duration
		want  bool
	}{
		"of a living host":        {me.String(), container.StateExited, time.Hour, false},
		"of a dead host":          {gone.String(), container.StateRunning, 0, true},
		"running, of a stranger":  {foreign.String(), container.StateRunning, time.Hour, false},
		"new, of a stranger":      {foreign.String(), container.StateCreated, time.Second, false},
		"old, of a stranger":      {foreign.String(), container.StateCreated, time.Hour, true},
		"old, without a readable": {"?", container.StateExited, time.Hour, true},
	} {
		s := container.Summary{Labels: map[string]string{labelOwner: c.owner}, State: c.state, Created: now.Add(-c.age).Unix()}
		if got := abandoned(s, me, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestEnginesAreJudged(t *testing.T) {
	good := func() system.Info {
		return system.Info{OSType: "linux", OperatingSystem: "Debian", MemoryLimit: true, PidsLimit: true, SwapLimit: true, CPUCfsQuota: true,
			SecurityOptions: []string{"name=apparmor", "name=seccomp,profile=default"}}
	}
	if e, err := judge(good(), ""); err != nil || len(e.missing) != 0 || e.rootless || e.remapped {
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
		if _, err := judge(info, ""); err == nil || err.Hint() == "" {
			t.Errorf("%s: accepted, or no hint: %v", name, err)
		}
	}
	info := good()
	info.SecurityOptions = append(info.SecurityOptions, "name=rootless", "name=userns")
	info.SwapLimit = false
	if e, err := judge(info, ""); err != nil || !e.rootless || !e.remapped || len(e.missing) != 2 {
		t.Errorf("a rootless engine: %+v, %v", e, err)
	}
}

func TestUserOfARootlessEngine(t *testing.T) {
	b := New(Options{UID: 1000, GID: 100})
	if got := b.user(&engine{}); got != "1000:100" {
		t.Errorf("user %s", got)
	}
	if got := b.user(&engine{rootless: true}); got != "0:0" {
		t.Errorf("user %s of a rootless engine", got)
	}
}

func TestProcessorTimeBoundsAGuestWithoutHost(t *testing.T) {
	ctx := t.Context()
	if got := cpuSeconds(ctx, sandbox.Limits{}, 2); got != 0 {
		t.Errorf("no limit gives %d", got)
	}
	if got := cpuSeconds(ctx, sandbox.Limits{CPU: 1500 * time.Millisecond}, 2); got != 3 {
		t.Errorf("1.5 s give %d", got)
	}
}

// A control group that is being removed tells less and less. What it has told before stays.
func TestFiguresDoNotFall(t *testing.T) {
	before := counters{cpu: time.Second, memory: 5, ooms: 1, forks: 2}
	if got := before.upTo(counters{cpu: 2 * time.Second, memory: 4}); got != (counters{cpu: 2 * time.Second, memory: 5, ooms: 1, forks: 2}) {
		t.Errorf("got %+v", got)
	}
}

func TestImageVariablesAreUnset(t *testing.T) {
	got := strings.Join(new(engine).unset(image{unset: []string{"PATH", "NODE_OPTIONS", "LD_PRELOAD", "PYTHONPATH"}}), " ")
	if got != "NODE_OPTIONS LD_PRELOAD PYTHONPATH" {
		t.Errorf("unset: %s", got)
	}
}

func TestSpoolStopsAtItsBoundAndIsLifted(t *testing.T) {
	gate := make(chan struct{})
	var got bytes.Buffer
	s := newSpool(writerFunc(func(p []byte) (int, error) { <-gate; return got.Write(p) }))
	written := make(chan struct{})
	go func() {
		for range 40 {
			s.Write(make([]byte, 1<<20))
		}
		close(written)
	}()
	select {
	case <-written:
		t.Fatal("40 MiB were taken while the writer stood still")
	case <-time.After(100 * time.Millisecond):
	}
	s.unbound()
	<-written
	close(gate)
	s.close()
	s.wait()
	if got.Len() != 40<<20 {
		t.Errorf("%d bytes were handed over", got.Len())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// What is pinned in three places has to agree.
func TestPinsAgree(t *testing.T) {
	lock, err := imagelock.Parse(imageLock)
	if err != nil {
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
	if err := json.Unmarshal([]byte((&engine{watched: true}).seccomp()), &p); err != nil || len(p.Syscalls) != all+4 {
		t.Fatalf("watched containers have %d rules instead of %d: %v", len(p.Syscalls), all+4, err)
	}
	if p.DefaultAction != "SCMP_ACT_ERRNO" {
		t.Errorf("what is not named is answered with %s", p.DefaultAction)
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

// The version of the API is settled by one question at a time, also when the first one gets no answer: what -race would see.
func TestAgreesOnce(t *testing.T) {
	for range 20 {
		var asked atomic.Int32
		b := served(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != "/_ping":
				w.Write([]byte(`[]`))
			case asked.Add(1) <= 2: // HEAD, and then GET
				time.Sleep(5 * time.Millisecond)
				panic(http.ErrAbortHandler)
			default:
				w.Header().Set("API-Version", "1.41")
			}
		})
		var wg sync.WaitGroup
		wg.Go(func() { b.Probe(t.Context()) })
		wg.Go(func() { b.Sweep(t.Context()) })
		wg.Wait()
		if err := b.agree(t.Context()); err != nil || b.client.ClientVersion() != "1.41" {
			t.Errorf("the client speaks %q: %v", b.client.ClientVersion(), err)
		}
	}
}
