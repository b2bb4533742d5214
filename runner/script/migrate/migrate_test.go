package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// tree generates a tree of one server in dir/servers, and returns what it was made from.
func generated(t *testing.T, dir string, tools ...json.RawMessage) Tree {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers": {"google-drive": {"command": "none"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	list := func(context.Context, config.Server) (*gen.Listing, error) { return &gen.Listing{Tools: tools}, nil }
	if _, err := gen.Sync(t.Context(), gen.Options{Dir: dir, Lister: list}); err != nil {
		t.Fatal(err)
	}
	cat, lock, err := catalog.LoadTree(filepath.Join(dir, "servers"))
	if err != nil {
		t.Fatal(err)
	}
	return Tree{cat, lock}
}

// checkers are those of the repository; without them the test is skipped.
func checkers(t *testing.T, dir string) check.Options {
	t.Helper()
	bin, err := filepath.Abs("../../../testdata/npm/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "tsc")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no tsc")
		}
		t.Skip("no tsc: make test installs it")
	}
	return check.Options{Tree: filepath.Join(dir, "servers"), Places: check.Places{TSC: filepath.Join(bin, "tsc"), Pyright: filepath.Join(bin, "pyright"), LookPath: exec.LookPath}}
}

func python() string {
	path, _ := exec.LookPath("python3")
	return path
}

const before = `{"name":"search_files","description":"Search for files by name and content.","inputSchema":{"type":"object","required":["query"],"properties":{
 "query":{"type":"string","description":"What to look for"},"order":{"type":"string","enum":["name","modified"]},
 "filters":{"type":"array","items":{"type":"object","required":["field","op"],"properties":{"field":{"type":"string","description":"What to compare"},"op":{"type":"string","enum":["eq","less_than"]}}}}}}}`

const after = `{"name":"search_files","description":"Search for files by name and content.","inputSchema":{"type":"object","required":["search_query","scope"],"properties":{
 "search_query":{"type":"string","description":"What to look for"},"order":{"type":"string","enum":["name","Modified"]},"scope":{"type":"string","default":"mine"},
 "filters":{"type":"array","items":{"type":"object","required":["field_name","op"],"properties":{"field_name":{"type":"string","description":"What to compare"},"op":{"type":"string","enum":["eq","lt","less-than"]}}}}}}}`

const fetch = `{"name":"get_document","description":"Get the document with this id, as plain text and without images.","inputSchema":{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}},"outputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`

