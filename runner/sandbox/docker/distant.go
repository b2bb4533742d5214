package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/relay"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

const (
	// ackTime is how long a relay may take to say that the guest it was told to kill is dead.
	ackTime = time.Second
	// fetchTime is how long the changes to a workspace may take after the guest's end, and lateTime when it was killed.
	fetchTime, lateTime = 2 * time.Minute, 20 * time.Second
)

// distant is what a process has on an engine that is apart, instead of a socket and folders.
type distant struct {
	*process
	host    *relay.Host
	volumes []string
	cargo   *cargo // the run's workspace; nil until there is a run

	cleared  chan error    // gets the result of removing the container that filled the volumes
	attended chan struct{} // closed when nothing more is done with what the relay says
	words    tail          // what the container's own programs say, apart from the guest
	fetched  chan error

	fault error // why the run is a failure of ours; guarded by mu
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

// listen takes what the container says, from its start to its end.
func (d *distant) listen() {
	go func() {
		_, err := stdcopy.StdCopy(d.host, &d.words, d.attached.Reader)
		var odd *relay.ProtocolError
		if errors.As(err, &odd) {
			d.fail(odd)
			d.Kill()
		}
		d.host.End()
		d.fetched <- err
	}()
	go func() {
		defer close(d.accepted)
		select {
		case <-d.host.Spoke():
		case <-d.host.Exited():
		case <-d.host.Gone():
		}
		select {
		case <-d.host.Spoke(): // what it said before its end counts
			d.accepted <- d.host.Bridge()
		default:
		}
	}()
	go d.attend()
}

func (d *distant) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == nil {
		d.fault = err
	}
}

// attend answers to what the relay says.
func (d *distant) attend() {
	defer close(d.attended)
	exited := d.host.Exited()
	for {
		select {
		case limit := <-d.host.Limits():
			d.passed(limit)
			continue
		default: // what was passed is said before the end
		}
		select {
		case limit := <-d.host.Limits():
			d.passed(limit)
		case <-exited:
			exited = nil
			e := d.host.Exit()
			d.usage.report(counters{cpu: e.CPU, memory: e.Memory, ooms: e.OOMs, forks: e.Forks})
			d.over.close()
		case <-after(exited == nil, d.host.Complete()):
			d.host.Finish()
			return
		case <-d.host.Gone():
			return
		}
	}
}

// after is c when a condition holds, and else nothing that ever happens.
func after(holds bool, c <-chan struct{}) <-chan struct{} {
	if holds {
		return c
	}
	return nil
}

// passed ends a guest for a limit that it has passed, or notes it when it has ended anyway. One that has failed then has
// most likely failed for it: the workspace is full.
func (d *distant) passed(limit string) {
	if limit != sandbox.LimitDisk && limit != sandbox.LimitCPU {
		return
	}
	select {
	case <-d.host.Exited():
		if d.host.Exit().Code != 0 {
			d.exceed(limit)
			return
		}
		d.note(limit)
	default:
		d.exceed(limit)
	}
}

// stop has the relay kill the guest and fetches the workspace, and tells whether the container ends by itself then. A
// relay that does not answer, as one that the kernel has stopped, is not waited for.
func (d *distant) stop() bool {
	go d.host.Kill()
	ack := time.NewTimer(ackTime)
	defer ack.Stop()
	select {
	case <-d.host.Exited():
	case <-d.host.Gone():
		return false
	case <-ack.C:
		return false
	}
	if d.cargo == nil {
		return false
	}
	late := time.NewTimer(lateTime)
	defer late.Stop()
	select {
	case <-d.host.Complete():
	case <-d.gone:
	case <-late.C:
		return false
	}
	end := time.NewTimer(ackTime)
	defer end.Stop()
	select {
	case <-d.gone:
		return true
	case <-end.C:
		return false
	}
}

// report takes figures that somebody else has read after the end.
func (u *usage) report(c counters) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c.memory = max(c.memory, u.last.memory)
	u.last, u.base, u.final = c, counters{}, c.memory > 0 // without it the container sees no figures
}

// Apart implements sandbox.Apart: the workspace is a copy that is fetched back at the end.
func (d *distant) Apart() bool { return true }

// connect makes the container that of a run, as process.connect does.
func (d *distant) connect(ctx context.Context, spec sandbox.Spec, c *cargo) error {
	lim := spec.Limits.WithDefaults()
	d.cargo = c
	if err := d.host.Run(c.run()); err != nil {
		return fmt.Errorf("hand a run to container %s: %w", d.id, err)
	}
	stopKill := context.AfterFunc(ctx, d.Kill)
	output := meter.NewOutput(lim.Output, func() { d.exceed(sandbox.LimitOutput) })
	heap := meter.NewHeap(output.Writer(spec.Stderr))
	d.host.Connect(spec.Stdin, output.Writer(spec.Stdout), heap, c)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if err := c.send(ctx, d.host.Workspace(), d.backend.log); err != nil && ctx.Err() == nil && !d.isOver() {
			d.fail(err)
			d.Kill()
		}
	}()
	go func() {
		defer close(d.done)
		<-d.gone
		stopKill()
		d.drain(d.fetched)
		d.host.Streams()
		<-d.attended
		<-sent
		d.settle()
		d.conclude(lim, spec.Runtime == sandbox.Node && heap.Ended(d.exit.Code))
		if d.err == nil && d.cargo.root != nil && !d.given && d.exit.Killed == "" && !d.isComplete() {
			d.err = fmt.Errorf("container %s ended without saying how its workspace has changed: %q", d.id, d.words.String())
		}
		d.err = errors.Join(d.err, d.release())
	}()
	return nil
}

// isComplete tells whether the relay has said all that it had to say.
func (d *distant) isComplete() bool {
	select {
	case <-d.host.Complete():
		return true
	default:
		return false
	}
}

// settle takes the changes to the workspace over, and says what went wrong.
func (d *distant) settle() {
	d.mu.Lock()
	fault := d.fault
	d.mu.Unlock()
	if why := d.host.Fault(); why != "" && fault == nil {
		fault = fmt.Errorf("the container's relay: %q", why)
	}
	over, err := d.cargo.apply(d.backend.log)
	if over {
		d.exceed(sandbox.LimitDisk) // too late to end it, but that is why it counts as failed
		d.exit.Code = signalKill
	}
	if d.cargo.grown {
		d.note(sandbox.LimitFileSize)
	}
	if d.err == nil {
		d.err = errors.Join(fault, err)
	}
	if words := d.words.String(); words != "" {
		d.backend.log.Debug("a container's own programs say", "container", d.id, "text", words)
	}
}

// release gives back what is left when the container is gone.
func (d *distant) release() error {
	err := d.process.release()
	if d.cargo != nil {
		err = errors.Join(err, d.cargo.close())
	}
	if d.lostEngine {
		d.backend.remember(fillerName(d.dir.container)) // most likely it is gone
		for _, name := range d.volumes {
			d.backend.remember(volumeMark + name)
		}
		return err
	}
	return errors.Join(err, <-d.cleared, d.backend.removeVolumes(context.Background(), d.volumes))
}
