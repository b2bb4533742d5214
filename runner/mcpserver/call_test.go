package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/store"
)

// TestExecute checks that the result of a run is complete in the text and in the structured content.
func TestExecute(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			w := newFixture(t)
			w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
				return &runner.Result{
					Cause: runner.CauseExit, Stdout: "one\n", Stderr: "odd\n", Value: json.RawMessage(`{"n":9007199254740993}`), CallCount: 2,
					Files: []string{"a.csv", "b.csv"}, Tokens: &runner.Tokens{Used: 10, Definitions: 900, Results: 100, Direct: 1000, Saved: 990},
				}, nil
			}
			cs := w.stdio(w.server(), revision, nil)
			res := call(t, cs, "execute_code", map[string]any{"code": "x", "language": "python", "context_vars": map[string]any{"n": 1, "größe": 5}, "timeout_seconds": 2, "memory_mb": 100})
			text := textOf(res)
			for _, want := range []string{"one\nodd", `result: {"n":9007199254740993}`, "files written: a.csv, b.csv"} {
				if !strings.Contains(text, want) {
					t.Errorf("the text has no %q:\n%s", want, text)
				}
			}
			if got := structured(t, res, "output"); got != "one\nodd\n" {
				t.Errorf("output %q, want %q", got, "one\nodd\n")
			}
			if got := metaOf(res, "tokensSaved"); got != 990.0 || structured(t, res, "tokensSaved") != nil || structured(t, res, "calls") != 2.0 || structured(t, res, "exitCode") != 0.0 || res.IsError {
				t.Errorf("result %+v", res.StructuredContent)
			}
			job := w.jobs[0]
			if job.Language != "python" || job.Timeout != 2*time.Second || job.Memory != 100e6 || string(job.Vars["n"]) != "1" || string(job.Vars["größe"]) != "5" || job.Customer.ID != "acme" {
				t.Errorf("job %+v", job)
			}
			if len(w.logs) != 1 || w.logs[0].Run.Code != "x" {
				t.Errorf(`log %+v, want len(w.logs) 1 and w.logs[0].Run.Code "x"`, w.logs)
			}
		})
	}
}

// TestDefaults checks the documented defaults.
func TestDefaults(t *testing.T) {
	w := newFixture(t)
	cs := w.stdio(w.server(), revisions[0], nil)
	call(t, cs, "execute_code", map[string]any{"code": "1"})
	if job := w.jobs[0]; job.Timeout != 30*time.Second || job.Memory != 500e6 || job.Language != "typescript" {
		t.Errorf(`job %+v, want Timeout %v, Memory %v and Language "typescript"`, job, 30*time.Second, 500e6)
	}
}

// TestExecuteCodeDescription checks that the description says what a model needs to be told about scripts in the allowed languages.
// TestStateUnreachable checks that a client is told why no tool works, but not where the state is.
func TestStateUnreachable(t *testing.T) {
	w := newFixture(t)
	w.opt.Customer = func(_ context.Context, id string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{ID: id, Files: t.TempDir(), Skills: func() (*skill.Store, error) {
			return nil, fmt.Errorf("open: %w: postgres://db.internal/x", store.ErrUnreachable)
		}}, nil
	}
	cs := w.stdio(w.server(), revisions[0], nil)
	if res := call(t, cs, "list_skills", map[string]any{}); !res.IsError || !strings.Contains(textOf(res), "the state cannot be reached; try again later") || strings.Contains(textOf(res), "internal") {
		t.Errorf("list_skills returns %q", textOf(res))
	}
}

