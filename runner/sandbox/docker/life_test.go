package docker_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dc "github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// busy guests never yield, and leave children that do not either.
var busy = map[sandbox.Runtime]string{
	sandbox.Python: "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork() == 0: os.setsid()\nprint('up', flush=True)\nwhile True: pass",
	sandbox.Node:   "process.on('SIGTERM', () => {}); console.log('up'); for (;;);",
}

func TestEndOfContextKills(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	for rt, code := range busy {
		g := newGuest(t, rt, code)
		up := newSignal()
		g.Stdout = up
		ctx, cancel := context.WithCancel(t.Context())
		p, err := b.Start(ctx, g.Spec)
		if err != nil {
			t.Fatal(err)
		}
		<-up.seen
		cancel()
		began := time.Now()
		exit, err := p.Wait()
		if err != nil || (exit.Code != 137 || exit.Killed != "") {
			t.Errorf(`%s: exit %+v, %v, want Code 137, Killed "" and no error`, rt, exit, err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("%s: it took %v to end, want at most %v", rt, d, 2*time.Second)
		}
		nothingLeft(t, g.ID, dir)
	}
}

func TestKill(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	g := newGuest(t, sandbox.Python, busy[sandbox.Python])
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	p.Kill()
	if exit, err := p.Wait(); err != nil || (exit.Code != 137 || exit.Killed != "") {
		t.Errorf(`exit %+v, %v, want Code 137, Killed "" and no error`, exit, err)
	}
	p.Kill()
	nothingLeft(t, g.ID, dir)
}

// signal is a writer that tells when something was written.
type signal struct{ seen chan struct{} }

func newSignal() *signal { return &signal{make(chan struct{}, 1)} }

func (s *signal) Write(p []byte) (int, error) {
	select {
	case s.seen <- struct{}{}:
	default:
	}
	return len(p), nil
}

// Whenever the context ends, Start either fails and has undone everything, or hands over a guest that ends.
func TestEndOfContextAtAnyMoment(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	g := newGuest(t, sandbox.Python, "while True: pass")
	for i := range 12 {
		// Over the whole of a start, and not the same moments each time.
		after := time.Duration(i)*12*time.Millisecond + rand.N(12*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), after)
		p, err := b.Start(ctx, g.Spec)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: %v, want %v", after, err, context.DeadlineExceeded)
			}
		} else if exit, err := p.Wait(); err != nil || exit.Code != 137 || exit.Killed != "" {
			t.Errorf(`after %v: exit %+v, %v, want Code 137, Killed "" and no error`, after, exit, err)
		}
		cancel()
		nothingLeft(t, g.ID, dir)
	}
}

func TestStartUndoesWhatItDid(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	const code = "pass"
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	occupied := openDir(t)
	if err := os.Symlink("/etc", filepath.Join(occupied, "servers")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*sandbox.Spec)
		want   string
	}{
		"no guest":           {func(s *sandbox.Spec) { s.Guest = nil }, "guest program"},
		"other runtime":      {func(s *sandbox.Spec) { s.Runtime = sandbox.QuickJS }, "does not run"},
		"odd id":             {func(s *sandbox.Spec) { s.ID = "a/b" }, "run ID"},
		"odd guest file":     {func(s *sandbox.Spec) { s.Guest["../x"] = nil }, "plain file name"},
		"workspace missing":  {func(s *sandbox.Spec) { s.Workspace = "/nonexistent" }, "no such file"},
		"workspace a file":   {func(s *sandbox.Spec) { s.Workspace = file }, "not a folder"},
		"workspace relative": {func(s *sandbox.Spec) { s.Workspace = "." }, "not an absolute path"},
		"servers occupied":   {func(s *sandbox.Spec) { s.Workspace, s.Tree = occupied, openDir(t) }, "servers"},
		"limit refused":      {func(s *sandbox.Spec) { s.Limits.Memory = 1 }, "create a container"},
		"does not start":     {func(s *sandbox.Spec) { s.Limits.Files = 1 }, "start container"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t, sandbox.Python, code)
			c.change(&g.Spec)
			p, err := b.Start(t.Context(), g.Spec)
			if err == nil {
				p.Kill()
				p.Wait()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
			nothingLeft(t, g.ID, dir)
		})
	}
}

