// Package sandbox defines the types between the runner and the places in which a script can run.
//
// A [Backend] starts one [Process] per run from a [Spec]. The process is a guest: an interpreter with our guest program loaded, which
// connects back to the host over one channel ([Process.Bridge]), authenticates itself with [Spec.Secret], receives its job there and runs
// it. The script's output goes to the guest's own stdout and stderr. Package bridge defines the protocol of the channel; this package only
// connects it.
//
// This package contains interfaces and values only. Start with [Backend]. Every backend passes the suite in sandboxtest.
package sandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// Runtime names what executes the guest program.
type Runtime string

const (
	Node    Runtime = "node"    // Node.js 20 or newer
	Python  Runtime = "python"  // CPython 3.11 or newer
	QuickJS Runtime = "quickjs" // the engine inside the mcprun binary
)

// Wanted names the runtime and the oldest version that works, in the form in which a person would install it. QuickJS is never missing.
func (r Runtime) Wanted() string {
	switch r {
	case Node:
		return "node 20 or newer"
	case Python:
		return "python 3.11 or newer"
	}
	return string(r)
}

// Strength is the kind of isolation between a script and the machine. The greater it is, the less trusted the code may be.
type Strength int

const (
	// SharedKernel is a confined process: for code of one's own, read before it runs.
	SharedKernel Strength = iota + 1
	// Container is a container of an engine: for code of a model that reads what strangers wrote.
	Container
	// OwnKernel is a kernel other than the machine's: for code of strangers.
	OwnKernel
)

// Backend is one kind of sandbox. Implementations are safe for concurrent use and hold no state between runs
// beyond connections that Close releases.
type Backend interface {
	// Name is the name by which a person selects the backend: "embedded", "process", "docker".
	Name() string
	// Strength reports the kind of isolation. It is the same on every machine.
	Strength() Strength
	// Runtime returns the runtime that executes scripts of lang here. ok is false if the backend has none.
	Runtime(lang Language) (r Runtime, ok bool)
	// Probe checks whether the backend can run scripts on this machine now. It takes at most two seconds, runs no script, and
	// reports problems in the Status.
	Probe(ctx context.Context) Status
	// Start starts a guest. When ctx ends the guest is killed, whatever it is doing. If Start returns an error, it has undone everything it
	// did. If this process is killed, nothing of the guest is left ten seconds later.
	Start(ctx context.Context, spec Spec) (Process, error)
	// Close releases the backend's own connections.
	Close() error
}

// Status is the result of Probe.
type Status struct {
	Usable bool
	// Detail is one line: what was found ("Docker Engine 28.2, image sha256:…"), or why the backend is not usable.
	Detail string
	// Remedy is what a person can do to make the backend usable, as a command if possible. It is empty if it is usable.
	Remedy string
	// Languages lists the languages that can run here now. A usable backend may lack one, for instance without python3 on the machine.
	Languages []Language
	// Packages lists libraries for Python scripts that the sandbox itself has, beside the standard library, with versions ("pandas 1.5.3").
	Packages []string
	// Holds lists what this sandbox protects here, one short line each ("network: none, also no DNS").
	Holds []string
	// Lacks lists what this kind of sandbox does not protect on any machine ("kernel: shared with the machine").
	Lacks []string
	// Missing lists isolation that this machine does not offer, one line each ("landlock: kernel too old").
	Missing []string
}

// Spec describes one run. All paths are absolute paths of the host.
type Spec struct {
	// ID names the run and labels what the backend creates for it. Letters, digits and '-', at most 64 bytes.
	ID string
	// Runtime executes the guest program.
	Runtime Runtime
	// Args are flags of the interpreter, which isolate and tune it. They come before the guest program's name. Unused by QuickJS.
	Args []string
	// Guest holds the guest program's files by name (no folders). The one named GuestMain(Runtime) is started.
	// The guest finds them below GuestDir, which is read-only. Unused by QuickJS.
	Guest map[string][]byte
	// Secret is what the guest sends when it connects. It reads the secret from descriptor SecretFD and closes that before the script
	// starts, because the script could read it from the environment or the arguments. It has at most MaxSecret bytes.
	Secret string
	// Tree is the generated servers folder, shown read-only at TreeDir and at WorkspaceDir/servers. Empty: there is none.
	Tree string
	// Skills is the folder of saved scripts, shown read-only at SkillsDir and at WorkspaceDir/skills. Empty: there is none.
	Skills string
	// Packages is a folder of Python packages, shown read-only at PackagesDir. Nothing may change it while a guest lives. Empty: there are
	// none. Only Python has them.
	Packages string
	// Preload names modules of these packages, or of the image's, that a guest imports while it waits for a run.
	Preload []string
	// Workspace is an existing folder that the script may write to, shown at WorkspaceDir, where the script starts. Empty: the script
	// starts in an empty folder that is removed with the run.
	Workspace string
	// Network lets programs connect within the sandbox, to a port where the guest passes connections on to the host. Nothing else can be
	// reached.
	Network bool
	// Limits bound the run. Zero fields mean the defaults of WithDefaults.
	Limits Limits
	// Turn is awaited before the guest is started. Nil: the guest starts at once.
	Turn *Turn
	// Stdin, Stdout and Stderr are the script's streams. A nil Stdin is empty; nil writers discard. Each writer is called from one
	// goroutine, and never after Wait has returned.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Check returns an error unless ID, Secret, Guest and Preload satisfy the rules in their comments.
func (s *Spec) Check() error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	const moduleLetters = letters + "_."
	if s.ID == "" || len(s.ID) > 64 || strings.Trim(s.ID, letters+"-") != "" {
		return fmt.Errorf("run ID %q: must be 1 to 64 letters, digits and '-'", s.ID)
	}
	if len(s.Secret) > MaxSecret {
		return fmt.Errorf("the secret has %d bytes; the limit is %d", len(s.Secret), MaxSecret)
	}
	for name := range s.Guest {
		if name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) {
			return fmt.Errorf("guest file %q: must be a plain file name", name)
		}
	}
	for _, name := range s.Preload {
		if strings.Trim(name, moduleLetters) != "" || name == "" {
			return fmt.Errorf("preload %q: must be the name of a module", name)
		}
	}
	main := GuestMain(s.Runtime)
	if _, ok := s.Guest[main]; main != "" && !ok {
		return fmt.Errorf("run %s: guest program %s is missing", s.ID, main)
	}
	return nil
}