func TestRun(t *testing.T) {
	dir := t.TempDir()
	opt := checkers(t, dir)
	was := generated(t, dir, json.RawMessage(before), json.RawMessage(fetch))
	is := generated(t, dir, json.RawMessage(after), json.RawMessage(strings.Replace(fetch, "get_document", "fetch_document", 1)))
	tests := []struct {
		name, file, text, want string
		left                   []string // "line: text", the beginning
	}{
		{"literal", "a.ts", `import { searchFiles } from "./servers/google_drive";
// searchFiles({ query: "x" }) was so before
const found = await searchFiles({ query: "é: query", order: 'modified', filters: [{ field: "order", "op": "less_than" }] });
console.log(found, "query");
`, `import { searchFiles } from "./servers/google_drive";
// searchFiles({ query: "x" }) was so before
const found = await searchFiles({ scope: "mine", search_query: "é: query", order: 'Modified', filters: [{ field_name: "order", "op": "less-than" }] });
console.log(found, "query");
`, nil},
		{"shorthand, alias, namespace and types", "a.ts", `import * as drive from "./servers/google-drive/index.js";
import { getDocument as get, type GetDocumentOutput } from "#servers/google_drive";
import { getDocument } from "./servers/google_drive/getDocument.ts";
export async function all<T extends { query: string }>(of: T): Promise<GetDocumentOutput[]> {
  const query = of.query;
  const options = { query, order: "name" as const };
  await drive.searchFiles(options);
  await Promise.all(["a"].map((id) => get({ id })));
  const out: GetDocumentOutput = await drive.getDocument({ id: query });
  return [out, await getDocument({ id: "getDocument" })];
}
const getDocument2 = (getDocument: string) => getDocument;
console.log(getDocument2("x"), { getDocument });
`, `import * as drive from "./servers/google-drive/index.js";
import { fetchDocument as get, type FetchDocumentOutput } from "#servers/google_drive";
import { fetchDocument } from "./servers/google_drive/fetchDocument.ts";
export async function all<T extends { query: string }>(of: T): Promise<FetchDocumentOutput[]> {
  const query = of.query;
  const options = { scope: "mine", search_query: query, order: "name" as const };
  await drive.searchFiles(options);
  await Promise.all(["a"].map((id) => get({ id })));
  const out: FetchDocumentOutput = await drive.fetchDocument({ id: query });
  return [out, await fetchDocument({ id: "getDocument" })];
}
const getDocument2 = (getDocument: string) => getDocument;
console.log(getDocument2("x"), { getDocument: fetchDocument });
`, nil},
		{"by id", "a.ts", `import { callMCPTool } from "./servers/client";
await callMCPTool<{ text: string }>('google_drive__get_document', { id: "x" });
await callMCPTool("google_drive__search_files", { query: "x" });
`, `import { callMCPTool } from "./servers/client";
await callMCPTool<{ text: string }>('google_drive__fetch_document', { id: "x" });
await callMCPTool("google_drive__search_files", { scope: "mine", search_query: "x" });
`, nil},
		{"a value that is made elsewhere", "a.ts", `import { searchFiles } from "./servers/google_drive";
const make = () => ({ query: "x" });
await searchFiles(make());
`, "", []string{`3: this value is built elsewhere; check query`, "3: "}},
		{"an enum value in a variable", "a.ts", `import { searchFiles } from "./servers/google_drive";
export async function f(order: "name" | "modified") {
  return searchFiles({ query: "x", order });
}
`, `import { searchFiles } from "./servers/google_drive";
export async function f(order: "name" | "modified") {
  return searchFiles({ scope: "mine", search_query: "x", order });
}
`, []string{`3: this value is built elsewhere; check "modified"`}},
		{"imports that are expressions", "a.ts", `const { getDocument, searchFiles: find } = await import("./servers/google_drive");
const drive = await import("./servers/google_drive/index.ts");
console.log(await getDocument({ id: "x" }), await find({ query: "x" }), await drive.getDocument({ id: "y" }));
`, `const { fetchDocument: getDocument, searchFiles: find } = await import("./servers/google_drive");
const drive = await import("./servers/google_drive/index.ts");
console.log(await getDocument({ id: "x" }), await find({ scope: "mine", search_query: "x" }), await drive.fetchDocument({ id: "y" }));
`, nil},
		{"a name that is taken, and one that hides another", "a.ts", `import { getDocument, searchFiles } from "./servers/google_drive";
export { getDocument } from "./servers/google_drive";
const fetchDocument = 1;
{
  const searchFiles = (o: { query: string }) => o.query;
  searchFiles({ query: "x" });
}
console.log(await getDocument({ id: "x" }), fetchDocument, await searchFiles({
  // the query
  query: "x",
}));
`, `import { fetchDocument as getDocument, searchFiles } from "./servers/google_drive";
export { fetchDocument as getDocument } from "./servers/google_drive";
const fetchDocument = 1;
{
  const searchFiles = (o: { query: string }) => o.query;
  searchFiles({ query: "x" });
}
console.log(await getDocument({ id: "x" }), fetchDocument, await searchFiles({
  // the query
  scope: "mine", search_query: "x",
}));
`, nil},
		{"not a tool", "a.ts", `const searchFiles = (o: { query: string }) => o.query;
console.log(searchFiles({ query: "servers" }));
`, "", nil},
		{"Python", "a.py", `from servers.google_drive import get_document, search_files as find
from servers.google_drive.get_document import GetDocumentOutput
from servers import google_drive
import servers.google_drive.get_document as m

# find(query="x")
found = find(query="é query", order="modified", filters=[{"field": "query", "op": 'less_than'}])
doc: GetDocumentOutput = get_document(id="get_document")
docs = list(map(lambda i: get_document(id=i), ["a"]))
print(google_drive.get_document(id="x"), found, doc["text"], docs)
`, `from servers.google_drive import fetch_document, search_files as find
from servers.google_drive.fetch_document import FetchDocumentOutput
from servers import google_drive
import servers.google_drive.fetch_document as m

# find(query="x")
found = find(scope="mine", search_query="é query", order="Modified", filters=[{"field_name": "query", "op": 'less-than'}])
doc: FetchDocumentOutput = fetch_document(id="get_document")
docs = list(map(lambda i: fetch_document(id=i), ["a"]))
print(google_drive.fetch_document(id="x"), found, doc["text"], docs)
`, nil},
		{"Python that hands a function on", "a.py", `from concurrent.futures import ThreadPoolExecutor
from servers.google_drive import search_files, get_document

with ThreadPoolExecutor() as pool:
    jobs = [pool.submit(search_files, query=q) for q in ("a", "b")]
    more = pool.submit(get_document, id="x")
print([j.result() for j in jobs], more.result())
`, `from concurrent.futures import ThreadPoolExecutor
from servers.google_drive import search_files, fetch_document

with ThreadPoolExecutor() as pool:
    jobs = [pool.submit(search_files, scope="mine", search_query=q) for q in ("a", "b")]
    more = pool.submit(fetch_document, id="x")
print([j.result() for j in jobs], more.result())
`, nil},
		{"Python by id and with more", "a.py", `from servers.client import call_mcp_tool
from servers.google_drive import search_files
more = {"order": "name"}
call_mcp_tool("google_drive__get_document", {"id": "x"})
search_files(query="x", **more)
`, "", []string{"0: not changed", "5: part of this value is built elsewhere; check query", "5: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasSuffix(tt.file, ".py") {
				needPython(t)
			}
			path := filepath.Join(dir, tt.file)
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
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Run() changed (-want +got):\n%s", d)
			}
			if len(report.Left) != len(tt.left) {
				t.Errorf("Run() left %+v, want %q", report.Left, tt.left)
				return
			}
			for i, l := range report.Left {
				if line := string(rune('0'+l.Line)) + ": " + l.Text; !strings.HasPrefix(line, tt.left[i]) {
					t.Errorf("Run() left %q, want %q", line, tt.left[i])
				}
			}
			if now, _ := os.ReadFile(path); string(now) != tt.text {
				t.Errorf("Run() wrote the file, want string(now) %v", tt.text)
			}
		})
	}
}