func TestExecuteCodeDescription(t *testing.T) {
	const typescript, python = `import { getRecord } from "./servers/crm"; await getRecord({ key: value })`, `from servers.crm import get_record; get_record(key=value)`
	for _, tt := range []struct {
		languages []string
		has, not  []string
	}{
		{nil, []string{typescript, python, "exports (Python: assigns) as `result`", "language is detected", "no network", "top-level await"}, nil},
		{[]string{"typescript"}, []string{typescript, "or exports as `result`"}, []string{python, "detected"}},
		{[]string{"python"}, []string{python, "or assigns to `result`"}, []string{typescript, "detected"}},
	} {
		w := newFixture(t)
		w.opt.Languages, w.opt.IndexTokens = tt.languages, -1
		d := description(t, w.server())
		for _, want := range tt.has {
			if !strings.Contains(d, want) {
				t.Errorf("%v: the description has no %q:\n%s", tt.languages, want, d)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(d, not) {
				t.Errorf("%v: the description has %q:\n%s", tt.languages, not, d)
			}
		}
	}
}

// TestPackagesOfExecuteCode checks that the description names what is installed, and does not mention packages otherwise.
func TestPackagesOfExecuteCode(t *testing.T) {
	for _, installed := range []string{"", "TypeScript: zod; Python: pandas"} {
		w := newFixture(t)
		w.opt.Packages = installed
		if d := description(t, w.server()); strings.Contains(d, " Installed packages: "+installed+".") != (installed != "") || installed == "" && strings.Contains(d, "ackages") {
			t.Errorf("with packages %q the description is %q", installed, d)
		}
	}
}

// TestNetworkOfExecuteCode: the description names the hosts, a request reaches the run, and without any nothing is said.
func TestNetworkOfExecuteCode(t *testing.T) {
	for _, hosts := range []string{"", "api.example.com, *.example.org and others"} {
		w := newFixture(t)
		w.opt.Network = hosts
		cs := w.stdio(w.server(), revisions[1], nil)
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if schema, _ := json.Marshal(tool.InputSchema); tool.Name == "execute_code" && strings.Contains(string(schema), `"connect to `+hosts+`"`) != (hosts != "") {
				t.Errorf("hosts %q: the schema of execute_code is %s", hosts, schema)
			}
		}
		if call(t, cs, "execute_code", map[string]any{"code": "1", "network": true}); !w.jobs[0].Network {
			t.Errorf("hosts %q: the run was not asked for with a network, so its refusal is not told", hosts)
		}
	}
}

// TestFailedRun checks that the text has the reason of a failure, because hosts show only the text of an error.
func TestFailedRun(t *testing.T) {
	w := newFixture(t)
	w.run = func(context.Context, *mcpserver.Job) (*runner.Result, error) {
		return &runner.Result{ExitCode: 124, Cause: runner.CauseTimeout, Message: "the script was stopped after 2s (--timeout)", Error: &bridge.ScriptError{Name: "Error", Message: "x"}}, nil
	}
	res := call(t, w.stdio(w.server(), revisions[1], nil), "execute_code", map[string]any{"code": "1"})
	if text := textOf(res); !res.IsError || !strings.Contains(text, "stopped after 2s (timeout_seconds)") || !strings.Contains(text, "exit code 124, timeout") {
		t.Errorf("error %v: %s", res.IsError, text)
	}
}

// TestOtherLanguage checks that one sentence says that the language is wrong.
func TestOtherLanguage(t *testing.T) {
	w := newFixture(t)
	message := "this is TypeScript: use console.log, or name the script .py, or use --language python"
	w.run = func(context.Context, *mcpserver.Job) (*runner.Result, error) {
		return &runner.Result{ExitCode: 1, Cause: runner.CauseError, Message: message, Error: &bridge.ScriptError{Name: "SyntaxError", Message: "x"}}, nil
	}
	cs := w.stdio(w.server(), revisions[1], nil)
	if text := textOf(call(t, cs, "execute_code", map[string]any{"code": "1"})); !strings.HasSuffix(text, "use console.log, or set language to python") {
		t.Error(text)
	}
	message = ""
	if text := textOf(call(t, cs, "execute_code", map[string]any{"code": "1"})); !strings.HasSuffix(text, "It was run as typescript; the argument language selects another.") {
		t.Error(text)
	}
}

