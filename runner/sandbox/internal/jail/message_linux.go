//go:build linux && (amd64 || arm64)

package jail

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// plan is what the host tells init: Config without what cannot be sent, and what the host decided.
type plan struct {
	Entry      string
	Program    string
	Args, Env  []string
	Secret     string
	Dir        string
	Mounts     []Mount
	Files      map[string][]byte
	Tmpfs      []string
	Hidden     []string
	Dirs       []string
	Warm       bool
	TmpSize    int64
	Limits     rlimits
	Namespaces bool
	Watched    bool // nothing bounds its memory but the watchdog, which must see all of it
	DropTo     int  // user and group to become; 0: stay who we are
}

// order is what the host tells the init of a warm jail that gets its run.
type order struct {
	Mounts  []pinned
	Tmpfs   []string
	TmpSize int64
	Limits  rlimits
}

// pinned is a mount and the file that its source was for the host: init sees the host's mounts as they were when the jail
// was started, and must not show another file than the host meant.
type pinned struct {
	Mount
	Dev, Ino uint64
}

// rlimits are the limits that init sets on itself and its children; zero: none.
type rlimits struct{ Files, FileSize, CPU, Data, Processes uint64 }

// message is what init tells the host, one JSON value each: first Ready or Error, as the answer to an order Bound or
// Error, and when the program has ended the rest.
type message struct {
	Ready   bool     `json:",omitempty"`
	Bound   bool     `json:",omitempty"`
	Error   string   `json:",omitempty"`
	Denied  bool     `json:",omitempty"` // the error is a refusal of this machine
	Missing []string `json:",omitempty"`
	// OutOfMemory says that a function has returned that.
	OutOfMemory bool `json:",omitempty"`

	Signal int   `json:",omitempty"` // the signal that ended the program
	MaxRSS int64 `json:",omitempty"` // bytes, of the largest process

	CPU time.Duration `json:",omitempty"` // of all processes that ended
}

// go tells init that the host has done its part (the cgroup) and the program may start.
const goAhead = 'g'

// maxFrame is far more than any plan needs.
const maxFrame = 64 << 20

func writeFrame(w io.Writer, what any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, err := w.Write(append(frame, body...)); err != nil {
		return fmt.Errorf("tell the jail what to do: %w", err)
	}
	return nil
}

func readFrame(r io.Reader, what any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return fmt.Errorf("read what to do: %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	if err := json.Unmarshal(body, what); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	return nil
}
