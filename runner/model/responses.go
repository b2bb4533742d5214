package model

import "encoding/json"

// responses is OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses).
type responses struct{}

func (responses) path() []string { return []string{"responses"} }

func (responses) body(model string, r *Request, limit int, _ bool) any {
	return struct {
		Model     string `json:"model"`
		System    string `json:"instructions,omitempty"`
		Input     []text `json:"input"`
		MaxTokens int    `json:"max_output_tokens"`
		Store     bool   `json:"store"` // the service keeps nothing
		Stream    bool   `json:"stream,omitempty"`
	}{Model: model, System: r.System, Input: texts(r.Messages), MaxTokens: limit, Stream: r.Stream != nil}
}

// result is an answer.
type result struct {
	Model, Status string
	Incomplete    struct{ Reason string } `json:"incomplete_details"`
	Output        []struct {
		Type    string
		Content []struct{ Type, Text, Refusal string }
	}
	Usage struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	}
	Error *serviceError
}

// take reads an answer without its text.
func (r *result) take(into *reading) error {
	into.Model, into.Usage.Input, into.Usage.Output = r.Model, r.Usage.Input, r.Usage.Output
	switch {
	case r.Error != nil:
		return r.Error.in(into)
	case r.Status == "failed":
		return into.failed("server_error", "")
	case r.Incomplete.Reason == "content_filter":
		into.Stop = StopRefusal
	case r.Status == "incomplete":
		into.Stop = StopLength
	case r.Status == "completed":
		into.Stop = StopEnd
	}
	for _, item := range r.Output {
		for _, part := range item.Content {
			if part.Type == "refusal" {
				into.Stop = StopRefusal
			}
		}
	}
	return nil
}

func (responses) answer(data []byte, into *reading) error {
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		return into.malformed(data, err)
	}
	for _, item := range r.Output {
		for _, part := range item.Content {
			into.text.WriteString(part.Text + part.Refusal)
		}
	}
	return r.take(into)
}

func (responses) event(data []byte, into *reading) error {
	var e struct {
		Type, Delta string
		Response    result
		serviceError
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return into.malformed(data, err)
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		into.say(e.Delta)
	case "response.completed", "response.incomplete", "response.failed":
		into.ended = true
		return e.Response.take(into)
	case "error":
		return e.in(into)
	}
	return nil
}
