package gvisor

import (
	"context"
	"errors"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// probeEngine returns the status of a machine on which runsc cannot be started, for the reason given in direct.
func (b *Backend) probeEngine(ctx context.Context, direct error) sandbox.Status {
	if b.opts.Engine != nil {
		st := b.opts.Engine.Probe(ctx)
		if st.Usable {
			st.Holds, st.Lacks = holds(), lacks()
			return st
		}
		direct = unavailable(direct, errors.New(st.Detail))
	}
	return sandbox.Status{Detail: direct.Error(), Remedy: exit.Hint(direct)}
}

// holds lists what gVisor protects.
func holds() []string {
	return []string{
		"kernel: gVisor's own kernel handles system calls, not the machine's",
		"network: none, not even name resolution",
		"files: the workspace, plus the generated tree and the interpreter read-only; no socket or pipe of the machine",
		"processes: cannot see or reach the machine's",
		"privileges: no capabilities, and no way to gain any",
		"limits: memory, processor time, processes, open files, file size, output, workspace",
	}
}

// lacks lists what gVisor does not protect.
func lacks() []string {
	return []string{
		"hardware: side channels of the shared processor",
		"speed: system calls and file access are several times slower",
	}
}
