package document

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

func Example() {
	d, err := Read("greet.yaml", []byte(`
document: {dsl: 1.0.3, name: greet, version: 1.0.0}
do:
  - greet: {set: "Hello ${ input.name }, ${ input.name }!"}
  - done: {set: "${ tasks.gret }"}
`))
	if err != nil {
		panic(err)
	}
	_, err = d.Compile(context.Background(), &Options{})
	fmt.Println(err)
	// Output:
	// greet.yaml:5:26: there is no task "gret" before this one; did you mean tasks.greet?
}

// documents are all documents of the tests and the examples, by name.
func documents(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"testdata/*.yaml", "../../../examples/*.workflow.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(file)] = string(text)
		}
	}
	return out
}

// TestPublished runs workflows that are like ones that others have published.
func TestPublished(t *testing.T) {
	texts := documents(t)
	answer := func(tool string, args map[string]any) (string, error) {
		switch id := args["record_id"]; {
		case id == "gone":
			return "!", nil
		case tool == "get_record" && args["object_type"] == "Account":
			return `{"object_type": "Account", "id": "1", "record": {"Name": "Tatooine"}}`, nil
		case tool == "get_record":
			return `{"object_type": "Contact", "id": "1", "record": {"Name": "Luke", "AccountId": "001"}}`, nil
		case tool == "query_records":
			return `{"records": [], "total": 0, "next_offset": null}`, nil
		case tool == "create_record":
			return `{"id": "bet ` + args["data"].(map[string]any)["Name"].(string) + `", "object_type": "Lead", "fields": [], "last_modified_date": "2026-12-01T00:00:00Z"}`, nil
		}
		return `{"id": "1", "object_type": "Lead", "fields": [], "last_modified_date": "2026-12-01T00:00:00Z", "document_id": "x", "title": "x", "owner": "x", "labels": [], "created_at": "x", "updated_at": "x", "word_count": 1}`, nil
	}
	for _, test := range []struct{ file, input, want string }{
		{"homeworld.yaml", `{"id": "003"}`, `"Tatooine"`},
		{"not-found.yaml", `{"pet": "gone"}`, `"not bought: MCPToolError"`},
		{"not-found.yaml", `{"pet": "001"}`, `"bought"`},
		{"orders.yaml", `{"kind": "electronic"}`, `["paid","link"]`},
		{"orders.yaml", `{"kind": "physical"}`, `["packed","shipped"]`},
		{"alarm.yaml", `{}`, `{"records":[],"total":0,"next_offset":null}`},
		{"bets.yaml", `{"customer": {"age": 18, "name": "Ann"}, "bets": [{"amount": 5}, {"amount": 99}, {"amount": 100}, {"amount": 1}]}`, `["bet Bet 1 of Ann","bet Bet 2 of Ann"]`},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			if got := result(t, &servers{answer: answer}, compile(t, test.file, texts[test.file]), test.input); got != test.want {
				t.Errorf("%s: %s, want %s", test.input, got, test.want)
			}
		})
	}
	for file, want := range map[string]string{"bets.yaml": "Access forbidden", "orders.yaml": "Undefined kind: odd"} {
		t.Run(file+" fails", func(t *testing.T) {
			t.Parallel()
			res := run(t, &servers{answer: answer}, compile(t, file, texts[file]), `{"kind": "odd", "customer": {"age": 17}, "bets": [{"amount": 1}]}`, "*")
			if res.ExitCode == 0 || len(res.Calls) > 0 || !strings.Contains(res.Stderr, want) {
				t.Errorf("%s: exit code %d, %d calls, %s; want an error with %q and no call", file, res.ExitCode, len(res.Calls), res.Stderr, want)
			}
		})
	}
}

