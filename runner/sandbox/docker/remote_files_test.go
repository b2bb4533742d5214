package docker_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// snapshot tells what a folder holds: the type and mode of everything, and what files hold and links say.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		what := st.Mode().String()
		switch {
		case st.Mode().IsRegular():
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if len(text) > 100 {
				text = text[len(text)-100:]
			}
			what += " " + string(text)
		case st.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			what = "-> " + target
		}
		rel, _ := filepath.Rel(dir, name)
		all[rel] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What a script makes of its workspace is there on the host when it has ended, and nothing else has changed.
func TestRemoteWorkspace(t *testing.T) {
	b := remoteBackend(t)
	g := newGuest(t, sandbox.Python, `
import os, socket
s = socket.socket(fileno=3); s.sendall(b"x"); s.recv(1)  # the job comes when the workspace is there
assert sorted(os.listdir()) == ["change", "drop", "file-to-folder", "folder-to-file", "keep", "out", "rename", "servers"], os.listdir()
assert open("keep").read() == "keep" and os.stat("keep").st_mode & 0o777 == 0o640 and os.stat("keep").st_mtime == 1000
assert os.readlink("out") == "/etc/hostname"
open("change", "a").write("d")
os.unlink("drop/file"); os.rmdir("drop")
os.rename("rename", "renamed")
os.unlink("file-to-folder"); os.mkdir("file-to-folder"); open("file-to-folder/f", "w").write("in it")
os.unlink("folder-to-file/f"); os.rmdir("folder-to-file"); open("folder-to-file", "w").write("now a file")
os.mkdir("locked"); open("locked/f", "w").write("locked in"); os.chmod("locked/f", 0); os.chmod("locked", 0)
os.symlink("../renamed", "file-to-folder/good"); os.symlink("/etc/passwd", "bad"); os.symlink("file-to-folder/../..", "bad2")
os.link("change", "twin")
with open("holed", "wb") as f: f.truncate(50 << 20); f.seek(40 << 20); f.write(b"data")
open("odd\nname \\ \x1b[31m", "w").write("odd")
open(b"\xff\xfe", "w").write("not text")
os.chmod("renamed", 0o4) if False else None
at = "deep"
for _ in range(1000):
    os.mkdir(at); os.chdir(at); at = "d"
open("bottom", "w").write("x")
`)
	g.Workspace, g.Tree = openDir(t), openDir(t)
	write(t, filepath.Join(g.Tree, "t.py"), "tree")
	for name, text := range map[string]string{"keep": "keep", "change": "change", "rename": "rename", "file-to-folder": "f"} {
		write(t, filepath.Join(g.Workspace, name), text)
	}
	for _, name := range []string{"drop", "folder-to-file"} {
		if err := os.Mkdir(filepath.Join(g.Workspace, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(g.Workspace, "drop", "file"), "x")
	write(t, filepath.Join(g.Workspace, "folder-to-file", "f"), "x")
	keep := filepath.Join(g.Workspace, "keep")
	if err := errors.Join(os.Chmod(keep, 0o640), os.Chtimes(keep, time.Unix(1000, 0), time.Unix(1000, 0)),
		os.Symlink("/etc/hostname", filepath.Join(g.Workspace, "out"))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(g.Workspace, "locked"), 0o700) })
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Fatalf("exit %+v, %v, want Code 0 and no error\n%s%s", exit, err, &g.out, &g.err)
	}

	if st, err := os.Lstat(filepath.Join(g.Workspace, "locked")); err != nil || st.Mode().Perm() != 0 {
		t.Errorf("locked: %v, %v", st, err)
	}
	if err := errors.Join(os.Chmod(filepath.Join(g.Workspace, "locked"), 0o700), os.Chmod(filepath.Join(g.Workspace, "locked", "f"), 0o600)); err != nil {
		t.Fatal(err)
	}
	got := snapshot(t, g.Workspace)
	deep := 0
	for name := range got {
		if strings.HasPrefix(name, "deep") {
			deep++
			delete(got, name)
		}
	}
	if deep < 200 || deep > 300 {
		t.Errorf("%d folders of the deep ones came back, want at least 200 and at most 300", deep)
	}
	want := map[string]string{
		"keep": "-rw-r----- keep", "change": "-rw-r--r-- changed", "renamed": "-rw-r--r-- rename", "twin": "-rw-r--r-- changed",
		"file-to-folder": "drwxr-xr-x", "file-to-folder/f": "-rw-r--r-- in it", "file-to-folder/good": "-> ../renamed",
		"folder-to-file": "-rw-r--r-- now a file", "locked": "drwx------", "locked/f": "-rw------- locked in", "out": "-> /etc/hostname",
		"holed":                 "-rw-r--r-- " + strings.Repeat("\x00", 100),
		"odd\nname \\ \x1b[31m": "-rw-r--r-- odd", "\xff\xfe": "-rw-r--r-- not text",
	}
	for name, what := range want {
		if got[name] != what {
			t.Errorf("%q is %q, want %q", name, got[name], what)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("not expected: %q, want len(got) at most 0", got)
	}
	if st, err := os.Stat(filepath.Join(g.Workspace, "holed")); err != nil || st.Size() != 50<<20 {
		t.Errorf("holed: %v, %v", st, err)
	}
}

