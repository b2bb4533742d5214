package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
	"github.com/mcpgen/mcpgen/templates"
)

// pyrightConfig is a configuration with an empty environment, so that no Python is started to ask where packages are:
// those of the sandbox are among the extraPaths. The stubs lie in no execution environment: they find the tree by the outer extraPaths.
const pyrightConfig = `{
  "include": ["script"],
  "stubPath": "stubs",
  "extraPaths": ["lib"],
  "executionEnvironments": [{"root": "script", "extraPaths": %s}],
  "venvPath": ".",
  "venv": "venv",
  "pythonVersion": "3.11",
  "pythonPlatform": "Linux",
  "typeCheckingMode": "standard",
  "reportMissingModuleSource": "none",
  "reportTypedDictNotRequiredAccess": "none",
  "reportOptionalSubscript": "none",
  "reportOptionalMemberAccess": "none",
  "reportOptionalIterable": "none",
  "reportOptionalOperand": "none",
  "reportUndefinedVariable": %q
}`

// python checks a script with pyright. Modules are the files beside it that it imports.
func (c *checker) python(ctx context.Context, modules map[string]string) ([]Problem, error) {
	texts := map[string]string{c.src.Name: c.src.Code}
	maps.Copy(texts, modules)
	var outside []Problem
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, line := range pyimport.LinesBeyond(texts[name], strings.Count(name, "/")) {
			outside = append(outside, Problem{File: name, Line: line, Text: "a relative import leads out of the package", Source: lineAt(texts[name], line)})
		}
		if err := c.mirror.write("script/"+name, texts[name]); err != nil {
			return nil, err
		}
	}
	if len(outside) > 0 {
		return outside, nil // the checker would look there
	}
	if err := c.pythonWorld(); err != nil {
		return nil, err
	}
	out, _, err := c.run(ctx, "-p", "pyrightconfig.json", "--outputjson")
	if err != nil {
		return nil, err
	}
	return c.parsePyright(out, texts)
}

// stringLiterals matches a Literal of two or more strings.
var stringLiterals = regexp.MustCompile(`\bLiteral_*\[` + stringPattern + `(?:, ` + stringPattern + `)+\]`)

// loosePython makes what a tool without a declared result answers Any, and enums of strings str, as looseTypeScript does.
func loosePython(text string) string {
	text = strings.ReplaceAll(text, ") -> object:\n", ") -> Any:\n")
	return stringLiterals.ReplaceAllString(text, "str")
}

// execCall matches a call of exec, which may define any name.
var execCall = regexp.MustCompile(`\bexec\(`)

func isPython(name string) bool { return path.Ext(name) == ".py" }