// TestFailureFields checks that structured content has the usual names, and that output is what the script printed.
func TestFailureFields(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"script.py\", line 1, in <module>\nKeyError: 'a'"
	w := newFixture(t)
	results := map[string]*runner.Result{
		"fine": {Cause: runner.CauseExit, Stdout: "hi\n", DurationMS: 12.3},
		"raises": {ExitCode: 1, Cause: runner.CauseError, Stdout: "hi\n", Stderr: "odd\n" + trace + "\n", DurationMS: 12.3,
			Error: &bridge.ScriptError{Name: "KeyError", Message: "'a'", Stack: trace + "\n"}},
		"exits": {ExitCode: 3, Cause: runner.CauseExit, DurationMS: 12.3},
		"late":  {ExitCode: 124, Cause: runner.CauseTimeout, Message: "stopped after 2s (--timeout)", DurationMS: 12.3},
		"load":  {ExitCode: 1, Cause: runner.CauseError, DurationMS: 12.3, Error: &bridge.ScriptError{Name: "LoadError", Message: "bad"}},
	}
	w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) { return results[job.Code], nil }
	cs := w.stdio(w.server(), revisions[1], nil)
	for _, c := range []struct {
		code                 string
		success              bool
		output               string
		failure, trace, text any
	}{
		{"fine", true, "hi\n", nil, nil, "hi"},
		{"raises", false, "hi\nodd\n", "KeyError: 'a'", trace, "hi\nodd\n" + trace + "\nexit code 1, error"},
		{"exits", false, "", "exit code 3", nil, "exit code 3"},
		{"late", false, "", "stopped after 2s (timeout_seconds)", nil, "exit code 124, timeout\nstopped after 2s (timeout_seconds)"},
		{"load", false, "", "LoadError: bad", nil, "LoadError: bad\nexit code 1, error"},
	} {
		res := call(t, cs, "execute_code", map[string]any{"code": c.code})
		all, _ := res.StructuredContent.(map[string]any)
		if all["success"] != c.success || all["output"] != c.output || all["error"] != c.failure || all["traceback"] != c.trace || all["execution_time_ms"] != 12.0 {
			t.Errorf("%s: structured content %v", c.code, all)
		}
		if _, has := all["traceback"]; !has || textOf(res) != c.text {
			t.Errorf("%s: text %q, want %q", c.code, textOf(res), c.text)
		}
	}
}

// TestBadArguments checks that each error says what to do.
func TestBadArguments(t *testing.T) {
	w := newFixture(t)
	cs := w.stdio(w.server(), revisions[1], nil)
	for _, c := range []struct {
		tool string
		args any
		want string
	}{
		{"execute_code", map[string]any{}, "code is missing"},
		{"execute_code", map[string]any{"code": 1}, "code must be a string"},
		{"execute_code", map[string]any{"code": "1", "langauge": "python"}, `did you mean "language"`},
		{"execute_code", map[string]any{"code": "1", "language": "ruby"}, "typescript, python"},
		{"execute_code", map[string]any{"code": "1", "timeout_seconds": 1e9}, "at most 600"},
		{"execute_code", map[string]any{"code": "1", "timeout_seconds": -1}, "more than 0"},
		{"execute_code", map[string]any{"code": "1", "memory_mb": 1}, "from 32"},
		{"execute_code", map[string]any{"code": "1", "context_vars": map[string]any{"a-b": 1}}, "not the name of a variable"},
		{"execute_code", map[string]any{"code": "1", "context_vars": []int{1}}, "an object"},
		{"execute_code", map[string]any{"code": strings.Repeat("x", 1<<20+1)}, "write_workspace_file"},
		{"search_tools", map[string]any{"query": []any{"x", 1}}, "a string or a list of strings"},
		{"search_tools", map[string]any{"query": []string{"", " "}}, "what a tool should do"},
		{"search_tools", map[string]any{"query": "x", "detail_level": "all"}, "name, signature, description, summary, full"},
		{"get_tool_definition", map[string]any{"tool_name": "calculator__ad_"}, "calculator__add"},
		{"list_skills", map[string]any{"x": 1}, "query"},
		{"call_tool", map[string]any{"tool": "x", "arguments": 1}, "object"},
		{"load_skill", map[string]any{"name": "none"}, `no skill "none"`},
		{"read_workspace_file", map[string]any{"filename": "none.txt"}, "list_workspace_files"},
		{"write_workspace_file", map[string]any{"filename": "../x", "content": ""}, "relative to the workspace"},
		{"write_workspace_file", map[string]any{"filename": "a"}, "content is missing"},
		{"sanitize_pii", map[string]any{}, "text is missing"},
		{"write_workspace_file", map[string]any{"filename": ".MCPRUN/x", "content": ""}, "is reserved"},
		{"write_workspace_file", map[string]any{"filename": ".mcp.json", "content": ""}, "read files of this name as configuration"},
		{"write_workspace_file", map[string]any{"filename": "./.Env", "content": ""}, "use another name"},
		{"write_workspace_file", map[string]any{"filename": "servers/x/index.ts", "content": ""}, "is reserved"},
	} {
		res := call(t, cs, c.tool, c.args)
		if text := textOf(res); !res.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%s %.80v: error %v: %s; want %q", c.tool, c.args, res.IsError, text, c.want)
		}
	}
	if len(w.jobs) != 0 {
		t.Errorf("got %d runs, want none", len(w.jobs))
	}
}

