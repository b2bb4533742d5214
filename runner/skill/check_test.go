package skill

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// TestLongChain checks that a broken skill breaks all skills that build on it, however many there are and in whatever
// order.
func TestLongChain(t *testing.T) {
	w := newWorld(t)
	const length = 30
	files := map[string]string{}
	for i := range length {
		uses := fmt.Sprintf("a%02d", i+1)
		files[fmt.Sprintf("a%02d/SKILL.md", i)] = fmt.Sprintf("---\nname: a%02d\ndescription: ⚠️ x\nmetadata:\n  mcprun-skills: %s\n---\n", i, uses)
	}
	writeAll(t, w.skills, files)
	all, err := w.open(t).List()
	if err != nil || len(all) != length {
		t.Fatal(len(all), err)
	}
	for _, k := range all {
		if !k.Fatal() || k.Description != "⚠ x" || len(k.Reason()) > 1000 {
			t.Errorf("%s: %q %+v", k.Name, k.Description, k.Reasons)
		}
	}
	if !load(t, w.open(t), "a00").Fatal() {
		t.Error("Fatal() = false for a skill that builds on one that cannot work, want true")
	}
}

// TestBrokenByTheTree checks that a skill is broken if its tool was removed or has changed, and tells how it has changed.
func TestBrokenByTheTree(t *testing.T) {
	w := newWorld(t)
	for name, draft := range map[string]Draft{"ts-one": {Code: tsCode}, "py-one": {Code: pyCode, Language: sandbox.LangPython}, "lists": {Description: "Lists.", Code: "import { listSheets } from './servers/drive'; export const all = () => listSheets({});"}} {
		draft.Name = name
		save(t, w.open(t), draft)
	}
	save(t, w.open(t), Draft{Name: "upon", Description: "x", Code: "import { saveSheet } from './skills/ts_one'; export const f = () => saveSheet('1');"})

	writeTree(t, w.tree, sheet2, lister)
	s := w.open(t)
	for _, name := range []string{"ts-one", "py-one"} {
		k := load(t, s, name)
		if !k.Broken || k.Fatal() || len(k.Reasons) != 1 || k.Reasons[0].Kind != KindChanged || k.Reasons[0].Tool != "drive__get_sheet" {
			t.Fatalf("%+v", k.Reasons)
		}
		wants(t, k.Reason(), "the tool drive__get_sheet has changed since the skill was saved: input")
		wants(t, strings.Join(k.Reasons[0].Details, "\n"), "input: sheet_id: removed", "input: id: added")
	}
	if k := load(t, s, "upon"); !k.Broken || k.Fatal() || k.Reasons[0].Kind != KindSkill || !strings.Contains(k.Reason(), "the skill ts-one that it uses is broken: the tool") {
		t.Errorf("%+v", k.Reasons)
	}
	if k := load(t, s, "lists"); k.Broken {
		t.Errorf("%+v", k.Reasons)
	}
	// Saving it again repairs it.
	if saved := save(t, s, Draft{Name: "ts-one", Code: tsCode}); saved.Broken || load(t, s, "upon").Broken {
		t.Errorf("%+v", saved.Reasons)
	}

	writeTree(t, w.tree, lister)
	s = w.open(t)
	k := load(t, s, "ts-one")
	if !k.Fatal() || k.Reasons[0].Kind != KindRemoved {
		t.Errorf("%+v", k.Reasons)
	}
	wants(t, k.Reason(), "the tool drive__get_sheet that it uses does not exist; there is drive__list_sheets")
	if !load(t, s, "upon").Fatal() {
		t.Error("Fatal() = false for a skill that uses one that cannot work, want true")
	}
	report, err := s.Check(t.Context())
	if err != nil || len(report.Broken()) != 3 || len(report.Skills) != 4 {
		t.Errorf("%+v %v", report, err)
	}
	for _, k := range report.Broken() {
		if !k.Fatal() {
			t.Errorf("%s: %+v", k.Name, k.Reasons)
		}
	}
}

