package gvisor

import (
	"context"
	"errors"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// probeEngine returns the status of a machine where runsc cannot be started, for the reason direct.
func (b *Backend) probeEngine(ctx context.Context, direct error) sandbox.Status {
	if b.opts.Engine != nil {
		st := b.opts.Engine.Probe(ctx)
		if st.Usable {
			st.Holds, st.Lacks = holds(), lacks()
			return st
		}
		direct = unavailable(direct, errors.New(st.Detail))
	}
	return sandbox.Status{Detail: direct.Error(), Remedy: hintOf(direct)}
}

// holds lists what gVisor protects.
func holds() []string {
	return []string{
		"kernel: system calls are answered by gVisor's own kernel, not by the machine's",
		"network: none, and no name resolution",
		"files: the workspace, and read-only the generated tree and the interpreter; no socket or pipe of the machine",
		"processes: none of the machine's are seen or reached",
		"privileges: no capabilities, no new ones",
		"limits: memory, processor time, processes, open files, file size, output, workspace",
	}
}

// lacks lists what gVisor does not protect.
func lacks() []string {
	return []string{
		"hardware: side channels of a shared processor",
		"speed: system calls and file access cost several times what they cost outside",
	}
}