// TestOtherTools calls each of the other tools for its purpose.
func TestOtherTools(t *testing.T) {
	for _, revision := range revisions {
		w := newFixture(t)
		cs := w.stdio(w.server(), revision, nil)
		for _, c := range []struct {
			tool string
			args map[string]any
			want string
		}{
			{"search_tools", map[string]any{"query": "calculator"}, "calculator__add"},
			{"search_tools", map[string]any{"query": []string{"reckon", "calculator"}}, "calculator__add"},
			{"search_tools", map[string]any{"query": "nothing at all"}, "Nothing was found"},
			{"get_tool_definition", map[string]any{"tool_name": "calculator__add"}, "// calculator__add"},
			{"list_tool_categories", map[string]any{}, "calculator (8)"},
			{"list_tool_categories", map[string]any{"query": "CALC"}, "calculator (8)"},
			{"save_skill", map[string]any{"name": "greet", "code": "print(1)", "description": "d", "language": "python"}, "import it with: import skills.greet"},
			{"load_skill", map[string]any{"name": "greet"}, "print(1)"},
			{"list_skills", map[string]any{}, "greet: d"},
			{"list_skills", map[string]any{"query": "Gree"}, "greet: d"},
			{"list_skills", map[string]any{"query": "nothing such"}, "no skill has the query"},
			{"sanitize_pii", map[string]any{"text": "to ada@example.com"}, "to [EMAIL_1]"},
			{"restore_pii", map[string]any{"text": "to [EMAIL_1]"}, "to ada@example.com"},
			{"restore_pii", map[string]any{"text": "to [EMAIL_1], [EMAIL_2]"}, "to ada@example.com, [EMAIL_2]"},
			{"call_tool", map[string]any{"tool": "mcprun.list_skills"}, "greet: d"},
			{"checkpoint", map[string]any{}, "there are no checkpoints"},
			{"checkpoint", map[string]any{"name": "one", "data": map[string]any{"n": 1}}, "saved one"},
			{"checkpoint", map[string]any{"name": "one"}, `"n":1`},
			{"execute_code", map[string]any{"code": "1"}, "hello"},
			{"write_workspace_file", map[string]any{"filename": "d/a.txt", "content": "grüße"}, "d/a.txt"},
			{"write_workspace_file", map[string]any{"filename": "/workspace/d/a.txt", "content": "again"}, "d/a.txt"},
			{"read_workspace_file", map[string]any{"filename": "d/a.txt"}, "again"},
			{"list_workspace_files", map[string]any{}, "d/a.txt (5)"},
			{"list_workspace_files", map[string]any{"subpath": "d"}, "d/a.txt (5)"},
			{"get_execution_stats", map[string]any{}, `"session":{"sessions":1}`},
		} {
			res := call(t, cs, c.tool, c.args)
			if text := textOf(res); res.IsError || !strings.Contains(text, c.want) {
				t.Errorf("%s %v: error %v: %s; want %q", c.tool, c.args, res.IsError, text, c.want)
			}
			if structured(t, res, "success") != true {
				t.Errorf("%s: structured content %v has no success", c.tool, res.StructuredContent)
			}
		}
	}
}