// pythonWorld writes what a script can import, and what it finds without.
func (c *checker) pythonWorld() error {
	undefined := "error"
	if execCall.MatchString(c.src.Code) {
		undefined = "none"
	}
	places := []string{"lib"}
	if installed := pythonPackages(c.opt.Packages); installed != "" {
		places = append(places, installed)
	}
	found, err := json.Marshal(places)
	if err != nil {
		return err
	}
	files := map[string]string{
		"pyrightconfig.json": fmt.Sprintf(pyrightConfig, found, undefined), "venv/pyvenv.cfg": "home = nowhere\n",
		"venv/lib/python3.11/site-packages/.keep": "", "venv/Lib/site-packages/.keep": "",
	}
	if c.opt.Tree != "" {
		if err := c.mirror.copyTree(c.opt.Tree, "lib/servers", isPython, func(_, text string) string {
			c.types.add(text)
			return loosePython(text)
		}); err != nil {
			return err
		}
	}
	if c.opt.Skills != "" {
		if err := c.pythonSkills(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// The library's types come with the tree's, so that an error is of one class. A tree that has no such types gets them.
	client := "servers"
	for _, name := range []string{"client.py", "_content.py"} {
		if _, err := os.Stat(filepath.Join(c.mirror.dir, "lib", "servers", name)); err != nil {
			client = "_mcprun_types"
		}
	}
	if client != "servers" {
		files["stubs/_mcprun_types/__init__.py"] = ""
		files["stubs/_mcprun_types/client.py"] = templates.Text("py/client.py")
		files["stubs/_mcprun_types/_content.py"] = templates.Text("py/content.py")
	}
	files["stubs/mcprun.pyi"] = regexp.MustCompile(`(?m)^from \.`).ReplaceAllString(templates.Text("py/mcprun.pyi"), "from "+client+".")
	builtins := strings.ReplaceAll(templates.Text("py/builtins.pyi"), "from .mcprun ", "from mcprun ") + "from typing import Any as _Any\n"
	for _, name := range c.opt.variables() {
		if !ident.PythonKeyword(name) {
			builtins += name + ": " + map[string]string{"string": "str", "number": "_Any", "boolean": "bool", "any": "_Any"}[kindOf(c.opt.Vars[name])] + "\n"
		}
	}
	files["stubs/__builtins__.pyi"] = builtins
	for name, text := range files {
		if err := c.mirror.write(name, text); err != nil {
			return err
		}
	}
	return nil
}

// dictNotTypedDict matches what pyright says of a dict that a variable holds, or a call returns, and that is passed as a
// TypedDict. Its type has forgotten the keys, so nothing can be said of them.
var dictNotTypedDict = regexp.MustCompile(`"dict\[str, .*\]" is not assignable to "_*[A-Z]\w*"`)

// pyrightOutput is what pyright prints.
type pyrightOutput struct {
	GeneralDiagnostics []struct {
		File, Severity, Message, Rule string
		Range                         struct{ Start struct{ Line, Character int } }
	}
}

func (c *checker) parsePyright(out string, texts map[string]string) ([]Problem, error) {
	var said pyrightOutput
	begin := strings.IndexByte(out, '{') // a wrapper of it may print lines of its own first
	if begin < 0 {
		return nil, fmt.Errorf("read its output: %s", cut(out))
	}
	if err := json.Unmarshal([]byte(out[begin:]), &said); err != nil {
		return nil, fmt.Errorf("read its output: %w", err)
	}
	var problems []Problem
	for _, d := range said.GeneralDiagnostics {
		if len(problems) == maxProblems {
			break
		}
		rel, err := filepath.Rel(filepath.Join(c.mirror.dir, "script"), filepath.FromSlash(d.File))
		if err != nil {
			continue
		}
		name := filepath.ToSlash(rel)
		text, ok := texts[name]
		if !ok || d.Severity != "error" {
			continue
		}
		line := d.Range.Start.Line + 1
		if name == c.src.Name && d.Rule == "" && strings.Contains(d.Message, "async function") && atTopLevel(text, line) {
			continue // a script may await
		}
		source := lineAt(text, line)
		p := Problem{File: path.Clean(name), Line: line, Column: bytesOf(source, d.Range.Start.Character) + 1, Code: d.Rule,
			Text: cut(strings.ReplaceAll(strings.ReplaceAll(d.Message, c.mirror.dir, ""), "\u00a0", " ")), Source: source}
		if d.Rule == "reportArgumentType" && pyimport.IsIdentifier(source[p.Column-1:min(p.Column, len(source))]) && dictNotTypedDict.MatchString(p.Text) {
			continue
		}
		if len(p.Source) > 300 {
			p.Source = ""
		}
		problems = append(problems, p)
	}
	return problems, nil
}

// atTopLevel reports whether a line is outside any function. What is indented less and comes before it decides.
func atTopLevel(text string, line int) bool {
	lines := strings.Split(text, "\n")
	indent := func(l string) int { return len(l) - len(strings.TrimLeft(l, " \t")) }
	if line > len(lines) {
		return false
	}
	depth := indent(lines[line-1])
	for i := line - 2; i >= 0 && depth > 0; i-- {
		trimmed := strings.TrimSpace(lines[i])
		if trimmed == "" || trimmed[0] == '#' || indent(lines[i]) >= depth {
			continue
		}
		depth = indent(lines[i])
		if strings.HasPrefix(trimmed, "def ") || strings.HasPrefix(trimmed, "class ") || strings.HasPrefix(trimmed, "async def ") {
			return false
		}
	}
	return !strings.HasPrefix(strings.TrimSpace(lines[line-1]), "def ") && !strings.Contains(lines[line-1], "lambda")
}
