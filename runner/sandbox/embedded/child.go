package embedded

import (
	"net"
	"os"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/guest"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

const (
	// jailEntry is the name under which the jail starts this package's children.
	jailEntry = "embedded"
	// unjailedName is argv[0] of children without a jail.
	unjailedName = "mcprun-embedded"
	// bridgeFD is the child's end of the bridge.
	bridgeFD = jail.BridgeFD
)

// Child must be called first in the program's main. In a process that a Backend started it runs the guest and ends
// the process; in any other it does nothing.
func Child() {
	jail.Init(jailEntry, func(in jail.Inside) int {
		return guestMain(os.NewFile(bridgeFD, "bridge"), environment{find: in.Path, limit: func(rlimits) error { return nil }})
	})
	if len(os.Args) == 1 && os.Args[0] == unjailedName {
		os.Exit(unjailedMain())
	}
}

// The host sends the child two frames before the bridge protocol begins: a setup, which the engine needs to start, and a
// binding, which belongs to a run. A cold start sends both at once, a warm start sends the binding when there is a run.

// setup is the first frame.
type setup struct {
	Secret string
	// Memory bounds the engine's heap in bytes.
	Memory int64
	// Idle reports that the binding is sent later, when there is a run.
	Idle bool
}

// binding is the second frame.
type binding struct {
	// Folders are the folders of the script: in a jail the targets of its mounts, otherwise real paths. Empty means that there
	// is none.
	Folders guest.Folders
	// Memory and FileSize bound the engine's heap and the files it writes, in bytes.
	Memory, FileSize int64
	// Limits are resource limits that a child without a jail sets on itself.
	Limits rlimits
}

// rlimits are in seconds, descriptors and bytes. Zero means no limit.
type rlimits struct{ CPU, Files, FileSize uint64 }

// newBinding returns a binding with the limits of a run. The caller adds its folders.
func newBinding(l sandbox.Limits) binding {
	return binding{
		Memory: engineMemory(l.Memory), FileSize: l.FileSize,
		Limits: rlimits{
			CPU:   uint64((l.CPU + time.Second - 1) / time.Second),
			Files: uint64(l.Files), FileSize: uint64(l.FileSize),
		},
	}
}

// environment is the part of the guest's setup that depends on how the child is confined.
type environment struct {
	find  func(folder string) string // maps a folder of the binding to its path in the child
	limit func(rlimits) error
}

// writeFrames sends each value as one frame. The frames fit into the socket's buffer, so a child that hangs does not block the caller.
func writeFrames(conn net.Conn, values ...any) error {
	if err := conn.SetWriteDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	for _, v := range values {
		if err := jail.WriteFrame(conn, v); err != nil {
			return err
		}
	}
	return conn.SetWriteDeadline(time.Time{})
}
