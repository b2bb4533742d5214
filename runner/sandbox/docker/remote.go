package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/kernelview"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/remote"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

const (
	// ackTime is how long a relay may take to report that the guest it was told to kill is dead.
	ackTime = 5 * time.Second
	// lateTime is how long it may take to copy back the workspace of a guest that was killed.
	lateTime = 20 * time.Second
	// relayMemory is the memory that the relay needs in addition to the guest's, in bytes.
	relayMemory = 24 << 20
)

// remoteProcess is a container of a remote engine: it has a relay in place of the socket, and copies in place of mounted folders.
type remoteProcess struct {
	*process
	guest   *remote.Guest
	words   remote.Tail // output of the relay itself, such as Python's errors
	fetched chan error
}

// startRemote is Start on a remote engine.
func (b *Backend) startRemote(ctx context.Context, spec sandbox.Spec, e *engine, img image) (sandbox.Process, error) {
	w, err := remote.OpenRun(spec)
	if err != nil {
		return nil, err
	}
	r, err := b.launchRemote(ctx, spec, e, img)
	if err != nil {
		if w != nil {
			err = errors.Join(err, w.Close())
		}
		return nil, err
	}
	if err := r.connect(ctx, spec, w); err != nil {
		return nil, errors.Join(err, r.abandon())
	}
	return r, nil
}

// launchRemote starts a container with a guest that waits for its run.
func (b *Backend) launchRemote(ctx context.Context, spec sandbox.Spec, e *engine, img image) (*remoteProcess, error) {
	if err := b.check(e); err != nil {
		return nil, err
	}
	r := &remoteProcess{process: newProcess(b, containerName(spec, randomName()), spec.Secret), fetched: make(chan error, 1)}
	r.ready = func() error {
		ctx, cancel := context.WithTimeout(detach(ctx), startTime)
		defer cancel()
		return remote.CopyReadOnly(ctx, r, spec, map[string][]byte{enterName: enterProgram})
	}
	if err := r.launch(ctx, b.remoteOptions(ctx, spec, e, img, r.name)); err != nil {
		return nil, errors.Join(err, r.undo(ctx))
	}
	r.guest = remote.NewGuest(r.attached.Conn, r.Guest, r, b.log)
	r.stopRelay, r.grace = r.stop, remote.FetchTime
	r.listen()
	if err := r.guest.Start(spec.Secret, interpreter(spec, spec.Limits.WithDefaults())); err != nil {
		return nil, errors.Join(fmt.Errorf("start the guest in container %s: %w", r.id, err), r.abandon())
	}
	return r, nil
}

// remoteOptions returns the configuration of a container of a remote engine. The relay is the first process, because nothing in a container
// can send a signal to that one. The guest's user is nobody, whoever the caller is, and the engine's own mapping of users stays on.
func (b *Backend) remoteOptions(ctx context.Context, spec sandbox.Spec, e *engine, img image, name string) client.ContainerCreateOptions {
	lim := spec.Limits.WithDefaults()
	spec.Stdin = noStdin{}
	create := b.commonOptions(ctx, spec, e, img, name)
	conf, h := create.Config, create.HostConfig
	conf.User = fmt.Sprintf("%d:%d", remote.User, remote.User)
	conf.Entrypoint, conf.Cmd = []string{"python3"}, []string{"-I", "-S", "-B", path.Join(sandbox.GuestDir, remote.Name)}
	no := false
	h.Init = &no
	// Without this the engine tells the container the name servers of its machine.
	h.DNS, h.DNSSearch = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, []string{"."}
	h.Mounts = remoteMounts(spec, lim, conf.Labels)
	h.Resources.Memory = lim.Memory + relayMemory
	h.Resources.MemorySwap = h.Resources.Memory
	for _, u := range h.Resources.Ulimits {
		if u.Name == "cpu" { // the relay counts all processes, and from the run's beginning
			u.Soft, u.Hard = u.Soft+2, u.Hard+2
		}
	}
	return create
}

// remoteMounts are anonymous volumes, which the engine removes with the container. Those that a script may read are filled before
// the container starts. The workspace is a volume in memory, whose size bounds it; it is filled when the container runs, and copied
// back at its end.
func remoteMounts(spec sandbox.Spec, lim sandbox.Limits, labels map[string]string) []mount.Mount {
	volume := func(target string, driver *mount.Driver) mount.Mount {
		return mount.Mount{Type: mount.TypeVolume, Target: target, VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: labels, DriverConfig: driver}}
	}
	all := []mount.Mount{volume(sandbox.WorkspaceDir, &mount.Driver{Name: "local", Options: map[string]string{
		"type": "tmpfs", "device": "tmpfs",
		"o": fmt.Sprintf("nosuid,nodev,mode=1777,size=%d,nr_inodes=%d", lim.Disk+remote.Slack, lim.DiskFiles+remote.FileSlack),
	}})}
	for _, target := range remote.Volumes(spec) {
		all = append(all, volume(target, nil))
	}
	return all
}

