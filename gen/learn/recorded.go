package learn

import "encoding/json"

// Recorded replaces what mcprun recorded of a run (--record) by the answers of one tool, as [ReadReply] knows them; other
// replies stay as they are. seen tells whether there was a recording.
func Recorded(replies []json.RawMessage, tool string) (out []json.RawMessage, seen bool) {
	inside := false
	for _, raw := range replies {
		var line struct {
			Kind  string          `json:"mcprun"`
			Call  int             `json:"call"`
			Tool  string          `json:"tool"`
			Raw   bool            `json:"raw"`
			As    string          `json:"as"`
			Value json.RawMessage `json:"value"`
			Error *struct {
				Kind string `json:"kind"`
			} `json:"error"`
		}
		known := json.Unmarshal(raw, &line) == nil
		switch {
		case known && line.Kind == "recording":
			inside, seen = true, true
			continue
		case !inside || !known || line.Call == 0 || line.Tool == "":
			inside = false
			out = append(out, raw)
			continue
		case line.Tool != tool:
			continue
		}
		switch {
		case line.Error != nil:
			if line.Error.Kind == "tool" {
				out = append(out, json.RawMessage(`{"content":[],"isError":true}`))
			}
		case line.Raw:
			out = append(out, line.Value)
		case line.As == "content":
			out = append(out, joined(`{"content":`, line.Value, `}`))
		case len(line.Value) > 0 && line.Value[0] == '"':
			out = append(out, joined(`{"content":[{"type":"text","text":`, line.Value, `}]}`))
		default:
			out = append(out, joined(`{"structuredContent":`, line.Value, `}`))
		}
	}
	return out, seen
}

func joined(before string, value json.RawMessage, after string) json.RawMessage {
	return append(append([]byte(before), value...), after...)
}
