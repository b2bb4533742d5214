package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// parsePython runs the program that parses Python, for tests without a sandbox: it runs nothing of the files.
func parsePython(t testing.TB, texts map[string]string) json.RawMessage {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no python3")
		}
		t.Skip("no python3")
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-I", "-c", "import json, sys\ncode = json.load(sys.stdin)\n"+judge.PythonProgram()+"\njson.dump(result, sys.stdout)")
	cmd.Stdin = strings.NewReader(string(in))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// judged returns the reports of scripts, by name. Each is a program of its own.
func judged(t testing.TB, files []txtar.File) map[string]*judge.Report {
	t.Helper()
	reports := map[string]*judge.Report{}
	python := map[string]string{}
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".py") {
			python[f.Name] = string(f.Data)
			continue
		}
		facts, err := readFacts(f.Name, string(f.Data))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		reports[f.Name] = facts.Judge(&judge.Options{})
	}
	trees := parsePython(t, python)
	for name := range python {
		facts := &judge.Facts{}
		if err := facts.Python(python, []string{name}, trees); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reports[name] = facts.Judge(&judge.Options{Python: true})
	}
	return reports
}

// The least figures that docs/reference/check.md names.
const (
	leastPrecision = 0.97
	leastRecall    = 0.97
)

// TestLabelled judges the labelled scripts: those in bad.txtar should be judged high or critical, those in ordinary.txtar must not.
func TestLabelled(t *testing.T) {
	read := func(name string) []txtar.File {
		a, err := txtar.ParseFile(filepath.Join("testdata", "judge", name))
		if err != nil {
			t.Fatal(err)
		}
		return a.Files
	}
	bad, ordinary := judged(t, read("bad.txtar")), judged(t, read("ordinary.txtar"))
	count := func(reports map[string]*judge.Report, flagged bool) (n int, names []string) {
		for name, r := range reports {
			if (r.Risk >= risk.High) == flagged {
				n++
				names = append(names, fmt.Sprintf("%s: %s: %s", name, r.Risk, r.Reason))
			}
		}
		slices.Sort(names)
		return n, names
	}
	found, _ := count(bad, true)
	_, missed := count(bad, false)
	_, wrong := count(ordinary, true)
	precision, recall := float64(found)/float64(found+len(wrong)), float64(found)/float64(len(bad))
	t.Logf("%d bad and %d ordinary scripts: precision %.1f %%, recall %.1f %%", len(bad), len(ordinary), 100*precision, 100*recall)
	t.Logf("not found:\n  %s", strings.Join(missed, "\n  "))
	t.Logf("found in ordinary scripts:\n  %s", strings.Join(wrong, "\n  "))
	if precision < leastPrecision || recall < leastRecall {
		t.Errorf("precision %.3f, want %.2f; recall %.3f, want %.2f", precision, leastPrecision, recall, leastRecall)
	}
}

// TestPlainPython: what is run without having been read in full is nothing that would have been judged high or critical, and many
// ordinary scripts are.
func TestPlainPython(t *testing.T) {
	plain := func(name string) (of, all int) {
		a, err := txtar.ParseFile(filepath.Join("testdata", "judge", name))
		if err != nil {
			t.Fatal(err)
		}
		reports := judged(t, a.Files)
		for _, f := range a.Files {
			if !strings.HasSuffix(f.Name, ".py") {
				continue
			}
			all++
			if _, ok := judge.PlainPython(map[string]string{f.Name: string(f.Data)}, nil); ok {
				of++
				if reports[f.Name].Risk >= risk.High {
					t.Errorf("%s would not be read: %s, want reports[f.Name].Risk less than %v", f.Name, reports[f.Name].Reason, risk.High)
				}
			}
		}
		return of, all
	}
	if of, all := plain("bad.txtar"); of > all/20 {
		t.Errorf("%d of %d bad scripts would not be read, want at most %d", of, all, all/20)
	}
	if of, all := plain("ordinary.txtar"); of < all/4 {
		t.Errorf("%d of %d ordinary scripts would not be read, want a quarter", of, all)
	}
}

func factsOf(t testing.TB, code string) (*judge.Facts, error) {
	t.Helper()
	return readFacts("s.ts", code)
}

// readFacts returns the facts of a TypeScript script, also of one that cannot run.
func readFacts(name, code string) (*judge.Facts, error) {
	p, err := script.Read(context.Background(), script.Source{Name: name, Code: code, Language: sandbox.LangTypeScript}, script.Options{})
	if p == nil {
		return nil, err
	}
	return p.Facts, nil
}