func TestUnreadableTree(t *testing.T) {
	if os.Geteuid() != 0 {
		cannotRun(t, "guests run as the caller, who can read what is theirs")
	}
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, "pass")
	g.Tree = openDir(t)
	if err := os.WriteFile(filepath.Join(g.Tree, "secret.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.Start(t.Context(), g.Spec)
	var refused *folder.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Path, "secret.py") || !strings.Contains(refused.Hint(), "chmod") {
		t.Errorf("error %v", err)
	}
}

// A container that someone else removes is a run that ended, not one that waits for ever.
func TestRemovedByAnother(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	g := newGuest(t, sandbox.Python, busy[sandbox.Python])
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	client := pool(t).Client
	list, err := client.ListContainers(dc.ListContainersOptions{Filters: map[string][]string{"label": {"mcprun.run=" + g.ID}}})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d containers, %v, want 1 and no error", len(list), err)
	}
	if err := client.RemoveContainer(dc.RemoveContainerOptions{ID: list[0].ID, Force: true}); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 137 {
		t.Errorf("exit %+v, %v, want Code 137 and no error", exit, err)
	}
	nothingLeft(t, g.ID, dir)
}

// lostTime is how long the end of an engine may stay unnoticed, with room for a slow machine.
const lostTime = 5 * time.Second

// answerTime is how long an engine that does not answer is waited for, with room for a slow machine.
const answerTime = 12 * time.Second

func TestEngineThatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ host, want string }{
		"no socket":    {"unix:///nonexistent/docker.sock", "no docker engine at unix:///nonexistent/docker.sock"},
		"silent":       {"unix://" + silent(t), "does not answer"},
		"another host": {"tcp://127.0.0.1:1", "docker engine at tcp://127.0.0.1:1 does not answer"},
		"ssh":          {"ssh://somewhere", "ssh addresses are not supported"},
		"nonsense":     {"docker.sock", "not an address"},
	} {
		t.Run(name, func(t *testing.T) {
			b := docker.New(docker.Options{Host: c.host, RuntimeDir: shortDir(t)})
			defer b.Close()
			began := time.Now()
			st := b.Probe(t.Context())
			if d := time.Since(began); d > answerTime {
				t.Errorf("the probe took %v, want at most %v", d, answerTime)
			}
			if st.Usable || !strings.Contains(st.Detail, c.want) || st.Remedy == "" {
				t.Errorf("status %+v", st)
			}
			began = time.Now()
			_, err := b.Start(t.Context(), newGuest(t, sandbox.Python, "pass").Spec)
			if d := time.Since(began); d > answerTime {
				t.Errorf("the start took %v, want at most %v", d, answerTime)
			}
			var engine *docker.EngineError
			if !errors.As(err, &engine) || !strings.Contains(err.Error(), c.want) || engine.Hint() == "" {
				t.Errorf("error %v", err)
			}
		})
	}
}

// silent is the address of an engine that takes requests and never answers.
func silent(t *testing.T) string {
	path := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, conn)
		}
	}()
	return path
}

func TestImageThatIsNotThere(t *testing.T) {
	newBackend(t)
	b := docker.New(docker.Options{Host: host(), RuntimeDir: shortDir(t), Image: "mcpgen/none:none"})
	defer b.Close()
	if st := b.Probe(t.Context()); st.Usable || !strings.Contains(st.Detail, "not in the engine") || st.Remedy == "" {
		t.Errorf("status %+v", st)
	}
	_, err := b.Start(t.Context(), newGuest(t, sandbox.Python, "pass").Spec)
	var image *docker.ImageError
	if !errors.As(err, &image) {
		t.Errorf("error %v", err)
	}
}

func TestRuntimeDirOfOthers(t *testing.T) {
	newBackend(t)
	open := openDir(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(shortDir(t), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, link} {
		b := docker.New(docker.Options{Host: host(), RuntimeDir: dir})
		defer b.Close()
		_, err := b.Start(t.Context(), newGuest(t, sandbox.Python, "pass").Spec)
		var private *folder.Error
		if !errors.As(err, &private) {
			t.Errorf("%s: error %v", dir, err)
		}
	}
}
