package docker

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
)

// runDirPrefix tells this package's folders from those of other sandboxes in the same place.
const runDirPrefix = "docker-"

// maxSocketPath is the longest path, in bytes, that fits into a socket address on Linux.
const maxSocketPath = 107

// runDir is the folder of one run. No other user can enter it; the container sees the folders in it that are mounted.
//
//	g/            the guest program
//	b/            what the guest needs to connect: the socket, the secret, and the program that does it
//	e/            empty: mounted where a run's folders will be
//	resolv.conf   empty
//	passwd        for engines that show who runs them: the guest's user
//	hosts         for engines that show those of this machine
//	seccomp.json  for engines that want it as a file
type runDir struct {
	path      string // empty means none
	container string // the container's name
	release   func() // it need not be removed if this process is killed; may be nil
}

func (d *runDir) guest() string   { return filepath.Join(d.path, "g") }
func (d *runDir) bridge() string  { return filepath.Join(d.path, "b") }
func (d *runDir) socket() string  { return filepath.Join(d.path, "b", socketName) }
func (d *runDir) secret() string  { return filepath.Join(d.path, "b", secretName) }
func (d *runDir) empty() string   { return filepath.Join(d.path, "e") }
func (d *runDir) seccomp() string { return filepath.Join(d.path, "seccomp.json") }
func (d *runDir) passwd() string  { return filepath.Join(d.path, "passwd") }
func (d *runDir) hosts() string   { return filepath.Join(d.path, "hosts") }
func (d *runDir) resolv() string  { return filepath.Join(d.path, "resolv.conf") }

func (d *runDir) remove() error {
	if d.path == "" {
		return nil
	}
	if err := os.RemoveAll(d.path); err != nil {
		return fmt.Errorf("remove the run's folder: %w", err)
	}
	if d.release != nil {
		d.release()
	}
	return nil
}

// makeRunDir makes an empty folder, which is removed even if this process is killed.
func (b *Backend) makeRunDir() (*runDir, error) {
	if err := folder.Private(b.opt.RuntimeDir); err != nil {
		return nil, err
	}
	d := &runDir{path: filepath.Join(b.opt.RuntimeDir, runDirPrefix+randomName())}
	if len(d.socket()) > maxSocketPath {
		return nil, fmt.Errorf("folder for running sandboxes %q: its name is too long by %d bytes for a socket in it", b.opt.RuntimeDir, len(d.socket())-maxSocketPath)
	}
	if b.opt.Exe != "" {
		var err error
		if d.release, err = reaper.Guard(b.opt.Exe, d.path); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make the run's folder: %w", err), d.remove())
	}
	return d, nil
}

// randomName returns 12 unpredictable characters.
func randomName() string {
	id := make([]byte, 6)
	rand.Read(id)
	return hex.EncodeToString(id)
}

// newRunDir makes the folder of one run. On an error nothing is left.
func (b *Backend) newRunDir(spec sandbox.Spec, seccomp string) (_ *runDir, err error) {
	d, err := b.makeRunDir()
	if err != nil {
		return nil, err
	}
	d.container = "mcprun-" + spec.ID + "-" + strings.TrimPrefix(filepath.Base(d.path), runDirPrefix)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("fill the run's folder: %w", err), d.remove())
		}
	}()
	return d, d.fill(spec, seccomp, fmt.Sprintf("sandbox:x:%d:%d::/tmp:/\n", b.uid, b.gid))
}

func (d *runDir) fill(spec sandbox.Spec, seccomp, passwd string) error {
	// The container's user reads these; above them is a folder that only the caller can enter.
	for _, dir := range []string{d.guest(), d.bridge(), d.empty()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask is
			return err
		}
	}
	for name, data := range map[string][]byte{
		d.resolv(): nil, d.passwd(): []byte(passwd), d.hosts(): []byte("127.0.0.1\tlocalhost\n::1\tlocalhost\n"), d.seccomp(): []byte(seccomp), d.secret(): []byte(spec.Secret), filepath.Join(d.bridge(), enterName): enterProgram,
	} {
		if err := writeReadable(name, data); err != nil {
			return err
		}
	}
	for name, data := range spec.Guest {
		if name == "" || filepath.Base(name) != name || !filepath.IsLocal(name) {
			return fmt.Errorf("guest file %q: not a plain file name", name)
		}
		if err := writeReadable(filepath.Join(d.guest(), name), data); err != nil {
			return err
		}
	}
	return nil
}

func writeReadable(file string, data []byte) error {
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	return os.Chmod(file, 0o644)
}

// listen opens the bridge's socket. Every user may connect, but only the container reaches it.
func (d *runDir) listen() (*net.UnixListener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.socket(), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for the guest: %w", err)
	}
	if err := os.Chmod(d.socket(), 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the guest: %w", err), l.Close())
	}
	return l, nil
}