// TestFindingsHaveTheirPlace: lines and columns are those of the text that a person wrote, not of the JavaScript that is read.
func TestFindingsHaveTheirPlace(t *testing.T) {
	facts, err := factsOf(t, "interface A { a: number }\n\ntype B = A;\nconst x: B = { a: 1 };\n  console.log(x as any, eval('1'));\n")
	if err != nil {
		t.Fatal(err)
	}
	r := facts.Judge(&judge.Options{})
	if len(r.Findings) != 1 || r.Findings[0].Line != 5 || r.Findings[0].Rule != "dynamic-code" {
		t.Errorf("Judge() = %+v, want dynamic-code in line 5", r.Findings)
	}
}

// factsFor returns what a script does.
func factsFor(t testing.TB, name, code string) *judge.Facts {
	t.Helper()
	if strings.HasSuffix(name, ".ts") {
		facts, err := factsOf(t, code)
		if err != nil {
			t.Fatal(err)
		}
		return facts
	}
	facts, texts := &judge.Facts{}, map[string]string{name: code}
	if err := facts.Python(texts, []string{name}, parsePython(t, texts)); err != nil {
		t.Fatal(err)
	}
	return facts
}

// TestFindToolsOnly: members of a tool's result are data, not tools.
func TestFindToolsOnly(t *testing.T) {
	for name, code := range map[string]string{
		"a.py": "from servers.drive import list_documents\npage = list_documents(limit=2)\nprint(len(page[\"documents\"]), page.get(\"next\"))\n",
		"b.py": "import servers.drive as d\nfor each in d.list_documents().get(\"documents\", []):\n    print(each[\"id\"].split(\"-\"))\n",
		"a.ts": "import { listDocuments } from './servers/drive';\nconst page = await listDocuments({});\nconsole.log(page.text.split('x'), page.documents.map((d: any) => d.id));\n",
	} {
		trusted := func(name string) (judge.Tool, bool) {
			return judge.Tool{ID: "drive__list_documents", ReadOnly: true}, strings.ReplaceAll(strings.ToLower(name), "_", "") == "drive/listdocuments"
		}
		r := factsFor(t, name, code).Judge(&judge.Options{Python: strings.HasSuffix(name, ".py"), Tools: trusted})
		if r.Risk != risk.Low || !slices.Equal(r.Impact.Tools, []string{"drive__list_documents"}) {
			t.Errorf("%s: %s: %s, tools %q; want low and one tool", name, r.Risk, r.Reason, r.Impact.Tools)
		}
	}
}

// TestFindToolsPassedAsValues: a function that is passed to another is called with what follows.
func TestFindToolsPassedAsValues(t *testing.T) {
	for name, code := range map[string]string{
		"thread.py":   "import asyncio\nasyncio.to_thread(call_mcp_tool, 'crm__get_lead', {})\n",
		"target.py":   "import threading\nthreading.Thread(target=call_mcp_tool, args=('crm__get_lead', {})).start()\n",
		"partial.py":  "from functools import partial\nlist(map(partial(call_mcp_tool, 'crm__get_lead'), rows))\n",
		"alias.py":    "import mcprun\ngo = mcprun.call_mcp_tool\npool.submit(go, 'crm__get_lead', {})\n",
		"argument.ts": "await retry(callMCPTool, 'crm__get_lead', {});\n",
		"call.ts":     "await callMCPTool.call(null, 'crm__get_lead', {});\n",
		"bind.ts":     "const f = callMCPTool.bind(null, 'crm__get_lead');\n",
		"client.ts":   "import { callMCPTool as call } from './servers/client';\nawait call('crm__get_lead', {});\n",
		"client.py":   "from servers.client import call_mcp_tool\ncall_mcp_tool('crm__get_lead', {})\n",
	} {
		r := factsFor(t, name, code).Judge(&judge.Options{Python: strings.HasSuffix(name, ".py")})
		if !slices.Equal(r.Impact.Tools, []string{"crm__get_lead"}) {
			t.Errorf("%s: tools %q, want crm__get_lead; findings %v", name, r.Impact.Tools, r.Findings)
		}
	}
	for name, code := range map[string]string{
		"map.ts":  "await Promise.all(ids.map(callMCPTool));\n",
		"list.py": "handlers = [call_mcp_tool, print]\n",
		"dict.ts": "export const tools = { call: callMCPTool };\n",
	} {
		r := factsFor(t, name, code).Judge(&judge.Options{Python: strings.HasSuffix(name, ".py")})
		if len(r.Findings) != 1 || r.Findings[0].Rule != "tool-unknown" {
			t.Errorf("%s: findings %v, want tool-unknown", name, r.Findings)
		}
	}
}

