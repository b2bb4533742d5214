// Package message checks a server's JSON-RPC messages for both transports.
package message

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Max bounds one message, in bytes.
const Max = 96 << 20

// Check returns an error if the text is not one JSON-RPC message. The error does not quote the text, because requests
// of other callers may fail with it.
func Check(text []byte) *jsonrpc.Error {
	if _, err := jsonrpc.DecodeMessage(text); err == nil {
		return nil
	}
	return Malformed(text)
}

// Malformed returns what is wrong with a text that cannot be decoded as a message.
func Malformed(text []byte) *jsonrpc.Error {
	problem := "it is not a JSON-RPC 2.0 message"
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		problem = err.Error()
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the server sent a malformed message: " + problem}
}
