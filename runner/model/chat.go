package model

import "encoding/json"

// chat is OpenAI's Chat Completions API (https://platform.openai.com/docs/api-reference/chat), as many others have it.
type chat struct{}

func (chat) path() []string { return []string{"chat", "completions"} }

func (chat) body(model string, r *Request, limit int, older bool) any {
	list := texts(r.Messages)
	if r.System != "" {
		list = append([]text{{"system", r.System}}, list...)
	}
	body := map[string]any{"model": model, "messages": list, "max_completion_tokens": limit}
	if older { // before September 2024, and some compatible services
		delete(body, "max_completion_tokens")
		body["max_tokens"] = limit
	}
	if r.Stream != nil {
		body["stream"], body["stream_options"] = true, map[string]bool{"include_usage": true}
	}
	return body
}

// completion is an answer, or a part of a stream.
type completion struct {
	Model   string
	Choices []struct {
		Message, Delta struct{ Content, Refusal string }
		Stop           string `json:"finish_reason"`
	}
	Usage struct {
		Input  int64 `json:"prompt_tokens"`
		Output int64 `json:"completion_tokens"`
	}
	Error *serviceError
}

// serviceError is how OpenAI and Azure write a failure. Code is a text or a number.
type serviceError struct {
	Type, Message string
	Code          any
}

func (e *serviceError) in(a *reading) error {
	code, _ := e.Code.(string)
	return a.failed(e.Type+" "+code, e.Message)
}

// read reads what an answer and a stream have alike, and passes each text to add.
func (chat) read(data []byte, into *reading, add func(string)) error {
	var c completion
	if err := json.Unmarshal(data, &c); err != nil {
		return into.malformed(data, err)
	}
	if c.Error != nil {
		return c.Error.in(into)
	}
	if c.Model != "" {
		into.Model = c.Model
	}
	if c.Usage.Input > 0 {
		into.Usage.Input, into.Usage.Output = c.Usage.Input, c.Usage.Output
	}
	for _, choice := range c.Choices[:min(1, len(c.Choices))] {
		refusal := choice.Message.Refusal + choice.Delta.Refusal
		add(choice.Message.Content + choice.Delta.Content + refusal)
		switch {
		case refusal != "" || choice.Stop == "content_filter":
			into.Stop = StopRefusal
		case choice.Stop == "" || into.Stop == StopRefusal:
		case choice.Stop == "length":
			into.Stop = StopLength
		default:
			into.Stop = StopEnd
		}
	}
	return nil
}

func (p chat) answer(data []byte, into *reading) error {
	return p.read(data, into, func(text string) { into.text.WriteString(text) })
}

func (p chat) event(data []byte, into *reading) error { return p.read(data, into, into.say) }
