package jail

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Name is argv[0] of every process that Start starts, and how Init recognises one.
const Name = "mcprun-jail"

// UID is the user and group a jail runs as when the host is root. A writable mount must be writable to it.
const UID = 65534

// BridgeFD is the descriptor under which the jailed program finds its end of the bridge.
const BridgeFD = sandbox.BridgeFD

// SecretFD is the descriptor under which Program finds a pipe that holds Config.Secret.
const SecretFD = sandbox.SecretFD

// maxSecret is what every pipe holds, so that no one has to read it while it is written.
const maxSecret = 4096

// ErrUnsupported is what Start and Probe wrap where this machine cannot give the isolation that a jail needs.
var ErrUnsupported = errors.New("this machine does not allow sandboxed processes")

// Config describes one jail. Every path outside is absolute on the host, every path inside absolute in the jail.
type Config struct {
	// ID names the run, for what is created on the host. Letters, digits and '-'.
	ID string
	// Exe is the program whose main calls Init; empty: the running binary.
	Exe string
	// Entry selects the Init call that takes the child.
	Entry string

	// Program is the path inside of what init starts. Empty: the function given to Init runs, in init itself, and can
	// start no process.
	Program string
	// Args follow the program's name: Args[0] is the first argument.
	// A function gets them in Inside.
	Args []string
	// Env is the whole environment of Program, NAME=value. Unused with a function.
	Env []string
	// Secret is what Program can read once from SecretFD, and nobody from /proc; at most 4096 bytes. Empty: Program has
	// no such descriptor. Unused with a function.
	Secret string
	// Dir is the working directory inside; empty: "/".
	Dir string

	// Mounts show host files and folders inside. A later mount may lie inside an earlier one or in one of Tmpfs.
	// Writable ones are folders.
	Mounts []Mount
	// Files are written, read-only, into the jail's own root: path inside → content.
	Files map[string][]byte
	// Tmpfs lists folders inside that are empty, private, writable and vanish with the jail; each holds Limits.Tmp bytes.
	Tmpfs []string
	// Hidden lists folders inside, below a mount, that are shown empty and read-only.
	Hidden []string
	// Dirs lists folders that the jail's own root has, empty and read-only: places for what Bind shows.
	Dirs []string

	// Warm starts the program or function before there is a run for it: Child.Bind shows mounts, sets limits and connects
	// the streams later, and must be called before anything that is not trusted reaches the jail. Until then Limits are an
	// upper bound, and Stdin, Stdout and Stderr do not count. A function runs unconfined until Bind, a program as
	// it would otherwise, save that Landlock does not repeat which mounts may be written to.
	Warm bool

	Limits sandbox.Limits
	// Data bounds the writable private memory of one process by RLIMIT_DATA; zero: Limits.Memory plus 512 MiB.
	// It catches what grows faster than the watchdog looks.
	Data int64

	// AllowNoNamespaces lets a Go function run where namespaces cannot be had, with everything else applied.
	// Missing then says so. Ignored with a Program.
	AllowNoNamespaces bool

	// Stdin, Stdout and Stderr as in sandbox.Spec.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Mount shows Source (a file or folder of the host; links are followed) at Target inside.
type Mount struct {
	Source, Target string
	Writable       bool
}

// Inside is what a function learns about the jail it runs in.
type Inside struct {
	// Args are those of Config.
	Args []string
	// Namespaces is false where Config.AllowNoNamespaces was needed: paths are then those of the host.
	Namespaces bool
	mounts     *atomic.Pointer[[]Mount]
}

// Path is where a function finds what a mount shows at target; empty where no mount has that target and there are
// no namespaces. After Bind it knows those of the Binding.
func (i Inside) Path(target string) string {
	if i.Namespaces {
		return target
	}
	for _, m := range *i.mounts.Load() {
		if m.Target == target {
			return m.Source
		}
	}
	return ""
}

// OutOfMemory is what a function returns that has come to its memory limit by its own reckoning: the jail then ends as
// one that the kernel ended for that. No exit code has this value, so nothing that only sets one can pretend it.
const OutOfMemory = 1 << 8

const (
	setupTimeout  = 30 * time.Second
	watchInterval = 50 * time.Millisecond
	dataSlack     = 512 << 20
)
