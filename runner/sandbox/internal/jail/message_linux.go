//go:build linux && (amd64 || arm64)

package jail

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
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
	TmpSize    int64
	Limits     rlimits
	Namespaces bool
	DropTo     int // user and group to become; 0: stay who we are
}

// rlimits are the limits that init sets on itself and its children; zero: none.
type rlimits struct{ Files, FileSize, CPU, Data, Processes uint64 }

// message is what init tells the host, one JSON value each: first Ready or Error, and when the program has ended Signal
// and MaxRSS.
type message struct {
	Ready   bool     `json:",omitempty"`
	Error   string   `json:",omitempty"`
	Denied  bool     `json:",omitempty"` // the error is a refusal of this machine
	Missing []string `json:",omitempty"`
	Signal  int      `json:",omitempty"` // the signal that ended the program
	MaxRSS  int64    `json:",omitempty"` // bytes, of the largest process
}

// go tells init that the host has done its part (the cgroup) and the program may start.
const goAhead = 'g'

func writePlan(w io.Writer, p *plan) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, err := w.Write(append(frame, body...)); err != nil {
		return fmt.Errorf("send the plan to the jail: %w", err)
	}
	return nil
}

func readPlan(r io.Reader) (*plan, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	p := new(plan)
	if err := json.Unmarshal(body, p); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return p, nil
}
