//go:build linux && (amd64 || arm64)

package jail

import "time"

// request is the host's message to init: the jail's configuration, and the host's decisions.
type request struct {
	Config
	Rlimits    rlimits
	Namespaces bool
	Watched    bool // only the watchdog bounds the jail's memory, so it must see all of it
	DropTo     int  // user and group to become; 0: keep the present ones
}

// bindRequest is the message with which the host gives the init of a warm jail its run.
type bindRequest struct {
	Mounts  []pinned
	Tmpfs   []string
	TmpSize int64
	Limits  rlimits
}

// pinned is a mount and the file that the host found at its source. Init sees the host's mounts as they were when the jail was started, and
// must not mount a different file.
type pinned struct {
	Mount
	Dev, Ino uint64
}

// rlimits are the limits that init sets on itself and its children. Zero: no limit.
type rlimits struct{ Files, FileSize, CPU, Data, Processes uint64 }

// message is init's message to the host, one JSON value each. The first has Ready or Error. The answer to a bindRequest has Bound or Error.
// The other fields are set when the program has ended.
type message struct {
	Ready   bool     `json:",omitempty"`
	Bound   bool     `json:",omitempty"`
	Error   string   `json:",omitempty"`
	Denied  bool     `json:",omitempty"` // the error means that this machine refused
	Missing []string `json:",omitempty"`
	// OutOfMemory reports that a function returned the exit code OutOfMemory.
	OutOfMemory bool `json:",omitempty"`

	Signal int   `json:",omitempty"` // the signal that ended the program
	MaxRSS int64 `json:",omitempty"` // bytes, of the largest process

	CPU time.Duration `json:",omitempty"` // of all ended processes
}

// goAhead is the byte with which the host says that it has finished its part (the cgroup) and the program may start.
const goAhead = 'g'