// TestNamesOfOthers checks the members that clients of other servers expect.
func TestNamesOfOthers(t *testing.T) {
	w := newFixture(t)
	w.opt.Call = func(_ context.Context, job *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		if job.Tool == "x__fail" {
			return &mcpserver.CallAnswer{Raw: json.RawMessage(`{"isError":true,"content":[{"type":"text","text":"no such record"}]}`)}, nil
		}
		return &mcpserver.CallAnswer{Raw: json.RawMessage(`{"content":[],"structuredContent":{"rows":[1]}}`)}, nil
	}
	cs := w.stdio(w.server(), revisions[1], nil)
	for _, c := range []struct {
		tool string
		args map[string]any
		want map[string]any
	}{
		{"sanitize_pii", map[string]any{"text": "ada@example.com, bob@example.com, 4111111111111111"}, map[string]any{
			"text": "[EMAIL_1], [EMAIL_2], [CARD_1]", "sanitized_text": "[EMAIL_1], [EMAIL_2], [CARD_1]", "pii_found": 3.0, "pii_types": []any{"CARD", "EMAIL"},
		}},
		{"sanitize_pii", map[string]any{"text": "nobody"}, map[string]any{"sanitized_text": "nobody", "pii_found": 0.0, "pii_types": []any{}}},
		{"restore_pii", map[string]any{"text": "[EMAIL_1]"}, map[string]any{"text": "ada@example.com", "restored_text": "ada@example.com"}},
		{"write_workspace_file", map[string]any{"filename": "a.txt", "content": "xy"}, map[string]any{"file": "a.txt", "message": "wrote a.txt, 2 bytes"}},
		{"read_workspace_file", map[string]any{"filename": "./workspace/a.txt"}, map[string]any{"filename": "a.txt", "size": 2.0, "content": "xy"}},
		{"write_workspace_file", map[string]any{"filename": "workspace/b.txt", "content": "xy"}, map[string]any{"file": "b.txt"}},
		{"list_workspace_files", map[string]any{"subpath": "workspace"}, map[string]any{"count": 2.0}},
		{"list_skills", nil, map[string]any{"count": 0.0}},
		{"load_skill", map[string]any{"name": "none"}, map[string]any{"success": false}},
		{"call_tool", map[string]any{"tool": "x__fail"}, map[string]any{"success": false, "error": "no such record"}},
		{"call_tool", map[string]any{"tool": "x__rows"}, map[string]any{"success": nil, "rows": []any{1.0}}}, // as the server sent it
	} {
		res := call(t, cs, c.tool, c.args)
		for member, want := range c.want {
			if got := structured(t, res, member); !cmp.Equal(got, want) {
				t.Errorf("%s %v: %s is %v, want %v", c.tool, c.args, member, got, want)
			}
		}
	}
}

// TestCut checks that a cut file and a cut result say where the rest is.
func TestCut(t *testing.T) {
	w := newFixture(t)
	w.opt.MaxText = 1000
	raw, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": strings.Repeat("é", 5000)}}})
	w.opt.Call = func(context.Context, *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		return &mcpserver.CallAnswer{Raw: raw}, nil
	}
	cs := w.stdio(w.server(), revisions[1], nil)
	call(t, cs, "write_workspace_file", map[string]any{"filename": "a", "content": strings.Repeat("ü", 3000)})
	res := call(t, cs, "read_workspace_file", map[string]any{"filename": "a"})
	if text := textOf(res); !strings.Contains(text, "[cut: the file has 6000 bytes") || strings.Count(text, "ü") != 1000 || structured(t, res, "cut") != true {
		t.Errorf("file: %.200s", text)
	}
	text := textOf(call(t, cs, "call_tool", map[string]any{"tool": "x__y"}))
	_, at, ok := strings.Cut(text, "all of it is in ")
	at, _, _ = strings.Cut(at, " ")
	if !ok || len(text) > 3000 {
		t.Fatalf("result: %.300s", text)
	}
	if text := textOf(call(t, cs, "list_workspace_files", map[string]any{})); !strings.Contains(text, at+" (10000)") {
		t.Errorf("%s is not in the workspace: %s, want %q in it", at, text, at+" (10000)")
	}
}

