package guest

import "github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"

// pendingCall is a call or request without a reply. It owns its values, the functions that settle its promise.
type pendingCall struct {
	resolve, reject engine.Value
	size            int
	tool, method    string       // exactly one of the two is set
	raw             bool         // the script wants the whole result of the call
	params          string       // the parameters of a request whose answer holds content, otherwise empty
	unwatch         engine.Value // removes the listener of the signal; undefined without a signal
	answer          func(reply)  // replaces settleCall if it is not nil
}

// heldCall is a call that waits to be sent.
type heldCall struct {
	id    int64
	parts []string
}

// callFailure is the reason with which a call is rejected: an object with the members of the bridge's error.
type callFailure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Tool    string `json:"tool,omitempty"`
}

func (f *callFailure) Error() string { return f.Message }
