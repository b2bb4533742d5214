package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/templates"
)

// typescript checks a script with tsc.
//
// The compiler gets the list of all files and follows no import by itself (noResolve): what the script names beside them,
// in imports, in types or in /// comments, is not read. Specifiers are rewritten to where the copies lie.
func (c *checker) typescript(ctx context.Context) ([]Problem, error) {
	modules, err := script.Modules(c.src, script.Options{Tree: c.opt.Tree, Skills: c.opt.Skills, Packages: c.opt.Packages.JavaScript()})
	if err != nil {
		return nil, err
	}
	files := map[string]*mirrored{}
	var names []string
	for i := range modules {
		m := mirrorOf(modules, i)
		files[m.name] = m
		names = append(names, m.name)
		if m.module.Namespace == "servers" {
			c.types.add(m.text)
		}
		if err := c.mirror.write(m.name, m.text); err != nil {
			return nil, err
		}
	}
	for name, text := range c.declarations() {
		names = append(names, name)
		if err := c.mirror.write(name, text); err != nil {
			return nil, err
		}
	}
	texts := make([]string, len(modules))
	for i := range modules {
		texts[i] = modules[i].Text
	}
	declared, err := c.copyTypes(texts)
	if err != nil {
		return nil, err
	}
	names = append(names, declared...)
	slices.Sort(names)
	if err := c.mirror.write(configName, c.tsconfig(names)); err != nil {
		return nil, err
	}
	out, failed, err := c.run(ctx, "-p", configName, "--pretty", "false")
	if err != nil {
		return nil, err
	}
	if failed && !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return diagnostic.MatchString(strings.TrimRight(line, "\r")) }) {
		return nil, fmt.Errorf("it failed: %s", cut(strings.TrimSpace(out)))
	}
	return c.parse(out, files)
}

const configName = "tsconfig.json"

// tsconfig is a configuration that has nothing from outside: no types, no libraries but the language's own.
func (c *checker) tsconfig(names []string) string {
	javascript := sandbox.JavaScript(c.src.Name)
	text, err := json.Marshal(map[string]any{
		"compilerOptions": map[string]any{
			"noResolve": true, "noEmit": true, "types": []string{}, "typeRoots": []string{}, "lib": []string{"esnext"},
			"target": "esnext", "module": "preserve", "moduleResolution": "bundler", "moduleDetection": "force",
			"allowImportingTsExtensions": true, "resolveJsonModule": true, "allowJs": true, "checkJs": javascript,
			"strict": true, "strictNullChecks": false, "useUnknownInCatchVariables": false, "skipLibCheck": true, "jsx": "preserve",
		},
		"files": names,
	})
	if err != nil {
		return "{}" // not reached: these values can be written
	}
	return string(text)
}

// declarations are what a script finds without importing it.
func (c *checker) declarations() map[string]string {
	var builtins, vars strings.Builder
	for _, name := range script.NodeModules() {
		fmt.Fprintf(&builtins, "declare module %q;\n", name)
	}
	for _, name := range c.opt.variables() {
		if !ident.TypeScriptReserved(name) {
			fmt.Fprintf(&vars, "declare const %s: %s;\n", name, kindOf(c.opt.Vars[name]))
		}
	}
	return map[string]string{
		"types/sandbox.d.ts": templates.Text("ts/sandbox.d.ts"), "types/node.d.ts": builtins.String(), "types/vars.d.ts": "export {};\ndeclare global {\n" + strings.ReplaceAll(vars.String(), "declare ", "  ") + "}\n",
	}
}

// mirrored is a module as the compiler gets it.
type mirrored struct {
	module *script.Module
	name   string // in the mirror
	text   string
	edits  []edit // in the order of the text
}

// edit is a specifier that was replaced.
type edit struct {
	start, end int    // in the module's own text
	specifier  string // the new one
	old        string
}

var (
	// commentOrStrings matches a comment, a string, or a union of strings.
	commentOrStrings = regexp.MustCompile(`/\*(?s:.*?)\*/|//.*|` + stringPattern + `(?: ?\| ?` + stringPattern + `)*`)
	stringUnion      = regexp.MustCompile(`^` + stringPattern + ` ?\|`)
)

const stringPattern = `"(?:[^"\\\n]|\\.)*"`

// looseTypeScript makes enums of strings string in the copies of wrappers: a variable seldom has a narrower type, and a
// call checks its arguments. A single string stays, as it may tell the members of a union apart.
func looseTypeScript(text string) string {
	return commentOrStrings.ReplaceAllStringFunc(text, func(found string) string {
		if stringUnion.MatchString(found) {
			return "string"
		}
		return found
	})
}

