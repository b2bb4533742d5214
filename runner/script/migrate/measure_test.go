package migrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// TestMeasure renames things in real tools, and counts the scripts that are adapted and pass the type check.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the type checkers some hundred times")
	}
	dir := t.TempDir()
	opt := checkers(t, dir)
	random := rand.New(rand.NewPCG(3, 20))
	var old, now []json.RawMessage
	var cases []measured
	most, least := 30, 20
	if os.Getenv("MCPGEN_TEST_CORPUS") != "" {
		most, least = 120, 80
	}
	for i, raw := range someTools(t, random, most) {
		c, changed, ok := renameIn(random, raw, i)
		if !ok {
			continue
		}
		cases = append(cases, c)
		old, now = append(old, c.raw), append(now, changed)
	}
	was := generated(t, dir, old...)
	scripts := filepath.Join(dir, "scripts")
	if err := os.MkdirAll(scripts, 0o700); err != nil {
		t.Fatal(err)
	}
	made := map[string]string{} // files by kind of change
	for i, c := range cases {
		name, text := c.script(was, i, python() != "")
		path := filepath.Join(scripts, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if problems, err := check.Run(t.Context(), script.Source{Name: name, Code: text, Language: sandbox.LanguageOf(name), Dir: scripts}, opt); err != nil || len(problems) > 0 {
			t.Logf("%s is no fair script: %v %v\n%s", name, err, problems, text)
			continue
		}
		made[path] = c.kind
	}
	is := generated(t, dir, now...)
	report, err := Run(t.Context(), Options{Before: was, After: is, Scripts: slices.Sorted(maps.Keys(made)), Check: opt, Python: python()})
	if err != nil {
		t.Fatal(err)
	}
	green, by := 0, map[string][2]int{}
	for path, kind := range made {
		n := by[kind]
		n[1]++
		changed := slices.ContainsFunc(report.Changed, func(c Changed) bool { return c.Path == path })
		left := slices.ContainsFunc(report.Left, func(l Left) bool { return l.File == path })
		if changed && !left {
			green++
			n[0]++
		} else {
			text, _ := os.ReadFile(path)
			t.Logf("%s in %s was not adapted: %+v\n%s", kind, path, slices.DeleteFunc(slices.Clone(report.Left), func(l Left) bool { return l.File != path }), text)
		}
		by[kind] = n
	}
	t.Logf("%d of %d renames adapted and green (%.1f %%): %v", green, len(made), 100*float64(green)/float64(len(made)), by)
	if len(made) < least || 100*green < 80*len(made) {
		t.Errorf("%d of %d renames were adapted, want 80 %%", green, len(made))
	}
}

// measured is a tool and what was changed in it.
type measured struct {
	kind string
	raw  json.RawMessage
	tool map[string]any
}

