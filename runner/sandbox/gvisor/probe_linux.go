package gvisor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
)

// probeTime is how long a Probe may take.
const probeTime = 2 * time.Second

// Probe implements sandbox.Backend. It asks runsc for its version, in a user namespace if one will be needed.
func (b *Backend) Probe(ctx context.Context) sandbox.Status {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var st sandbox.Status
	var found, absent []string
	var why error
	for _, lang := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		rt, _ := b.Runtime(lang)
		d, err := b.direct(ctx, rt)
		if err != nil {
			why = err
			absent = append(absent, err.Error())
			continue
		}
		if st.Missing = d.missing(); len(found) == 0 {
			found = append(found, fmt.Sprintf("runsc %s (%s)", d.tool.version, d.tool.path))
		}
		st.Languages = append(st.Languages, lang)
		found = append(found, fmt.Sprintf("%s %s", rt, d.in.Host))
	}
	if st.Usable = len(st.Languages) > 0; st.Usable {
		st.Detail = strings.Join(append(found, absent...), ", ")
		st.Holds, st.Lacks = holds(), lacks()
		return st
	}
	return b.probeEngine(ctx, why)
}

// missing lists what is missing on this machine.
func (d *direct) missing() []string {
	var missing []string
	if !d.root {
		missing = append(missing, "user: without root, the guest runs as your user in its own namespace")
	}
	g, without := cgroup.New("probe", cgroup.Limits{}, d.b.guard)
	for _, m := range without {
		missing = append(missing, m+"; a watchdog limits memory and processor time")
	}
	if err := g.Close(); err != nil {
		missing = append(missing, err.Error())
	}
	return missing
}