// CopyIn implements remote.Container.
func (r *remoteProcess) CopyIn(ctx context.Context, folder string, archive io.Reader) error {
	_, err := r.backend.client.CopyToContainer(ctx, r.id, client.CopyToContainerOptions{DestinationPath: folder, Content: archive})
	if err != nil {
		return fmt.Errorf("copy files to %s of container %s: %w", folder, r.id, r.backend.engineError(err))
	}
	return nil
}

// CopyOut implements remote.Container.
func (r *remoteProcess) CopyOut(ctx context.Context, folder string) (io.ReadCloser, error) {
	res, err := r.backend.client.CopyFromContainer(ctx, r.id, client.CopyFromContainerOptions{SourcePath: folder + "/."})
	if errdefs.IsNotFound(err) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("copy %s from container %s: %w", folder, r.id, r.backend.engineError(err))
	}
	return res.Content, nil
}

// listen starts the goroutines that handle the container's output, from its start to its end.
func (r *remoteProcess) listen() {
	go func() {
		_, err := stdcopy.StdCopy(r.guest, &r.words, r.attached.Reader)
		if odd, ok := errors.AsType[*remote.ProtocolError](err); ok {
			r.guest.Fail(odd)
		}
		r.guest.End()
		r.fetched <- err
	}()
	go func() {
		select {
		case <-r.guest.Exited():
			r.setOver()
		case <-r.guest.Gone():
		}
	}()
}

// stop has the relay kill the guest, and reports whether the container then ends by itself, after its workspace was copied back. It
// does not wait for a relay that does not answer.
func (r *remoteProcess) stop() bool {
	go r.guest.Kill()
	ack := time.NewTimer(ackTime)
	defer ack.Stop()
	select {
	case <-r.guest.Exited():
	case <-r.guest.Gone():
		return false
	case <-ack.C:
		return false
	}
	late := time.NewTimer(lateTime)
	defer late.Stop()
	select {
	case <-r.gone:
		return true
	case <-late.C:
		return false
	}
}

// Bridge waits for the guest's connection and for the copy of the workspace, which must be complete before the job is sent.
func (r *remoteProcess) Bridge(ctx context.Context) (net.Conn, error) {
	conn, err := r.guest.Bridge(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.guest.Copied():
		return conn, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), conn.Close())
	}
}

// Remote implements sandbox.Remote: the workspace is a copy that is copied back at the end.
func (r *remoteProcess) Remote() bool { return true }

// connect gives the container its run, as process.connect does, and owns the workspace from then on.
func (r *remoteProcess) connect(ctx context.Context, spec sandbox.Spec, w *remote.Workspace) error {
	if err := r.guest.Begin(ctx, spec, w); err != nil {
		return fmt.Errorf("pass the run to container %s: %w", r.id, err)
	}
	go func() {
		defer close(r.done)
		<-r.gone
		r.drain(r.fetched)
		passed, err := r.guest.ApplyChanges(spec.Limits)
		if r.err == nil {
			r.err = err
		}
		if passed != "" { // the guest has ended by itself, but counts as killed for passing this limit
			r.exit.Code = supervise.CodeKilled
		}
		r.readUsage()
		r.nameLimits(spec.Limits, passed)
		if r.err == nil && !r.Killed() && r.exit.Killed == "" && r.guest.LacksChanges() {
			r.err = fmt.Errorf("container %s ended before its workspace was copied back: %q", r.id, r.words.String())
		}
		if words := r.words.String(); words != "" {
			r.backend.log.Debug("output of a container's own programs", "container", r.id, "text", words)
		}
		r.err = errors.Join(r.err, r.release())
	}()
	return nil
}

// readUsage takes the figures that the relay has read at the guest's end.
func (r *remoteProcess) readUsage() {
	select {
	case <-r.guest.Exited():
		e := r.guest.Exit()
		r.reported = &kernelview.Counters{CPU: e.CPU, Memory: e.Memory, OutOfMemory: e.OOMs, OutOfTasks: e.Forks}
	default:
	}
}

// abandon kills a container that has no run.
func (r *remoteProcess) abandon() error {
	r.Kill()
	<-r.gone
	r.drain(r.fetched)
	return errors.Join(r.err, r.release())
}

// release releases the remaining resources when the container is gone.
func (r *remoteProcess) release() error {
	return errors.Join(r.process.release(), r.guest.Close())
}

// randomName returns 12 unpredictable characters.
func randomName() string { return strings.ToLower(rand.Text()[:12]) }
