package validate

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseArguments(t *testing.T) {
	const input = `{"properties":{"id":{"type":"string"},"n":{"type":"integer"},"on":{"type":"boolean"},"tags":{"type":"array"},
		"filter":{"anyOf":[{"type":"object"},{"type":"null"}]},"either":{"type":["string","number"]},"free":{}}}`
	for _, tt := range []struct{ base, pairs, want string }{
		{``, ``, `{}`},
		{`{"id":"a", "x":9007199254740993}`, ``, `{"id":"a", "x":9007199254740993}`},
		{``, `id=5 n=5 on=true`, `{"id":"5","n":5,"on":true}`},
		{``, `id=true n=five`, `{"id":"true","n":"five"}`},
		{``, `tags=["a"] filter={"a":1}`, `{"filter":{"a":1},"tags":["a"]}`},
		{``, `filter=null either=5 free=5`, `{"either":5,"filter":null,"free":5}`},
		{``, `either="5" free=x other=a=b`, `{"either":"\"5\"","free":"x","other":"a=b"}`},
		{`{"id":"a","n":1}`, `n=2 id:="c"`, `{"id":"c","n":2}`},
		{``, `n=9007199254740993`, `{"n":9007199254740993}`},
		{``, `id=`, `{"id":""}`},
		{``, `ID=5 I-D=6 Tags=["a"]`, `{"I-D":"6","ID":"5","Tags":["a"]}`}, // another style has the property's type too
	} {
		got, err := ParseArguments(json.RawMessage(input), json.RawMessage(tt.base), strings.Fields(tt.pairs))
		if err != nil || string(got) != tt.want {
			t.Errorf("ParseArguments(%s, %s) = %s, %v, want %s", tt.base, tt.pairs, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ base, pair, want string }{
		{``, `id`, "NAME=VALUE"}, {``, `=x`, "NAME=VALUE"}, {``, `n:=x`, "not followed by JSON"}, {`[1]`, ``, "one JSON object"}, {`null`, `n=1`, "one JSON object"}, {`{`, ``, "one JSON object"},
	} {
		if _, err := ParseArguments(json.RawMessage(input), json.RawMessage(tt.base), strings.Fields(tt.pair)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseArguments(%s, %s): error %v, want %q", tt.base, tt.pair, err, tt.want)
		}
	}
}
