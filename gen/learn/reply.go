package learn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Reply is the part of a tool's answer that a script receives.
type Reply struct {
	// Value is structuredContent, or else a single text as a JSON string, or else the list of content blocks. If Text is
	// true, it is the JSON in the text.
	Value json.RawMessage
	// Text is true if the value was an object or a list, written as JSON in a single text.
	Text bool
	// Masked is true if tokens replace personal data and secrets, as in a recording. A text that is a token may have been a
	// value of any type, and names with a token are data.
	Masked bool
}

// ErrFailed means that the tool reported an error. Nothing is learned from such an answer. [ReadReply] adds the message of
// the tool.
var ErrFailed = errors.New("the tool reported an error")

// maxQuoted is how much of a tool's error message is quoted, in bytes.
const maxQuoted = 300

func failed(said string) error {
	said = ident.Clip(strings.Join(strings.Fields(said), " "), maxQuoted)
	if said == "" {
		return ErrFailed
	}
	return fmt.Errorf("%w: %q", ErrFailed, said)
}

// ReadReply reads an answer: a CallToolResult (MCP 2025-06-18, "Tool result"), a JSON-RPC response with one, or any other
// JSON value, which is then the value of the reply.
func ReadReply(raw json.RawMessage) (Reply, error) {
	if !json.Valid(raw) {
		return Reply{}, errors.New("not valid JSON")
	}
	var response struct {
		Version string          `json:"jsonrpc"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &response) == nil && response.Version == "2.0" {
		switch {
		case response.Result != nil:
			raw = response.Result
		case response.Error != nil:
			return Reply{}, failed(string(response.Error))
		}
	}
	var result struct {
		Structured json.RawMessage   `json:"structuredContent"`
		Content    []json.RawMessage `json:"content"`
		IsError    bool              `json:"isError"`
	}
	if json.Unmarshal(raw, &result) != nil || result.Structured == nil && !areBlocks(result.Content) {
		return Reply{Value: raw}, nil
	}
	switch {
	case result.IsError:
		var texts []string
		for _, block := range result.Content {
			if text, ok := textOf(block); ok {
				texts = append(texts, text)
			}
		}
		return Reply{}, failed(strings.Join(texts, " "))
	case result.Structured != nil && string(bytes.TrimSpace(result.Structured)) != "null":
		return Reply{Value: result.Structured}, nil
	case len(result.Content) == 1:
		if text, ok := textOf(result.Content[0]); ok {
			return readText(text)
		}
	}
	value, err := json.Marshal(append([]json.RawMessage{}, result.Content...))
	return Reply{Value: value}, err
}

// readText reads text as JSON if it is an object or a list, and otherwise as plain text.
func readText(text string) (Reply, error) {
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
		return Reply{Value: trimmed, Text: true}, nil
	}
	value, err := json.Marshal(text)
	return Reply{Value: value}, err
}

// areBlocks reports whether list consists of content blocks: objects with a type. An empty list does, nil does not.
func areBlocks(list []json.RawMessage) bool {
	for _, item := range list {
		var block struct {
			Type *string `json:"type"`
		}
		if json.Unmarshal(item, &block) != nil || block.Type == nil {
			return false
		}
	}
	return list != nil
}

func textOf(block json.RawMessage) (string, bool) {
	var b struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(block, &b) != nil || b.Type != "text" || b.Text == nil {
		return "", false
	}
	return *b.Text, true
}
