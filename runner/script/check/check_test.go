package check

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// repository is the folder of this module.
const repository = "../../.."

// program finds a checker that is pinned in testdata/npm.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(repository, "testdata/npm/node_modules/.bin", name))
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

func options(t *testing.T) Options {
	t.Helper()
	tree, err := filepath.Abs(filepath.Join(repository, "servers"))
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	write(t, filepath.Join(top, "skills/save-sheet/scripts/save.ts"), "import { getDocument } from '../../../servers/drive';\nexport async function save(id: string): Promise<number> { await getDocument({ document_id: id }); return 1; }\n")
	write(t, filepath.Join(top, "skills/py_skill/__init__.py"), "def twice(n: int) -> int:\n    return n * 2\n")
	return Options{Tree: tree, Skills: filepath.Join(top, "skills"), Places: Places{TSC: program(t, "tsc"), Pyright: program(t, "pyright")},
		Vars: map[string]json.RawMessage{"limit": []byte("3"), "customer": []byte(`"x"`), "not-a-name": []byte("1"), "class": []byte("1"), "rows": []byte("[1]")}}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// check runs the checker on a script and returns its problems, one a line.
func check(t *testing.T, name, code string, beside map[string]string, opt Options) (string, []Problem) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range beside {
		write(t, filepath.Join(dir, file), text)
	}
	lang := sandbox.LangTypeScript
	if strings.HasSuffix(name, ".py") {
		lang = sandbox.LangPython
	}
	problems, err := Run(t.Context(), script.Source{Name: name, Code: code, Language: lang, Dir: dir}, opt)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, "\n"), problems
}

// place is where a test wants a problem, and what it says.
type place struct {
	file         string
	line, column int
	code, text   string
}

func (want place) fits(p Problem) bool {
	return p.File == want.file && p.Line == want.line && p.Column == want.column && p.Code == want.code && strings.Contains(p.Text, want.text)
}

// TestUndeclaredResults uses answers of a tool that declares none, and those of one that does, as values and in the ways
// that a text can be used.
func TestUndeclaredResults(t *testing.T) {
	opt := options(t)
	golden, err := filepath.Abs(filepath.Join(repository, "testdata/golden/servers"))
	if err != nil {
		t.Fatal(err)
	}
	opt.Tree = golden
	for name, code := range map[string]string{
		"script.ts": `import { query, getDocument } from "./servers/google-drive"; import { callMCPTool } from "mcprun";
const r = await query({ text: "x" });
console.log(r, JSON.parse(r).rows, r.split(" "), JSON.stringify(r), (await callMCPTool("a__b")).c);
await query({ text: r });
for (const block of Array.isArray(r) ? r : []) console.log(block.text, r[0].save("x"));
console.log(r.title);
for (const row of r) console.log(row.id);
console.log((r as { rows: string[] }).rows);
const d: number = await getDocument({ document_id: "1" });
`,
		"script.py": `import json; from servers.google_drive import query, get_document
r = query({"text": "x"})
print(r, json.loads(r)["rows"], r.split(" "), json.dumps(r), call_mcp_tool("a__b").c)
query({"text": r})
r[0].save("x")
print(r.title)
print([row["id"] for row in r])
print(r["rows"])
d: int = get_document(document_id="1")
`,
	} {
		got, problems := check(t, name, code, nil, opt)
		var lines []int
		for _, p := range problems {
			lines = append(lines, p.Line)
		}
		if want := []int{9}; !slices.Equal(lines, want) {
			t.Errorf("%s has problems in lines %v, want %v:\n%s", name, lines, want, got)
		}
	}
}

