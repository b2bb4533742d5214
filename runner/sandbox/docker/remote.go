package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/remote"
)

const (
	// ackTime is how long a relay may take to report that the guest it was told to kill is dead.
	ackTime = time.Second
	// fetchTime is how long it may take to copy back a workspace, and lateTime if the guest was killed.
	fetchTime, lateTime = 2 * time.Minute, 20 * time.Second
	// relayMemory is the memory that the relay needs in addition to the guest's, in bytes.
	relayMemory = 24 << 20
)

// remoteProcess is a container of a remote engine: it has a relay in place of the socket, and copies in place of mounted folders.
type remoteProcess struct {
	*process
	host      *remote.Host
	workspace *remote.Workspace // nil until there is a run, and if the run has none

	copied      chan struct{} // closed when the run's workspace is in the container
	reportsDone chan struct{} // closed when the relay's reports have been handled
	ownOutput   tail          // output of the relay itself, such as Python's errors
	fetched     chan error

	fault error // why the run failed through no fault of its script; guarded by mu
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = append(t.text[:0], t.text[max(0, len(t.text)-1000):]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}

// startRemote is Start on a remote engine.
func (b *Backend) startRemote(ctx context.Context, spec sandbox.Spec, e *engine, img image) (sandbox.Process, error) {
	w, err := openWorkspace(spec)
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
	for name := range programs(nil) {
		if _, ok := spec.Guest[name]; ok {
			return nil, fmt.Errorf("guest file %q: the name is taken", name)
		}
	}
	dir := &runDir{container: "mcprun-" + spec.ID + "-" + randomName()}
	r := &remoteProcess{process: newProcess(b, dir, spec.Secret), fetched: make(chan error, 1), reportsDone: make(chan struct{}), copied: make(chan struct{})}
	r.ready = func() error { return b.copyReadOnly(detach(ctx), r.id, spec) }
	if err := r.launch(ctx, b.createRemoteOptions(ctx, spec, e, img, dir)); err != nil {
		return nil, errors.Join(err, r.undo(ctx))
	}
	r.host = remote.NewHost(r.attached.Conn)
	r.stopRelay, r.grace = r.stop, fetchTime
	r.listen()
	if err := r.host.Start(spec.Secret, interpreter(spec, spec.Limits.WithDefaults())); err != nil {
		return nil, errors.Join(fmt.Errorf("start the guest in container %s: %w", r.id, err), r.abandon())
	}
	return r, nil
}

// createRemoteOptions returns the configuration of a container of a remote engine. The relay is the first process: nothing in a
// container can send a signal to that one. The guest is nobody, whoever the caller is, and the engine's own mapping of users
// stays on.
func (b *Backend) createRemoteOptions(ctx context.Context, spec sandbox.Spec, e *engine, img image, dir *runDir) client.ContainerCreateOptions {
	lim := spec.Limits.WithDefaults()
	plain := spec
	plain.Workspace, plain.Tree, plain.Skills, plain.Stdin = "", "", "", noStdin{}
	create := b.createOptions(ctx, plain, e, img, dir)
	conf, h := create.Config, create.HostConfig
	conf.User = fmt.Sprintf("%d:%d", nobody, nobody)
	conf.Entrypoint, conf.Cmd = []string{"python3"}, []string{"-I", "-S", "-B", path.Join(sandbox.GuestDir, remote.Name)}
	no := false
	h.Init, h.UsernsMode = &no, ""
	// Without this the engine tells the container the name servers of its machine.
	h.DNS, h.DNSSearch = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, []string{"."}
	h.Mounts = remoteMounts(lim, readOnlyFolders(spec), conf.Labels)
	delete(h.Tmpfs, sandbox.WorkspaceDir)
	h.Resources.Memory = lim.Memory + relayMemory
	h.Resources.MemorySwap = h.Resources.Memory
	for _, u := range h.Resources.Ulimits {
		if u.Name == "cpu" { // the relay counts all processes, and from the run's beginning
			u.Soft, u.Hard = u.Soft+2, u.Hard+2
		}
	}
	return create
}

// abandon kills a container that has no run.
func (r *remoteProcess) abandon() error {
	r.Kill()
	<-r.gone
	r.drain(r.fetched)
	return errors.Join(r.err, r.release())
}

// listen starts the goroutines that handle the container's output, from its start to its end.
func (r *remoteProcess) listen() {
	go func() {
		_, err := stdcopy.StdCopy(r.host, &r.ownOutput, r.attached.Reader)
		if odd, ok := errors.AsType[*remote.ProtocolError](err); ok {
			r.fail(odd)
			r.Kill()
		}
		r.host.End()
		r.fetched <- err
	}()
	go func() {
		defer close(r.accepted)
		select {
		case <-r.host.Spoke():
		case <-r.host.Exited():
		case <-r.host.Gone():
		}
		select {
		case <-r.host.Spoke(): // even if it has ended since
			r.accepted <- r.host.Bridge()
		default:
		}
	}()
	go r.handleReports()
}

func (r *remoteProcess) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		r.fault = err
	}
}

