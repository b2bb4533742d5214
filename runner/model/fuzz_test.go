package model

import (
	"bytes"
	"testing"
)

// FuzzAnswer checks that no answer, whole or streamed, stops the program, and that one without an error says why it ends.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		`{"type":"message","model":"m","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1}}`,
		`{"model":"m","choices":[{"message":{"content":"a","refusal":null},"finish_reason":"stop"}],"usage":null,"error":{"code":5}}`,
		`{"model":"m","status":"incomplete","incomplete_details":null,"output":[{"type":"message","content":[{"type":"refusal","refusal":"a"}]}]}`,
		"data: {\"type\":\"message_start\",\"message\":{\"usage\":{}}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}\r\n\r\ndata: {\"type\":\"message_stop\"}\n\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n",
		"event: x\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n",
		"data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n", "null", "[]", "data:", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range []protocol{messages{}, chat{}, responses{}} {
			for _, streamed := range []bool{false, true} {
				said := ""
				a := &reading{said: func(text string) { said += text }, quote: func(text string) string { return text }}
				read := a.whole
				if streamed {
					read = a.stream
				}
				if err := read(bytes.NewReader(data), p); err == nil && a.Stop == "" {
					t.Errorf("%T: an answer without a reason for its end, and without an error: %q", p, data)
				}
				if streamed && said != a.text.String() {
					t.Errorf("%T: streamed %q, want %q", p, said, a.text.String())
				}
			}
		}
	})
}
