package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// fakePyright writes a program that reports an attribute in line 2, and marks that it was started.
func fakePyright(t *testing.T, dir string) (program, started string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script stands for the checker")
	}
	program, started = filepath.Join(dir, "pyright"), filepath.Join(t.TempDir(), "started")
	text := fmt.Sprintf(`#!/bin/sh
touch %s
echo '{"generalDiagnostics": [{"file": "'$PWD'/script/script.py", "severity": "error", "message": "Cannot access attribute \"titel\" for class \"ListDocumentsOutput\"", "rule": "reportAttributeAccessIssue", "range": {"start": {"line": 1, "character": 6}}}]}'
exit 1
`, started)
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, started
}

// TestTypeErrors: a run is checked if it went wrong, and else the checker is not even started.
func TestTypeErrors(t *testing.T) {
	const code = "d = {}\nprint(d.titel)\n"
	defer runner.SetCheckTime(runner.SetCheckTime(5 * time.Minute))
	for name, tt := range map[string]struct {
		output string
		done   object
		exit   int
		want   bool
	}{
		"went well":            {"the title\n", object{}, 0, false},
		"a null of a tool":     {"{'owner': None}\n", object{}, 0, false},
		"printed None":         {"title: None\n", object{}, 0, true},
		"printed nothing":      {"", object{}, 0, true},
		"None in a sentence":   {"None of the tickets is open\n", object{}, 0, false},
		"an empty list":        {"[]\n", object{"result": object{}}, 0, false},
		"a result":             {"", object{"result": object{"n": 1}}, 0, false},
		"failed":               {"x\n", object{"error": object{"name": "AttributeError", "message": "m", "stack": "s"}}, 1, true},
		"failed by its syntax": {"x\n", object{"error": object{"name": "SyntaxError", "message": "m", "stack": "s"}}, 1, false},
		"a tool's own error":   {"x\n", object{"error": object{"name": "MCPToolError", "message": "m", "stack": "s"}}, 1, false},
		"was denied":           {"x\n", object{"error": object{"name": "MCPDeniedError", "message": "m", "stack": "s"}}, 1, false},
		"exited with a code":   {"x\n", object{}, 3, true},
	} {
		program, started := fakePyright(t, t.TempDir())
		s := runner.Script{Code: code, Checkers: &check.Places{Pyright: program}, Capture: true}
		res, err := run(t, nil, s, func(g *guest) sandbox.Exit {
			g.begin()
			g.spec.Stdout.Write([]byte(tt.output))
			g.done(tt.done)
			return sandbox.Exit{Code: tt.exit}
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := ""
		if tt.want {
			want = `script.py:2:7: Cannot access attribute "titel" for class "ListDocumentsOutput"`
		}
		if got := strings.Join(res.TypeErrors, "\n"); got != want {
			t.Errorf("%s: TypeErrors = %q, want %q", name, got, want)
		}
		if got := res.Tokens.Output > 15; got != tt.want { // a model reads them too
			t.Errorf("%s: %d tokens of output: got %v, want %v", name, res.Tokens.Output, got, tt.want)
		}
		if _, err := os.Stat(started); (err == nil) != tt.want {
			t.Errorf("%s: the checker was started: %t, want %t", name, err == nil, tt.want)
		}
	}
}

// TestMissingInData: what a tool itself returned explains what a script printed, so the script is not checked.
func TestMissingInData(t *testing.T) {
	for answer, want := range map[string]bool{`{"title": "x"}`: true, `{"title": null}`: false, `{"title": "None"}`: false, `{"title": "undefined"}`: true} {
		program, started := fakePyright(t, t.TempDir())
		up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"drive/get_document": {Structured: []byte(answer)}}}
		s := runner.Script{Code: "d = {}\nprint(d.titel)\n", Checkers: &check.Places{Pyright: program}}
		_, err := run(t, up, s, func(g *guest) sandbox.Exit {
			g.begin()
			g.call(1, "drive__get_document", object{"document_id": "1"})
			g.spec.Stdout.Write([]byte("title: None\n"))
			g.done(nil)
			return sandbox.Exit{}
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(started); (err == nil) != want {
			t.Errorf("after the answer %s the checker was started: %t, want %t", answer, err == nil, want)
		}
	}
}

// TestCheckerInWorkspace: what a script may have written is not started. Without a checker nothing is said.
func TestCheckerInWorkspace(t *testing.T) {
	dir := t.TempDir()
	program, started := fakePyright(t, dir)
	for _, places := range []check.Places{{Pyright: program}, {Project: filepath.Join(dir, "no")}} {
		res, err := run(t, nil, runner.Script{Code: "d = {}\nprint(d.titel)\n", Workspace: dir, Checkers: &places}, func(g *guest) sandbox.Exit {
			g.begin()
			g.done(nil)
			return sandbox.Exit{Code: 1}
		})
		if _, ran := os.Stat(started); err != nil || len(res.TypeErrors) > 0 || ran == nil {
			t.Errorf("%v, type errors %q, the checker ran: %t", err, res.TypeErrors, ran == nil)
		}
	}
}

// TestDeclaredMember asks a declared result for a member that it does not have. Nothing fails, and the compiler says what was meant.
func TestDeclaredMember(t *testing.T) {
	tsc, err := filepath.Abs("../testdata/npm/node_modules/.bin/tsc")
	if err == nil {
		_, err = os.Stat(tsc)
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("tsc is not installed; run `npm ci` in testdata/npm")
	}
	tree, err := filepath.Abs("../servers")
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(&runner.Options{Tree: tree})
	if err != nil {
		t.Fatal(err)
	}
	before := runner.SetCheckTime(5 * time.Minute)
	defer runner.SetCheckTime(before)
	s := runner.Script{
		Name: "eval.ts", Language: sandbox.LangTypeScript, Checkers: &check.Places{TSC: tsc},
		Code: "import { listDocuments } from './servers/drive';\nfor (const d of (await listDocuments({})).documents) console.log(d.titel, d.title.lenght);\n",
		Backend: &fakeBackend{name: "embedded", guest: func(g *guest) sandbox.Exit {
			g.begin()
			g.spec.Stdout.Write([]byte("undefined undefined\n"))
			g.done(nil)
			return sandbox.Exit{}
		}},
	}
	res, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(res.TypeErrors, "\n")
	for _, want := range []string{"eval.ts:2:68: Property 'titel' does not exist on type ", "Did you mean 'title'?"} {
		if !strings.Contains(got, want) {
			t.Errorf("TypeErrors lack %q:\n%s", want, got)
		}
	}
}

// TestSlowCheckers: after a check that took too long, types of the language are not checked for a while, and no run waits long for the
// check of another.
func TestSlowCheckers(t *testing.T) {
	defer runner.SetCheckTime(runner.SetCheckTime(4 * time.Second))
	dir := t.TempDir()
	program, _ := fakePyright(t, dir)
	count := filepath.Join(dir, "count")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho >>"+count+"\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, nil)
	one := func() time.Duration {
		began := time.Now()
		_, err := r.Run(t.Context(), runner.Script{
			Name: "script.py", Language: sandbox.LangPython, Code: "print(None)\n", Checkers: &check.Places{Pyright: program},
			Backend: &fakeBackend{guest: func(g *guest) sandbox.Exit {
				g.begin()
				g.spec.Stdout.Write([]byte("None\n"))
				g.done(nil)
				return sandbox.Exit{}
			}},
		})
		if err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	var took [2]time.Duration
	var both sync.WaitGroup
	for i := range took {
		both.Go(func() { took[i] = one() })
	}
	both.Wait()
	one()
	if text, err := os.ReadFile(count); err != nil || len(text) != 1 {
		t.Errorf("the checker was started %d times, %v, want once", len(text), err)
	}
	if min(took[0], took[1]) > 3*time.Second {
		t.Errorf("the runs took %v: one waited for the check of the other", took)
	}
}

func TestLikelyCauses(t *testing.T) {
	problem := func(line int, code, text string) check.Problem {
		return check.Problem{File: "script.ts", Line: line, Column: 3, Code: code, Text: text}
	}
	elsewhere := problem(1, "TS2339", "in a skill")
	elsewhere.File = "skills/x/x.ts"
	code := strings.Repeat("x.y = 1\n", 3) + strings.Repeat("f(x.y)\n", 9)
	tree := func(line int, code, text string) check.Problem {
		p := problem(line, code, text)
		p.Tree = true
		return p
	}
	failure := &bridge.ScriptError{Name: "TypeError", Stack: "TypeError: x\n    at script.ts:4:10\n    at other.ts:2:1"}
	problems := func() []check.Problem {
		return []check.Problem{
			elsewhere, tree(5, "TS7006", "no effect"), tree(6, "TS2339", "Property 'a' is wrong"), problem(4, "TS2345", "where it failed"), problem(7, "TS2345", "of the script's own types"),
			tree(5, "TS2345", "Argument of type '{ x: string; "+strings.Repeat("y: number; ", 100)+"}' is not assignable.\n  In between.\n    Type 'a' is not\x1b assignable to type 'b'."),
			problem(2, "TS2339", "Property 'y' does not exist on type 'T'."), problem(4, "TS2339", "Property 'y' does not exist on type 'T'."), // the script adds it
			problem(4, "TS2339", "Property 'z' does not exist on type '{}'."), problem(4, "reportArgumentType", `to parameter "value" in function "__setitem__"`),
			problem(4, "TS2339", "Property 'value' does not exist on type 'R'.\n  Property 'value' does not exist on type 'S'."),
		}
	}
	ofTree := []string{
		"script.ts:6:3: Property 'a' is wrong",
		"script.ts:5:3: Argument of type '{ x: string; " + strings.Repeat("y: number; ", 100)[:160-len("'{ x: string; ")] + "…' is not assignable. Type 'a' is not assignable to type 'b'.",
	}
	for _, tt := range []struct {
		failure *bridge.ScriptError
		want    []string
	}{{failure, append([]string{"script.ts:4:3: where it failed"}, ofTree...)}, {nil, ofTree}, {&bridge.ScriptError{Name: "ValueError", Stack: failure.Stack}, ofTree}} {
		if got := runner.LikelyCauses(problems(), "script.ts", code, tt.failure); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("LikelyCauses(%v) =\n%s\nwant\n%s", tt.failure, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
	var many []check.Problem
	for i := range 9 {
		many = append(many, tree(i+1, "TS2339", "x"))
	}
	if got := runner.LikelyCauses(many, "script.ts", "", nil); len(got) != 5 || got[4] != "and 5 more type errors" {
		t.Errorf(`LikelyCauses() of nine = %q, want len(got) 5 and got[4] "and 5 more type errors"`, got)
	}
}

func TestShowsMissing(t *testing.T) {
	for _, lang := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		for text, want := range map[string][2]bool{ // for TypeScript, for Python
			"":                         {false, false},
			"all is well":              {false, false},
			"undefined":                {true, false},
			"title: undefined, x":      {true, false},
			"undefinedness":            {false, false},
			"sum NaN":                  {true, false},
			"undefined is not allowed": {false, false},
			"no, undefined it is not":  {false, false},
			"a: undefined\nb":          {true, false},
			"{ a: undefined, b: 1 }":   {true, false},
			"undefined undefined":      {true, false},
			"None of them: open":       {false, false},
			"(1, None)":                {false, true},
			"[object Object]":          {true, false},
			"None":                     {false, true},
			"a None b":                 {false, false},
			"{'a': None, \"b\": None}": {false, false},
			"{'a': None} None":         {false, true},
			`{"a":1}`:                  {false, false},
		} {
			if got := runner.ShowsMissing([]byte(text), lang); got != (lang == sandbox.LangPython && want[1] || lang != sandbox.LangPython && want[0]) {
				t.Errorf("ShowsMissing(%q, %s) = %t", text, lang, got)
			}
		}
	}
	for text, want := range map[string]bool{"": false, "{}\n": false, "[]": false, "null": true, `""`: true, `{"a":1}`: false, "[1]": false, "done": false} {
		if got := runner.IsEmpty([]byte(text)); got != want {
			t.Errorf("IsEmpty(%q) = %t, want %t", text, got, want)
		}
	}
}
