package schema

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
	v, err := parse(raw, size{depth: 1000, nodes: 1 << 20})
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	if got, want := plain(v), asRead(t, raw); !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %#v, want %#v", raw, got, want)
	}
}

func TestParse(t *testing.T) {
	many := make([]string, 3*fewMembers)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":%d`, i%(2*fewMembers), i)
	}
	for _, raw := range []string{
		`null`, ` true `, "\n\tfalse\r", `0`, `-0.5e+10`, `123456789012345678901234567890`, `""`, `"a"`, `[]`, `{}`, ` [ ] `, `{ }`, `[[],[ ],{}]`,
		`"\""`, `"\\"`, `"\\\""`, `"a\\"`, `["\\","\"",""]`, `{"\"":"\\","\\":"\""}`, `"\u00e9\ud83d\ude00 é😀"`, `"\ud800"`, "\"\xff\"", `"\/\b\f\n\r\t"`,
		`{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":2}`, "{" + strings.Join(many, " , ") + "}", `[1,2,3 , 4]`, `{"a" : [1 , {"b":null}] }`, `[-1,1e5,1E-5]`, `[1]`, `{"a":-1}`,
		strings.Repeat("[", 900) + strings.Repeat("]", 900),
	} {
		checkParse(t, []byte(raw))
	}
	if v, err := parse([]byte(`{"b":1,"a":2,"b":3}`), size{}); err != nil || string(v.appendJSON(nil)) != `{"b":3,"a":2}` {
		t.Errorf("order: %s %v", v.appendJSON(nil), err)
	}
	for _, raw := range []string{``, ` `, `1 2`, `{"a":1,}`, `[1 2]`, `"a`, `{"a" 1}`, `nul`, "\"\n\"", `01`} {
		if v, err := parse([]byte(raw), size{}); err == nil {
			t.Errorf("%q: %s", raw, v.appendJSON(nil))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\u00e9\\",null,{"b":-1.5e3}],"a":"\"" }`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := parse(raw, size{depth: 1000, nodes: 1 << 20}); err == nil {
			checkParse(t, raw)
		}
	})
}
