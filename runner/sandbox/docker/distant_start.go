package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/relay"
)

// relayMemory is what the relay needs beside the guest, in bytes.
const relayMemory = 24 << 20

// startApart is Start on an engine that is apart.
func (b *Backend) startApart(ctx context.Context, spec sandbox.Spec, e *engine, img image) (sandbox.Process, error) {
	c, err := newCargo(spec)
	if err != nil {
		return nil, err
	}
	d, err := b.launchApart(ctx, spec, e, img, c)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := d.connect(ctx, spec, c); err != nil {
		return nil, errors.Join(err, d.abandon())
	}
	return d, nil
}

// launchApart starts a container with a guest that waits for its run. C says how much room it needs.
func (b *Backend) launchApart(ctx context.Context, spec sandbox.Spec, e *engine, img image, c *cargo) (*distant, error) {
	if err := b.check(e); err != nil {
		return nil, err
	}
	for name := range programs(nil) {
		if _, ok := spec.Guest[name]; ok {
			return nil, fmt.Errorf("guest file %q: the name is taken", name)
		}
	}
	me, err := owner.Self()
	if err != nil {
		return nil, err
	}
	id := make([]byte, 6)
	rand.Read(id)
	dir := &runDir{container: "mcprun-" + spec.ID + "-" + hex.EncodeToString(id)}
	d := &distant{process: newProcess(b, dir, spec.Secret), fetched: make(chan error, 1), attended: make(chan struct{}), cleared: make(chan error, 1)}
	create := b.createdApart(ctx, spec, e, img, dir, me.String(), c)
	all := shelves(dir.container, spec.Guest, readOnlyFolders(spec), create.Config.Labels)
	for _, s := range all {
		d.volumes = append(d.volumes, s.name)
	}
	stocked := make(chan error, 1)
	go func() {
		stocked <- b.stock(detach(ctx), dir.container, all, img, create.Config.Labels)
		d.cleared <- b.removeContainer(detach(ctx), fillerName(dir.container))
	}()
	d.ready = func() error { return <-stocked }
	if err := d.launch(ctx, create); err != nil {
		return nil, errors.Join(err, <-d.cleared, d.undo(ctx), b.removeVolumes(ctx, d.volumes))
	}
	d.host = relay.NewHost(d.attached.Conn)
	d.softly, d.grace = d.stop, fetchTime
	d.listen()
	if err := d.host.Start(spec.Secret, interpreter(spec, spec.Limits.WithDefaults())); err != nil {
		return nil, errors.Join(fmt.Errorf("start the guest in container %s: %w", d.id, err), d.abandon())
	}
	return d, nil
}

// abandon ends a container that has no run.
func (d *distant) abandon() error {
	d.Kill()
	<-d.gone
	d.drain(d.fetched)
	return errors.Join(d.err, d.release())
}

// createdApart is created for an engine that is apart. The relay is the first process: nothing in a container can send
// a signal to that one, except where gVisor is the kernel, and there a script that ends its relay loses its own output and
// files. Whoever the caller is plays no part there, so the guest is nobody, and the engine's own mapping
// of users stays on. The workspace is kept in memory, which is bounded for real.
func (b *Backend) createdApart(ctx context.Context, spec sandbox.Spec, e *engine, img image, dir *runDir, owner string, c *cargo) client.ContainerCreateOptions {
	lim := spec.Limits.WithDefaults()
	folders := readOnlyFolders(spec)
	plain := spec
	plain.Workspace, plain.Tree, plain.Skills, plain.Stdin = "", "", "", later{}
	create := b.created(ctx, plain, e, img, dir, owner)
	conf, h := create.Config, create.HostConfig
	conf.User = fmt.Sprintf("%d:%d", nobody, nobody)
	conf.Entrypoint, conf.Cmd = []string{"python3"}, []string{"-I", "-S", "-B", path.Join(sandbox.GuestDir, relay.Name)}
	no := false
	h.Init, h.UsernsMode = &no, ""
	// The engine would tell where its machine finds its name servers.
	h.DNS, h.DNSSearch = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, []string{"."}
	h.Mounts = nil
	for _, s := range shelves(dir.container, nil, folders, conf.Labels) {
		h.Mounts = append(h.Mounts, s.mounts(true)...)
	}
	slices.SortFunc(h.Mounts, func(x, y mount.Mount) int { return len(x.Target) - len(y.Target) })
	h.Tmpfs = maps.Clone(h.Tmpfs)
	h.Tmpfs[sandbox.WorkspaceDir] = fmt.Sprintf("rw,nosuid,nodev,exec,mode=1777,size=%d,nr_inodes=%d", lim.Disk+diskSlack, lim.DiskFiles+fileSlack)
	h.Resources.Memory = lim.Memory + c.memory() + relayMemory
	h.Resources.MemorySwap = h.Resources.Memory
	for _, u := range h.Resources.Ulimits {
		switch u.Name {
		case "fsize": // for the relay, which has to put the files there; the guest gets less when it is a run's
			*u = *limit(u.Name, lim.Disk+diskSlack)
		case "cpu": // the relay counts all processes, and from the run's beginning
			u.Soft, u.Hard = u.Soft+2, u.Hard+2
		}
	}
	return create
}
