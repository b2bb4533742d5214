package migrate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/runner/script/check"
)

// accepting are type checkers that accept everything.
func accepting(t *testing.T, dir string) check.Options {
	t.Helper()
	opt := check.Options{Tree: filepath.Join(dir, "servers"), Places: check.Places{LookPath: exec.LookPath, TSC: filepath.Join(dir, "tsc"), Pyright: filepath.Join(dir, "pyright")}}
	for path, text := range map[string]string{opt.TSC: "", opt.Pyright: "echo '{\"generalDiagnostics\": []}'\n"} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return opt
}

// needPython returns the interpreter. Without one the test is skipped, or fails in CI.
func needPython(t *testing.T) string {
	t.Helper()
	if python() == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no python3")
		}
		t.Skip("no python3")
	}
	return python()
}

// TestPlaces has what moves a place in the file from that in the JavaScript that is read, and forms of calls and members. Left are lines
// with the beginning of a text.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	opt := accepting(t, dir)
	was := generated(t, dir, json.RawMessage(before), json.RawMessage(fetch))
	is := generated(t, dir, json.RawMessage(after), json.RawMessage(strings.Replace(fetch, "get_document", "fetch_document", 1)))
	const (
		search = `import { searchFiles } from "./servers/google_drive";` + "\n"
		get    = `import { getDocument } from "./servers/google_drive";` + "\n"
		now    = `import { fetchDocument } from "./servers/google_drive";` + "\n"
	)
	tests := []struct {
		name, file, text, want string // want is empty for a file that is not changed
		left                   []string
	}{
		{"carriage returns", "a.ts", strings.ReplaceAll(search+"/* a\n b */ const a = `c\nd`;\nawait searchFiles({\n  query: `x`, });\n", "\n", "\r\n"),
			strings.ReplaceAll(search+"/* a\n b */ const a = `c\nd`;\nawait searchFiles({\n  scope: \"mine\", search_query: `x`, });\n", "\n", "\r\n"), nil},
		{"a byte order mark", "a.ts", "\ufeff" + get + "console.log(getDocument({ id: `x` }));\n", "\ufeff" + now + "console.log(fetchDocument({ id: `x` }));\n", nil},
		{"a byte order mark, on its line", "a.ts", "\ufeffimport { getDocument } from './servers/google_drive'; getDocument({ id: 'x' });\n",
			"\ufeffimport { fetchDocument } from './servers/google_drive'; fetchDocument({ id: 'x' });\n", nil},
		{"characters of two and four bytes", "a.ts", get + "const ä = '😀é', 名 = `😀${getDocument({ id: '😀' })}😀`, o = { '😀': getDocument, getDocument }; getDocument({ id: ä });\n",
			now + "const ä = '😀é', 名 = `😀${fetchDocument({ id: '😀' })}😀`, o = { '😀': fetchDocument, getDocument: fetchDocument }; fetchDocument({ id: ä });\n", nil},
		{"line separators", "a.ts", get + "const a = '\u2028', b = `\u2029`; getDocument({ id: 'x' });\n", now + "const a = '\u2028', b = `\u2029`; fetchDocument({ id: 'x' });\n", nil},
		{"types, enums and decorators", "a.ts", get + `enum Kind { A = 1, B }
declare function log(of: unknown): (target: unknown, context: unknown) => void;
abstract class Docs<T extends object> {
  @log(getDocument) private readonly kind?: Kind = Kind.B;
  constructor(protected of: T, public readonly get: unknown = getDocument) {}
  async one(id: string): Promise<string> { return ((await getDocument({ id })) as { text: string }).text!; }
}
`, now + `enum Kind { A = 1, B }
declare function log(of: unknown): (target: unknown, context: unknown) => void;
abstract class Docs<T extends object> {
  @log(fetchDocument) private readonly kind?: Kind = Kind.B;
  constructor(protected of: T, public readonly get: unknown = fetchDocument) {}
  async one(id: string): Promise<string> { return ((await fetchDocument({ id })) as { text: string }).text!; }
}
`, nil},
		{"JSX", "a.tsx", `/** @jsx h */
import { getDocument, searchFiles } from "./servers/google_drive";
const h = (...of: unknown[]) => of;
export const page = <a title="getDocument">don't {getDocument({ id: "x" })} {...[searchFiles({ query: "é" })]}</a>;
`, `/** @jsx h */
import { fetchDocument, searchFiles } from "./servers/google_drive";
const h = (...of: unknown[]) => of;
export const page = <a title="getDocument">don't {fetchDocument({ id: "x" })} {...[searchFiles({ scope: "mine", search_query: "é" })]}</a>;
`, nil},
		{"iterators that wait", "a.ts", get + `async function* all(ids: AsyncIterable<string>) {
  for await (const id of ids) yield await getDocument({ id });
}
`, now + `async function* all(ids: AsyncIterable<string>) {
  for await (const id of ids) yield await fetchDocument({ id });
}
`, nil},
		{"regular expressions and comments", "a.ts", get + `const odd = /["'` + "`" + `]/g, /* getDocument " */ n = 4 / 2; // import { searchFiles } from "./servers/google_drive"
console.log("a\"b".replace(/\//g, "/*"), getDocument({ id: "x" /* , */ }), odd, n);
`, now + `const odd = /["'` + "`" + `]/g, /* getDocument " */ n = 4 / 2; // import { searchFiles } from "./servers/google_drive"
console.log("a\"b".replace(/\//g, "/*"), fetchDocument({ id: "x" /* , */ }), odd, n);
`, nil},
		{"members that are computed", "a.ts", search + `await searchFiles({ ["query"]: "x" });
await searchFiles({ get query() { return "x"; } });
const key = "query";
await searchFiles({ [key]: "x" });
`, "", []string{"2: part of this value is built elsewhere; check query", "3: part of", "5: part of"}},
		{"members with quotes", "a.ts", search + `await searchFiles({ "query": "x", 'order': 'modified' });
`, search + `await searchFiles({ scope: "mine", "search_query": "x", 'order': 'Modified' });
`, nil},
		{"an alternative", "a.ts", search + `const fallback = { query: "b" };
await searchFiles(Math.random() > 0.5 ? { query: "a" } : fallback);
export const f = (q?: string, o?: "name") => searchFiles({ query: q ?? "x", order: o || "modified" });
`, search + `const fallback = { scope: "mine", search_query: "b" };
await searchFiles(Math.random() > 0.5 ? { scope: "mine", search_query: "a" } : fallback);
export const f = (q?: string, o?: "name") => searchFiles({ scope: "mine", search_query: q ?? "x", order: o || "Modified" });
`, []string{`4: this value is built elsewhere; check "modified"`}},
		{"a variable that is changed, and one that is used twice", "a.ts", search + `let input = { query: "a" };
if (Math.random() > 0.5) input = { query: "b" };
await searchFiles(input);
const twice = { query: "a" };
await searchFiles(twice);
console.log(twice);
`, "", []string{"4: this value is built elsewhere; check query", "6: this value"}},
		{"no value", "a.ts", search + `await searchFiles();
await searchFiles({});
await searchFiles({ /* nothing */ });
await searchFiles(...[]);
await searchFiles({ query: "x", order: undefined, filters: null });
await searchFiles({ query: "x", filters: [...[], { field: "a", op: "less_than" }] });
`, search + `await searchFiles({ scope: "mine" });
await searchFiles({ scope: "mine" });
await searchFiles({ scope: "mine", /* nothing */ });
await searchFiles(...[]);
await searchFiles({ scope: "mine", search_query: "x", order: undefined, filters: null });
await searchFiles({ scope: "mine", search_query: "x", filters: [...[], { field_name: "a", op: "less-than" }] });
`, []string{"5: this value is built elsewhere; check query", `6: this value is built elsewhere; check "modified"`, "7: part of this list is built elsewhere; check field"}},
		{"a name for an argument", "a.ts", `import * as drive from "./servers/google_drive";
const { getDocument } = await import("./servers/google_drive"), rest = 1;
const { getDocument: a } = require("./servers/google_drive/getDocument"), { searchFiles } = await import('./servers/google_drive');
const f = (getDocument: string, { searchFiles }: any) => searchFiles({ query: getDocument });
drive?.getDocument({ id: "x" });
(drive.getDocument)({ id: "x" });
await searchFiles({ query: "x" }), await a({ id: "x" });
`, `import * as drive from "./servers/google_drive";
const { fetchDocument: getDocument } = await import("./servers/google_drive"), rest = 1;
const { fetchDocument: a } = require("./servers/google_drive/fetchDocument"), { searchFiles } = await import('./servers/google_drive');
const f = (getDocument: string, { searchFiles }: any) => searchFiles({ query: getDocument });
drive?.fetchDocument({ id: "x" });
(drive.fetchDocument)({ id: "x" });
await searchFiles({ scope: "mine", search_query: "x" }), await a({ id: "x" });
`, nil},
		{"Python with carriage returns", "a.py", "from servers.google_drive import search_files\r\nn = '''a\r\nb'''\r\nsearch_files(\r\n    query=\"é\", # query\r\n    order='modified')\r\n",
			"from servers.google_drive import search_files\r\nn = '''a\r\nb'''\r\nsearch_files(\r\n    scope=\"mine\", search_query=\"é\", # query\r\n    order='Modified')\r\n", nil},
		{"Python with a byte order mark", "a.py", "\ufefffrom servers.google_drive import get_document; get_document(id='😀')\n",
			"\ufefffrom servers.google_drive import fetch_document; fetch_document(id='😀')\n", nil},
		{"Python that is broken", "a.py", "from servers.google_drive import get_document\nget_document(\n", "", []string{"0: cannot be parsed: 2:13: "}},
		{"TypeScript that is broken", "a.ts", get + "getDocument(;\n", "", []string{"0: line 2: "}},
		{"Python with values twice and names twice", "a.py", `import servers.google_drive.get_document as m
from servers import google_drive as 名
a = b = 名.search_files(query="x")
def f(get: "GetDocumentOutput", q=名.get_document) -> None:
    名 .search_files(query="é", order="modified" if get else ("name"))
async def g(q):
    options = {"query": q}
    return [x async for x in 名.search_files(options)]
class C:
    x: m.GetDocumentOutput = m.get_document(id="é")
`, `import servers.google_drive.fetch_document as m
from servers import google_drive as 名
a = b = 名.search_files(scope="mine", search_query="x")
def f(get: "GetDocumentOutput", q=名.fetch_document) -> None:
    名 .search_files(scope="mine", search_query="é", order="Modified" if get else ("name"))
async def g(q):
    options = {"scope": "mine", "search_query": q}
    return [x async for x in 名.search_files(options)]
class C:
    x: m.GetDocumentOutput = m.fetch_document(id="é")
`, nil},
		{"Python with other strings", "a.py", `from servers.google_drive import search_files
search_files(query="x", filters=[{"field": "a", "op": "less" "_than"}, {"field": "a", "op": r"less_than"}, dict(field="a")])
search_files()
search_files(*[], query="x")
search_files(**{"query": "x"})
`, `from servers.google_drive import search_files
search_files(scope="mine", search_query="x", filters=[{"field_name": "a", "op": "less" "_than"}, {"field_name": "a", "op": r"less_than"}, dict(field="a")])
search_files(scope="mine")
search_files(*[], search_query="x")
search_files(**{"query": "x"})
`, []string{`2: this value is built elsewhere; check "less_than"`, `2: this value is built elsewhere; check field`, "4: part of this value is", "5: part of this value is"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, tt.file)
			if strings.HasSuffix(path, ".py") {
				needPython(t)
			}
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), Options{Before: was, After: is, Scripts: []string{path}, Check: opt, Python: python()})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, c := range report.Changed {
				got = c.After
			}
			if d := cmp.Diff(strings.Split(tt.want, "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("Run() changed (-want +got):\n%s", d)
			}
			var left []string
			for _, l := range report.Left {
				left = append(left, fmt.Sprintf("%d: %s", l.Line, l.Text))
			}
			if len(left) != len(tt.left) {
				t.Fatalf("Run() left %q, want %q", left, tt.left)
			}
			for i := range left {
				if !strings.HasPrefix(left[i], tt.left[i]) {
					t.Errorf("Run() left %q, want %q", left[i], tt.left[i])
				}
			}
		})
	}
}
