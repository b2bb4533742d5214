package gvisor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
)

// sharedVariable makes the test binary adopt a guest where mounts are shared.
const sharedVariable = "GVISOR_TEST_SHARED"

// adoptWhereMountsAreShared prints which of the run's mounts the host sees, and exits. It runs in a mount namespace of its own.
func adoptWhereMountsAreShared(args string) {
	parts := strings.Split(args, "|")
	if err := adoptShared(parts[0], parts[1], parts[2], parts[3]); err != nil {
		fmt.Println(err)
	}
	os.Exit(0)
}

func adoptShared(runsc, dir, workspace, tree string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return err
	}
	b := gvisor.New(gvisor.Options{Runsc: runsc, RuntimeDir: dir, LookPath: exec.LookPath})
	s := spec(sandbox.Python, waiting+`print(os.listdir("servers"), flush=True); conn.recv(1)`)
	s.Args = []string{"-I", "-B", "-u"}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	idle, err := b.Warm(ctx, s)
	if err != nil {
		return err
	}
	conn, err := idle.Bridge(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 5)); err != nil {
		return errors.Join(err, idle.Close())
	}
	said := make(first, 1)
	s.Workspace, s.Tree, s.Stdout, s.Stderr = workspace, tree, io.MultiWriter(os.Stdout, said), os.Stdout
	p, err := idle.Adopt(ctx, s)
	if err != nil {
		return err
	}
	_, _ = conn.Write([]byte("x"))
	select {
	case <-said:
	case <-ctx.Done():
	}
	seen := mountsBelow(workspace)
	_, _ = conn.Write([]byte("x"))
	_, err = p.Wait()
	fmt.Println(seen, mountsBelow(workspace))
	return errors.Join(err, ctx.Err())
}

func mountsBelow(dir string) (found []string) {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " "+dir) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// TestAdoptionMountsNothingOnTheHost: on most machines mounts are shared, so that a mount in a copy of a folder also appears in the folder
// itself unless the copy is private.
func TestAdoptionMountsNothingOnTheHost(t *testing.T) {
	if os.Geteuid() != 0 {
		return // it mounts nothing for waiting guests anywhere
	}
	module, err := filepath.Abs(built)
	if err != nil {
		t.Fatal(err)
	}
	for name, runsc := range map[string]string{"debian": "runsc", "module": module} {
		t.Run(name, func(t *testing.T) {
			backend(t, name) // otherwise there is nothing to test
			tree := workspace(t)
			if err := os.WriteFile(filepath.Join(tree, "a.py"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), sharedVariable+"="+strings.Join([]string{runsc, runtimeDir(t), workspace(t), tree}, "|"))
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
			out, err := cmd.CombinedOutput()
			if want := "['a.py']\n[] []\n"; err != nil || string(out) != want {
				t.Errorf("%v\n%s\nwant %s", err, out, want)
			}
		})
	}
}

func TestAdoptedWithTreeButWithoutWorkspace(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		s := spec(sandbox.Python, waiting+`print(os.listdir("servers"), os.listdir("/mcp/servers"))`)
		s.Args, s.Tree = []string{"-I", "-B", "-u"}, workspace(t)
		if err := os.WriteFile(filepath.Join(s.Tree, "a.py"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		idle, conn := warm(t, b, s)
		var stdout, stderr bytes.Buffer
		s.Stdout, s.Stderr = &stdout, &stderr
		p, err := idle.Adopt(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte("x"))
		if exit, err := p.Wait(); err != nil || exit.Code != 0 || stdout.String() != "['a.py'] ['a.py']\n" {
			t.Errorf("%+v %v %q %s, want Code 0, %q and no error", exit, err, stdout.String(), stderr.String(), "['a.py'] ['a.py']\n")
		}
	})
}

// TestFilesOfTheGuestAreItsGroups: although the guest is also in the workspace's group, it cannot create files of that group.
func TestFilesOfTheGuestAreItsGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		return // the guest is then the caller, and in no additional group
	}
	each(t, func(t *testing.T, b *gvisor.Backend) {
		const group = 4242
		s := spec(sandbox.Python, fmt.Sprintf(`
import ctypes, os
open("f", "w").close(); os.symlink("f", "l")
print(%[1]d in os.getgroups())
fd = os.open("f", os.O_RDWR)
chown = ctypes.CDLL(None).syscall
chown.argtypes = [ctypes.c_long] * 2 + [ctypes.c_long] * 4
for how in (lambda: os.chown("f", -1, %[1]d), lambda: os.chown("l", -1, %[1]d, follow_symlinks=False),
            lambda: os.chown(fd, 65534, %[1]d), lambda: os.chown("f", -1, %[1]d, dir_fd=os.open(".", os.O_RDONLY))):
    try: how(); print("given away")
    except PermissionError: pass
fchown = 93 if os.uname().machine == "x86_64" else 55
chown(fchown, fd, 65534, 1 << 32 | %[1]d, 0, 0)  # the kernel looks at 32 bits only
os.chown("f", -1, -1); os.chown("f", 65534, 65534)
os.mkdir("d", 0o2777)
`, group))
		s.Workspace = workspace(t)
		if err := errors.Join(os.Chown(s.Workspace, -1, group), os.Chmod(s.Workspace, 0o700)); err != nil {
			t.Fatal(err)
		}
		if exit, stdout, stderr := run(t, b, s); exit.Code != 0 || stdout != "True\n" {
			t.Errorf("%+v %q %s, want Code 0 and %q", exit, stdout, stderr, "True\n")
		}
		for _, name := range []string{"f", "l", "d"} {
			st, err := os.Lstat(filepath.Join(s.Workspace, name))
			if err != nil {
				t.Fatal(err)
			}
			if sys := st.Sys().(*syscall.Stat_t); sys.Gid != nobody || st.Mode()&(os.ModeSetgid|os.ModeSetuid) != 0 {
				t.Errorf("%s: group %d, mode %v", name, sys.Gid, st.Mode())
			}
		}
	})
}
