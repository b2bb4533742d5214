package docker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path"

	"github.com/moby/moby/api/types/mount"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/rundir"
)

// runDirPrefix tells this package's folders from those of other sandboxes in the same place.
const runDirPrefix = "docker-"

// maxSocketPath is the longest path, in bytes, that fits into a socket address on Linux.
const maxSocketPath = 107

// The contents of a run's folder. The container sees only the parts that are mounted.
const (
	guestFolder  = "g" // the guest program
	bridgeFolder = "b" // what the guest needs to connect: the socket, the secret, and the program that does it
	emptyFolder  = "e" // mounted where a run's folders will be
	emptyFile    = "empty"
	hostsFile    = "hosts"        // for engines that would show this machine's hosts file
	passwdFile   = "passwd"       // has the guest's user, for engines that would show who runs them
	seccompFile  = "seccomp.json" // for engines that read it from a file
)

// runDir is the folder of one run.
type runDir struct {
	*rundir.Dir
	container string // the container's name
}

func (d *runDir) socket() string { return d.File(path.Join(bridgeFolder, socketName)) }
func (d *runDir) secret() string { return d.File(path.Join(bridgeFolder, secretName)) }

// containerName returns the name of a run's container. It ends with random characters.
func containerName(spec sandbox.Spec, random string) string {
	return "mcprun-" + spec.ID + "-" + random
}

// newRunDir creates and fills the folder of one run. After an error, nothing is left of it.
func (b *Backend) newRunDir(spec sandbox.Spec, e *engine) (*runDir, error) {
	dir, err := rundir.New(b.opt.RuntimeDir, runDirPrefix, b.opt.Exe)
	if err != nil {
		return nil, err
	}
	d := &runDir{Dir: dir, container: containerName(spec, dir.Random)}
	if over := len(d.socket()) - maxSocketPath; over > 0 {
		err = fmt.Errorf("folder for running sandboxes %q: the path is %d bytes too long for a socket", b.opt.RuntimeDir, over)
	} else {
		err = d.fill(spec, e.seccomp(spec.Network), fmt.Sprintf("sandbox:x:%d:%d::/tmp:/\n", b.uid, b.gid))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fill the run's folder: %w", err), d.Remove())
	}
	return d, nil
}

func (d *runDir) fill(spec sandbox.Spec, seccomp, passwd string) error {
	files := map[string][]byte{
		emptyFile: nil, hostsFile: []byte("127.0.0.1\tlocalhost\n::1\tlocalhost\n"), passwdFile: []byte(passwd), seccompFile: []byte(seccomp),
		path.Join(bridgeFolder, secretName): []byte(spec.Secret), path.Join(bridgeFolder, enterName): enterProgram,
	}
	for name, data := range spec.Guest {
		files[path.Join(guestFolder, name)] = data
	}
	for name, data := range files {
		if err := d.Write(name, data); err != nil {
			return err
		}
	}
	return d.MkdirAll(emptyFolder)
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

// Places inside a container, beside those in package sandbox.
const (
	bridgeDir  = "/run/mcprun"
	socketName = "s"
	secretName = "secret"
	enterName  = "enter.py"
	searchPath = "/usr/local/bin:/usr/bin:/bin"
)

// bind never includes what is mounted below a folder: a read-only bind is not read-only further down.
func bind(source, target string, readOnly bool) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readOnly,
		BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate, NonRecursive: true}}
}
