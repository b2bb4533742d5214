// Package owner names a process, so that another process can later find out whether it is still running. Everything that a program leaves
// on the machine while it works (containers, folders, control groups, child processes) carries the name of its owner, and may be removed
// once the owner is dead. Start with [Self].
//
// A process number alone is not enough: numbers are reused, and are valid only in one process namespace of one boot.
package owner

import (
	"fmt"
	"strconv"
	"strings"
)

// Owner names one process of one boot of one machine.
type Owner struct {
	Boot  string // the ID of the boot; empty on systems without one
	Space string // the process namespace; empty on systems without one
	UID   int    // the effective user; −1 on systems without one
	PID   int
	Start string // when the process started, in the format of the system
}

// String formats o for [Parse]: five fields of letters, digits and "-_.", separated by '/'.
func (o Owner) String() string {
	return fmt.Sprintf("%s/%s/%d/%d/%s", o.Boot, o.Space, o.UID, o.PID, o.Start)
}

// Parse reads the format of [Owner.String]; ok is false for anything else.
func Parse(s string) (o Owner, ok bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 5 {
		return Owner{}, false
	}
	uid, err1 := strconv.Atoi(parts[2])
	pid, err2 := strconv.Atoi(parts[3])
	if err1 != nil || err2 != nil {
		return Owner{}, false
	}
	return Owner{Boot: parts[0], Space: parts[1], UID: uid, PID: pid, Start: parts[4]}, true
}

// State is what one process knows about another.
type State int

// The states. An Unknown process may be running, so nothing that carries its name may be removed.
const (
	Alive   State = iota
	Dead          // it was a process of this boot, and has ended
	Unknown       // it belongs to another boot, namespace or user
)

// Judge returns the state of o as seen by me, a running process. Another user's process may be invisible, so its state is Unknown unless me
// belongs to root.
func (o Owner) Judge(me Owner) State {
	if o.Boot != me.Boot || o.Space != me.Space || (o.UID != me.UID && me.UID != 0) {
		return Unknown
	}
	start, err := started(o.PID)
	if err == nil && start == o.Start {
		return Alive
	}
	if err != nil && !isGone(err) {
		return Unknown
	}
	return Dead
}
