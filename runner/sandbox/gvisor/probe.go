package gvisor

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// probeEngine is what Probe finds where the direct way is closed, and why it is.
func (b *Backend) probeEngine(ctx context.Context, why error) sandbox.Status {
	if b.opts.Engine == nil {
		return sandbox.Status{Detail: why.Error(), Remedy: hintOf(why)}
	}
	st := b.opts.Engine.Probe(ctx)
	if !st.Usable {
		return sandbox.Status{Detail: fmt.Sprintf("%v; through a container engine: %s", why, st.Detail), Remedy: hintOf(why)}
	}
	st.Detail = "runsc through " + st.Detail
	st.Holds, st.Lacks = holds(), lacks()
	return st
}

// holds is what gVisor keeps from a script, whichever way it is started.
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

// lacks is what no gVisor holds.
func lacks() []string {
	return []string{
		"hardware: side channels of a shared processor",
		"speed: system calls and file access cost several times what they cost outside",
	}
}
