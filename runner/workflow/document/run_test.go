package document

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/script"
)

func TestMain(m *testing.M) {
	script.Child()
	embedded.Child()
	os.Exit(m.Run())
}

// servers answers calls of tools, and notes them.
type servers struct {
	answer func(tool string, args map[string]any) (string, error)

	mu   sync.Mutex
	seen []string
}

func (u *servers) Call(ctx context.Context, _, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	u.mu.Lock()
	u.seen = append(u.seen, tool+" "+string(args))
	u.mu.Unlock()
	var in map[string]any
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	out, err := u.answer(tool, in)
	if err != nil {
		return nil, err
	}
	if out == "hang" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if out == "!" {
		return &upstream.CallResult{Raw: json.RawMessage(`{}`), Content: []json.RawMessage{[]byte(`{"type": "text", "text": "no"}`)}, IsError: true}, nil
	}
	return &upstream.CallResult{Raw: json.RawMessage(out), Structured: json.RawMessage(out)}, nil
}

var openTree = sync.OnceValues(func() (*gen.Tree, error) { return gen.Open(gen.Options{Dir: "../../..", Out: "servers"}) })

func tree(t testing.TB) *gen.Tree {
	t.Helper()
	tree, err := openTree()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// compile compiles a document that has no problems.
func compile(t testing.TB, file, text string) *Compiled {
	t.Helper()
	d, err := Read(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Compile(t.Context(), &Options{Tree: tree(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs a document in the embedded sandbox. Its policy allows the tools that match globs.
func run(t testing.TB, up *servers, c *Compiled, input string, allow ...string) *runner.Result {
	t.Helper()
	return launch(t, t.Context(), up, c, input, func(*runner.Script) {}, allow...)
}

func launch(t testing.TB, ctx context.Context, up *servers, c *Compiled, input string, change func(*runner.Script), allow ...string) *runner.Result {
	t.Helper()
	dir, err := filepath.Abs("../../../servers")
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(&runner.Options{Tree: dir, Upstreams: up, Servers: map[string]chain.ServerSettings{"crm": {Trusted: true}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &runner.Script{
		Name: c.Script(), Code: c.Code, Language: sandbox.LangTypeScript, Capture: true, Answers: c.Answers(),
		Vars: map[string]json.RawMessage{"input": json.RawMessage(input)},
	}
	change(s)
	rules, err := policy.New(&config.Policy{PolicyPart: config.PolicyPart{Rules: []config.PolicyRule{{Allow: allow}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Launch(ctx, s, runner.LaunchOptions{Sandboxes: []sandbox.Backend{embedded.New(nil)}, Policy: rules})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// result runs a document that succeeds, and returns its result.
func result(t testing.TB, up *servers, c *Compiled, input string, allow ...string) string {
	t.Helper()
	if allow == nil {
		allow = []string{"*"}
	}
	res := run(t, up, c, input, allow...)
	if res.ExitCode != 0 {
		t.Fatalf("exit code %d: %s\n%s\n%s", res.ExitCode, res.Message, res.Stderr, c.Code)
	}
	return string(res.Value)
}

// do makes a document of a list of tasks.
func do(tasks string) string {
	return "document: {dsl: 1.0.3, name: test, version: 1.0.0}\ndo:\n" + tasks
}

// leads answers as a server with a lead whose id is its score, followed by its status.
func leads() *servers {
	return &servers{answer: func(tool string, args map[string]any) (string, error) {
		if tool != "get_record" {
			return `{"id": "new", "document_id": "doc", "object_type": "Lead", "fields": [], "last_modified_date": "2026-12-01T00:00:00Z"}`, nil
		}
		score, status, _ := strings.Cut(args["record_id"].(string), " ")
		return `{"object_type": "Lead", "id": "1", "record": {"Name": "Ann", "Company": "A & B", "Email": "a@b.example", "Score": ` + score + `, "Status": "` + status + `"}}`, nil
	}}
}

// TestLeadRouting runs the example with three leads, as YAML and as JSON. Each takes another path.
func TestLeadRouting(t *testing.T) {
	text, err := os.ReadFile("../../../examples/lead-routing.workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inYAML := compile(t, "lead-routing.workflow.yaml", string(text))
	inJSON := compile(t, "lead-routing.workflow.json", asJSON(t, string(text)))
	places := regexp.MustCompile(`at = .*;`)
	if places.ReplaceAllString(inYAML.Code, "") != places.ReplaceAllString(inJSON.Code, "") {
		t.Errorf("JSON becomes another script than YAML:\n%s\n%s", inJSON.Code, inYAML.Code)
	}
	for lead, want := range map[string]struct {
		line  string
		tools []string
		is    *Compiled
	}{
		"91 Qualified": {`"Ann: hot, a message and a meeting"`, []string{"get_record", "create_record", "update_record"}, inYAML},
		"91 New":       {`"Ann: warm, a mail"`, []string{"get_record", "create_document"}, inYAML},
		"51 Qualified": {`"Ann: warm, a mail"`, []string{"get_record", "create_document"}, inJSON},
		"50 Qualified": {`"Ann: cold, the campaign"`, []string{"get_record", "update_record"}, inJSON},
	} {
		t.Run(lead, func(t *testing.T) {
			t.Parallel()
			up := leads()
			got := result(t, up, want.is, `{"lead": "`+lead+`"}`)
			var tools []string
			for _, call := range up.seen {
				tool, _, _ := strings.Cut(call, " ")
				tools = append(tools, tool)
			}
			if got != want.line || !slices.Equal(tools, want.tools) {
				t.Errorf("%s by %v, want %s by %v", got, tools, want.line, want.tools)
			}
		})
	}
}

// asJSON converts YAML to JSON, keys in the same order.
func asJSON(t testing.TB, text string) string {
	t.Helper()
	d, err := Read("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ordered(d.root)
}

func ordered(n *yaml.Node) string {
	n = follow(n)
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for k, v := range node.Pairs(n) {
			parts = append(parts, quote(k.Value)+": "+ordered(v))
		}
		return "{" + strings.Join(parts, ",\n") + "}"
	case yaml.SequenceNode:
		for _, v := range n.Content {
			parts = append(parts, ordered(v))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if kindOf(n) == "string" {
		return quote(n.Value)
	}
	return n.Value
}

// errDown is a connection that fails.
var errDown = &call.Error{Kind: call.KindConnection, Message: "the server went away"}

func TestMeaning(t *testing.T) {
	for name, test := range map[string]struct{ tasks, input, want string }{
		"set": {`  - a: {set: {n: 1, text: "x ${ input.n + 1 } ${ input.l }", raw: "$${x}", "__proto__": "${ input.n }", list: [1.5, null, "${ input.n }"]}}`,
			`{"n": 2, "l": [1, "a"]}`, `{"n":1,"text":"x 3 [1,\"a\"]","raw":"${x}","__proto__":2,"list":[1.5,null,2]}`},
		"if":                {"  - a: {set: {n: 1}}\n  - b: {if: tasks.a.n > 1, set: {n: 2}}\n  - c: {set: {b: '${ tasks.b == null }', output: '${ output.n }'}}", `{}`, `{"b":true,"output":1}`},
		"output and export": {"  - a: {set: {n: 1}, output: {as: '${ output.n + 1 }'}, export: {as: {total: '${ output + 10 }'}}}\n  - b: {set: '${ [context.total, tasks.a] }'}", `{}`, `[12,2]`},
		"for": {"  - all:\n      for: {each: x, in: input.list, at: i}\n      while: x < 4\n      do:\n        - odd: {if: x % 2 == 1, set: {n: '${ x * 10 + i }'}}\n" +
			"        - keep: {set: {}, export: {as: {rows: '${ (has(context.rows) ? context.rows : []) + [tasks.odd] }'}}}\n  - end1: {set: '${ context.rows }'}",
			`{"list": [1, 2, 3, 4, 5]}`, `[{"n":10},null,{"n":32}]`},
		"nested for": {"  - a:\n      for: {in: '[1, 2]'}\n      do:\n        - b: {for: {in: '[item, item * 2]', each: j}, do: [{c: {set: '${ item * 10 + j }', export: {as: {all: '${ (has(context.all) ? context.all : []) + [output] }'}}}}]}\n  - d: {set: '${ context.all }'}",
			`{}`, `[11,12,22,24]`},
		"switch falls through": {"  - s: {switch: [{a: {when: 'input.n == 1', then: c}}]}\n  - b: {set: '${ \"b\" }'}\n  - c: {set: \"${ tasks.b == null ? 'jumped' : 'went' }\"}", `{"n": 2}`, `"went"`},
		"switch jumps":         {"  - s: {switch: [{a: {when: 'input.n == 1', then: c}}]}\n  - b: {set: '${ \"b\" }'}\n  - c: {set: \"${ tasks.b == null ? 'jumped' : 'went' }\"}", `{"n": 1}`, `"jumped"`},
		"switch that leads on": {"  - s: {switch: [{a: {when: 'input.n == 1', then: continue}}, {b: {when: 'input.n == 2', then: d}}], then: end}\n" +
			"  - c: {set: '${ [input.n] }'}\n  - d: {set: '${ [tasks.c, tasks.c != null] }'}", `{"n": 1}`, `[[1],true]`},
		"switch that ends": {"  - s: {switch: [{a: {when: 'input.n == 1', then: continue}}], then: end}\n  - c: {set: {}}", `{"n": 3}`, `{"n":3}`},
		"last switch":      {"  - l: {do: [{b: {set: '${ 1 }'}}, {s: {switch: [{a: {when: 'true', then: continue}}], then: end}}]}\n  - c: {set: '${ 2 }'}", `{}`, `2`},
		"jumps that cross": {"  - s: {switch: [{a: {when: 'input.n == 1', then: d}}, {b: {when: 'input.n == 2', then: c}}]}\n" +
			"  - b: {set: b, then: e}\n  - c: {set: '${ output }', then: continue}\n  - d: {set: d}\n  - e: {set: '${ [tasks.b, tasks.c, tasks.d] }'}", `{"n": 2}`, `[null,{"n":2},"d"]`},
		"output after a jump": {"  - a: {set: {x: 1}}\n  - s: {switch: [{a2: {when: 'true', then: c}}]}\n  - b: {set: {y: 2}}\n  - c: {set: '${ output.x }'}", `{}`, `1`},
		"exit of a list":      {"  - a: {do: [{b: {set: '${ 1 }', if: 'true', then: exit}}, {c: {set: '${ 2 }'}}]}\n  - d: {set: '${ tasks.a + 1 }'}", `{}`, `2`},
		"end within lists":    {"  - a: {do: [{b: {do: [{c: {if: 'true', set: '${ 1 }', then: end}}]}}]}\n  - d: {set: '${ 2 }'}", `{}`, `1`},
		"fork":                {"  - a: {fork: {branches: [{b: {set: '${ 1 }'}}, {c: {do: [{e: {set: x, if: 'true', then: exit}}, {f: {set: '${ 9 }'}}]}}]}}\n  - d: {set: '${ [tasks.a, tasks.b, tasks.c] }'}", `{}`, `[[1,"x"],1,"x"]`},
		"compete":             {"  - a: {fork: {compete: true, branches: [{b: {do: [{b0: {call: crm.describe_objects}}, {b1: {call: crm.describe_objects}}]}}, {c: {set: fast}}]}}", `{}`, `"fast"`},
		"raise and catch": {"  - a:\n      try: [{b: {raise: {error: {type: validation, status: 400, title: Bad, detail: 'n is ${ input.n }'}}}}]\n      catch: {errors: {with: {type: validation}}, as: e, do: [{c: {set: '${ [e.title, e.detail, e.type] }'}}]}",
			`{"n": 1}`, `["Bad","n is 1","https://serverlessworkflow.io/spec/1.0.0/errors/validation"]`},
		"catch and when":   {"  - a:\n      try: [{b: {raise: {error: {type: validation, status: 418}}}}]\n      catch: {when: error.status == 418, exceptWhen: error.title != '', do: [{c: {set: '${ error.status }'}}]}", `{}`, `418`},
		"expression error": {"  - a:\n      try: [{b: {set: '${ input.missing }'}}]\n      catch: {do: [{c: {set: '${ error.type.endsWith(\"/expression\") }'}}]}", `{}`, `true`},
		"wait":             {"  - a: {wait: {milliseconds: 1}}\n  - b: {wait: '${ input.s }'}\n  - c: {wait: '${ duration(\"1ms\") }'}\n  - d: {set: done}", `{"s": 0.001}`, `"done"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := &servers{answer: func(string, map[string]any) (string, error) { return `{"objects": []}`, nil }}
			if got := result(t, slow, compile(t, "test.yaml", do(test.tasks)), test.input); got != test.want || len(slow.seen) > 1 {
				t.Errorf("%s, %d calls; want %s, one call at most", got, len(slow.seen), test.want)
			}
		})
	}
}

// TestInput checks input.from, and output.as of the workflow.
func TestInput(t *testing.T) {
	t.Parallel()
	text := "document: {dsl: '1.0', name: test, version: 1.0.0}\ninput: {from: {n: '${ input.a.b }'}}\ndo: [{x: {set: {m: '${ input.n + 1 }'}}}]\noutput: {as: 'n is ${ output.m }, was ${ tasks.x.m - 1 }'}\n"
	if got, want := result(t, &servers{}, compile(t, "test.yaml", text), `{"a": {"b": 4}}`), `"n is 5, was 4"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestNames checks variables whose names have a meaning in TypeScript or in the script.
func TestNames(t *testing.T) {
	t.Parallel()
	var tasks, sum strings.Builder
	names := strings.Fields("eval arguments await async static yield undefined NaN enum given result run undo past workflow evaluate Raised caught attempt _ console Promise vars")
	for i, name := range names {
		fmt.Fprintf(&tasks, "  - %[1]s: {for: {in: '[1, 2]', each: %[1]s}, do: [{b%[2]d: {set: '${ %[1]s + %[2]d }'}}]}\n", name, i)
		fmt.Fprintf(&sum, "%d + tasks.%s - 2 - ", i, name)
	}
	tasks.WriteString("  - c: {set: '${ " + sum.String() + "0 }'}\n")
	if got, want := result(t, &servers{}, compile(t, "test.yaml", do(tasks.String())), `{}`), "0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPlace checks that an error which ends a workflow says in which task, and where that is.
func TestPlace(t *testing.T) {
	for name, test := range map[string]struct{ tasks, want string }{
		"raise":  {"  - a: {set: {}}\n  - b: {do: [{c: {raise: {error: {type: runtime, status: 500, title: Odd}}}}]}", "Raised: Odd (task c, test.workflow.yaml:4)"},
		"call":   {"  - a:\n      for: {in: '[1]'}\n      do:\n        - b: {call: crm.get_record, with: {object_type: Lead, record_id: '001'}}", "the server went away (task b, test.workflow.yaml:6)"},
		"fork":   {"  - a: {fork: {branches: [{b: {set: {}}},\n      {c: {set: '${ input.missing }'}}]}}", "(task c, test.workflow.yaml:4)"},
		"race":   {"  - a:\n      fork: {compete: true, branches: [\n        {b: {set: '${ input.missing }'}}]}", "(task b, test.workflow.yaml:5)"},
		"undone": {"  - a: {set: {}, compensate: [{c: {set: {}}}]}\n  - b: {set: '${ input.missing }'}", "(task b, test.workflow.yaml:4)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := &servers{answer: func(string, map[string]any) (string, error) { return "", errDown }}
			res := run(t, up, compile(t, "x/test.workflow.yaml", do(test.tasks)), "{}", "*")
			if res.Error == nil || !strings.HasSuffix(res.Error.Name+": "+res.Error.Message, test.want) || !strings.Contains(res.Stderr, test.want+"\n") {
				t.Errorf("%+v, want an error that ends with %q\n%s", res.Error, test.want, res.Stderr)
			}
		})
	}
}

// TestTries waits for a message in a channel: a row in a sheet. It gives up after a number of tries.
func TestTries(t *testing.T) {
	t.Parallel()
	c := compile(t, "test.yaml", do(`
  - wait:
      try:
        - look: {call: crm.query_records, with: {object_type: Lead, filters: [{field: Name, value: "${ input.name }"}]}}
        - check:
            if: size(tasks.look.records) == 0
            raise: {error: {type: "https://example.com/not-there", status: 404}}
        - found: {set: "found ${ tasks.look.records[0].Name }"}
      catch:
        errors: {with: {type: "https://example.com/not-there"}}
        retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 20}}}
        do:
          - late: {set: no message within 20 tries}
`))
	for come, want := range map[int]string{20: `"found Ann"`, 21: `"no message within 20 tries"`} {
		tries := 0
		up := &servers{answer: func(string, map[string]any) (string, error) {
			if tries++; tries < come {
				return `{"records": [], "total": 0, "next_offset": null}`, nil
			}
			return `{"records": [{"Name": "Ann"}], "total": 1, "next_offset": null}`, nil
		}}
		if got := result(t, up, c, `{"name": "Ann"}`); got != want || tries != min(come, 20) {
			t.Errorf("the message comes at try %d: %s after %d, want %s", come, got, tries, want)
		}
	}
}

// TestEffectsAreNotRetried: a call that may have been made is tried again only if its tool says that this changes nothing more.
func TestEffectsAreNotRetried(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		call, answer string
		want         int
	}{
		{"{call: crm.create_record, with: {object_type: Lead, data: {Name: Ann}}}", "down", 1},
		{"{call: crm.create_record, with: {object_type: Lead, data: {Name: Ann}}, timeout: {after: {milliseconds: 1}}}", "hang", 1},
		{"{call: crm.create_record, with: {object_type: Lead, data: {Name: Ann}}}", "!", 3},
		{"{call: crm.get_record, with: {object_type: Lead, record_id: a01}, timeout: {after: {milliseconds: 1}}}", "hang", 3}, // it is read-only
	} {
		up := &servers{answer: func(string, map[string]any) (string, error) {
			if test.answer == "down" {
				return "", &upstream.ConnectionError{Server: "crm", Reason: "it went away"}
			}
			return test.answer, nil
		}}
		c := compile(t, "test.yaml", do("  - a:\n      try: [{b: "+test.call+"}]\n      catch: {retry: {limit: {attempt: {count: 3}}}}\n"))
		if res := run(t, up, c, "{}", "*"); res.ExitCode == 0 || len(up.seen) != test.want {
			t.Errorf("%s that answers %s: %d calls, exit code %d, want %d\n%s", test.call, test.answer, len(up.seen), res.ExitCode, test.want, res.Stderr)
		}
	}
}

// TestCompensation undoes what was done, the last first, with the values of its time.
func TestCompensation(t *testing.T) {
	t.Parallel()
	c := compile(t, "test.yaml", do(`
  - first:
      call: crm.create_record
      with: {object_type: Lead, data: {Name: first}}
      compensate: [{undoFirst: {call: crm.delete_record, with: {object_type: Lead, record_id: "${ tasks.first.id }"}}}]
  - loop:
      for: {in: "[1, 2]"}
      do:
        - make:
            call: crm.create_record
            with: {object_type: Lead, data: {Name: "${ string(item) }"}}
            compensate: [{unmake: {call: crm.delete_record, with: {object_type: Lead, record_id: "${ tasks.make.id + string(index) }"}}}]
  - caught:
      try: [{fails: {raise: {error: {type: runtime, status: 500}}}}]
      catch: {}
  - last: {if: input.fail, raise: {error: {type: runtime, status: 500, title: "it failed"}}}
`))
	up := &servers{answer: func(tool string, args map[string]any) (string, error) {
		if tool == "create_record" {
			return `{"id": "id-` + args["data"].(map[string]any)["Name"].(string) + `", "object_type": "Lead", "fields": [], "last_modified_date": "2026-12-01T00:00:00Z"}`, nil
		}
		if strings.HasPrefix(args["record_id"].(string), "id-2") {
			return "", errDown
		}
		return `{"id": "x", "object_type": "Lead", "name": "x"}`, nil
	}}
	if res := run(t, up, c, `{"fail": false}`, "*"); res.ExitCode != 0 || len(up.seen) != 3 {
		t.Errorf("without a failure: %d, %s, %v", res.ExitCode, res.Stderr, up.seen)
	}
	up.seen = nil
	res := run(t, up, c, `{"fail": true}`, "*")
	var undone []string
	for _, call := range up.seen {
		if strings.HasPrefix(call, "delete_record") {
			undone = append(undone, call[strings.Index(call, `"id-`):])
		}
	}
	want := []string{`"id-21"}`, `"id-10"}`, `"id-first"}`}
	if res.ExitCode == 0 || !strings.Contains(res.Stderr, "it failed") || !strings.Contains(res.Stderr, "a compensation failed") || !slices.Equal(undone, want) {
		t.Errorf("undone %v, want %v; exit code %d\n%s", undone, want, res.ExitCode, res.Stderr)
	}
}

// TestKindsOfErrors checks that errors of calls have the types of Serverless Workflow.
func TestKindsOfErrors(t *testing.T) {
	t.Parallel()
	c := compile(t, "test.yaml", do(`
  - all:
      for: {in: "['refuse', 'down', 'hang', 'delete', 'x']", each: id}
      do:
        - a:
            try:
              - b:
                  call: crm.get_record
                  with: {object_type: Lead, record_id: "${ id }"}
                  timeout: {after: "${ id == 'hang' ? 0.02 : 60.0 }"}
              - d: {call: crm.delete_record, with: {object_type: Lead, record_id: "${ id }"}}
            catch:
              do: [{c: {set: '${ error.type.split("/")[6] + string(error.status) }'}}]
        - keep: {set: {}, export: {as: "${ (context == {} ? [] : context) + [tasks.c] }"}}
output: {as: "${ context }"}
`))
	up := &servers{answer: func(_ string, args map[string]any) (string, error) {
		switch args["record_id"] {
		case "refuse":
			return "!", nil
		case "down":
			return "", errDown
		case "hang":
			return "hang", nil
		}
		return `{"object_type": "Lead", "id": "1", "record": {}}`, nil
	}}
	if got, want := result(t, up, c, "{}", "crm__get_record"), `["communication500","communication500","timeout408","authorization403","validation400"]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