// TestFindAllToolsOfServer: whoever has the module of a server can call each of its tools.
func TestFindAllToolsOfServer(t *testing.T) {
	for name, code := range map[string]string{
		"values.ts": "import * as crm from './servers/crm';\nfor (const f of Object.values(crm)) await f({});\n",
		"spread.ts": "import * as crm from './servers/crm';\nexport const tools = { ...crm };\n",
		"vars.py":   "import servers.crm as crm\nrun_each(crm)\n",
	} {
		tools := func(name string) (judge.Tool, bool) {
			return judge.Tool{ID: "crm__*", Destructive: true}, name == "crm/*"
		}
		r := factsFor(t, name, code).Judge(&judge.Options{Python: strings.HasSuffix(name, ".py"), Tools: tools})
		if r.Risk != risk.High || !slices.Equal(r.Impact.Tools, []string{"crm__*"}) {
			t.Errorf("%s: %s: %s, tools %q; want high, all of crm", name, r.Risk, r.Reason, r.Impact.Tools)
		}
	}
}

// TestFindWaysToEval: a restricted script is refused, whatever the way to what it may not use.
func TestFindWaysToEval(t *testing.T) {
	for _, code := range []string{
		`print.__self__.eval("1+1")`,
		`getattr(print, "__self__").eval("1+1")`,
		"import json\njson.codecs.builtins.eval('1+1')",
		"import json\njson.codecs.builtins.__dict__['ev' + 'al']('1+1')",
		"import operator\noperator.attrgetter('__class__.__base__.__subclasses__')(())()",
		"import json\nfrom operator import attrgetter\nattrgetter('codecs.builtins.eval')(json)('1+1')",
		"import logging\nlogging.os.system('id')",
		"breakpoint()",
		"import typing\ndef f(x: '__import__(\"os\").system(\"id\")'): ...\ntyping.get_type_hints(f)",
		"from typing_extensions import get_type_hints as hints\nclass A:\n    x: 'print(1)'\nhints(A)",
		"from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor() as pool:\n    pool.submit(print, 1)",
		"import concurrent.futures as cf\ncf.process.ProcessPoolExecutor().submit(print, 1)",
		"import multiprocessing\nmultiprocessing.Pool(2).map(print, [1])",
	} {
		if r := factsFor(t, "a.py", code).Judge(&judge.Options{Python: true}); len(r.Refused()) == 0 {
			t.Errorf("%s is not refused: %+v", code, r.Findings)
		}
		if _, plain := judge.PlainPython(map[string]string{"a.py": code}, nil); plain {
			t.Errorf("%s would not be read", code)
		}
	}
	const ordinary = "from typing import Any\nfrom concurrent.futures import ThreadPoolExecutor\nx: Any = 1\nwith ThreadPoolExecutor() as pool:\n    print(pool.submit(len, [x]))\n"
	if _, plain := judge.PlainPython(map[string]string{"a.py": ordinary}, nil); !plain {
		t.Errorf("%s would be read in full", ordinary)
	}
}

// TestWorkIsLinear: twice the text is looked at in twice the steps.
func TestWorkIsLinear(t *testing.T) {
	nodes := func(times int) int {
		facts, err := factsOf(t, strings.Repeat("{ const e = 'a' + 'b'; console.log(e, [1, 2].map((x) => x + e.length)); }\n", times))
		if err != nil {
			t.Fatal(err)
		}
		return facts.Nodes
	}
	if one, two := nodes(500), nodes(1000); two > 2*one+10 {
		t.Errorf("%d nodes, and %d for twice the text, want at most %d", one, two, 2*one+10)
	}
}

// BenchmarkFacts reads 100 KB of TypeScript.
func BenchmarkFacts(b *testing.B) {
	code := strings.Repeat("{ const e: string = 'a' + 'b'; console.log(e, [1, 2].map((x) => x + e.length)); }\n", 1200)
	b.SetBytes(int64(len(code)))
	for b.Loop() {
		if _, err := factsOf(b, code); err != nil {
			b.Fatal(err)
		}
	}
}

