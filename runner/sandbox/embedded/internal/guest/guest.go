// Package guest is the guest program of the embedded backend: it runs one job on the engine, in its own process, and
// implements the guest's side of the bridge protocol. Start with [Run].
//
// A script can use only what this package gives it: its standard streams, files below a few folders, timers, hashes, and calls
// over the bridge. There is no network, no other process and no environment. The engine itself is not a security boundary (see
// package engine); the process around it is.
//
// The JavaScript in prelude/ implements Node's modules on the host functions of natives.go. Its files are loaded when a script
// first uses them, because this backend exists for fast starts.
package guest

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// Exit codes, as Node uses them.
const (
	codeUncaught  = 1
	codeUnsettled = 13 // a top-level await never settled
	codeMemory    = 137
)

// guest is the state of one run. Only the goroutine that called Run may use it, except for the loop's queue.
type guest struct {
	o     Options
	vm    *engine.VM
	wire  *wire
	loop  *loop
	start time.Time
	job   job
	maps  *sourceMaps            // source maps of the loaded modules; see sourcemap.go
	extra map[string]extraModule // by the host's id

	calls    map[int64]pendingCall
	held     []heldCall // not sent yet
	step     int        // the number of the step whose function runs; 0: none
	lastCall int64
	inFlight int
	pending  int // bytes of arguments in flight

	rejected []rejection             // promises that were rejected without a handler, in order
	native   engine.Value            // the host functions, for the prelude only
	hooks    engine.Value            // functions of the prelude that the loop calls
	loaded   map[string]engine.Value // prelude files by name

	madeValues bool // values richer than JSON exist; see values.go

	now *timer // the timer whose callback is running

	exited   bool // process.exit was called
	exitCode int
	failure  *failure
	result   json.RawMessage
	done     atomic.Bool // the done frame was sent, so losing the host no longer matters

	printed int64           // bytes of standard output
	wrote   map[string]bool // paths below the workspace that the script wrote, at most maxWrote
	// moduleEnd is the state when the script's module had ended. It is nil until then.
	moduleEnd *moduleEnd
}

// moduleEnd records how much was printed, and the tools of calls without an answer, when the script's module ended.
type moduleEnd struct {
	printed int64
	open    []string
}

// failure is an uncaught error as the done frame reports it.
type failure struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"`

	memory bool
}

// noteModuleEnd records the state when the script's module has ended.
func (g *guest) noteModuleEnd() {
	g.moduleEnd = &moduleEnd{printed: g.printed}
	for _, c := range g.calls {
		if c.tool != "" {
			g.moduleEnd.open = append(g.moduleEnd.open, c.tool)
		}
	}
}

// maxWrote bounds the paths that the done frame lists as written.
const maxWrote = 1000

// noteWritten notes a path that the script wrote.
func (g *guest) noteWritten(f file) {
	name, below := strings.CutPrefix(f.abs, workspaceDir+"/")
	if !below || len(g.wrote) >= maxWrote {
		return
	}
	if g.wrote == nil {
		g.wrote = map[string]bool{}
	}
	g.wrote[name] = true
}
