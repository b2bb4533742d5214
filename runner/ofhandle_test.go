package runner

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/bridge"
)

func TestOfHandle(t *testing.T) {
	for message, want := range map[string]bool{
		`The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received an instance of ResultHandle`: true,
		`The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received object`:                      true,
		"the JSON object must be str, bytes or bytearray, not Handle":                                                                        true,
		"expected string or bytes-like object, got 'Handle'":                                                                                 true,
		"sequence item 0: expected str instance, Handle found":                                                                               true,
		"Object of type Handle is not JSON serializable":                                                                                     true,
		"Object of type date is not JSON serializable":                                                                                       false,
		"a.b is not a function": false,
	} {
		if got := ofHandle(&bridge.ScriptError{Name: "TypeError", Message: message}, true) != ""; got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
	if ofHandle(nil, true) != "" || ofHandle(&bridge.ScriptError{Name: "TypeError", Message: "not Handle"}, false) != "" ||
		ofHandle(&bridge.ScriptError{Name: "KeyError", Message: "Handle"}, true) != "" {
		t.Error("without an error, without a handle, or of another kind")
	}
}
