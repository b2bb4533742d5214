package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// limitOptions bound one run.
type limitOptions struct {
	timeout runTime
	cpu     runTime // zero: the runner's own rule
	limits  sandbox.Limits
}

func (o *limitOptions) bind(f *pflag.FlagSet) {
	o.limits, o.timeout = sandbox.Limits{}.WithDefaults(), runTime(runner.DefaultTimeout)
	f.Var(&o.timeout, "timeout", "stop the script after this time: seconds, or a duration such as 2m")
	f.Var(byteSize{&o.limits.Memory, minMemory}, "memory", "memory: megabytes, or with a unit such as 512MiB")
	f.Var(&o.cpu, "cpu", "processor time of all its processes together (default four times --timeout)")
	f.Var(count{&o.limits.Processes, 16}, "processes", "processes and threads at once")
	f.Var(count{&o.limits.Files, 64}, "open-files", "open files of one process")
	f.Var(byteSize{&o.limits.FileSize, minSize}, "file-size", "size of one file")
	f.Var(byteSize{&o.limits.Output, minSize}, "output-limit", "what it prints, stdout and stderr together")
	f.Var(byteSize{&o.limits.Disk, minSize}, "disk", "what its workspace may hold")
	f.Var(count{&o.limits.DiskFiles, 1}, "disk-files", "files and folders in its workspace")
	f.Var(byteSize{&o.limits.Tmp, minSize}, "tmp", "size of /tmp")
}

// bounds are the limits as the runner takes them.
func (o *limitOptions) bounds() sandbox.Limits {
	l := o.limits
	l.CPU = time.Duration(o.cpu)
	return l
}