// TestTypesOfTools names types of tools by their server, with and without saying that they are types.
func TestTypesOfTools(t *testing.T) {
	opt := options(t)
	golden, err := filepath.Abs(filepath.Join(repository, "testdata/golden/servers"))
	if err != nil {
		t.Fatal(err)
	}
	opt.Tree = golden
	for _, from := range []string{"./servers/google_drive", "./servers/google-drive", "#servers/google-drive", "/workspace/servers/google_drive/index.ts"} {
		code := "import { getDocument, GetDocumentInput, type GetDocumentOutput } from '" + from + "';\nimport { google_drive as d } from './servers';\n" +
			"const input: GetDocumentInput = { document_id: '1' };\nconst doc: GetDocumentOutput = await getDocument(input);\n" +
			"const again: d.GetDocumentInput = input;\nconst bad: GetDocumentInput = { document_id: 1 };\nconsole.log(doc, bad, again);\n"
		if got, problems := check(t, "script.ts", code, nil, opt); len(problems) != 1 || problems[0].Line != 6 {
			t.Errorf("%s: %s, want len(problems) 1 and Line 6", from, got)
		}
	}
}

// TestManyProblems has more in one line than are told; to place each costs the length of the line.
func TestManyProblems(t *testing.T) {
	opt := options(t)
	for name, code := range map[string]string{"script.ts": strings.Repeat("nope();", 20_000), "script.py": strings.Repeat("nope();", 2_000)} {
		began := time.Now()
		if _, problems := check(t, name, code, nil, opt); len(problems) != maxProblems || time.Since(began) > 2*time.Minute {
			t.Errorf("%s: %d problems in %v, want %d and at most %v", name, len(problems), time.Since(began), maxProblems, 2*time.Minute)
		}
	}
}