// What is not changed is not sent back: a file that somebody else changes meanwhile stays as it is.
func TestRemoteRunSendsChangesOnly(t *testing.T) {
	b := remoteBackend(t)
	g := newGuest(t, sandbox.Python, `
import socket
s = socket.socket(fileno=3); s.sendall(b"x"); s.recv(1)
open("mine", "w").write("mine")
`)
	g.Workspace = openDir(t)
	other := filepath.Join(g.Workspace, "other")
	write(t, other, "before")
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	write(t, other, "meanwhile")
	write(t, filepath.Join(g.Workspace, "new"), "meanwhile")
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v: %s, want Code 0 and no error", exit, err, &g.err)
	}
	if got := snapshot(t, g.Workspace); len(got) != 3 || !strings.HasSuffix(got["other"], "meanwhile") || !strings.HasSuffix(got["mine"], "mine") {
		t.Errorf(`the workspace holds %q, want len(got) 3, "meanwhile" at its end and "mine" at its end`, got)
	}
}

// A run that is ended from outside has its workspace too, as on an engine of this machine.
func TestRemoteKillLeavesTheWorkspace(t *testing.T) {
	b := remoteBackend(t)
	for name, end := range map[string]string{"busy": "while True: pass", "stopped": "os.kill(os.getpid(), signal.SIGSTOP)", "meddling": `
for s in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    for pid in (1, -1):
        try: os.kill(pid, s)
        except OSError: pass
while True: pass`} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t, sandbox.Python, "import os, signal, socket\nopen('made', 'w').write('x')\nprint('printed', flush=True)\nsocket.socket(fileno=3).sendall(b'x')\n"+end)
			g.Workspace = openDir(t)
			p, err := b.Start(t.Context(), g.Spec)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := p.Bridge(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			time.Sleep(100 * time.Millisecond) // for the rest of it
			began := time.Now()
			p.Kill()
			exit, err := p.Wait()
			if err != nil || exit.Code != 137 || exit.Killed != "" || g.out.String() != "printed\n" {
				t.Errorf(`%+v, %v: %s%s, want Code 137, Killed "", g.out.String() %q and no error`, exit, err, &g.out, &g.err, "printed\n")
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v, want at most %v", took, 15*time.Second)
			}
			if got, err := os.ReadFile(filepath.Join(g.Workspace, "made")); err != nil || string(got) != "x" {
				t.Errorf(`what it made: %q, %v, want "x" and no error`, got, err)
			}
		})
	}
}

