package jail

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Name is argv[0] of every process that Start starts, by which Init recognizes it.
const Name = "mcprun-jail"

// UID is the user and group that a jail runs as if the host is root. It needs write permission for writable mounts.
const UID = 65534

// BridgeFD is the descriptor under which the jailed program finds its end of the bridge.
const BridgeFD = sandbox.BridgeFD

// SecretFD is the descriptor under which Program finds a pipe that holds Config.Secret.
const SecretFD = sandbox.SecretFD

// ErrUnsupported is wrapped by errors of Start and Probe if this machine does not offer the isolation that a jail needs.
var ErrUnsupported = errors.New("this machine does not allow sandboxed processes")

// Config describes one jail. Paths of the host and paths inside the jail are absolute.
type Config struct {
	// ID names the run and is part of the names of what is created on the host. It consists of letters, digits and '-'.
	ID string
	// Exe is the program whose main calls Init. Empty: the running binary.
	Exe string
	// Entry selects the Init call that handles the child.
	Entry string

	// Program is the path, inside the jail, of the program that init starts. Empty: the function given to Init runs in init
	// itself, and cannot start processes.
	Program string
	// Args follow the program's name: Args[0] is the first argument.
	// A function gets them in Inside.
	Args []string
	// Env is the whole environment of Program, NAME=value. Unused with a function.
	Env []string
	// Secret is data that Program can read once from SecretFD and that /proc does not show; at most sandbox.MaxSecret bytes. Empty: Program
	// has no such descriptor. Unused with a function.
	Secret string
	// Dir is the working directory inside; empty: "/".
	Dir string

	// Mounts show host files and folders inside. A later mount may be inside an earlier one or one of Tmpfs. Writable mounts are folders.
	Mounts []Mount
	// Files are written, read-only, into the jail's own root: path inside → content.
	Files map[string][]byte
	// Tmpfs lists folders inside that are empty, private, writable and removed with the jail; each holds Limits.Tmp bytes.
	Tmpfs []string
	// Hidden lists folders inside, below a mount, that are shown empty and read-only.
	Hidden []string
	// Dirs lists empty, read-only folders in the jail's own root, on which Bind mounts.
	Dirs []string

	// Warm starts the program or function before there is a run for it. Child.Bind later shows mounts, sets limits and connects the
	// streams, and must be called before untrusted data reaches the jail. Until then Limits are an upper bound, and Stdin, Stdout and
	// Stderr are ignored. A function runs unconfined until Bind. A program is confined, but Landlock does not yet restrict which mounts are
	// writable.
	Warm bool

	// Network lets Program use TCP within the jail, which has a loopback interface and no other.
	Network bool

	Limits sandbox.Limits

	// AllowNoNamespaces lets a Go function run on a machine without namespaces, with all other isolation applied. Missing then reports the
	// lack. Ignored with a Program.
	AllowNoNamespaces bool

	// Stdin, Stdout and Stderr are as in sandbox.Spec.
	Stdin          io.Reader `json:"-"`
	Stdout, Stderr io.Writer `json:"-"`
}

// Binding is what a warm jail gets for its run; see [Child.Bind].
type Binding struct {
	// Mounts are as in Config, and cover what is at their targets. A target is a folder or file that the jail has, such as one of
	// Config.Dirs, or is inside a writable mount or tmpfs of this Binding.
	Mounts []Mount
	// Tmpfs is as in Config: each holds Limits.Tmp bytes and is mounted at one of Config.Dirs. /tmp gets that size, too.
	Tmpfs []string

	// Limits replace those in Config. Zero fields mean the same as there.
	Limits sandbox.Limits

	// Stdin, Stdout and Stderr are as in sandbox.Spec. They include what the program wrote before Bind.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Mount shows Source (a file or folder of the host; links are followed) at Target inside.
type Mount struct {
	Source, Target string
	Writable       bool
}

// Inside describes to a function the jail it runs in.
type Inside struct {
	// Args holds Config.Args.
	Args []string
	// Namespaces is false if the machine has no namespaces (see Config.AllowNoNamespaces): paths are then those of the host.
	Namespaces bool
	mounts     *atomic.Pointer[[]Mount]
}

// Path returns the path at which a function finds the mount with the given target. Without namespaces it is empty if no mount
// has that target. After Bind it includes the mounts of the Binding.
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

// OutOfMemory is returned by a function that has reached its own memory limit. The jail then ends as if the kernel had killed it for lack
// of memory. It is not a possible exit code, so a script cannot forge it.
const OutOfMemory = 1 << 8

const (
	setupTimeout  = 30 * time.Second
	watchInterval = 50 * time.Millisecond
	dataSlack     = 512 << 20
)