func TestTypeScript(t *testing.T) {
	opt := options(t)
	beside := map[string]string{
		"lib/util.ts":  "import type { Row } from './types';\nexport const count = (rows: Row[]): number => rows.length;\n",
		"lib/types.ts": "export interface Row { id: number }\n",
		"data.json":    `{"rows": [{"id": 1}]}`,
		"old.cjs":      "exports.x = 1;\n",
		"bad.ts":       "const n: number = 'ä';\nexport const ok = 1;\n",
	}
	for name, tt := range map[string]struct {
		file, code string
		want       []place
	}{
		"good": {"script.ts", `import fs from "fs"; import { join } from "node:path"; import zlib from "zlib";
import { getDocument } from "./servers/drive"; import * as crm from "#servers/crm"; import { listSheets as l } from "servers/drive/listSheets.js";
import { readFile, vars } from "mcprun"; import { MCPToolError, callMCPTool } from "./servers/client.ts";
import { count } from "./lib/util.js"; import data from "./data.json"; import { save } from "./skills/save-sheet"; import * as all from "./servers";
enum E { A, B }
const doc = await getDocument({ document_id: customer });
try { await callMCPTool("x__y", {}); } catch (e) { if (e instanceof MCPToolError) console.log(e.message, e.tool); else console.log(e.foo); }
function show(x) { return String(x); }
console.log(doc, E.A, count(data.rows), limit + 1, await save("1"), typeof readFile, vars.limit, crm.getRecord, l, all.drive.getSheet, show(1), rows[0]);
await new Promise((done) => setTimeout(done, 5)); setTimeout((a: string) => a, 5, "x"); setInterval(() => {}, 5); setImmediate(() => show(1));
const name = "crm"; const m = await import("./servers/" + name); console.log(m.x, join("a", "b"), fs.readFileSync, zlib, process.argv, Buffer.from("x"));
export const result = 1;
`, nil},
		"loops": {"script.ts", `import { listDocuments, getDocument } from "./servers/drive"; import { queryRecords } from "./servers/crm";
const all = []; let cursor: string | undefined;
do { const page = await listDocuments({ cursor }); all.push(...page.documents); cursor = page.next_cursor ?? undefined; } while (cursor);
let next = null; const titles = [];
while (true) { const page = await listDocuments({ cursor: next ?? undefined }); for (const d of page.documents) titles.push(d.title); next = page.next_cursor; if (!next) break; }
let offset; do { const page = await queryRecords({ object_type: "Lead", offset }); offset = page.next_offset ?? undefined; } while (offset);
let found = false; while (!found) { const d = await getDocument({ document_id: "1" }); found = d.labels?.some((l) => l.includes("x")) ?? true; if (!found) await new Promise((ok) => setTimeout(ok, 1000)); }
const by = {}; for (const d of all) { by[d.owner] ??= []; by[d.owner].push(d); }
const stats = { rows: [], best: null }; all.forEach((d) => stats.rows.push(d)); stats.best = all[0]; console.log(stats.rows.map((d) => d.title), stats.rows[0].title);
const sum = ({ a, b }, ...more) => a + b + more.length; console.log(sum({ a: 1, b: 2 }), by, titles, all.reduce((n, d) => n + d.word_count, 0));
`, nil},
		"without imports": {"script.ts", `const src = await fs.readFile(path.join("./servers", "drive", "getDocument.ts"), "utf-8");
const doc = await callMCPTool("drive__get_document", { documentId: src.length }); console.log(doc.title);
for (const name of await fs.readdir("./servers")) { const mod = await import(` + "`./servers/${name}/index.ts`" + `); console.log(Object.keys(mod)); }
`, nil},
		"enums in variables": {"script.ts", `import { queryRecords } from "./servers/crm";
const opts = { object_type: "Lead", filters: [{ field: "Name", operator: "eq" }] }; const r = await queryRecords(opts);
for (const kind of ["Account", "Contact"]) await queryRecords({ object_type: kind, order_by: { field: "Id", direction: process.argv.length ? "asc" : "desc" } });
console.log(r.total); await queryRecords({ object_type: 5 });
`, []place{{"script.ts", 4, 44, "TS2322", "'number'"}}},
		"null at first": {"script.ts", `import { getDocument, listDocuments } from "./servers/drive";
let best = null; for (const d of (await listDocuments({})).documents) if (!best || d.word_count > best.word_count) best = d;
const doc = await getDocument({ document_id: best.document_id }); console.log(doc.content.length, best.title);
const state = { last: null, all: [] }; state.last = doc; state.all.push(doc); console.log(state.last.title, state.all[0].title);
console.log(best.nope);
`, []place{{"script.ts", 5, 18, "TS2339", "'nope'"}}},
		"globals": {"script.ts", `const h = new Headers({ a: "b" }); const r: Response = await fetch(new Request(new URL("http://localhost")), { headers: h });
let timer: NodeJS.Timeout; timer = setTimeout(() => {}, 1); const form = new FormData(); form.append("f", new Blob(["x"]));
console.log(r.ok, await r.json(), new TextEncoder().encodeInto, new TextDecoder().decode, performance.mark("x"), new DOMException("x"), timer, form);
`, nil},
		"missing argument":        {"script.ts", "import { queryRecords } from './servers/crm';\nawait queryRecords({});\n", []place{{"script.ts", 2, 20, "TS2741", "object_type"}}},
		"evolving, and wrong":     {"script.ts", "import { listDocuments } from './servers/drive';\nconst all = []; all.push(...(await listDocuments({})).documents);\nconsole.log(all[0].name, all.map((d) => d.nope));\n", []place{{"script.ts", 3, 20, "TS2339", "'name'"}, {"script.ts", 3, 43, "TS2339", "'nope'"}}},
		"wrong argument":          {"script.ts", "import { getDocument } from './servers/drive';\nawait getDocument({ documentId: '1' });\n", []place{{"script.ts", 2, 21, "TS2561", "documentId"}}},
		"columns after imports":   {"script.ts", "import { getDocument } from './servers/drive'; const ä = '😀'; const n: number = 'x'; console.log(getDocument, n, ä);", []place{{"script.ts", 1, 73, "TS2322", "Type 'string' is not assignable to type 'number'"}}},
		"another script's export": {"script.ts", "import { getDocument, type Nope } from './servers/drive';\nconsole.log(getDocument);\n", []place{{"script.ts", 1, 28, "TS2305", `Module '"./servers/drive"' has no exported member 'Nope'`}}},
		"variables":               {"script.ts", "const a: string = limit; const b: number = customer;\nconsole.log(a, b);", []place{{"script.ts", 1, 7, "TS2322", "number"}, {"script.ts", 1, 32, "TS2322", "string"}}},
		"beside":                  {"script.ts", "import { ok } from './bad'; import './old.cjs';\nconsole.log(ok);", []place{{"bad.ts", 1, 7, "TS2322", "string"}}},
		"JavaScript":              {"script.mjs", "import { getDocument } from './servers/drive/index.js';\nconst f = (x) => x;\nawait getDocument({ nope: f(1) });\n", []place{{"script.mjs", 3, 21, "TS2353", "nope"}}},
		"JavaScript alone":        {"script.cjs", "const { getDocument } = require('./servers/drive'); getDocument({ document_id: '1' }).then(console.log); module.exports = 1;\n", nil},
		"missing server":          {"script.ts", "import { x } from './servers/drvie'; x();", []place{{"script.ts", 1, 19, "", `did you mean "drive"?`}}},
		"missing, and more":       {"script.ts", "import { getDocument, getDocumnt } from './servers/drive';\nawait getDocumnt({}); await getDocument({ document_id: 5 });\n", []place{{"script.ts", 1, 23, "", `did you mean "getDocument"?`}, {"script.ts", 2, 43, "TS2322", "number"}}},
		"computed, and more":      {"script.ts", "import { getDocument } from './servers/drive';\nawait getDocument({ document_id: 5 });\nawait import('./servers/' + 'drvie');\n", []place{{"script.ts", 3, 14, "", `did you mean "drive"?`}, {"script.ts", 2, 21, "TS2322", "number"}}},
		"syntax":                  {"script.ts", "const = 1;", []place{{"script.ts", 1, 7, "", "Expected identifier"}}},
		"reserved names":          {"script.ts", "import { readFile } from 'mcprun'; const n: number = await readFile('x');\nconsole.log(n);", []place{{"script.ts", 1, 42, "TS2322", "string"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := check(t, tt.file, tt.code, beside, opt)
			if len(problems) != len(tt.want) {
				t.Fatalf("problems: got %v, want %v:\n%s", len(problems), len(tt.want), got)
			}
			for i, want := range tt.want {
				if !want.fits(problems[i]) {
					t.Errorf("%+v, want %+v", problems[i], want)
				}
			}
		})
	}
}

func TestPython(t *testing.T) {
	opt := options(t)
	beside := map[string]string{"helper.py": "from pkg.sub import n\n\n\ndef f(x: int) -> str:\n    return str(x + n)\n", "pkg/__init__.py": "", "pkg/sub.py": "from . import other\nn: int = other.m\n", "pkg/other.py": "m = 1\n",
		"bad.py": "def f() -> int:\n    return 'ä'\n"}
	for name, tt := range map[string]struct {
		code string
		want []place
	}{
		"good": {`import asyncio, json
from servers.drive import get_document
import servers.crm as crm
from servers.client import MCPToolError
from mcprun import MCPTimeoutError, call_mcp_tool, is_handle, read_file, vars
from skills.py_skill import twice
import helper
doc = get_document(document_id=customer)
async def g():
    await asyncio.sleep(0)
await g()
for i in range(3):
    await g()
try:
    print(helper.f(limit), crm, vars, read_file("x"), twice(2), rows[0], filter_by_field, list_files())
except MCPToolError as e:
    print(e.tool, json.dumps(doc))
except (MCPError, MCPTimeoutError) as e:
    print(e.is_retryable)
if is_handle(doc):
    print(doc.size, doc.preview, call_mcp_tool("a__b", raw=True))
result = 1
`, nil},
		"without imports": {`rows = json.loads(read_file("orders.json"))
late = [r for r in rows if r["due"] < str(date.today() - timedelta(days=3))]
by_region = collections.Counter(r["region"] for r in late)
stats = aggregate_stats(late)
stats2 = aggregate_stats(late, ["amount"])
stats3 = aggregate_stats(late, "amount")["sum"] + stats2["amount"]["mean"]
write_file("late.json", format_output(late, max_chars=20000))
result = summarize_list(filter_by_field(late, "region", "north"), limit=5)
code = load_skill("flag_big_orders")
exec(code)
text, tokens = tokenize_pii("write to ann@example.com")
assert detokenize_pii(text, tokens) == "write to ann@example.com"
print(list_files("."), list_skills(), str(workspace), workspace / "x", code["version"], code.upper(), by_region)
def f(x: Optional[int] = None, y: List[Dict[str, Any]] = []) -> Tuple[int, ...]:
    return (len(y), x or 0)
@dataclass
class Row:
    when: date
    path: Path = Path("x")
print(datetime.now(), datetime.datetime.now(), math.pi, Decimal(1), defaultdict(list), asdict(Row(date.today())), concurrent.futures.wait, urllib.parse.quote)
search_tools("x", "full", "crm")
search_tools("x", detail_level="summary", category="crm")
save_checkpoint("a", {"b": 1})
print(load_checkpoint("a")["b"], list_checkpoints()[0]["name"], f(), stats)
`, nil},
		"enums in variables": {`from servers.crm import query_records
filters = [{"field": "Name", "operator": "eq", "value": 3}]
for kind in ["Account", "Contact"]:
    query_records(object_type=kind, filters=filters)
one = {"field": "Id", "direction": "asc"}
query_records(object_type="Lead", order_by=one, filters=[dict(field="Name")])
query_records(object_type=one)
query_records(object_type="Lead", filters=[{"feild": "x"}])
query_records(object_type="Lead", order_by={"feild": "x"})
query_records(object_type=5)
`, []place{{"script.py", 7, 27, "reportArgumentType", "dict[str, str]"}, {"script.py", 8, 45, "reportArgumentType", "feild"}, {"script.py", 9, 44, "reportArgumentType", "OrderBy"}, {"script.py", 10, 27, "reportArgumentType", `"str"`}}},
		"optional values": {`from servers.drive import get_document, list_documents
best = None
for d in list_documents()["documents"]:
    if best is None or d["word_count"] > best["word_count"]:
        best = d
doc = get_document(document_id=best["document_id"])
print(doc["title"].upper(), best.get("title"), [x for x in best["labels"]], doc["word_count"] + 1)
doc["nope"]
`, []place{{"script.py", 8, 1, "reportGeneralTypeIssues", "nope"}}},
		"names that exec defines": {"exec(load_skill('x'))\nflag(1)\n", nil},
		"undefined names":         {"flag(1)\n", []place{{"script.py", 1, 1, "reportUndefinedVariable", "flag"}}},
		"wrong argument":          {"from servers.drive import get_document\nget_document(documentId='1')\n", []place{{"script.py", 2, 1, "reportCallIssue", "document_id"}, {"script.py", 2, 14, "reportCallIssue", "documentId"}}},
		"beside":                  {"import helper\n'ä', helper.f('x')\n", []place{{"script.py", 2, 16, "reportArgumentType", `"int"`}}},
		"in a module":             {"import bad\n", []place{{"bad.py", 2, 12, "reportReturnType", "int"}}},
		"await in a function":     {"def f():\n    await g()\nasync def g(): pass\n", []place{{"script.py", 2, 5, "", "async function"}}},
		"packages":                {"import numpy\n", []place{{"script.py", 1, 8, "reportMissingImports", "numpy"}}},
		"missing tool":            {"from servers.drive import get_documnt\n", []place{{"script.py", 1, 27, "reportAttributeAccessIssue", "get_documnt"}}},
		"library":                 {"from mcprun import MCPError\ne = MCPError('x')\ne.nope\n", []place{{"script.py", 3, 3, "reportAttributeAccessIssue", "nope"}}},
		"variables":               {"x: int = customer\n", []place{{"script.py", 1, 10, "reportAssignmentType", `"str"`}}},
		"syntax":                  {"def f(:\n    pass\n", []place{{"script.py", 1, 6, "", "was not closed"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := check(t, "script.py", tt.code, beside, opt)
			if len(problems) < len(tt.want) || name != "syntax" && len(problems) > len(tt.want) {
				t.Fatalf("problems:\n%s", got)
			}
			for i, want := range tt.want {
				if !want.fits(problems[i]) {
					t.Errorf("%+v, want %+v", problems[i], want)
				}
			}
		})
	}
}

// TestReadsNothingElse refers to files of the host in every way that a checker would follow.
func TestReadsNothingElse(t *testing.T) {
	opt := options(t)
	top := t.TempDir()
	for name, text := range map[string]string{
		"secret.ts": `export const canary: "CANARY" = "CANARY";`, "secret.json": `{"canary": "CANARY"}`, "secret.d.ts": `declare const canary: "CANARY";`,
		"secret.py": `from typing import Literal; canary: Literal["CANARY"] = "CANARY"`, "node_modules/@types/evil/index.d.ts": `declare const canary: "CANARY";`,
		"tsconfig.json": `{"compilerOptions":{"types":["evil"]}}`,
	} {
		write(t, filepath.Join(top, name), text)
	}
	up := strings.Repeat("../", 20) + strings.TrimPrefix(filepath.ToSlash(top), "/")
	dots := strings.Repeat(".", 20) + strings.ReplaceAll(strings.TrimPrefix(filepath.ToSlash(top), "/"), "/", ".")
	for _, tt := range []struct{ name, code string }{
		{"script.ts", "/// <reference path=\"" + up + "/secret.d.ts\" />\n/// <reference path=\"" + top + "/secret.d.ts\" />\nconst n: number = canary;"},
		{"script.ts", "/// <reference types=\"" + top + "/node_modules/@types/evil\" />\n/// <reference types=\"evil\" />\nconst n: number = canary;"},
		{"script.ts", "type T = typeof import('" + top + "/secret.ts');\nconst t: T = 1; const n: number = t.canary;"},
		{"script.ts", "import type { canary } from '" + up + "/secret.ts';\nconst n: number = null as unknown as typeof canary;"},
		{"script.ts", "import type j from '" + top + "/secret.json';\nconst n: number = null as unknown as typeof j;"},
		{"script.mjs", "/** @type {import('" + top + "/secret.ts').canary} */\nconst x = 1;\n/** @import { canary } from '" + top + "/secret.ts' */\n/** @type {typeof canary} */\nconst y = 1;"},
		{"script.ts", "declare module '" + top + "/secret.ts' { export const other: 1 }\nconst p = import('" + top + "/' + 'secret.ts'); const n: number = p;"},
		{"script.py", "from " + dots + " import secret\nn: int = secret.canary\n"},
		{"script.py", "from " + dots + ".secret import canary\nn: int = canary\n"},
		{"script.py", "import sys\nsys.path.append('" + top + "')\nfrom secret import canary\nn: int = canary\n"},
	} {
		dir := t.TempDir()
		problems, err := Run(t.Context(), script.Source{Name: tt.name, Code: tt.code, Dir: dir,
			Language: map[bool]sandbox.Language{true: sandbox.LangPython, false: sandbox.LangTypeScript}[strings.HasSuffix(tt.name, ".py")]}, opt)
		if err != nil {
			t.Errorf("%s: %v", tt.code, err)
			continue
		}
		text := ""
		for _, p := range problems {
			text += p.Text + "\n"
		}
		if len(problems) == 0 || strings.Contains(text, "CANARY") {
			t.Errorf("%s:\n%s", tt.code, text)
		}
	}
}

func TestMissingChecker(t *testing.T) {
	for name, opt := range map[string]Options{
		"no name works": {}, "not on the path": {Places: Places{LookPath: func(string) (string, error) { return "", exec.ErrNotFound }}}, "no file": {Places: Places{TSC: "/nowhere/tsc", Pyright: "/nowhere/pyright"}},
	} {
		for lang, want := range map[sandbox.Language]string{sandbox.LangTypeScript: "npm install -g typescript", sandbox.LangPython: "pyright"} {
			_, err := Run(t.Context(), script.Source{Name: "s", Code: "1", Language: lang}, opt)
			var missing *MissingError
			if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// fake writes a program that stands for a checker.
func fake(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script stands for the checker")
	}
	path := filepath.Join(t.TempDir(), "tsc")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBadCheckers(t *testing.T) {
	src := script.Source{Name: "script.ts", Code: "1", Language: sandbox.LangTypeScript}
	t.Setenv("TMPDIR", t.TempDir())
	for text, want := range map[string]string{
		"sleep 1000 & sleep 1000":                     "it did not finish within 200ms",
		"echo oops >&2; exit 3":                       "oops",
		"echo oops >&2; exit 1":                       "oops",
		"echo 'error TS5023: Unknown option'; exit 1": "TS5023: Unknown option",
		"exit 1":                                 "ended with exit status 1 and printed nothing",
		"echo not a compiler; exit 2":            "it failed: not a compiler",
		"head -c 9000000 /dev/zero | tr '\\0' x": "printed more than",
	} {
		timeout := 5 * time.Minute
		if strings.Contains(text, "sleep") {
			timeout = 200 * time.Millisecond
		}
		began := time.Now()
		_, err := Run(t.Context(), src, Options{Places: Places{TSC: fake(t, text)}, Timeout: timeout})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "check the types of script.ts with tsc") {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
		if time.Since(began) > 30*time.Second {
			t.Errorf("%s took %v, want at most %v", text, time.Since(began), 30*time.Second)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, src, Options{Places: Places{TSC: fake(t, "exit 0")}}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v, want %v", err, context.Canceled)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v, want len(left) at most 0 and no error", left, err)
	}
}

// TestEnumsBecomeStrings has unions of string literals beside what looks like them.
func TestEnumsBecomeStrings(t *testing.T) {
	for from, want := range map[string]string{
		`kind: "a"|"b" | undefined // 5" | "x"`:                      `kind: string | undefined // 5" | "x"`,
		`(null | "a\"|" | "b]")[]`:                                   `(null | string)[]`,
		`/** 5" */ a: "|"|"b"; /* "a"|"b" */ c: "//a"|"b"; d: "x|y"`: `/** 5" */ a: string; /* "a"|"b" */ c: string; d: "x|y"`,
		`kind: "a" | 1 | null`:                                       `kind: "a" | 1 | null`,
		"// say \"a\nkind: \"b\" | \"c\"":                            "// say \"a\nkind: string",
	} {
		if got := looseTypeScript(from); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
	for from, want := range map[string]string{
		`a: Sequence[Literal["a", "b]\""]] | None`: `a: Sequence[str] | None`,
		`a: Literal["a"], b: Literal["a", 1]`:      `a: Literal["a"], b: Literal["a", 1]`,
	} {
		if got := loosePython(from); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func TestPositionsInCopies(t *testing.T) {
	m := &mirrored{module: &script.Module{Text: `import a from "x"; import b from "longer/path"; z`}, edits: []edit{{15, 16, "../xx", "x"}, {34, 45, "p", "longer/path"}}}
	m.text = `import a from "../xx"; import b from "p"; z`
	for _, mark := range []string{"import a", "import b", "b from", "z"} {
		if got, want := m.original(strings.LastIndex(m.text, mark)), strings.LastIndex(m.module.Text, mark); got != want {
			t.Errorf("%s: %d, want %d", mark, got, want)
		}
	}
	if got := m.asWritten(`Module '"../xx"' and '../xx'`); got != `Module '"x"' and 'x'` {
		t.Error(got)
	}
}
