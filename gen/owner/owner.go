// Package owner names a process so that another one can tell, also later, whether it still lives. Whatever a program
// leaves on the machine while it works (containers, folders, control groups, child processes) carries its owner's
// name; what carries the name of a dead owner may be removed. Start with [Self].
//
// A bare process number would not do: numbers are used again, and mean something only in one process namespace of one
// boot.
package owner

import (
	"fmt"
	"strconv"
	"strings"
)

// Owner names one process of one boot of one machine.
type Owner struct {
	Boot  string // the boot's ID; empty where the system has none
	Space string // the process namespace; empty where the system has none
	UID   int    // the effective user; −1 where the system has none
	PID   int
	Start string // when the process started, in the system's own words
}

// String is what [Parse] reads: five fields with a '/' between them, of letters, digits and "-_." only.
func (o Owner) String() string {
	return fmt.Sprintf("%s/%s/%d/%d/%s", o.Boot, o.Space, o.UID, o.PID, o.Start)
}

// Parse reads what String wrote; ok is false for anything else.
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

// State is what one process can tell about another.
type State int

// The states. What is Unknown may live, so it must not be touched.
const (
	Alive   State = iota
	Dead          // it was a process of this boot, and is gone
	Unknown       // of another boot, namespace or user
)

// Judge tells for me, a living process, whether o lives. A process of another user may be invisible, so it is Unknown
// unless root asks.
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
