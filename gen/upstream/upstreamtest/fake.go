package upstreamtest

import (
	"encoding/json"
	"os"
	"sync"
	"sync/atomic"
)

const (
	legacyVersion = "2025-11-25"
)

// fake is the server's state, without a transport.
type fake struct {
	mode  Mode
	hangs atomic.Int64 // calls that never end

	mu           sync.Mutex
	cancelled    int
	changes      int // of the tools
	visits       int
	lists        int
	hanging      bool
	capabilities json.RawMessage
	protocol     string
	pids         []int
	subscribers  map[string]func(method, params string) // to changes of the tools, by the id of their request
}

func newFake(mode Mode) *fake {
	return &fake{mode: mode, pids: []int{os.Getpid()}, capabilities: json.RawMessage(`null`)}
}

func (f *fake) met(protocol string, capabilities json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.protocol = protocol
	if capabilities != nil {
		f.capabilities = capabilities
	}
}

// behaviour is what the test defines for the mode.
func (f *fake) behaviour() Behaviour { return Behaviours[f.mode] }
