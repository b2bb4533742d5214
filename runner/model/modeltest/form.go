package modeltest

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/model"
)

// protocol writes answers.
type protocol interface {
	whole(Answer) map[string]any
	stream(Answer) []map[string]any
}

// form returns the protocol of a path, or nil.
func form(path string) protocol {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return messages{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	}
	return nil
}

type object = map[string]any

// usage writes the tokens of an answer under the names of a protocol, or nothing.
func (a Answer) usage(input, output string) object {
	if a.Input < 0 {
		return nil
	}
	return object{input: a.Input, output: a.Output}
}

// pieces splits a text for a stream.
func (a Answer) pieces() []string {
	var out []string
	for text := a.Text; text != ""; {
		n := min(len(text), max(1, len(a.Text)/5))
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

// messages is https://platform.claude.com/docs/api/messages.
type messages struct{}

func (messages) reason(a Answer) string {
	return map[model.Stop]string{model.StopEnd: "end_turn", model.StopLength: "max_tokens", model.StopRefusal: "refusal"}[a.Stop]
}

func (m messages) whole(a Answer) object {
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": a.Model, "stop_reason": m.reason(a), "stop_sequence": nil,
		"content": []object{{"type": "thinking", "thinking": "The user wants an answer.", "signature": "x"}, {"type": "text", "text": a.Text}},
		"usage":   a.usage("input_tokens", "output_tokens"),
	}
}

func (m messages) stream(a Answer) []object {
	start := m.whole(a)
	start["content"], start["stop_reason"] = []object{}, nil
	usage := a.usage("input_tokens", "output_tokens")
	if usage != nil {
		start["usage"] = object{"input_tokens": a.Input, "output_tokens": 1}
	}
	out := []object{
		{"type": "message_start", "message": start},
		{"type": "content_block_start", "index": 0, "content_block": object{"type": "thinking", "thinking": ""}},
		{"type": "content_block_delta", "index": 0, "delta": object{"type": "thinking_delta", "thinking": "Hm."}},
		{"type": "content_block_stop", "index": 0},
		{"type": "ping"},
		{"type": "content_block_start", "index": 1, "content_block": object{"type": "text", "text": ""}},
	}
	for _, text := range a.pieces() {
		out = append(out, object{"type": "content_block_delta", "index": 1, "delta": object{"type": "text_delta", "text": text}})
	}
	end := object{"type": "message_delta", "delta": object{"stop_reason": m.reason(a), "stop_sequence": nil}}
	if usage != nil {
		end["usage"] = object{"output_tokens": a.Output}
	}
	return append(out, object{"type": "content_block_stop", "index": 1}, end, object{"type": "message_stop"})
}

// chat is https://platform.openai.com/docs/api-reference/chat.
type chat struct{}

// choice returns a choice with a text in a member of it.
func (chat) choice(member, text, stop string, refused bool) object {
	content := object{"role": "assistant", "content": text, "refusal": nil}
	if refused {
		content["content"], content["refusal"] = nil, text
	}
	out := object{"index": 0, member: content, "finish_reason": nil, "logprobs": nil}
	if stop != "" {
		out["finish_reason"] = stop
	}
	return out
}

func (chat) reason(a Answer) string {
	return map[model.Stop]string{model.StopEnd: "stop", model.StopLength: "length", model.StopRefusal: "stop"}[a.Stop]
}

func (c chat) whole(a Answer) object {
	return object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": a.Model,
		"choices": []object{c.choice("message", a.Text, c.reason(a), a.Stop == model.StopRefusal)}, "usage": a.usage("prompt_tokens", "completion_tokens"),
	}
}

func (c chat) stream(a Answer) []object {
	chunk := func(choices []object, usage object) object {
		return object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": a.Model, "choices": choices, "usage": usage}
	}
	out := []object{chunk([]object{}, nil)} // Azure's first one has results of filters
	for _, text := range a.pieces() {
		out = append(out, chunk([]object{c.choice("delta", text, "", a.Stop == model.StopRefusal)}, nil))
	}
	out = append(out, chunk([]object{{"index": 0, "delta": object{}, "finish_reason": c.reason(a)}}, nil))
	return append(out, chunk([]object{}, a.usage("prompt_tokens", "completion_tokens")))
}

// responses is https://platform.openai.com/docs/api-reference/responses.
type responses struct{}

func (responses) whole(a Answer) object {
	part := object{"type": "output_text", "text": a.Text, "annotations": []any{}}
	if a.Stop == model.StopRefusal {
		part = object{"type": "refusal", "refusal": a.Text}
	}
	out := object{
		"id": "resp_1", "object": "response", "status": "completed", "model": a.Model, "error": nil, "incomplete_details": nil,
		"output": []object{
			{"type": "reasoning", "id": "rs_1", "summary": []any{}},
			{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []object{part}},
		},
		"usage": a.usage("input_tokens", "output_tokens"),
	}
	if a.Stop == model.StopLength {
		out["status"], out["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	return out
}

func (r responses) stream(a Answer) []object {
	out := []object{
		{"type": "response.created", "response": object{"id": "resp_1", "status": "in_progress", "model": a.Model}},
		{"type": "response.in_progress", "response": object{"id": "resp_1", "status": "in_progress", "model": a.Model}},
	}
	kind := "response.output_text.delta"
	if a.Stop == model.StopRefusal {
		kind = "response.refusal.delta"
	}
	for _, text := range a.pieces() {
		out = append(out, object{"type": kind, "item_id": "msg_1", "output_index": 1, "content_index": 0, "delta": text})
	}
	end := r.whole(a)
	return append(out, object{"type": "response." + end["status"].(string), "response": end})
}