// someTools picks tools of the repository's catalogs, and of recorded ones where they lie beside it. Each gets a name of its own.
func someTools(t *testing.T, random *rand.Rand, most int) []map[string]any {
	dir := os.Getenv("MCPGEN_TEST_CORPUS")
	if dir == "" {
		dir = "../../../../shared/corpus"
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, path := range append([]string{"../../../testdata/drift/tools.json"}, paths...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list, _ := decode(raw)["tools"].([]any)
		all = append(all, list...)
	}
	var out []map[string]any
	for i := range most {
		tool := clone(all[random.IntN(len(all))].(map[string]any))
		tool["name"] = fmt.Sprintf("%v_n%d", tool["name"], i)
		tool["description"] = fmt.Sprintf("%v (%d)", tool["description"], i)
		out = append(out, tool)
	}
	return out
}

func clone(v map[string]any) map[string]any {
	return decode(canonical(v))
}

// decode returns an object, with numbers as written.
func decode(raw []byte) (v map[string]any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

func canonical(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// renameIn changes a tool in one of five ways.
func renameIn(random *rand.Rand, tool map[string]any, i int) (c measured, changed json.RawMessage, ok bool) {
	c = measured{tool: tool, raw: canonical(tool)}
	now := clone(tool)
	var objects, enums []map[string]any
	collect(now["inputSchema"], &objects, &enums)
	switch i % 5 {
	case 0:
		c.kind = "tool"
		now["name"] = "fetch_" + fmt.Sprint(now["name"])
	case 1, 2:
		c.kind = "member"
		if len(objects) == 0 {
			return c, nil, false
		}
		o := objects[random.IntN(len(objects))]
		p := o["properties"].(map[string]any)
		name := slices.Sorted(maps.Keys(p))[random.IntN(len(p))]
		to := []string{"target_" + name, name + "_value", ident.Camel(name + "_name")}[random.IntN(3)]
		read, err := jsonschema.Parse(canonical(o), jsonschema.Unlimited)
		if err != nil {
			panic(err)
		}
		if text := description(property(read, name)); text == "" || !once(read, text) { // another name would be no evidence
			if to = ident.Camel(name); to == name {
				to = ident.Pascal(name)
			}
		}
		p[to] = p[name]
		delete(p, name)
		list, _ := o["required"].([]any)
		for i, each := range list {
			if each == name {
				list[i] = to
			}
		}
	case 3:
		c.kind = "enum value"
		if len(enums) == 0 {
			return c, nil, false
		}
		e := enums[random.IntN(len(enums))]
		list := e["enum"].([]any)
		was, to := fmt.Sprint(list[0]), strings.ToUpper(fmt.Sprint(list[0]))
		if to == was {
			to = strings.ToLower(was)
		}
		if len(was) < 3 || !restyled(was, to) || slices.Contains(list, any(to)) { // a sign or a single letter is no name
			return c, nil, false
		}
		list[0] = to
		delete(e, "default")
	case 4:
		c.kind = "required with default"
		if len(objects) == 0 {
			return c, nil, false
		}
		o := objects[random.IntN(len(objects))]
		o["properties"].(map[string]any)["tenant_scope"] = map[string]any{"type": "string", "default": "main"}
		list, _ := o["required"].([]any)
		o["required"] = append(list, "tenant_scope")
	}
	return c, canonical(now), true
}

func collect(v any, objects, enums *[]map[string]any) {
	n, _ := v.(map[string]any)
	if list, _ := n["enum"].([]any); len(list) > 1 {
		if _, text := list[0].(string); text {
			*enums = append(*enums, n)
		}
	}
	p, _ := n["properties"].(map[string]any)
	if len(p) > 0 {
		*objects = append(*objects, n)
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		collect(p[name], objects, enums)
	}
	collectIn := n["items"]
	if collectIn != nil {
		collect(collectIn, objects, enums)
	}
}

// script writes a script that calls the tool with all that it takes, in one of the ways that scripts do.
func (c measured) script(tree Tree, i int, python bool) (name, text string) {
	names := tree.Lock.Servers["google-drive"].Tools[c.tool["name"].(string)]
	properties, _ := c.tool["inputSchema"].(map[string]any)["properties"].(map[string]any)
	var members, keywords []string
	for _, p := range slices.Sorted(maps.Keys(properties)) {
		members = append(members, literal(p, "typescript")+": "+literal(value(c.tool["inputSchema"], properties[p]), "typescript"))
		keywords = append(keywords, p+"="+literal(value(c.tool["inputSchema"], properties[p]), "python"))
		python = python && ident.IsIdentifier(p) && !ident.PythonKeyword(p)
	}
	input := "{ " + strings.Join(members, ", ") + " }"
	if python && i%4 == 3 {
		function, name := names.Names["python"].Function, fmt.Sprintf("s%d.py", i)
		args := strings.Join(keywords, ", ")
		return name, []string{
			fmt.Sprintf("from servers.google_drive import %s\n\nprint(%s(%s))\n", function, function, args),
			fmt.Sprintf("from servers import google_drive as drive\n\nresult = drive.%s(%s)\n", function, args),
			fmt.Sprintf("from servers.google_drive import %s as call\n\ndef main():\n    return call(%s)\n\nprint(main())\n", function, args),
		}[i/4%3]
	}
	function := names.Names["typescript"].Function
	return fmt.Sprintf("s%d.ts", i), []string{
		fmt.Sprintf("import { %[1]s } from \"../servers/google_drive\";\nconsole.log(await %[1]s(%[2]s));\n", function, input),
		fmt.Sprintf("import * as drive from './servers/google_drive/index.js';\nexport const result = await drive.%s(%s);\n", function, input),
		fmt.Sprintf("import { %s as call } from \"#servers/google_drive\";\nexport async function main() {\n  return call(%s);\n}\nawait main();\n", function, input),
		fmt.Sprintf("import { %[1]s } from \"./servers/google_drive/%[1]s.ts\";\nconst input = %[2]s;\nconst all = await Promise.all([1].map(() => %[1]s(input)));\nconsole.log(all.length);\n", function, input),
		fmt.Sprintf("import { callMCPTool } from \"./servers/client\";\nconsole.log(await callMCPTool(%q, %s));\n", names.ID, input),
	}[i/5%5]
}

// value returns a value for a decoded schema.
func value(root, schema any) any {
	both, err := jsonschema.Parse(canonical([]any{root, schema}), jsonschema.Unlimited)
	if err != nil {
		panic(err)
	}
	return sample(both.Items[0], both.Items[1])
}

// sample returns a value for a schema.
func sample(root, schema *jsonschema.Value) any {
	if schema.Has("$ref") {
		return sample(root, root.Local(schema.Str("$ref")))
	}
	if values, ok := jsonschema.Values(schema); ok && len(values) > 0 {
		return values[0].Plain()
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := schema.Get(key).Elements(); len(list) > 0 {
			return sample(root, list[0])
		}
	}
	kind := schema.Str("type")
	if list := schema.Get("type").Elements(); len(list) > 0 {
		kind = list[0].Text
	}
	switch kind {
	case "integer", "number":
		return json.Number("1")
	case "boolean":
		return true
	case "array":
		return []any{sample(root, schema.Get("items"))}
	case "object":
		out := map[string]any{}
		for _, m := range properties(schema) {
			out[m.Key] = sample(root, m.Value)
		}
		return out
	}
	return "x"
}

func literal(v any, language string) string {
	if language == "python" {
		return pythonText(v)
	}
	return string(canonical(v))
}
