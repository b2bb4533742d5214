package docker

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// An engine is apart when it shares neither folders nor sockets with this process: on another machine, in a virtual
// machine, as Docker Desktop is, or outside of the container that this process is in. Then files travel as archives,
// and everything between host and guest through the attached streams of the container (package relay).

// checkHost accepts sockets and pipes of this machine, and TCP.
func checkHost(host string) error {
	scheme, rest, ok := strings.Cut(host, "://")
	refuse := func(hint, format string, args ...any) error {
		return &EngineError{Host: host, Err: fmt.Errorf(format, args...), hint: hint}
	}
	switch {
	case !ok || rest == "":
		return refuse("set DOCKER_HOST to unix:///var/run/docker.sock", "not an address of the form unix:///path or tcp://host:port")
	case scheme == "unix", scheme == "npipe":
		return nil
	case scheme == "tcp":
		if _, _, err := net.SplitHostPort(strings.TrimRight(rest, "/")); err != nil {
			return refuse("write it as tcp://host:2376", "no host and port in it")
		}
		return nil
	case scheme == "ssh":
		return refuse(fmt.Sprintf("forward the engine's socket and use that: ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock %s & DOCKER_HOST=unix:///tmp/engine.sock", rest),
			"engines are not reached over ssh")
	}
	return refuse("use unix:///path or tcp://host:port", "the scheme %q is unknown", scheme)
}

// clientOptions are how to reach the engine.
func clientOptions(opt Options) ([]client.Opt, error) {
	all := []client.Opt{client.WithHost(opt.Host), client.WithUserAgent("mcprun")}
	if opt.CertDir == "" || !strings.HasPrefix(opt.Host, "tcp://") {
		return all, nil
	}
	file := func(name string) string { return filepath.Join(opt.CertDir, name) }
	for _, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
		if _, err := os.Stat(file(name)); err != nil {
			return nil, &EngineError{Host: opt.Host, Err: fmt.Errorf("find the certificates for TLS: %w", err),
				hint: "put ca.pem, cert.pem and key.pem into the folder that DOCKER_CERT_PATH names (~/.docker without it)"}
		}
	}
	return append(all, client.WithTLSClientConfig(file("ca.pem"), file("cert.pem"), file("key.pem"))), nil
}

// whyApart says why the engine is taken to be apart; empty when it is not. What it says of its machine costs nothing to
// look at; only when that leaves a doubt is it asked to show a folder. An engine that turns out not to see the folder of
// a run when that is started is apart from then on: see unseen.
func (b *Backend) whyApart(ctx context.Context, info system.Info) string {
	scheme, _, _ := strings.Cut(b.opt.Host, "://")
	name, _ := os.Hostname()
	same, known := sameMachine(info)
	switch {
	case scheme != "unix":
		return "it is reached over " + scheme
	case runtime.GOOS != "linux":
		return "containers do not run on " + runtime.GOOS
	case strings.Contains(info.OperatingSystem, "Docker Desktop"):
		return "Docker Desktop keeps containers in a virtual machine"
	case hasOption(info.SecurityOptions, "rootless") && !b.ownSocket():
		return "it runs as another user"
	case known && !same:
		return "it is on another machine"
	case !passesSockets(info, b.opt.Runtime):
		return "its runtime lets no socket of this machine through"
	case b.opt.Runtime != "" && b.opt.UID != os.Geteuid():
		return "its runtime knows no access control lists, through which the workspace would be shared"
	case info.Name != name && !b.seesFolders(ctx, goArch(info.Architecture)):
		return "it does not see this machine's folders"
	}
	return ""
}

// ownSocket tells whether the socket belongs to who runs this process, as that of one's own rootless engine does.
func (b *Backend) ownSocket() bool {
	st, err := os.Stat(strings.TrimPrefix(b.opt.Host, "unix://"))
	return err == nil && folder.OwnedBy(st, os.Geteuid())
}

// plainTCP tells whether what goes to the engine can be read and changed on its way.
func (b *Backend) plainTCP() bool {
	rest, ok := strings.CutPrefix(b.opt.Host, "tcp://")
	if !ok || b.opt.CertDir != "" {
		return false
	}
	host, _, _ := net.SplitHostPort(strings.TrimRight(rest, "/"))
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// seesFolders has the engine make a container that shows a folder that only this process knows, and removes it: it is
// never started. An engine that cannot make one for another reason is given the benefit of the doubt: a run will tell.
func (b *Backend) seesFolders(ctx context.Context, arch string) bool {
	me, err := owner.Self()
	if err != nil || folder.Private(b.opt.RuntimeDir) != nil {
		return true
	}
	dir, err := os.MkdirTemp(b.opt.RuntimeDir, runDirPrefix)
	if err != nil {
		return true
	}
	defer os.RemoveAll(dir)
	img, err := b.image(ctx, arch)
	if err != nil {
		return true
	}
	seen := folder.See(dir)
	err = b.shows(ctx, img, me.String(), []mount.Mount{bind(dir, sandbox.WorkspaceDir, true)})
	return !unseen(err) || seen.Vanished() != nil
}

// shows has the engine make a container with mounts, and removes it.
func (b *Backend) shows(ctx context.Context, img image, owner string, mounts []mount.Mount) error {
	made, err := b.client.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: img.id, Entrypoint: []string{"/"}, Labels: map[string]string{labelRun: "probe", labelOwner: owner}, NetworkDisabled: true},
		HostConfig: &container.HostConfig{NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}, Mounts: mounts},
	})
	if err != nil {
		return err
	}
	if err := b.removeContainer(ctx, made.ID); err != nil {
		b.log.Warn("remove the container of a probe", "error", err)
	}
	return nil
}

// noSource is what Docker says of a folder that it does not find.
const noSource = "bind source path does not exist"

// unseen tells whether an engine complains that it does not find a folder of this machine: Docker's words, and Podman's.
func unseen(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, noSource) ||
		strings.Contains(text, "no such file or directory") && strings.Contains(text, runDirPrefix)
}

// setApart changes what is known of an engine that turns out to be apart: what its missing powers would do to folders of
// this machine plays no part then.
func (e *engine) setApart(why string) {
	e.apart = why
	e.missing = slices.DeleteFunc(e.missing, func(s string) bool { return strings.HasPrefix(s, "user namespace:") })
}

// checkApart refuses an engine that is apart and would run guests without our filter of system calls: Podman reads that
// from a file of its own machine.
func (b *Backend) checkApart(e *engine) error {
	if e.apart == "" || !e.podman {
		return nil
	}
	return &EngineError{Host: b.opt.Host, Err: fmt.Errorf("it is Podman, which takes no system call filter from afar, and %s", e.apart),
		hint: "run mcprun where Podman runs and sees its folders, or use Docker"}
}

// foundApart notes what a failed start has shown.
func (b *Backend) foundApart(why string) *engine {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := *b.engine
	e.missing = slices.Clone(e.missing)
	e.setApart(why)
	b.engine = &e
	return &e
}

// goArch is Go's name of what an engine says that its machine is.
func goArch(machine string) string {
	switch machine {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	}
	return machine
}