// TestUnsafe has changes after which the former call would mean something else: they are left, whatever the type checker says.
func TestUnsafe(t *testing.T) {
	tests := []struct {
		name, old, new, call string
		want                 string // the call; empty: left
		left                 string
	}{
		{"another unit", `"amount":{"type":"number","description":"Euros."}`, `"amount_cents":{"type":"number","description":"Cents."}`, `amount: 12.5`, "", "amount is gone; new: amount_cents"},
		{"another unit by name", `"timeout":{"type":"number"}`, `"timeout_ms":{"type":"number"}`, `timeout: 30`, "", "timeout is gone; new: timeout_ms"},
		{"another unit with a default", `"timeout":{"type":"number"}`, `"timeout_ms":{"type":"number","default":9}`, `timeout: 30`, "", "timeout is gone; new: timeout_ms"},
		{"the opposite", `"include":{"type":"string"}`, `"exclude":{"type":"string"}`, `include: "a"`, "", "include is gone; new: exclude"},
		{"a description of several", `"from":{"type":"string","description":"A date."},"to":{"type":"string","description":"A date."}`,
			`"to":{"type":"string","description":"A date."},"until":{"type":"string","description":"A date."}`, `from: "a"`, "", "from is gone; new: until"},
		{"an opposite value", `"a":{"enum":["active","all"]}`, `"a":{"enum":["inactive","all"]}`, `a: "active"`, "", `the value "active" no longer exists; the values are now inactive, all`},
		{"the only other value of three", `"a":{"enum":["on","off","auto"]}`, `"a":{"enum":["never","off","auto"]}`, `a: "on"`, "", `the value "on" no longer exists; the values are now never, off, auto`},
		{"a longer value", `"a":{"enum":["read","none"]}`, `"a":{"enum":["read_write","none"]}`, `a: "read"`, "", `the value "read" no longer exists; the values are now read_write, none`},
		{"another order", `"a":{"enum":["-date","name"]}`, `"a":{"enum":["date","name"]}`, `a: "-date"`, "", `the value "-date" no longer exists; the values are now date, name`},
		{"another unit as a capital", `"a":{"enum":["M","y"]}`, `"a":{"enum":["m","y"]}`, `a: "M"`, "", `the value "M" no longer exists; the values are now m, y`},
		{"another style", `"file_id":{"type":"string"}`, `"fileId":{"type":"string"}`, `file_id: "x"`, `fileId: "x"`, ""},
		{"the same description", `"q":{"type":"string","description":"What to look for."}`, `"text":{"type":"string","description":"What to look for."}`, `q: "x"`, `text: "x"`, ""},
		{"a value in another style", `"a":{"enum":["last_week","all"]}`, `"a":{"enum":["LAST-WEEK","all"]}`, `a: "last_week"`, `a: "LAST-WEEK"`, ""},
	}
	dir := t.TempDir()
	opt := checkers(t, dir)
	opt.TSC = filepath.Join(dir, "tsc") // which accepts everything
	if err := os.WriteFile(opt.TSC, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.ts")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			definition := func(properties string) json.RawMessage {
				return json.RawMessage(`{"name":"pay","inputSchema":{"type":"object","properties":{` + properties + `}}}`)
			}
			script := func(input string) string {
				return "import { callMCPTool } from \"./servers/client\";\nawait callMCPTool(\"google_drive__pay\", { " + input + " });\n"
			}
			was := generated(t, dir, definition(tt.old))
			is := generated(t, dir, definition(tt.new))
			if err := os.WriteFile(path, []byte(script(tt.call)), 0o600); err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), Options{Before: was, After: is, Scripts: []string{path}, Check: opt})
			if err != nil {
				t.Fatal(err)
			}
			var want Report
			if tt.left != "" {
				want.Left, want.Unchanged = []Left{{File: path, Line: 2, Text: tt.left}}, report.Unchanged
			} else {
				want.Changed = []Changed{{Path: path, Before: script(tt.call), After: script(tt.want)}}
			}
			if d := cmp.Diff(want, *report); d != "" {
				t.Errorf("Run() (-want +got):\n%s", d)
			}
		})
	}
}

