// Package message is what both transports share about JSON-RPC messages of a server.
package message

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Max bounds one message, in bytes.
const Max = 96 << 20

// Check returns what is wrong with a text that is not one JSON-RPC message, nil if it is one. The error does not quote
// the text: the requests of others may fail with it.
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
