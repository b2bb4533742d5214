package task_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/search/searchtest"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/task"
)

// TestScaffoldsHaveTypes checks scaffolds as a person's editor does, with strict rules: of the demo servers' tools, of hostile tools, and of those
// of public servers, whose lists may be beside the repository. [5.9]
func TestScaffoldsHaveTypes(t *testing.T) {
	servers := four()
	servers["odd"] = []json.RawMessage{
		tool("evil", "Ends */ a comment\u2028const x: number = 'no'; \"\"\" and a docstring\r\nimport os", `{"type":"object","required":["class","a-b"],"properties":{"class":{"type":"string","enum":["\u2028\"'\\ */"]},"a-b":{"type":"integer"}}}`),
		tool("look", "Looks, and changes nothing", `{"type":"object","required":["of"],"properties":{"of":{"type":"string"}}},"annotations":{"readOnlyHint":true}`),
		tool("query", "Has the name of another server's tool", schemaOf("q")),
		tool("nested", "Has nested arguments", `{"type":"object","required":["of","pair","any","tree"],"properties":{"of":{"type":"object","required":["x"],"properties":{"x":{"enum":[3,"three"]},"y":{}}},"pair":{"type":"array","prefixItems":[{"type":"number"},{"type":"boolean"}],"minItems":2},"any":{},"tree":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","required":["next"],"properties":{"next":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/t"}]}}}}}`),
		tool("endless", "Has an argument without an end", `{"type":"object","required":["t"],"properties":{"t":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","required":["t"],"properties":{"t":{"$ref":"#/$defs/t"}}}}}`),
		tool("both", "Has an intersection", `{"type":"object","required":["v"],"properties":{"v":{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},{"type":"object","required":["b"],"properties":{"b":{"type":"number"}}}]}}}`),
	}
	paths, err := filepath.Glob(filepath.Join(cmp.Or(os.Getenv("MCPGEN_TEST_CORPUS"), "../../../shared/corpus"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	lists, err := searchtest.ReadLists(paths)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range lists {
		if i%10 == 0 { // some of them; all take minutes
			servers[l.ID] = l.Tools
		}
	}
	tree := treeOf(t, servers, nil)
	dir := filepath.Dir(tree.Dir)
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("tsconfig.json", `{ "extends": "./servers/.mcpgen/editor/tsconfig.json", "compilerOptions": { "strict": true } }`)
	put("pyproject.toml", "[tool.pyright]\nextends = \"servers/.mcpgen/editor/pyright.json\"\ninclude = [\"*.py\"]\ntypeCheckingMode = \"strict\"\nreportMissingModuleSource = false\n")
	n, all := 0, strings.Builder{}
	for name := range servers {
		words := []string{name}
		for _, raw := range servers[name] {
			var tool struct{ Name string }
			if err := json.Unmarshal(raw, &tool); err != nil {
				t.Fatal(err)
			}
			words = append(words, tool.Name)
		}
		for at := 0; at < len(words); at += 4 {
			text := strings.Join(words[at:min(len(words), at+4)], " ")
			for lang, ext := range map[sandbox.Language]string{sandbox.LangTypeScript: ".ts", sandbox.LangPython: ".py"} {
				s, err := tree.Select(t.Context(), text, lang, 0, 0)
				if nothing, ok := err.(*task.NothingError); ok && nothing != nil {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				text := s.Scaffold("a task\u2028of two lines")
				put(fmt.Sprintf("task%d%s", n, ext), text)
				all.WriteString(text)
				n++
			}
		}
	}
	if n < 10 || strings.Count(all.String(), "as never") > n/4 {
		t.Errorf("%d scaffolds, in which %d calls have no example; want most to have one", n, strings.Count(all.String(), "as never"))
	}
	check := func(name string, args ...string) (string, error) {
		t.Helper()
		program, err := filepath.Abs(filepath.Join("../../testdata/npm/node_modules/.bin", name))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for name, args := range map[string][]string{"tsc": {"-p", "."}, "pyright": {"-p", ".", "--warnings"}} {
		if out, err := check(name, args...); err != nil {
			t.Errorf("%s: %v\n%.6000s", name, err, out)
		}
		put("task0.ts", "export const result: number = 'no';\n")
		put("task0.py", "result: int = 'no'\n")
		if out, err := check(name, args...); err == nil || !strings.Contains(out, "task0") {
			t.Errorf("%s finds nothing wrong, so it proves nothing:\n%s", name, out)
		}
		put("task0.ts", "")
		put("task0.py", "")
	}
}

// TestScaffoldChangesNothing checks that a scaffold which is run as it is calls only tools that say they are read-only.
func TestScaffoldChangesNothing(t *testing.T) {
	hinted := func(name string, hints string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":"Notes of a notebook","inputSchema":{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}},"annotations":%s}`, name, hints))
	}
	tree := treeOf(t, map[string][]json.RawMessage{"notebook": {hinted("delete_note", `{"destructiveHint":true}`), hinted("write_note", `{}`), hinted("read_note", `{"readOnlyHint":true}`)}}, nil)
	for lang, want := range map[sandbox.Language]string{
		sandbox.LangTypeScript: `
const output1 = await readNote({ id: "…" });

// deleteNote(input: { id: string }): Promise<AnyUndeclared>
// It may change something, so nothing calls example1 yet.
async function example1(): Promise<unknown> {
  return await deleteNote({ id: "…" });
}
`,
		sandbox.LangPython: `
# It may change something, so nothing calls example2 yet.
def example2() -> object:
    return write_note(id="…")

# Keep the calls that the task needs, and replace the example values.
result: object = { "read_note": output1 }
`,
	} {
		s, err := tree.Select(t.Context(), "delete note, write note, read note", lang, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Scaffold("a task"); !strings.Contains(got, want) || strings.Count(got, "Note(")+strings.Count(got, "_note(") != 6 {
			t.Errorf("the scaffold is %s\nwant in it %s", got, want)
		}
	}
}
