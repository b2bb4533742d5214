package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func Example() {
	e, err := Compile("data.first + ' ' + data.last.upperAscii()", "data")
	if err != nil {
		panic(err)
	}
	data, err := Decode([]byte(`{"first":"Ann","last":"Lee"}`))
	if err != nil {
		panic(err)
	}
	out, err := e.Eval(map[string]any{"data": data})
	fmt.Println(string(out), err)
	// Output: "Ann LEE" <nil>
}

func TestEval(t *testing.T) {
	const data = `{"n":1e3,"big":9007199254740993,"f":1.5,"text":"a","list":[{"x":1},{"x":2}],"no":null}`
	for text, want := range map[string]string{
		"data.n": "1000", "data.big": "9007199254740993", "data.f * 2.0": "3", "data.list.map(e, e.x + 1)": "[2,3]", "data.no": "null",
		"{'b': data.text, 'a': true}": `{"a":true,"b":"a"}`, "data.?lacks.orValue('x')": `"x"`, "data.n > 999.5": "true",
		"timestamp('2026-12-31T00:00:00Z')": `"2026-12-31T00:00:00Z"`, "duration('90s')": `"1m30s"`,
	} {
		got, err := evaluate(t, text, data)
		if err != nil || string(got) != want {
			t.Errorf("%s = %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"data.lacks", "data.?lacks", "data.list[0].lacks"} {
		if got, err := evaluate(t, text, data); !errors.Is(err, ErrNoValue) {
			t.Errorf("%s = %s, %v, want ErrNoValue", text, got, err)
		}
	}
	for _, text := range []string{"data.list[9]", "data.text + 1", "int(data.text)", "double('NaN')"} {
		if got, err := evaluate(t, text, data); err == nil || errors.Is(err, ErrNoValue) {
			t.Errorf("%s = %s, %v, want another error", text, got, err)
		}
	}
}

// TestCost checks that hostile data cannot make an evaluation take long.
func TestCost(t *testing.T) {
	list := "[" + strings.Repeat("1,", 2000) + "1]"
	if _, err := evaluate(t, "data.all(a, data.all(b, a == b))", list); err == nil || !strings.Contains(err.Error(), "cost") {
		t.Errorf("error %v, want the limit of the cost", err)
	}
}

func TestCompileErrors(t *testing.T) {
	for text, want := range map[string]SyntaxError{
		"1 + ":                           {0, 4, "end of the expression"},
		"1 +\n other":                    {1, 1, "undeclared reference to 'other'"},
		strings.Repeat("a", MaxLength+1): {0, 0, "size exceeds"},
	} {
		_, err := Compile(text, "data")
		got, ok := errors.AsType[*SyntaxError](err)
		if !ok || got.Line != want.Line || got.Column != want.Column || !strings.Contains(got.Problem, want.Problem) {
			t.Errorf("Compile(%.20q): %+v, want %+v", text, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, bad := range []string{`{"a":1,"a":2}`, `{`, ``, `{} {}`} {
		if got, err := Decode([]byte(bad)); err == nil {
			t.Errorf("Decode(%s) = %v, want an error", bad, got)
		}
	}
}

func TestBraced(t *testing.T) {
	for text, want := range map[string]string{"${data.x}": "data.x", " ${ {'a': 1} } ": " {'a': 1} "} {
		if got, ok := Braced(text); !ok || got != want {
			t.Errorf("Braced(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"data.x", "$ {x}", "a ${x}", "${x", ""} {
		if got, ok := Braced(text); ok {
			t.Errorf("Braced(%q) = %q, want no expression", text, got)
		}
	}
}

func evaluate(t *testing.T, text, raw string) ([]byte, error) {
	t.Helper()
	e, err := Compile(text, "data")
	if err != nil {
		t.Fatalf("Compile(%s): %v", text, err)
	}
	data, err := Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return e.Eval(map[string]any{"data": data})
}
