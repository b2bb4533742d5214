package runner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// cpuPerTime is the default limit of processor time as a multiple of the timeout. It ends a guest that spins after its host was
// killed.
const cpuPerTime = 4

// limits returns the limits of the run, with defaults for those that are zero.
func (s *Script) limits() sandbox.Limits {
	l := s.Limits.WithDefaults()
	if l.CPU == 0 {
		l.CPU = cpuPerTime * s.timeout()
	}
	return l
}

// limitsReached lists the limits that the run reached, sorted, each once.
func limitsReached(exit sandbox.Exit, cause Cause) []string {
	all := slices.Clone(exit.Hit)
	if exit.Killed != "" {
		all = append(all, exit.Killed)
	}
	if cause == CauseTimeout {
		all = append(all, string(CauseTimeout))
	}
	if all == nil {
		return []string{}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// limitOfError returns the limit that an uncaught error reports, recognised by the interpreters' wording, or "" if it reports none. The
// host cannot see what the guest's kernel refused, and a script that lies here misleads only its own caller.
func limitOfError(e *bridge.ScriptError) string {
	if e == nil {
		return ""
	}
	starts := func(with string) bool { return strings.HasPrefix(e.Message, with) }
	again := strings.HasSuffix(e.Message, " EAGAIN")
	switch {
	case e.Name == "Error" && starts("EMFILE: "), e.Name == "OSError" && starts("[Errno 24] "):
		return sandbox.LimitFiles
	case e.Name == "MemoryError", e.Name == "OSError" && starts("[Errno 12] "), e.Name == "RangeError" && starts("Array buffer allocation failed"):
		return sandbox.LimitMemory
	case e.Name == "RuntimeError" && starts("can't start new thread"), e.Name == "Error" && again && (starts("spawn ") || starts("spawnSync ") || starts("Worker initialization failure:")),
		e.Name == "BlockingIOError" && starts("[Errno 11] ") && forks().MatchString(e.Stack):
		return sandbox.LimitProcesses
	}
	return ""
}

// forks matches calls that start a process. From other calls, the same error has another cause.
var forks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(os\.)?(fork|forkpty|posix_spawnp?|spawn[lv]p?e?|popen)\(|fork_exec|subprocess\.|\bPopen\(|multiprocessing/`)
})

// describeLimit describes how a script exceeded a limit, with the flag that sets it.
func (s *Script) describeLimit(limit string) string {
	l := s.limits()
	switch limit {
	case sandbox.LimitMemory:
		return fmt.Sprintf("it needed more than %s of memory (--memory)", size(l.Memory))
	case sandbox.LimitCPU:
		if s.Limits.CPU == 0 {
			return fmt.Sprintf("it used more than %s of processor time, %d times the --timeout (--cpu)", config.FormatDuration(l.CPU), cpuPerTime)
		}
		return fmt.Sprintf("it used more than %s of processor time (--cpu)", config.FormatDuration(l.CPU))
	case sandbox.LimitProcesses:
		return fmt.Sprintf("it started more than %d processes and threads (--processes)", l.Processes)
	case sandbox.LimitOutput:
		return fmt.Sprintf("it printed more than %s (--output-limit)", size(l.Output))
	case sandbox.LimitDisk:
		return fmt.Sprintf("its workspace held more than %s or %d files (--disk, --disk-files)", size(l.Disk), l.DiskFiles)
	case sandbox.LimitFiles:
		return fmt.Sprintf("it needed more than %d open files (--open-files), or watched far more with epoll", l.Files)
	case sandbox.LimitFileSize:
		if l.Disk < l.FileSize {
			return fmt.Sprintf("it wrote a file of more than %s, the limit of its workspace (--disk)", size(l.Disk))
		}
		return fmt.Sprintf("it wrote a file of more than %s (--file-size)", size(l.FileSize))
	}
	return fmt.Sprintf("it ran into the limit of %s", limit)
}

// describeLimits describes limits that did not end the script, or returns "" if there are none.
func (s *Script) describeLimits(limits []string) string {
	if len(limits) == 0 {
		return ""
	}
	words := make([]string, len(limits))
	for i, l := range limits {
		words[i] = s.describeLimit(l)
	}
	return "the script ran into a limit: " + strings.Join(words, "; ")
}

// size formats a number of bytes in the largest unit that divides it.
func size(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
