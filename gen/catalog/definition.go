package catalog

import (
	"encoding/json"
	"strings"
)

// Definition is the tool as a model is told of it when tools are handed over whole: id, description and input schema,
// as JSON. What a definition holds besides, the output schema above all, does not reach a model.
func (t *Tool) Definition() string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Input       json.RawMessage `json:"input_schema"`
	}{t.ID, t.Description, t.Input})
	if err != nil {
		return string(t.Raw)
	}
	return text.String()
}