// TestTypes checks compiled scripts with tsc.
func TestTypes(t *testing.T) {
	t.Parallel()
	tsc, err := filepath.Abs("../../../testdata/npm/node_modules/.bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("../../../servers")
	if err != nil {
		t.Fatal(err)
	}
	find := func(name, text string) []check.Problem {
		c := compile(t, name, text)
		found, err := check.Run(t.Context(), script.Source{Name: c.Script(), Code: c.Code, Language: sandbox.LangTypeScript}, check.Options{
			Tree: dir, Places: check.Places{TSC: tsc}, Vars: map[string]json.RawMessage{"input": []byte("{}")},
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return found
	}
	for name, text := range documents(t) {
		for _, p := range find(name, text) {
			t.Errorf("%s: %s", name, p)
		}
	}
	for _, p := range find("hostile.yaml", hostileDocument(t)) {
		t.Errorf("hostile: %s", p)
	}
}

// hostileDocument has texts that try to leave their literals wherever a document has texts.
func hostileDocument(t testing.TB) string {
	t.Helper()
	const text = "\"; throw 1; // '`${throw 1}\u2028 \u202e*/ \\\" </script> ${ 'x' } __proto__"
	plain := strings.ReplaceAll(text, "${throw 1}", "$${throw 1}")
	raw, err := json.Marshal(map[string]any{
		"document": map[string]any{"dsl": "1.0.3", "name": "hostile", "version": "1.0.0", "title": text, "summary": text, "metadata": map[string]any{text: text}},
		"do": []any{
			map[string]any{"a\"; throw 2; //`${x}'": map[string]any{"set": map[string]any{"__proto__": 1, plain: plain, "constructor": "${ \"`;throw 1//\" + '\"}' }"}}},
			map[string]any{"*/ throw 3": map[string]any{"set": "${ output }", "if": "'\"; throw 4; //' != '`'"}},
			map[string]any{"then": map[string]any{"for": map[string]any{"in": []any{plain}, "each": "constructor", "at": "class"}, "do": []any{
				map[string]any{"eval": map[string]any{"set": map[string]any{"x": "${ constructor }", "y": "${ class }", "all": "${ output }"}}},
			}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestHostile checks that texts stay texts, in the script and in the graph.
func TestHostile(t *testing.T) {
	t.Parallel()
	c := compile(t, "hostile.json", hostileDocument(t))
	got := result(t, &servers{}, c, `{}`)
	var out struct {
		X   string
		Y   int
		All map[string]any
	}
	if err := json.Unmarshal([]byte(got), &out); err != nil || !strings.HasPrefix(out.X, "\"; throw 1; // '`${throw 1}\u2028 \u202e*/ \\\" </script> x __proto__") || out.All["constructor"] != "`;throw 1//\"}" || out.All["__proto__"] != 1.0 {
		t.Errorf("%v: %s", err, got)
	}
	if strings.ContainsAny(c.Code, "\u2028\u202e") {
		t.Error("the script has invisible characters")
	}
	d, err := Read("x.json", []byte(hostileDocument(t)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(d.Graph()) {
		if i, j := strings.Index(line, `"`), strings.LastIndex(line, `"`); strings.Count(line, `"`) > 2 || i >= 0 && strings.ContainsAny(strings.ReplaceAll(line[i+1:j], "<br/>", ""), "<>`{}[]&\"|") {
			t.Errorf("a text leaves its label: %s", line)
		}
	}
}

func TestGraph(t *testing.T) {
	d, err := Read("x.yaml", []byte(do("- s: {switch: [{a: {when: 'true', then: c}}, {b: {when: 'false', then: end}}]}\n- b: {for: {in: '[1]'}, do: [{d: {set: {}}}]}\n- c: {if: input.x, wait: 5s}\n")))
	if err != nil {
		t.Fatal(err)
	}
	const want = `flowchart TD
  start(["test"])
  t1{"s<br/>switch"}
  start --> t1
  t2[["b<br/>for each in #91;1#93;"]]
  t1 -->|"otherwise"| t2
  subgraph t2s["for"]
  t3["d<br/>set"]
  t2 -->|"each item"| t3
  end
  t3 --> t2
  t4(["c<br/>wait 5s"])
  t2 -->|"done"| t4
  t1 -->|"a"| t4
  finish([end])
  t4 -->|"not: input.x"| finish
  t4 --> finish
  t1 -->|"b"| finish
`
	if got := d.Graph(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestProblems checks that mistakes are found before anything runs, with line and column.
func TestProblems(t *testing.T) {
	tasks := tree(t)
	for text, want := range map[string]string{
		"- a: {call: crm.get_recrd, with: {}}":                                                                        `3:13: no tool "crm.get_recrd" in the tree; did you mean crm.get_record?`,
		"- a: {call: crm.get_record, with: {object_type: Leed, record_id: x}}":                                        "3:49: an argument of crm__get_record does not fit: object_type: expected one of",
		"- a: {call: crm.get_record, with: {object_type: Lead}}":                                                      "3:35: the argument record_id of crm__get_record is missing",
		"- a: {call: crm.get_record, with: {object_type: Lead, record_id: abc, fieldz: []}}":                          `3:71: crm__get_record has no argument "fieldz"; did you mean fields?`,
		"- a: {call: crm.get_record, with: {object_type: Lead, record_id: '${ 1 + 1 }'}}":                             "3:66: record_id of crm__get_record is string, and the expression gives integer",
		"- a: {call: crm.query_records, with: {object_type: Lead, filters: [{field: '${ input.f }', operator: is}]}}": `3:102: an argument of crm__query_records does not fit: filters[0].operator`,
		"- a: {set: '${ tasks.b }'}\n- b: {set: {}}":                                                                  "3:21: the task b comes later, on line 4",
		"- a: {set: {x: 1}}\n- b: {set: '${ tasks.a.y }'}":                                                            "4:23: the expression is wrong: undefined field 'y'",
		"- a: {set: '${ 1 + }'}":                        "3:20: the expression is wrong: syntax error: unexpected end of the expression",
		"- a: {set: '${ inpt.x }'}":                     "3:16: the expression is wrong: undeclared reference to 'inpt'",
		"- a:\n    set: |\n      text\n      ${ inpt }": "6:10: the expression is wrong: undeclared reference to 'inpt'",
		"- a: {if: '1 + 1', set: {}}":                   "3:11: the expression gives a whole number, not a boolean",
		"- a: {set: '${ input'}":                        "3:13: the ${ is not closed by a }",
		"- a: {set: {x: '${ 1 + .input.n }'}}":          "3:25: .input begins with a dot; an expression is CEL: write input without the dot",
		"- a: {if: .n > 1, set: {}}":                    "3:12: .n begins with a dot; an expression is CEL: write input.n, output.n or tasks.NAME.n",
		"- a: {set: {x: '${ .tasks.a }'}}":              "3:21: .tasks begins with a dot; an expression is CEL: write tasks without the dot",
		"- a: {try: [{b: {set: {}}}], catch: {retry: {limit: {attempt: {count: 010}}}}}": "3:71: the number is out of range; write a decimal number in range",
		"- a: {sett: {}}":                           `3:7: the key "sett" is not known; did you mean set?`,
		"- a: {emit: {}}":                           "3:7: Serverless Workflow's emit is not supported; send the message by a tool",
		"- a: {call: http, with: {}}":               "3:13: Serverless Workflow's call: http is not supported; add an MCP server",
		"- a: {run: {shell: {}}}":                   "3:7: Serverless Workflow's run is not supported",
		"- a: {set: {}, then: b}":                   `3:22: there is no later task "b" in this list; write continue, exit, end`,
		"- a: {set: {}}\n- b: {set: {}, then: a}":   `4:22: then leads back to "a"`,
		"- a: {set: {}, then: end}\n- b: {set: {}}": `4:3: the task "b" is never reached`,
		"- a: {set: {}}\n- a: {set: {}}":            `4:3: a task on line 3 is called "a", too`,
		"- a: {fork: {branches: [{b: {set: {}}}, {c: {set: '${ tasks.b }'}}]}}": "3:60: the task b, on line 3, has no result here",
		"- a: {fork: {branches: [{b: {do: [{c: {set: {}, then: end}}]}}]}}":     "3:55: the workflow cannot end in a fork",
		"- a: {fork: {compete: true, branches: [{b: {wait: 1s}}]}}":             "3:41: nothing can wait in branches that compete",
		"- __proto__: {set: {}}":                                                     "3:3: no task can be called __proto__",
		"- a: {for: {in: '[1]', each: tasks}, do: [{b: {set: {}}}]}":                 "3:12: no variable can be called tasks",
		"- a: {try: [{b: {set: {}}}], catch: {as: __proto__}}":                       "3:37: no variable can be called __proto__",
		"- a: {wait: soon}":                                                          `3:13: "soon" is not a duration`,
		"- a: {for: {in: input}, do: [{b: {set: {}}}], whil: x}":                     `3:47: the key "whil" is not known; did you mean while?`,
		"- a: {for: {in: '1'}, do: [{b: {set: {}}}]}":                                "3:17: the expression gives a whole number, not a list",
		"- a: {try: [{b: {set: {}}}], catch: {retry: {}}}":                           "3:45: the key limit is missing",
		"- a: {call: skill, with: {skill: nope}}":                                    `3:34: there are no skills here, so not "nope"`,
		"- a: {call: script, with: {file: ../x.ts}}":                                 `3:34: "../x.ts" is not below the folder of the workflow`,
		"- a: {call: script, with: {file: x.py}}":                                    "3:34: a workflow cannot call functions of Python",
		"- a: {call: ask, with: {}}":                                                 "3:13: the argument question of call: ask is missing",
		"- a: {call: ask, with: {question: x, schema: {type: objekt}}}":              "3:46: the JSON Schema is wrong",
		"- a: {set: {}, input: {}}":                                                  "3:16: Serverless Workflow's input is not supported here",
		"- a: {set: {}, timeout: {after: 1s}}":                                       "3:16: Serverless Workflow's timeout is not supported here; only calls and listen",
		"- a: {set: [1, 2]}":                                                         "3:12: it is a list, not a mapping",
		"- a: {set: {}\n":                                                            "did not find expected",
		"- a: {set: {x: 1, x: 2}}":                                                   "already defined",
		"- a: {set: {x: .nan}}":                                                      `3:16: ".nan" cannot be written as JSON`,
		"- a: {set: {x: !!binary aGk=}}":                                             `3:16: the tag "!!binary" is not known`,
		"- a: &x {set: {y: [*x]}}":                                                   "contains itself",
		"- a: {set: {}, compensate: [{b: {set: {}, compensate: [{c: {set: {}}}]}}]}": "3:55: a compensation cannot be compensated",
	} {
		d, err := Read("x.yaml", []byte(do(strings.TrimSuffix(text, "\n")+"\n")))
		if err == nil {
			_, err = d.Compile(t.Context(), &Options{Tree: tasks, Dir: t.TempDir()})
		}
		found, ok := errors.AsType[*Problems](err)
		if !ok || !slices.ContainsFunc(found.List, func(p Problem) bool {
			return strings.Contains(strings.TrimPrefix(p.String(), "x.yaml:"), want)
		}) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestAllProblems checks that one check lists the problems of all tasks.
func TestAllProblems(t *testing.T) {
	d, err := Read("x.yaml", []byte(do("- a: {call: crm.nope}\n- b: {wait: soon}\n- c: {set: '${ x }'}\n")))
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Compile(t.Context(), &Options{Tree: tree(t)})
	found, ok := errors.AsType[*Problems](err)
	var lines []int
	for _, p := range found.List {
		lines = append(lines, p.Line)
	}
	if !ok || !slices.Equal(lines, []int{3, 4, 5}) {
		t.Errorf("%v, want problems on lines 3, 4 and 5", err)
	}
}

// TestSchema checks that the JSON Schema and Read agree.
func TestSchema(t *testing.T) {
	v, err := validate.Compile([]byte(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	texts := documents(t)
	for name, text := range texts {
		if err := v.Validate([]byte(asJSON(t, text))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{
		`{}`, `{"document": {"dsl": "2.0.0", "name": "a", "version": "1.0.0"}, "do": [{"a": {"set": {}}}]}`,
		`{"document": {"dsl": "1.0.0", "name": "a", "version": "1.0.0"}, "do": []}`,
		`{"document": {"dsl": "1.0.0", "name": "A", "version": "1.0.0"}, "do": [{"a": {"set": {}}}]}`,
		`{"document": {"dsl": "1.0.0", "name": "a", "version": "1"}, "do": [{"a": {"set": {}}}]}`,
		head(`{"a": {"set": {}}, "b": {"set": {}}}`), head(`{"a": {"set": {}, "call": "x"}}`), head(`{"a": {"set": 1}}`), head(`{"a": {}}`),
		head(`{"a": {"for": {"in": "x"}}}`), head(`{"a": {"for": {"in": "x", "each": "1x"}, "do": [{"b": {"set": {}}}]}}`), head(`{"a": {"wait": 5}}`),
		head(`{"a": {"try": [{"b": {"set": {}}}], "catch": {"retry": {"limit": {"attempt": {"count": 0}}}}}}`),
		head(`{"a": {"listen": {"to": {"one": {"with": {}}}}}}`), head(`{"a": {"raise": {"error": {"type": "x", "status": 1}}}}`),
		head(`{"a": {"switch": [{"b": {"when": "true"}}]}}`), head(`{"a": {"fork": {"branches": [], "compete": true}}}`),
	} {
		if err := v.Validate([]byte(bad)); err == nil {
			t.Errorf("the schema accepts %s", bad)
		}
		if _, err := Read("x.json", []byte(bad)); err == nil {
			t.Errorf("Read accepts %s", bad)
		}
	}
}

func head(task string) string {
	return `{"document": {"dsl": "1.0.0", "name": "a", "version": "1.0.0"}, "do": [` + task + `]}`
}

// TestEvalRefuses checks that the host evaluates the expressions of the document only.
func TestEvalRefuses(t *testing.T) {
	c := compile(t, "x.yaml", do("- a: {set: '${ input.x + 1 }'}\n- b: {if: input.y, set: {}}\n"))
	kept, err := Answers(c.Text)
	if err != nil {
		t.Fatal(err)
	}
	for name, methods := range map[string]map[string]Method{"compiled": c.Answers(), "kept": kept} {
		for params, want := range map[string]string{
			`{"expression": "input.x + 1", "variables": {"input": {"x": 1}}}`:              "2",
			`{"expression": "input.x + 2", "variables": {"input": {"x": 1}}}`:              "the workflow has no such expression",
			`{"expression": "input.x + 1", "as": "boolean", "variables": {"input": {}}}`:   "the workflow has no such expression",
			`{"expression": "input.x + 1", "variables": {}}`:                               "the variable input is missing",
			`{"expression": "input.x + 1", "variables": {"input": {}}}`:                    "no such key: x",
			`{"expression": "input.x + 1", "variables": {"input": {"x": "a"}}}`:            "no such overload",
			`{"expression": "input.y", "as": "boolean", "variables": {"input": {"y": 1}}}`: "it gave 1, not true or false",
			`{"expression": "input.x + 1", "variables": {"input": {"x": 1}, "input": {}}}`: "invalid parameters",
			`[]`: "invalid parameters",
		} {
			out, err := methods["workflow/eval"](t.Context(), json.RawMessage(params))
			if got := fmt.Sprint(string(out), err); !strings.Contains(got, want) {
				t.Errorf("%s: %s: %s, want %s", name, params, got, want)
			}
		}
	}
}

// FuzzRead checks that no document makes a script that cannot be parsed.
func FuzzRead(f *testing.F) {
	for _, text := range documents(f) {
		f.Add(text)
	}
	f.Add(hostileDocument(f))
	tools := tree(f)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Read("x.yaml", []byte(text))
		if err != nil {
			return
		}
		d.Graph()
		c, err := d.Compile(t.Context(), &Options{Tree: tools})
		if err != nil {
			return
		}
		if _, err := script.Read(t.Context(), script.Source{Name: "x.ts", Code: c.Code, Language: sandbox.LangTypeScript}, script.Options{Tree: tools.Dir}); err != nil {
			t.Errorf("%v\n%s\n%s", err, text, c.Code)
		}
	})
}
