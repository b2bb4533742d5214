package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/kernelview"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

// adaptToPodman changes settings that Podman interprets differently than Docker.
func (d *runDir) adaptToPodman(h *container.HostConfig, rootless bool) {
	if rootless {
		// Each container gets a user namespace in which the guest is not root, because root owns /run and /dev.
		h.UsernsMode = "keep-id"
	}
	// It expects the name of a file.
	h.SecurityOpt = []string{"no-new-privileges", "seccomp=" + d.File(seccompFile), "mask=" + strings.Join(h.MaskedPaths, ":")}
	// It cannot report the exit code of a container that it has removed.
	h.AutoRemove = false
	// It adds writable folders, and files that describe this machine and its user.
	h.Mounts = append(h.Mounts, bind(d.File(hostsFile), "/etc/hosts", true))
	if rootless {
		h.Mounts = append(h.Mounts, bind(d.File(passwdFile), "/etc/passwd", true), bind(d.File(emptyFile), "/etc/group", true))
	}
	for _, at := range []string{"/dev/mqueue", "/var/tmp"} {
		h.Mounts = append(h.Mounts, bind(d.File(emptyFolder), at, true))
	}
	// Podman's default is more than root may have in a container.
	if n, ok := kernelview.MaxProcesses(); ok && !slices.ContainsFunc(h.Resources.Ulimits, func(l *container.Ulimit) bool { return l.Name == "nproc" }) {
		h.Resources.Ulimits = append(h.Resources.Ulimits, limit("nproc", n))
	}
}

// takeUlimits removes the ulimits from the configuration if the engine would not set them, as with rootless Podman, and returns
// them for enter.py.
func (e *engine) takeUlimits(h *container.HostConfig) string {
	if !e.podman || !e.rootless {
		return ""
	}
	var all []string
	for _, l := range h.Resources.Ulimits {
		all = append(all, l.String())
	}
	h.Resources.Ulimits = nil
	return strings.Join(all, ",")
}

// queryPodman corrects what Podman reports through Docker's API: that omits whether it is rootless, and lists the limits that the
// machine supports rather than those that Podman may set.
func (b *Backend) queryPodman(ctx context.Context, info *system.Info) error {
	var own struct {
		Host struct {
			CgroupVersion     string
			CgroupControllers []string
			Security          struct{ Rootless bool }
			IDMappings        struct{ UIDMap []struct{ Size int } }
		}
	}
	if err := b.getJSON(ctx, "/v4.0.0/libpod/info", &own); err != nil {
		return fmt.Errorf("query Podman's limits: %w", err)
	}
	if own.Host.Security.Rootless && !hasOption(info.SecurityOptions, "rootless") {
		info.SecurityOptions = append(info.SecurityOptions, "name=rootless")
	}
	if own.Host.Security.Rootless && len(own.Host.IDMappings.UIDMap) < 2 {
		return &EngineError{Host: b.opt.Host, Err: errors.New("its user has no subordinate user ids (/etc/subuid, /etc/subgid)"), hint: mappingHint}
	}
	if own.Host.CgroupVersion != "v2" && !own.Host.Security.Rootless {
		return nil
	}
	has := func(controller string) bool { return slices.Contains(own.Host.CgroupControllers, controller) }
	info.MemoryLimit, info.SwapLimit, info.PidsLimit, info.CPUCfsQuota = has("memory"), has("memory"), has("pids"), has("cpu")
	return nil
}

// getJSON makes a request that Docker's client does not support.
func (b *Backend) getJSON(ctx context.Context, path string, into any) error {
	dial := b.client.Dialer()
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path, nil)
	if err != nil {
		return err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %s", res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(into)
}

const mappingHint = "add some and apply them: sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER; podman system migrate"

// finishPodman reads the exit code of a container that the engine does not remove, and removes it.
func (p *process) finishPodman() {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	res, err := p.backend.client.ContainerInspect(ctx, p.id, client.ContainerInspectOptions{})
	switch {
	case gone(err): // it was removed, and so killed
		p.exit.Code = supervise.CodeKilled
		return
	case err != nil:
		p.lost(err)
		return
	case res.Container.State != nil:
		p.exit.Code = res.Container.State.ExitCode
	}
	p.err = p.backend.removeContainer(context.Background(), p.id)
}