// TestLargeValue checks that a value too large for a result is in a file.
func TestLargeValue(t *testing.T) {
	w := newFixture(t)
	value := json.RawMessage(`"` + strings.Repeat("x", 40_000) + `"`)
	w.run = func(context.Context, *mcpserver.Job) (*runner.Result, error) {
		return &runner.Result{Cause: runner.CauseExit, Value: value}, nil
	}
	cs := w.stdio(w.server(), revisions[1], nil)
	text := textOf(call(t, cs, "execute_code", map[string]any{"code": "1"}))
	_, at, ok := strings.Cut(text, "40002 bytes and is in ")
	at, _, _ = strings.Cut(at, " ")
	if list := textOf(call(t, cs, "list_workspace_files", nil)); !ok || len(text) > 1000 || !strings.Contains(list, at+" (40002)") {
		t.Errorf("%s; files: %s", text, list)
	}
}

// TestCallTool checks that a server's result is returned as it came.
func TestCallTool(t *testing.T) {
	w := newFixture(t)
	var raw string
	w.opt.Call = func(_ context.Context, job *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		if job.Tool == "no" {
			return &mcpserver.CallAnswer{Failed: true, Message: "unknown tool"}, nil
		}
		return &mcpserver.CallAnswer{Raw: json.RawMessage(raw)}, nil
	}
	cs := w.stdio(w.server(), revisions[1], nil)
	raw = `{"content":[{"type":"text","text":"three"},{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"n":9007199254740993}}`
	res := call(t, cs, "call_tool", map[string]any{"tool": "calculator__add", "arguments": map[string]any{"x": 1}})
	if textOf(res) != "three" || len(res.Content) != 2 || res.IsError {
		t.Errorf("%+v", res)
	}
	if _, ok := res.Content[1].(*mcp.ImageContent); !ok {
		t.Errorf("%T", res.Content[1])
	}
	raw = `{"content":[{"type":"text","text":"three"}]}`
	if res = call(t, cs, "call_tool", map[string]any{"tool": "calculator__add"}); res.StructuredContent != nil || textOf(res) != "three" {
		t.Errorf("%+v", res)
	}
	raw = `{"content":[{"type":"text","text":"two"}],"structuredContent":[1,2]}`
	if res = call(t, cs, "call_tool", map[string]any{"tool": "calculator__add"}); textOf(res) != "two" || !cmp.Equal(res.StructuredContent, map[string]any{"result": []any{1.0, 2.0}}) {
		t.Errorf("a list, which older clients refuse: %+v", res)
	}
	raw = `{"content":[{"type":"text","text":"bad"}],"isError":true}`
	if res = call(t, cs, "call_tool", map[string]any{"tool": "calculator__add"}); !res.IsError || textOf(res) != "bad" {
		t.Errorf("%+v", res)
	}
	if res = call(t, cs, "call_tool", map[string]any{"tool": "no"}); !res.IsError || textOf(res) != "unknown tool" {
		t.Errorf("%+v", res)
	}
	if text := textOf(call(t, cs, "get_execution_stats", map[string]any{"top": 0})); !strings.Contains(text, `"tools":[]`) {
		t.Errorf("stats without tools: %s, want %q in it", text, `"tools":[]`)
	}
	if text := textOf(call(t, cs, "get_execution_stats", nil)); !strings.Contains(text, `"calls":5`) || !strings.Contains(text, `{"tool":"calculator__add","calls":4,"failed":1,"ms":0}`) {
		t.Errorf("stats: %s, want %q in it and %q in it", text, `"calls":5`, `{"tool":"calculator__add","calls":4,"failed":1,"ms":0}`)
	}
	if n := len(w.logs); n != 5 || w.logs[3].Run.Calls[0].Outcome != "tool" || w.logs[4].Run.Message != "unknown tool" || w.logs[4].Run.ExitCode != 1 {
		t.Errorf(`%d calls are logged, the last as %+v, want 5, w.logs[3].Run.Calls[0].Outcome "tool", w.logs[4].Run.Message "unknown tool" and w.logs[4].Run.ExitCode 1`, n, w.logs[n-1].Run)
	}
}

