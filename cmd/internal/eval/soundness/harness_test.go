package soundness

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// judgement is the harness's verdict on one hand-written module.
type judgement struct {
	name, source             string
	compile, rejected, loose int
}

// trial is a case of {"a": string}, closed.
func trial(name string) *Case {
	return &Case{Source: "trial", Name: name,
		Accept: []json.RawMessage{json.RawMessage(`{"a": "x"}`), json.RawMessage(`{"a": ""}`)},
		Refuse: []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{"a": 1}`), json.RawMessage(`{"a": "x", "b": 1}`)}}
}

func modulesOf(tests []judgement) []*Module {
	var modules []*Module
	for _, tt := range tests {
		modules = append(modules, &Module{Case: trial(tt.name), Source: []byte(tt.source), Type: TypeName})
	}
	return modules
}

func compare(t *testing.T, checker string, tests []judgement, verdicts []*Verdict) {
	t.Helper()
	for i, tt := range tests {
		v := verdicts[i]
		if min(len(v.Compile), 1) != tt.compile || len(v.Rejected) != tt.rejected || len(v.Loose) != tt.loose {
			t.Errorf("%s: %s: %d complaints, %d rejected, %d loose; want %d, %d, %d\n%s", checker, tt.name,
				len(v.Compile), len(v.Rejected), len(v.Loose), tt.compile, tt.rejected, tt.loose, v.Describe())
		}
	}
}

// TestWrongTypeScriptIsSeen checks that the harness itself can fail, and that one broken module does not hide errors in the others.
func TestWrongTypeScriptIsSeen(t *testing.T) {
	tests := []judgement{
		{"right", "export type T = { a: string };\n", 0, 0, 0},
		{"too wide", "export type T = { a?: unknown; [key: string]: unknown };\n", 0, 0, 3},
		{"too narrow", "export type T = { a: \"x\" };\n", 0, 1, 0},
		{"unknown name", "export type T = { a: Strin };\n", 1, 0, 1},
		{"no syntax", "export type T = { a: string;;; } }\n", 1, 0, 3},
		{"not exported", "type T = { a: string };\nexport {};\n", 1, 0, 3},
	}
	verdicts, err := CheckTypeScript(t.Context(), Tools{TSC: npmTool(t, "tsc")}, t.TempDir(), modulesOf(tests))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "tsc", tests, verdicts)
}

// TestWrongPythonIsSeen is the same for both checkers of Python.
func TestWrongPythonIsSeen(t *testing.T) {
	const typing = "from typing import Any, Literal, Mapping, TypedDict\n\n"
	tests := []judgement{
		{"right", "from typing import TypedDict\n\n\nclass T(TypedDict):\n    a: str\n", 0, 0, 0},
		{"too wide", "from typing import Any, Mapping\n\nT = Mapping[str, Any]\n", 0, 0, 3},
		{"too narrow", "from typing import Literal, TypedDict\n\n\nclass T(TypedDict):\n    a: Literal[\"x\"]\n", 0, 1, 0},
		{"no syntax", typing + "class T(TypedDict:\n    a: str\n", 1, 0, 3},
	}
	modules := modulesOf(tests)
	byPyright, byMypy, err := CheckPython(t.Context(), Tools{Pyright: npmTool(t, "pyright"), Mypy: mypy(t)}, t.TempDir(), modules)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "mypy", tests, byMypy)
	// pyright continues after code that it cannot parse, so its findings about the values do not matter.
	compare(t, "pyright", tests[:3], byPyright[:3])
	if len(byPyright[3].Compile) == 0 {
		t.Error("pyright: no complaint about what is no Python")
	}
}

func TestCrashesAreCounted(t *testing.T) {
	var s Score
	s.Add(&Verdict{Module: &Module{Case: trial("crash"), Crash: "panic"}})
	if s.Crashes != 1 || s.Sound != 0 || s.Exact != 0 {
		t.Errorf("a crash counts as %+v, want Crashes 1, Sound 0 and Exact 0", s)
	}
}

// TestFill checks that the important values are generated, and that the validator agrees about all values.
func TestFill(t *testing.T) {
	c := &Case{Source: "trial", Name: "fill", Schema: json.RawMessage(`{
		"$defs": {"node": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}, "n": {"type": ["integer", "null"]}}}},
		"type": "object", "required": ["mode", "id"], "additionalProperties": false,
		"properties": {
			"mode": {"enum": ["fast", "slow"]}, "id": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}, "limit": {"type": "integer", "minimum": 5, "maximum": 9},
			"tree": {"$ref": "#/$defs/node"}, "when": {"type": "string", "format": "date"},
			"either": {"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "number"}}, "required": ["kind", "x"]}, {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}]},
			"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": false, "minItems": 2}
		}}`)}
	if err := Fill(c); err != nil {
		t.Fatal(err)
	}
	v, err := validate.Compile(c.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range c.Accept {
		if err := v.Validate(value); err != nil {
			t.Errorf("%s is accepted, but %v", value, err)
		}
	}
	for _, value := range slices.Concat(c.Refuse, c.RefuseTS) {
		if v.Validate(value) == nil {
			t.Errorf("%s is refused, but fits", value)
		}
	}
	accepted := string(joined(c.Accept))
	for _, part := range []string{`"mode":"fast"`, `"mode":"slow"`, `"limit":5`, `"limit":9`, `"kids":[]`, `"n":null`, `"kind":"a"`, `"kind":"b"`, `"pair":["`, `"when":"20`} {
		if !strings.Contains(accepted, part) {
			t.Errorf("no accepted value has %s", part)
		}
	}
	var ways []string
	for _, value := range slices.Concat(c.Refuse, c.RefuseTS) {
		ways = append(ways, c.Ways[string(value)])
	}
	for _, way := range []string{" missing mode", " missing id", " extra null", "/mode unlisted", "/mode null", "/id null", "/limit string", "/pair longer", "/pair shorter",
		"/pair/1 string", "/tree string", "/tree/kids/* string", "/tree/n string", "/either/kind unlisted"} {
		if !slices.ContainsFunc(ways, func(w string) bool { return strings.Contains(withoutShapes(w), way) }) {
			t.Errorf("nothing is refused for %q; there is %q", way, ways)
		}
	}
	if slices.ContainsFunc(c.Refuse, func(v json.RawMessage) bool { return strings.Contains(string(v), `"limit":true`) }) {
		t.Error("a boolean for a number is something that Python ought to refuse")
	}
}

// withoutShapes cuts out which properties an object of a union had.
func withoutShapes(way string) string {
	for {
		start, end := strings.Index(way, "{"), strings.Index(way, "}")
		if start < 0 || end < start {
			return way
		}
		way = way[:start] + way[end+1:]
	}
}

func joined(values []json.RawMessage) json.RawMessage {
	var out json.RawMessage
	for _, v := range values {
		out = append(append(out, v...), '\n')
	}
	return out
}

func TestLiterals(t *testing.T) {
	for _, tt := range []struct{ value, ts, py string }{
		{`{"b": null, "a": [true, false]}`, `{"a": [true, false], "b": null}`, `{"a": [True, False], "b": None}`},
		{`1.0`, `1.0`, `1`},
		{`-2.50`, `-2.50`, `-2.50`},
		{`1e3`, `1e3`, `1000`},
		{`12345678901234567890`, `12345678901234567890`, `12345678901234567890`},
		{`"\"\\\n\u2028\ud83d\ude00é"`, `"\"\\\u000a\u2028\ud83d\ude00\u00e9"`, `"\"\\\x0a\u2028😀é"`},
	} {
		ts, err1 := typeScript().literal(json.RawMessage(tt.value))
		py, err2 := python().literal(json.RawMessage(tt.value))
		if ts != tt.ts || py != tt.py || err1 != nil || err2 != nil {
			t.Errorf("%s: %s and %s; want %s and %s (%v, %v)", tt.value, ts, py, tt.ts, tt.py, err1, err2)
		}
	}
}

func TestRandomIsTheSameEachTime(t *testing.T) {
	a, b := Random(20, 3), Random(20, 3)
	for i := range a {
		if string(a[i].Schema) != string(b[i].Schema) || string(joined(a[i].Accept)) != string(joined(b[i].Accept)) {
			t.Fatalf("case %d differs", i)
		}
	}
}