// TestMembersThatAreGone checks that each name of an output's member that is gone is listed, unless the type check reports its line.
func TestMembersThatAreGone(t *testing.T) {
	dir := t.TempDir()
	opt := check.Options{Tree: filepath.Join(dir, "servers"), Places: check.Places{LookPath: exec.LookPath}}
	for name, script := range map[string]string{
		"tsc":     "grep -q typed script/a.ts 2>/dev/null || exit 0\necho \"script/a.ts(4,13): error TS2339: Property 'total' does not exist on type 'R'.\"\nexit 2\n",
		"pyright": "echo '{\"generalDiagnostics\": []}'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	opt.TSC, opt.Pyright = filepath.Join(dir, "tsc"), filepath.Join(dir, "pyright")
	definition := func(total, unit string) json.RawMessage {
		return json.RawMessage(`{"name":"get_order","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{
			"` + total + `":{"type":"number","description":"What is paid."},
			"lines":{"type":"array","items":{"type":"object","properties":{"` + unit + `":{"type":"string"},"price":{"type":"number"}}}}}}}`)
	}
	other := json.RawMessage(`{"name":"get_customer","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"total":{"type":"number"}}}}`)
	was := generated(t, dir, definition("total", "unit"), other)
	is := generated(t, dir, definition("sum", "quantity"), other)
	const (
		total = `google_drive__get_order no longer returns "total" (it is "sum" now); check`
		unit  = `google_drive__get_order no longer returns "unit"; check`
	)
	tests := []struct {
		name, file, text string
		left             []string // "line: text", the beginning
	}{
		{"untyped", "a.ts", `import { getOrder } from "./servers/google_drive";
const order: any = await getOrder({});
console.log(order?.total, order["total"]); // total
const { total } = order;
const { total: paid, lines } = order, total2 = { total: 1, price: total };
for (const line of lines) console.log(` + "`${line.unit}`" + `, line.price);
console.log(["total"].map((name) => order[name]));
`, []string{"3: " + total, "4: " + total, "5: " + total, "6: " + unit, "7: " + total}},
		{"typed by the script", "a.ts", `import { callMCPTool } from "./servers/client";
const order = await callMCPTool<{ total: number }>("google_drive__get_order", {});
console.log(order.total);
`, []string{"3: " + total}},
		{"typed", "a.ts", `import { getOrder } from "./servers/google_drive";
// typed
const order = await getOrder({}), loose: any = order;
console.log(order.total);
console.log(loose.total);
`, []string{"4: Property 'total' does not exist", "5: " + total}},
		{"of another tool", "a.ts", `import { getCustomer } from "./servers/google_drive";
const customer: any = await getCustomer({});
console.log(customer.total);
`, nil},
		{"Python", "a.py", `from servers.google_drive import get_order
order = get_order()
print(order["total"], order.get("total"))  # total
print(order.total, {"total": 1})
print([line["unit"] for line in order["lines"]])
`, []string{"3: " + total, "4: " + total, "5: " + unit}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasSuffix(tt.file, ".py") {
				needPython(t)
			}
			path := filepath.Join(dir, tt.file)
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), Options{Before: was, After: is, Scripts: []string{path}, Check: opt, Python: python()})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Left) != len(tt.left) || len(report.Changed) > 0 {
				t.Fatalf("Run() = %+v, want left %q", report, tt.left)
			}
			for i, l := range report.Left {
				if line := fmt.Sprintf("%d: %s", l.Line, l.Text); l.File != path || !strings.HasPrefix(line, tt.left[i]) {
					t.Errorf("Run() left %q, want %q", line, tt.left[i])
				}
			}
		})
	}
}