// TestComplexity: branches count in functions and outside of them, and the bound is a setting.
func TestComplexity(t *testing.T) {
	ts := func(times int) string {
		return "const x: number = 1;\n" + strings.Repeat("if (x > 2) console.log(x);\n", times)
	}
	py := func(times int) string { return "x = 1\n" + strings.Repeat("if x > 2:\n    print(x)\n", times) }
	tests := []struct {
		name, code string
		most       int // branches that are allowed
		want       string
	}{
		{"few.ts", ts(50), 0, ""},
		{"many.ts", ts(51), 0, "the file, outside of its functions, has 51 branches"},
		{"allowed.ts", ts(51), 60, ""},
		{"strict.ts", ts(11), 10, "the file, outside of its functions, has 11 branches"},
		{"inside.ts", "function f() {\n" + ts(51) + "}\n" + ts(3), 0, "a function has 51 branches"},
		{"spread.ts", strings.Repeat("(() => {"+ts(20)+"})();\n", 5), 0, ""},
		{"few.py", py(50), 0, ""},
		{"many.py", py(51), 0, "the file, outside of its functions, has 51 branches"},
		{"allowed.py", py(51), 60, ""},
	}
	for _, tt := range tests {
		facts, python := &judge.Facts{}, strings.HasSuffix(tt.name, ".py")
		if python {
			texts := map[string]string{tt.name: tt.code}
			if err := facts.Python(texts, []string{tt.name}, parsePython(t, texts)); err != nil {
				t.Fatal(err)
			}
		} else {
			var err error
			if facts, err = factsOf(t, tt.code); err != nil {
				t.Fatal(err)
			}
		}
		r := facts.Judge(&judge.Options{MaxBranches: tt.most, Python: python})
		if tt.want == "" {
			if len(r.Findings) > 0 || r.Risk != risk.Low {
				t.Errorf("%s: risk %s, findings %+v; want none", tt.name, r.Risk, r.Findings)
			}
			continue
		}
		if len(r.Findings) != 1 || r.Findings[0].Rule != "complexity" || r.Findings[0].Reason != tt.want || r.Findings[0].Line == 0 || r.Risk != risk.Medium {
			t.Errorf("%s: risk %s, findings %+v; want %q", tt.name, r.Risk, r.Findings, tt.want)
		}
	}
}

// TestUnknownImports: what the check does not know is a medium risk, and a script without findings is not said to do more or less than that.
func TestUnknownImports(t *testing.T) {
	tests := []struct {
		code string
		want risk.Risk
	}{
		{`import fs from "node:fs"; import { a } from "./a.ts"; import { power } from "./servers/calculator"; import { vars } from "mcprun"; console.log(fs, a, power, vars);`, risk.Low},
		{`import { z } from "some-package"; console.log(z);`, risk.Medium},
		{`const z = await import("some-package"); console.log(z);`, risk.Medium},
		{`import net from "node:net"; console.log(1, net);`, risk.Medium}, // by its own rule
	}
	for _, tt := range tests {
		facts, err := factsOf(t, tt.code)
		if err != nil {
			t.Fatal(err)
		}
		r := facts.Judge(&judge.Options{})
		low := tt.want == risk.Low
		if tools := slices.DeleteFunc(slices.Clone(r.Findings), func(f judge.Finding) bool { return f.Rule != "import" }); len(tools) > 0 != (strings.Contains(tt.code, "some-package")) {
			t.Errorf("%s: findings %+v", tt.code, r.Findings)
		}
		if !low && (r.Risk != tt.want || !r.Impact.ChangesData || r.Impact.Reversible != "unknown") {
			t.Errorf("%s: got %+v, want risk %s, and data that may be changed", tt.code, r, tt.want)
		}
	}
	texts := map[string]string{"main.py": "import helper, shapes.round, json, shutil\nfrom . import other\nprint(1)\n", "helper.py": "", "shapes/round.py": "", "odd.py": "import some_package\n"}
	order := []string{"main.py", "helper.py", "shapes/round.py"}
	trees := parsePython(t, texts)
	facts := &judge.Facts{}
	if err := facts.Python(texts, order, trees); err != nil {
		t.Fatal(err)
	}
	if r := facts.Judge(&judge.Options{Python: true}); r.Risk != risk.Low || r.Reason != "nothing found" || len(r.Findings) > 0 {
		t.Errorf("files of the project: got %+v, want low risk and nothing found", r)
	}
	facts = &judge.Facts{}
	if err := facts.Python(texts, []string{"odd.py"}, trees); err != nil {
		t.Fatal(err)
	}
	if r := facts.Judge(&judge.Options{Python: true}); r.Risk != risk.Medium || r.Findings[0].Rule != "import" {
		t.Errorf("an unknown module: got %+v, want medium risk", r)
	}
}