// TestTypes checks that type errors are reported and kept, and that types are only checked again if something has changed.
func TestTypes(t *testing.T) {
	w := newWorld(t)
	checks, problems := 0, []check.Problem{{File: "scripts/main.ts", Line: 3, Text: "Type 'string' is not\n  assignable", Code: "TS2322"}}
	open := func() *Store {
		s, err := Open([]Dir{{Path: w.skills, Writable: true}}, &Options{Tree: w.tree, Check: func(_ context.Context, src script.Source) ([]check.Problem, error) {
			checks++
			if src.Dir == "" || src.Name != "scripts/main.ts" || src.Code != tsCode {
				t.Errorf("%+v", src)
			}
			return problems, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	saved := save(t, open(), Draft{Name: "one", Code: tsCode})
	if !saved.Broken || saved.Fatal() || len(saved.Warnings) != 1 || saved.Warnings[0] != "scripts/main.ts:3: Type 'string' is not assignable" {
		t.Errorf("%+v", saved)
	}
	k := load(t, w.open(t), "one")
	if !k.Broken || k.Reasons[0].Kind != KindTypes {
		t.Errorf("%+v", k)
	}
	report, err := open().Check(t.Context())
	if err != nil || checks != 1 || len(report.Broken()) != 1 || len(report.Skills[0].Reasons) != 1 {
		t.Errorf("%d checks, %+v, %v", checks, report, err)
	}
	writeTree(t, w.tree, sheet2, lister)
	problems = nil
	report, err = open().Check(t.Context())
	if err != nil || checks != 2 || report.Skills[0].Reasons[0].Kind != KindChanged || len(report.Skills[0].Reasons) != 1 {
		t.Errorf("%d checks, %+v, %v, want 2, report.Skills[0].Reasons[0].Kind %v, len(report.Skills[0].Reasons) 1 and no error", checks, report.Skills[0].Reasons, err, KindChanged)
	}
	if _, err := open().Check(t.Context(), "one"); err != nil || checks != 2 {
		t.Errorf("%d checks, %v, want 2 and no error", checks, err)
	}
}

// TestNoChecker checks that a missing type checker is reported and nothing fails.
func TestNoChecker(t *testing.T) {
	w := newWorld(t)
	s, err := Open([]Dir{{Path: w.skills, Writable: true}}, &Options{Tree: w.tree, Check: func(context.Context, script.Source) ([]check.Problem, error) {
		return nil, &check.MissingError{Program: "tsc", Err: fs.ErrNotExist}
	}})
	if err != nil {
		t.Fatal(err)
	}
	saved := save(t, s, Draft{Name: "one", Code: tsCode})
	if saved.Broken || len(saved.Warnings) != 1 {
		t.Errorf("%+v", saved)
	}
	wants(t, saved.Warnings[0], "the types of scripts/main.ts were not checked", "npm install -g typescript")
	if again := save(t, s, Draft{Name: "two", Code: tsCode, Author: AuthorAgent}); len(again.Warnings) != 0 {
		t.Errorf("Save() of an agent has the warnings %q, want len(again.Warnings) 0", again.Warnings)
	}
	report, err := s.Check(t.Context())
	if err != nil || len(report.Warnings) != 1 || len(report.Broken()) != 0 {
		t.Errorf("%+v %v", report, err)
	}
}

// TestRealCheckers checks scripts of several files in both languages with the real compilers.
func TestRealCheckers(t *testing.T) {
	w := newWorld(t)
	tree, err := filepath.Abs("../../servers")
	if err != nil {
		t.Fatal(err)
	}
	opt := check.Options{Tree: tree, Skills: w.skills, Places: check.Places{TSC: program(t, "tsc"), Pyright: program(t, "pyright")}}
	s, err := Open([]Dir{{Path: w.skills, Writable: true}}, &Options{Tree: tree, Check: func(ctx context.Context, src script.Source) ([]check.Problem, error) { return check.Run(ctx, src, opt) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(w.skills, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		draft Draft
		want  string
	}{
		"good-ts": {Draft{Code: "import { add } from './servers/calculator';\nimport { one } from './lib/one.ts';\nexport const two = async () => (await add({ numbers: [one, 1] })).result;\n", Files: map[string][]byte{"scripts/lib/one.ts": []byte("export const one = 1;\n")}}, ""},
		"good-py": {Draft{Language: sandbox.LangPython, Code: "from servers.calculator import add\nfrom .one import one\n\ndef two() -> float:\n    return add(numbers=[one, 1])[\"result\"]\n", Files: map[string][]byte{"scripts/one.py": []byte("one = 1\n")}}, ""},
		"bad-ts":  {Draft{Code: "import { add } from './servers/calculator';\nexport const two = () => add({ numbers: ['x'] });\n"}, "scripts/main.ts:2: Type 'string' is not assignable"},
		"bad-py":  {Draft{Language: sandbox.LangPython, Code: "from servers.calculator import add\n\ndef two():\n    return add(numbers=[\"x\"])\n"}, "scripts/main.py:4: "},
	} {
		test.draft.Name, test.draft.Description = name, "A test."
		saved := save(t, s, test.draft)
		if text := strings.Join(saved.Warnings, "\n"); (text == "") != (test.want == "") || !strings.Contains(text, test.want) {
			t.Errorf("%s: %s", name, text)
		}
		if saved.Broken != (test.want != "") || len(saved.Tools) != 1 || saved.Tools[0].ID != "calculator__add" {
			t.Errorf("%s: %+v", name, saved.Skill)
		}
	}
	// Another skill is found by the name in the import.
	upon := save(t, s, Draft{Name: "upon-py", Description: "x", Language: sandbox.LangPython, Code: "from skills.good_py import two\nfrom skills.good_py.one import one\n\ndef three() -> float:\n    return two() + one\n"})
	if upon.Broken || len(upon.Skills) != 1 || upon.Skills[0] != "good-py" || len(upon.Tools) != 0 {
		t.Errorf("%+v %v", upon.Skill, upon.Warnings)
	}
}

// program returns the path of a type checker that is pinned in testdata/npm.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../testdata/npm/node_modules/.bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("%s is not installed; run `npm ci` in testdata/npm", name)
	}
	return path
}

// TestUsed checks that the skills that a script imports are found before it runs, in every spelling, with their reasons.
func TestUsed(t *testing.T) {
	w := newWorld(t)
	save(t, w.open(t), Draft{Name: "ts-one", Code: tsCode})
	save(t, w.open(t), Draft{Name: "py-one", Code: pyCode, Language: sandbox.LangPython})
	writeTree(t, w.tree, lister)
	s := w.open(t)
	for code, want := range map[string]string{
		"import { saveSheet } from './skills/ts-one'; saveSheet();": "ts-one",
		"export * from './skills/tsOne/scripts/main'":               "ts-one",
		"const x = await import('#skills/ts_one');":                 "ts-one",
		"console.log('none')":                                       "",
		"import './skills/nope';":                                   "",
		"py:from skills.py_one import save_sheet":                   "py-one",
		"py:import skills.py_one as p":                              "py-one",
		"py:from skills import py_one":                              "py-one",
		"py:from skills import pyOne, nope":                         "py-one",
		"py:x = '''\nimport skills.py_one\n'''":                     "",
	} {
		src := script.Source{Name: "main.ts", Code: code, Language: sandbox.LangTypeScript}
		if python, ok := strings.CutPrefix(code, "py:"); ok {
			src = script.Source{Name: "main.py", Code: python, Language: sandbox.LangPython}
		}
		program, err := script.Read(t.Context(), src, script.Options{Tree: w.tree, Skills: s.imported()})
		if program == nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		used, err := s.Used(program.Uses.Skills)
		var names []string
		for _, k := range used {
			names = append(names, k.Name)
			if !k.Fatal() {
				t.Errorf("%s is not broken", k.Name)
			}
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: %v %v, want %v and no error", code, names, err, want)
		}
	}
}
