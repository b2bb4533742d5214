package audit

import (
	"encoding/json"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Clip returns a JSON value for a body, or as a JSON string its beginning if it is longer than most bytes.
func Clip(value json.RawMessage, most int) json.RawMessage {
	if len(value) <= most {
		return value
	}
	text, err := json.Marshal(ident.Clip(strings.ToValidUTF8(string(value), "\uFFFD"), most))
	if err != nil {
		return nil // a string cannot fail
	}
	return text
}
