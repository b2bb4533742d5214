package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// asRead is what encoding/json makes of a value, with numbers as written.
func asRead(t *testing.T, raw []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func checkParse(t *testing.T, raw []byte) {
	t.Helper()
	v, err := Parse(raw, Limits{Depth: 1000, Nodes: 1 << 20})
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	if got, want := v.Plain(), asRead(t, raw); !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %#v, want %#v", raw, got, want)
	}
}

func TestParse(t *testing.T) {
	many := make([]string, 24)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":%d`, i%16, i)
	}
	for _, raw := range []string{
		`null`, ` true `, "\n\tfalse\r", `0`, `-0.5e+10`, `123456789012345678901234567890`, `""`, `"a"`, `[]`, `{}`, ` [ ] `, `{ }`, `[[],[ ],{}]`,
		`"\""`, `"\\"`, `"\\\""`, `"a\\"`, `["\\","\"",""]`, `{"\"":"\\","\\":"\""}`, `"\u00e9\ud83d\ude00 é😀"`, `"\ud800"`, "\"\xff\"", `"\/\b\f\n\r\t"`,
		`{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":2}`, "{" + strings.Join(many, " , ") + "}", `[1,2,3 , 4]`, `{"a" : [1 , {"b":null}] }`, `[-1,1e5,1E-5]`, `[1]`, `{"a":-1}`,
		strings.Repeat("[", 900) + strings.Repeat("]", 900),
	} {
		checkParse(t, []byte(raw))
	}
	if v, err := Parse([]byte(`{"b":1,"a":2,"b":3}`), Limits{}); err != nil || string(v.AppendJSON(nil)) != `{"b":3,"a":2}` {
		t.Errorf("order: %s %v", v.AppendJSON(nil), err)
	}
	separators := `{"a":"\u2028 \u2029 <&>"}`
	if v, err := Parse([]byte(separators), Limits{}); err != nil || string(v.AppendJSON(nil)) != separators {
		t.Errorf("AppendJSON() = %s, %v, want %s", v.AppendJSON(nil), err, separators)
	}
	for _, raw := range []string{``, ` `, `1 2`, `{"a":1,}`, `[1 2]`, `"a`, `{"a" 1}`, `nul`, "\"\n\"", `01`} {
		if v, err := Parse([]byte(raw), Limits{}); err == nil {
			t.Errorf("%q: %s: got no error, want an error", raw, v.AppendJSON(nil))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\u00e9\\",null,{"b":-1.5e3}],"a":"\"" }`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := Parse(raw, Limits{Depth: 1000, Nodes: 1 << 20}); err == nil {
			checkParse(t, raw)
		}
	})
}