// The limits that the relay counts end a run, are named, and leave what was there.
func TestRemoteLimits(t *testing.T) {
	b := remoteBackend(t)
	for name, c := range map[string]struct {
		code   string
		limits sandbox.Limits
		want   string
		left   bool // the workspace has the file "first"
	}{
		"disk":                   {"while True:\n  n += 1\n  open(f'f{n}', 'w').write('x' * 100_000)", sandbox.Limits{Disk: 8 << 20}, sandbox.LimitDisk, true},
		"files":                  {"while True:\n  n += 1\n  open(f'f{n}', 'w')", sandbox.Limits{DiskFiles: 2000}, sandbox.LimitDisk, true},
		"cpu":                    {"while True: pass", sandbox.Limits{CPU: time.Second}, sandbox.LimitCPU, true},
		"output":                 {"while True: print('x' * 1000)", sandbox.Limits{Output: 1 << 20}, sandbox.LimitOutput, true},
		"memory":                 {"keep = []\nwhile True: keep.append(bytes(1 << 20) + b'x')", sandbox.Limits{Memory: 100_000_000}, sandbox.LimitMemory, true},
		"many names of one file": {"open('big', 'w').write('x' * 4_000_000)\nfor i in range(100): os.link('big', f'l{i}')", sandbox.Limits{Disk: 8 << 20}, sandbox.LimitDisk, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t, sandbox.Python, "import os\nn = 0\nopen('first', 'w').write('x')\nprint('printed', flush=True)\n"+c.code)
			g.Workspace, g.Limits = openDir(t), c.limits
			exit := g.run(t, b)
			if exit.Code != 137 && name != "cpu" || exit.Killed != c.want || !slices.Contains(exit.Hit, c.want) {
				t.Errorf("%+v, want killed by %s\n%.500s", exit, c.want, &g.err)
			}
			if !strings.HasPrefix(g.out.String(), "printed\n") || c.limits.Output > 0 && int64(g.out.Len()) > c.limits.Output {
				t.Errorf("%d bytes of output: %.20q", g.out.Len(), &g.out)
			}
			if _, err := os.Stat(filepath.Join(g.Workspace, "first")); (err == nil) != c.left {
				t.Errorf("the workspace: %v", err)
			}
		})
	}
	t.Run("file size", func(t *testing.T) {
		g := newGuest(t, sandbox.Python, "try:\n  with open('big', 'wb', 0) as f:\n    while True: f.write(bytes(100_000))\nexcept OSError as e: print(e.errno)")
		g.Workspace, g.Limits = openDir(t), sandbox.Limits{FileSize: 1 << 20}
		if exit := g.run(t, b); exit.Code != 0 || exit.Killed != "" || !slices.Equal(exit.Hit, []string{sandbox.LimitFileSize}) || g.out.String() != "27\n" {
			t.Errorf("%+v: %s%s", exit, &g.out, &g.err)
		}
	})
	t.Run("hit only", func(t *testing.T) {
		g := newGuest(t, sandbox.Python, "import os\ntry:\n  while True:\n    if os.fork() == 0:\n      import time; time.sleep(60)\nexcept OSError: print('no more')")
		g.Limits = sandbox.Limits{Processes: 32}
		if exit := g.run(t, b); exit.Code != 0 || exit.Killed != "" || !slices.Equal(exit.Hit, []string{sandbox.LimitProcesses}) {
			t.Errorf("%+v: %s%s", exit, &g.out, &g.err)
		}
	})
}

// A workspace that is larger than it may be is refused before anything is started.
func TestRemoteWorkspaceIsTooLarge(t *testing.T) {
	b := remoteBackend(t)
	g := newGuest(t, sandbox.Python, "pass")
	g.Workspace, g.Limits = openDir(t), sandbox.Limits{Disk: 1 << 20}
	write(t, filepath.Join(g.Workspace, "big"), strings.Repeat("x", 2<<20))
	_, err := b.Start(t.Context(), g.Spec)
	var refused *folder.Error
	if !errors.As(err, &refused) || refused.Hint() == "" {
		t.Errorf("error %v", err)
	}
}
