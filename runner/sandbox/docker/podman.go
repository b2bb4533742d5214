package docker

import (
	"context"
	"fmt"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// suitPodman changes what Podman understands in another way than Docker, behind the same interface.
func (d *runDir) suitPodman(h *container.HostConfig) {
	// It wants the name of a file.
	h.SecurityOpt = []string{"no-new-privileges", "seccomp=" + d.seccomp()}
	// It does not tell how a container has ended that it has removed.
	h.AutoRemove = false
	// It masks what it likes, and makes more folders to write to.
	for _, at := range []string{"/dev/mqueue", "/var/tmp"} {
		h.Mounts = append(h.Mounts, bind(d.empty(), at, true))
	}
	// Where this is not said it asks for more than root may have in a container.
	if n, ok := mostProcesses(); ok {
		h.Resources.Ulimits = append(h.Resources.Ulimits, limit("nproc", n))
	}
}

// finishStaying finds out how a container has ended that its engine does not remove, and removes it.
func (p *process) finishStaying() {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	res, err := p.backend.client.ContainerInspect(ctx, p.id, client.ContainerInspectOptions{})
	switch {
	case gone(err): // somebody has removed it, and so killed it
		p.exit.Code = signalKill
		return
	case err != nil:
		p.lost(err)
		return
	case res.Container.State != nil && !p.given:
		p.exit.Code = res.Container.State.ExitCode
	}
	p.err = p.backend.removeContainer(context.Background(), p.id)
}

// attachError explains why a container cannot be attached to. Podman makes it ready for that first, and why it fails to
// is said only where it is started.
func (p *process) attachError(ctx context.Context, err error) error {
	if _, again := p.backend.client.ContainerStart(ctx, p.id, client.ContainerStartOptions{}); again != nil {
		err = again
	}
	return fmt.Errorf("start container %s: %w", p.id, p.backend.asked(err))
}