// MaxSecret is what every pipe can hold, in bytes, so that a secret can be written before it is read.
const MaxSecret = 4096

// Paths inside every sandbox that has its own file system. The embedded backend maps the same names.
const (
	WorkspaceDir = "/workspace"   // read-write, the working directory
	Root         = "/mcp"         // read-only; on Python's module path
	TreeDir      = "/mcp/servers" // read-only
	SkillsDir    = "/mcp/skills"  // read-only
	GuestDir     = "/mcp/guest"   // read-only
	// PackagesDir is read-only, and on Python's module path after the standard library. A script cannot import its name.
	PackagesDir = "/mcp/site-packages"
)

// A guest program gets BridgeAddress as its first argument, and the names in Spec.Preload after it. It inherits two descriptors besides its standard streams. The guest of the embedded
// backend is built in and does not use them.
const (
	BridgeFD      = 3      // its end of the bridge
	BridgeAddress = "fd:3" // BridgeFD as an argument
	NetworkPrefix = "net:" // comes before BridgeAddress in a run with a network
	ProxyPort     = 3128   // of 127.0.0.1, where the guest offers the run's proxy to programs of a run with a network
	SecretFD      = 4      // a pipe that holds Spec.Secret
)

// InterpreterOf returns the runtime of a language in sandboxes that have node and python3.
func InterpreterOf(lang Language) (Runtime, bool) {
	switch lang {
	case LangTypeScript:
		return Node, true
	case LangPython:
		return Python, true
	}
	return "", false
}

// GuestMain returns the name of the guest file that is started for r, or "" for QuickJS.
func GuestMain(r Runtime) string {
	switch r {
	case Node:
		return "guest.mjs"
	case Python:
		return "guest.py"
	}
	return ""
}

// Process is one running guest. The caller owns it and must call Wait once, which releases all its resources.
type Process interface {
	// Bridge waits for the guest to connect and returns the host's end. Call it once. It fails if the guest ends first or ctx is done. The
	// caller must close the connection.
	Bridge(ctx context.Context) (net.Conn, error)
	// Secret returns what this guest sends when it connects: the Secret of the Spec with which it was started.
	Secret() string
	// Kill ends the guest and everything it started, at once. It may be called at any time, any number of times.
	Kill()
	// Wait returns after the guest has ended, its output was written, and nothing of it is left on the machine. The error is about the
	// backend itself (the daemon has gone, a mount could not be removed), not about the script.
	Wait() (Exit, error)
}

// Remote is implemented by a Process whose workspace may be a copy on another machine, in which files that the host writes to the folder
// during the run do not appear. A Process that does not implement it works in the folder itself.
type Remote interface{ Remote() bool }

// IsRemote reports whether p works in a copy of its workspace.
func IsRemote(p Process) bool {
	r, ok := p.(Remote)
	return ok && r.Remote()
}

// Exit is how a guest ended.
type Exit struct {
	// Code is the guest's exit code, or 128+n if signal n ended it.
	Code int
	// Killed names the limit that ended the guest, one of the Limit constants. It is empty if no limit did, and for a guest
	// ended by Kill or its ctx.
	Killed string
	// Hit lists, sorted, the limits that the guest reached, whether or not they ended it: a guest that cannot start more processes gets an
	// error and continues. It contains Killed. A backend lists what it can observe.
	Hit []string
	// MaxMemory is the most memory observed, in bytes; zero if the backend cannot measure it.
	MaxMemory int64
}

// Reach adds to Hit the limits that are not empty.
func (e *Exit) Reach(limits ...string) {
	e.Hit = append(e.Hit, limits...)
	slices.Sort(e.Hit)
	e.Hit = slices.DeleteFunc(slices.Compact(e.Hit), func(l string) bool { return l == "" })
}