// handleReports acts on the relay's reports.
func (r *remoteProcess) handleReports() {
	defer close(r.reportsDone)
	for exited := r.host.Exited(); ; {
		select {
		case limit := <-r.host.Limits():
			r.handleLimit(limit)
			continue
		default: // limits are reported before the end
		}
		select {
		case limit := <-r.host.Limits():
			r.handleLimit(limit)
		case <-exited:
			exited = nil
			e := r.host.Exit()
			r.usage.report(counters{cpu: e.CPU, memory: e.Memory, ooms: e.OOMs, forks: e.Forks})
			r.setOver()
		case <-r.host.Complete():
			if err := r.receiveWorkspace(); remote.IsTooMuch(err) {
				r.exceed(sandbox.LimitDisk)
			} else if err != nil {
				r.fail(err)
			}
			r.host.Finish()
			return
		case <-r.host.Gone():
			return
		}
	}
}

// handleLimit kills the guest for a limit that it has passed, or records the limit if the guest has succeeded in the meantime. A
// guest that has failed most likely failed because of it: the workspace is full.
func (r *remoteProcess) handleLimit(limit string) {
	if limit != sandbox.LimitDisk && limit != sandbox.LimitCPU {
		return
	}
	select {
	case <-r.host.Exited():
		if r.host.Exit().Code == 0 {
			r.note(limit)
			return
		}
	default:
	}
	r.exceed(limit)
}

// stop has the relay kill the guest, and reports whether the container then ends by itself, after its workspace was copied back. It
// does not wait for a relay that does not answer.
func (r *remoteProcess) stop() bool {
	go r.host.Kill()
	ack := time.NewTimer(ackTime)
	defer ack.Stop()
	select {
	case <-r.host.Exited():
	case <-r.host.Gone():
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

// report takes figures that the relay has read after the end.
func (u *usage) report(c counters) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c.memory = max(c.memory, u.last.memory)
	u.last, u.base, u.final = c, counters{}, c.memory > 0 // without it the container sees no figures
}

// Bridge waits for the guest's connection, and until the workspace is there: the job comes over it.
func (r *remoteProcess) Bridge(ctx context.Context) (net.Conn, error) {
	conn, err := r.process.Bridge(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.copied:
		return conn, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), conn.Close())
	}
}

// Remote implements sandbox.Remote: the workspace is a copy that is copied back at the end.
func (r *remoteProcess) Remote() bool { return true }

// connect gives the container its run, as process.connect does, and owns the workspace from then on.
func (r *remoteProcess) connect(ctx context.Context, spec sandbox.Spec, w *remote.Workspace) error {
	lim := spec.Limits.WithDefaults()
	r.mu.Lock()
	r.workspace = w
	r.mu.Unlock()
	run := remote.Run{CPU: lim.CPU}
	if w != nil {
		run.Bytes, run.Files = lim.Disk, lim.DiskFiles
	}
	if err := r.host.Run(run); err != nil {
		return fmt.Errorf("hand a run to container %s: %w", r.id, err)
	}
	stopKill := context.AfterFunc(ctx, r.Kill)
	output := meter.NewOutput(lim.Output, func() { r.exceed(sandbox.LimitOutput) })
	heap := meter.NewHeap(output.Writer(spec.Stderr))
	r.host.Connect(spec.Stdin, output.Writer(spec.Stdout), heap)
	go func() {
		defer close(r.copied)
		if err := r.copyWorkspace(ctx); err != nil && ctx.Err() == nil && !r.hasEnded() {
			r.fail(err)
			r.Kill()
		}
	}()
	go func() {
		defer close(r.done)
		<-r.gone
		stopKill()
		r.drain(r.fetched)
		r.host.Streams()
		<-r.reportsDone
		<-r.copied
		r.collectChanges(spec)
		r.nameLimits(lim, spec.Runtime == sandbox.Node && heap.Ended(r.exit.Code))
		if r.err == nil && r.workspace != nil && !r.killed && r.exit.Killed == "" && !r.isComplete() {
			r.err = fmt.Errorf("container %s ended before its workspace was copied back: %q", r.id, r.ownOutput.String())
		}
		r.err = errors.Join(r.err, r.release())
	}()
	return nil
}

// isComplete reports whether the relay has sent everything.
func (r *remoteProcess) isComplete() bool {
	select {
	case <-r.host.Complete():
		return true
	default:
		return false
	}
}

// collectChanges applies the changes to the workspace, and records what went wrong.
func (r *remoteProcess) collectChanges(spec sandbox.Spec) {
	r.mu.Lock()
	fault := r.fault
	r.mu.Unlock()
	if why := r.host.Fault(); why != "" && fault == nil {
		fault = fmt.Errorf("the container's relay: %q", why)
	}
	var err error
	if r.workspace != nil && fault == nil {
		var limit string
		limit, err = r.applyChanges(spec)
		switch limit {
		case sandbox.LimitDisk: // it has ended, but counts as killed for this
			r.exceed(limit)
			r.exit.Code = signalKill
		case sandbox.LimitFileSize:
			r.note(limit)
		}
	}
	if r.err == nil {
		r.err = errors.Join(fault, err)
	}
	if words := r.ownOutput.String(); words != "" {
		r.backend.log.Debug("a container's own programs print", "container", r.id, "text", words)
	}
}

// release releases the remaining resources when the container is gone.
func (r *remoteProcess) release() error {
	err := r.process.release()
	if r.workspace != nil {
		err = errors.Join(err, r.workspace.Close())
	}
	return err
}
