package model

import "encoding/json"

// messages is Anthropic's Messages API (https://platform.claude.com/docs/api/messages).
type messages struct{}

func (messages) path() []string { return []string{"v1", "messages"} }

// text is a message, as all protocols write it.
type text struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
}

// texts returns messages as all protocols write them.
func texts(all []Message) []text {
	out := make([]text, len(all))
	for i, m := range all {
		out[i] = text{m.Role, m.Text}
	}
	return out
}

func (messages) body(model string, r *Request, limit int, _ bool) any {
	return struct {
		Model     string `json:"model"`
		System    string `json:"system,omitempty"`
		Messages  []text `json:"messages"`
		MaxTokens int    `json:"max_tokens"`
		Stream    bool   `json:"stream,omitempty"`
	}{model, r.System, texts(r.Messages), limit, r.Stream != nil}
}

// message is an answer, or a part of one.
type message struct {
	Type    string
	Model   string
	Content []struct{ Type, Text string }
	Stop    string `json:"stop_reason"`
	Usage   messageUsage
	Error   struct{ Type, Message string }
}

type messageUsage struct {
	Input   int64 `json:"input_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

// take reads what an answer and a stream have alike.
func (a *reading) take(m *message) {
	if m.Model != "" {
		a.Model = m.Model
	}
	if in := m.Usage.Input + m.Usage.Written + m.Usage.Read; in > 0 {
		a.Usage.Input = in
	}
	if m.Usage.Output > 0 { // the last one of a stream counts
		a.Usage.Output = m.Usage.Output
	}
	switch m.Stop {
	case "":
	case "max_tokens", "model_context_window_exceeded":
		a.Stop = StopLength
	case "refusal":
		a.Stop = StopRefusal
	default:
		a.Stop = StopEnd
	}
}

func (messages) answer(data []byte, into *reading) error {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return into.malformed(data, err)
	}
	if m.Type == "error" {
		return into.failed(m.Error.Type, m.Error.Message)
	}
	into.take(&m)
	for _, block := range m.Content {
		if block.Type == "text" { // others are the model's thoughts
			into.text.WriteString(block.Text)
		}
	}
	return nil
}

func (messages) event(data []byte, into *reading) error {
	var e struct {
		Type    string
		Message message
		Delta   struct {
			Type, Text string
			Stop       string `json:"stop_reason"`
		}
		Usage messageUsage
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return into.malformed(data, err)
	}
	switch e.Type {
	case "message_start":
		into.take(&e.Message)
	case "content_block_delta":
		if e.Delta.Type == "text_delta" {
			into.say(e.Delta.Text)
		}
	case "message_delta":
		into.take(&message{Stop: e.Delta.Stop, Usage: e.Usage})
	case "message_stop":
		into.ended = true
	case "error":
		return into.failed(e.Error.Type, e.Error.Message)
	}
	return nil
}