// TestImages checks that images are image content, and that then no structured content hides them.
func TestImages(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	w := newFixture(t)
	var errs []error
	w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
		errs = append(errs, job.Image("image/png", picture.Bytes()), job.Image("image/png", []byte("<html>")), job.Image("image/svg+xml", []byte("<svg/>")),
			job.Image("image/png", append(slices.Clone(picture.Bytes()), make([]byte, 6<<20)...)))
		for range 10 {
			errs = append(errs, job.Image("image/png", picture.Bytes()))
		}
		return &runner.Result{Cause: runner.CauseExit}, nil
	}
	res := call(t, w.stdio(w.server(), revisions[1], nil), "execute_code", map[string]any{"code": "1"})
	n := 0
	for _, c := range res.Content {
		if img, ok := c.(*mcp.ImageContent); ok {
			if n++; img.MIMEType != "image/png" || !bytes.Equal(img.Data, picture.Bytes()) {
				t.Errorf("image %s of %d bytes", img.MIMEType, len(img.Data))
			}
		}
	}
	if n != 8 || res.StructuredContent != nil || !strings.Contains(textOf(res), "warning: an image was not shown") {
		t.Errorf(`%d images; %s, want 8, StructuredContent nil and "warning: an image was not shown" in it`, n, textOf(res))
	}
	if errs[0] != nil || errs[1] == nil || errs[2] == nil || errs[3] == nil || errs[13] == nil {
		t.Errorf("errors %v", errs)
	}
}

// TestInstructions checks that what servers say of themselves is sent on, shortened: of as many servers as fit.
func TestInstructions(t *testing.T) {
	for budget, want := range map[int]bool{0: true, 50: false, -1: false} {
		w := newFixture(t)
		w.opt.IndexTokens = budget
		cs := w.stdio(w.server(), revisions[0], nil)
		got := cs.InitializeResult().Instructions
		if strings.Contains(got, "\ncrm: Customer records") != want || len(got) > 1000 {
			t.Errorf("budget %d: the instructions are %q", budget, got)
		}
		text := textOf(call(t, cs, "get_tool_definition", map[string]any{"tool_name": "drive__get_sheet"}))
		if !strings.Contains(text, "drive says of itself: Documents (Markdown) and sheets") {
			t.Errorf(`the definition is %s, want "drive says of itself: Documents (Markdown) and sheets" in it`, text)
		}
		text = textOf(call(t, cs, "search_tools", map[string]any{"query": "drive__get_sheet", "detail_level": "full"}))
		if !strings.Contains(text, "drive says of itself: Documents (Markdown) and sheets") {
			t.Errorf(`search_tools in full: %s, want "drive says of itself: Documents (Markdown) and sheets" in it`, text)
		}
	}
}

// TestHiddenToolsAreNotAdvised checks that no answer mentions a tool that the mode hides.
func TestHiddenToolsAreNotAdvised(t *testing.T) {
	for mode, want := range map[mcpserver.Mode]bool{mcpserver.ModeCore: true, mcpserver.ModeAll: true, mcpserver.ModeCode: false} {
		w := newFixture(t)
		w.opt.Mode = mode
		cs := w.stdio(w.server(), revisions[0], nil)
		large := strings.Repeat("x", 3<<20)
		for tool, args := range map[string]map[string]any{
			"search_tools": {"query": "xyzzy"}, "execute_code": {"code": large},
		} {
			text := textOf(call(t, cs, tool, args))
			if named := strings.Contains(text, "list_tool_categories") || strings.Contains(text, "write_workspace_file"); named != want {
				t.Errorf("%s, %s: %s: got %v, want %v", mode, tool, text, named, want)
			}
		}
	}
}
