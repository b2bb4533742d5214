package stdio

import (
	"bytes"
	"crypto/rand"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// Every started server, and whatever it starts, has two variables in its environment: the process that it belongs to,
// and which of the servers of that process it is. They find the processes that have left the server's process group,
// such as daemons.
//
// They are not a barrier: a program that changes its environment is not found. A server's env block may set
// OwnerVariable to the empty string, for a server that is meant to leave something running.
const (
	// OwnerVariable holds an [owner.Owner].
	OwnerVariable  = "MCPGEN_OWNER"
	serverVariable = "MCPGEN_SERVER"
)

// mark is what the environment of a process says about its owner.
type mark struct{ owner, server string }

// newMark returns the mark of a new server of this process. It is zero where marks cannot be read.
func newMark() mark {
	if !findsMarked {
		return mark{}
	}
	me, err := owner.Self()
	if err != nil {
		return mark{}
	}
	return mark{owner: me.String(), server: rand.Text()}
}

// markIn reads the mark from an environment as the kernel has it, a zero byte after each variable.
func markIn(environ []byte) (m mark) {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(OwnerVariable+"=")); ok && m.owner == "" {
			m.owner = string(value)
		}
		if value, ok := bytes.CutPrefix(entry, []byte(serverVariable+"=")); ok && m.server == "" {
			m.server = string(value)
		}
	}
	return m
}
