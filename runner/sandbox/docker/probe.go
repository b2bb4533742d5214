package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// Probe asks the engine what it can do and looks for the image.
func (b *Backend) Probe(ctx context.Context) sandbox.Status {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	e, img, err := b.probe(ctx)
	if err != nil {
		err = b.engineError(err) // whichever deadline has passed
		return sandbox.Status{Detail: err.Error(), Remedy: exit.Hint(err)}
	}
	st := sandbox.Status{
		Usable:    true,
		Detail:    fmt.Sprintf("%s %s, image %s", e.product(), e.version, img.name),
		Languages: []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython},
		Missing:   e.missing,
		Holds:     holds(), Lacks: lacks(),
	}
	if img.data {
		pin, _ := b.pin(e.arch, true) // which was read for img
		st.Packages = pin.libraries()
		st.Detail += " with " + strings.Join(st.Packages, ", ")
	}
	if b.opt.Runtime != "" {
		st.Detail += ", runtime " + b.opt.Runtime
	}
	if e.cgroup != "" {
		st.Detail += ", cgroup v" + e.cgroup
	}
	if e.rootless {
		st.Detail += ", rootless"
	}
	if e.remote != "" {
		st.Detail += "; files are copied, because " + e.remote
	}
	return st
}

// probe asks the engine each time: a person may have fixed the problem.
func (b *Backend) probe(ctx context.Context) (*engine, image, error) {
	if b.broken != nil {
		return nil, image{}, b.broken
	}
	e, err := b.queryEngine(ctx)
	if err != nil {
		return nil, image{}, err
	}
	if e.remote == "" {
		if err := folder.Private(b.opt.RuntimeDir); err != nil {
			return nil, image{}, err
		}
	}
	img, err := b.image(ctx, e.arch)
	return e, img, err
}

// holds lists the protections of every container. Those that an engine lacks are in Status.Missing.
func holds() []string {
	return []string{
		"network: none, not even name resolution",
		"files: the workspace, plus the generated tree and the image read-only; nothing of the machine",
		"processes: cannot see or reach the machine's",
		"privileges: an unprivileged user without capabilities, who cannot gain any",
		"kernel: an allow list of system calls, stricter than the engine's; no io_uring, bpf, keyrings, ptrace, mounts, namespaces",
		"limits: memory, processor time, processes, open files, file size, output, workspace",
	}
}

// lacks lists the protections that no container has.
func lacks() []string {
	return []string{
		"kernel: shared with the machine; a bug in an allowed system call is a way out",
		"hardware: side channels of the shared processor",
	}
}