// mirrorOf makes the copy of a module.
func mirrorOf(modules []script.Module, i int) *mirrored {
	m := &mirrored{module: &modules[i], name: mirrorName(&modules[i])}
	if m.module.Namespace == "mcprun" && m.module.Path != "client.ts" {
		m.text = templates.Text("ts/mcprun.d.ts")
		for _, ref := range m.module.Imports {
			m.text = strings.ReplaceAll(m.text, `"./client.ts"`, strconv.Quote(relative(m.name, mirrorName(&modules[ref.Module]))))
		}
		return m
	}
	var b strings.Builder
	last := 0
	for _, ref := range m.module.Imports {
		e := edit{start: ref.Start, end: ref.End, old: m.module.Text[ref.Start:ref.End], specifier: relative(m.name, mirrorName(&modules[ref.Module]))}
		m.edits = append(m.edits, e)
		b.WriteString(m.module.Text[last:e.start] + e.specifier)
		last = e.end
	}
	b.WriteString(m.module.Text[last:])
	m.text = b.String()
	if m.module.Namespace == "servers" {
		m.text = looseTypeScript(m.text)
	}
	if m.module.Path == "client.ts" && (m.module.Namespace == "servers" || m.module.Namespace == "mcprun") {
		m.text = strings.Replace(m.text, "callMCPTool<T = unknown>(", "callMCPTool<T = any>(", 1)
	}
	return m
}

func mirrorName(m *script.Module) string {
	if m.Namespace == "mcprun" && m.Path != "client.ts" {
		return "mcprun/mcprun.d.ts"
	}
	return m.Namespace + "/" + m.Path
}

// relative is the specifier for a file of the mirror in another.
func relative(from, to string) string {
	rel, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(strings.TrimSuffix(to, ".d.ts")))
	if err != nil {
		return to // not reached: both are below the mirror
	}
	rel = filepath.ToSlash(rel)
	if !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return rel
}

// original turns an offset in the copy into one in the module's own text.
func (m *mirrored) original(offset int) int {
	shift := 0 // how much longer the copy is, up to here
	for _, e := range m.edits {
		start := e.start + shift
		if offset < start {
			break
		}
		if offset < start+len(e.specifier) {
			return e.start
		}
		shift += len(e.specifier) - (e.end - e.start)
	}
	return offset - shift
}

// asWritten puts the script's own specifiers back into a message.
func (m *mirrored) asWritten(text string) string {
	for _, e := range m.edits {
		for _, quote := range []string{`'"`, `'`, `"`} {
			end := map[string]string{`'"`: `"'`, `'`: `'`, `"`: `"`}[quote]
			text = strings.ReplaceAll(text, quote+e.specifier+end, quote+e.old+end)
		}
	}
	return text
}

// implicitAny matches the codes that noImplicitAny adds, such as a parameter without a type. The option itself is on: without
// it, the compiler does not infer the type of `const all = []` from what is pushed, but takes it as never[].
var implicitAny = regexp.MustCompile(`^TS70(?:0\d|1\d|2[0-5]|3[1-6]|[45]\d)$`)

// diagnostic is a line of the compiler's output; other lines go on with what it says.
var diagnostic = regexp.MustCompile(`^(?:(.+?)\((\d+),(\d+)\): )?error (TS\d+): (.*)$`)

// parse reads what the compiler prints. Problems of files that nobody wrote are left out.
func (c *checker) parse(out string, files map[string]*mirrored) ([]Problem, error) {
	var problems []Problem
	last := -1 // the problem that a further line belongs to
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		found := diagnostic.FindStringSubmatch(line)
		if found == nil {
			if last >= 0 && strings.HasPrefix(line, " ") {
				problems[last].Text = cut(problems[last].Text + "\n" + line)
			}
			continue
		}
		if last = -1; len(problems) == maxProblems {
			break
		}
		if found[1] == "" {
			return nil, errors.New(cut(found[4] + ": " + found[5])) // of the configuration: another compiler than expected
		}
		if found[1] == configName { // it does not know the options, and ignores them
			return nil, fmt.Errorf("this TypeScript is older than 5.4, which is needed (%s): update it, or name another one with --tsc; `mcprun tools install` installs one", cut(found[4]+": "+found[5]))
		}
		m := files[filepath.ToSlash(found[1])]
		if m == nil || m.module.Namespace == "servers" || m.module.Namespace == "mcprun" || implicitAny.MatchString(found[4]) || found[4] == "TS2307" && c.lacksTypes(found[5]) {
			continue
		}
		problems = append(problems, m.problem(found))
		last = len(problems) - 1
	}
	for i := range problems {
		for _, m := range files {
			if shownName(m.module) == problems[i].File {
				problems[i].Text = m.asWritten(strings.ReplaceAll(problems[i].Text, filepath.ToSlash(c.mirror.dir)+"/", ""))
			}
		}
	}
	return problems, nil
}

// problem places what the compiler says in the module's own text.
func (m *mirrored) problem(found []string) Problem {
	line, _ := strconv.Atoi(found[2])
	column, _ := strconv.Atoi(found[3])
	p := Problem{File: shownName(m.module), Line: line, Code: found[4], Text: cut(found[5]), Source: lineAt(m.module.Text, line)}
	start := 0 // of the line in the copy
	for range line - 1 {
		next := strings.IndexByte(m.text[start:], '\n')
		if next < 0 {
			return p
		}
		start += next + 1
	}
	at := m.original(start + bytesOf(lineAt(m.text[start:], 1), column-1))
	p.Column = at - (strings.LastIndexByte(m.module.Text[:at], '\n') + 1) + 1
	if len(p.Source) > 300 {
		p.Source = ""
	}
	return p
}

func shownName(m *script.Module) string {
	if m.Namespace == "script" {
		return m.Path
	}
	return m.Namespace + "/" + m.Path
}
