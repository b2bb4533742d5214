package learn

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestReadReply(t *testing.T) {
	tests := []struct {
		name, raw, want string
		text            bool
	}{
		{"structured", `{"structuredContent":{"n":9007199254740993},"content":[{"type":"text","text":"x"}]}`, `{"n":9007199254740993}`, false},
		{"structured null is none", `{"structuredContent":null,"content":[{"type":"text","text":"x"}]}`, `"x"`, false},
		{"text", `{"content":[{"type":"text","text":"hello"}]}`, `"hello"`, false},
		{"an object as text", `{"content":[{"type":"text","text":" {\"a\":1}\n"}]}`, `{"a":1}`, true},
		{"a list as text", `{"content":[{"type":"text","text":"[1,2]"}]}`, `[1,2]`, true},
		{"a number as text stays text", `{"content":[{"type":"text","text":"42"}]}`, `"42"`, false},
		{"broken JSON stays text", `{"content":[{"type":"text","text":"{a"}]}`, `"{a"`, false},
		{"two blocks", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, false},
		{"no block", `{"content":[]}`, `[]`, false},
		{"a value", `{"a":1}`, `{"a":1}`, false},
		{"a value with content of its own", `{"content":["x"]}`, `{"content":["x"]}`, false},
		{"a list", `[1]`, `[1]`, false},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":1}"}]}}`, `{"a":1}`, true},
		{"a value with a result of its own", `{"result":{"content":[]}}`, `{"result":{"content":[]}}`, false},
		{"blocks in a list, not in content", `[{"type":"text","text":"x"}]`, `[{"type":"text","text":"x"}]`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadReply(json.RawMessage(tt.raw))
			if err != nil || string(got.Value) != tt.want || got.Text != tt.text {
				t.Errorf("%s %v %v, want %v, %v and no error", got.Value, got.Text, err, tt.want, tt.text)
			}
		})
	}
	for _, failed := range []string{`{"content":[{"type":"text","text":"no"}],"isError":true}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`} {
		if _, err := ReadReply(json.RawMessage(failed)); !errors.Is(err, ErrFailed) {
			t.Errorf("an error is learned from: %v, want %v", err, ErrFailed)
		}
	}
	if _, err := ReadReply(json.RawMessage(`{`)); err == nil {
		t.Error("broken JSON is taken for a reply: got no error, want an error")
	}
}
