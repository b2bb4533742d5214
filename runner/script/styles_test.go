package script

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/templates"
)

// TestStyles runs scripts that import in every way that is in use.
func TestStyles(t *testing.T) {
	const back = `{"tool":"google_drive__get_document","args":{"id":"1"}}`
	const get = "console.log(await getDocument({ id: '1' }));"
	beside := map[string]string{
		"lib/util.ts":  "import type { Doc } from '../servers/google-drive/getDocument.js';\nimport { up } from './up';\nexport const show = (d: Doc) => up(d.id);\n",
		"lib/up.js":    "exports.up = (s) => s.toUpperCase();\n",
		"lib/index.ts": "export * from './util.js';\nexport { default as data } from '../data.json';\n",
		"data.json":    `{"rows": [1, 2]}`,
		"old.cjs":      "const { getDocument } = require('./servers/google-drive');\nmodule.exports = async () => (await getDocument({ id: '1' })).tool;\n",
		"circle.ts":    "import { mine } from './script.ts';\nexport const later = () => mine;\n",
		"waits.mts":    "export const waited = await Promise.resolve('waited');\n",
		"view.tsx":     "export const view = <T,>(x: T) => x;\n",
	}
	for name, tt := range map[string]struct{ file, code, want string }{
		"folder":                  {"", "import { getDocument } from './servers/google-drive';" + get, back},
		"namespace":               {"", "import * as gdrive from './servers/google-drive'; console.log(await gdrive.getDocument({ id: '1' }));", back},
		"namespace, dynamic":      {"", "import * as gdrive from './servers/google-drive'; const n = 'getDocument'; console.log(Object.keys(gdrive), typeof gdrive[n]);", `["getDocument","listDocuments"] function`},
		"namespace as a value":    {"", "import * as gdrive from './servers/google-drive'; const show = (x) => Object.keys(x).length; console.log(show({ ...gdrive }), await gdrive.getDocument({ id: '1' }));", "2 " + back},
		"namespace in a template": {"", "import * as gdrive from './servers/google-drive'; console.log(`${(await gdrive.getDocument({ id: '1' })).tool} ${typeof gdrive . listDocuments}`);", "google_drive__get_document function"},
		"tool file":               {"", "import { getDocument } from '../servers/google_drive/getDocument.js';" + get, back},
		"hash":                    {"", "import { getDocument } from '#servers/google_drive';" + get, back},
		"bare":                    {"", "import { getDocument as get } from 'servers/google_drive/index.js'; console.log(await get({ id: '1' }));", back},
		"all servers":             {"", "import * as servers from './servers'; console.log(await servers.google_drive.getDocument({ id: '1' }), typeof servers.crm.getRecord, Object.keys(servers));", back + ` function ["crm","googleDrive","google_drive"]`},
		"one of all servers":      {"", "import { googleDrive } from './servers/index.js'; console.log(await googleDrive.getDocument({ id: '1' }));", back},
		"types":                   {"", "import { getDocument, Doc } from './servers/google_drive/getDocument'; import type { X } from './servers/none.ts'; const d: Doc = { id: '1' }; enum E { A = 1, B } namespace N { export const x = 2 } console.log(E.B, N.x, await getDocument(d));", "2 2 " + back},
		"parameter properties":    {"", "class P { constructor(private readonly x: number) {} get() { return this.x satisfies number; } } console.log(new P(3).get() as number);", "3"},
		"decorators":              {"", "const seen: string[] = []; function d(v: unknown, c: { name: string }) { seen.push(c.name); } class C { @d m() {} } new C(); console.log(seen);", `["m"]`},
		"require":                 {"", "const { getDocument } = require('./servers/google-drive'); const fs = require('fs'); async function main() {" + get + " console.log(typeof fs.readFileSync); } main();", back + "\nfunction"},
		"import equals":           {"", "import drive = require('./servers/google-drive'); console.log(await drive.getDocument({ id: '1' }));", back},
		"CommonJS script":         {"script.cjs", "const old = require('./old.cjs'); if (require.main === module) old().then((x) => console.log(x)); module.exports = { n: 1 };", "google_drive__get_document"},
		"JavaScript":              {"script.mjs", "import old from './old.cjs'; console.log(await old());", "google_drive__get_document"},
		"files beside":            {"", "import { show, data } from './lib'; import more from './data.json' with { type: 'json' }; console.log(show({ id: 'x' }), data.rows, more.rows);", "X [1,2] [1,2]"},
		"a circle":                {"", "import { later } from './circle'; export const mine = 'mine'; console.log(later());", "mine"},
		"top-level await beside":  {"", "import { waited } from './waits.mjs'; import { view } from './view.js'; console.log(view(waited));", "waited"},
		"missing, handled": {"", "const said = []; try { await import('cheerio'); } catch (e) { said.push(e.code); }\ntry { require('cheerio'); } catch (e) { said.push(e.code); }\n" +
			"try { await import('./servers/drvie'); } catch (e) { said.push(e.message); }\nconst n = await import('./nope').catch(() => null);\nconsole.log(said.join(' '), n);",
			`ERR_MODULE_NOT_FOUND MODULE_NOT_FOUND there is no server "drvie"; there are: crm, google_drive null`},
		"dynamic, written out": {"", "const { getDocument } = await import('./servers/google-drive/index.js');" + get, back},
		"skill":                {"", "import { save } from './skills/save-sheet'; console.log(await save('1'));", "google_drive__get_documentgoogle_drive__get_document"},
		"skill's script":       {"", "import { save } from '../skills/save_sheet/scripts/save.js'; import { a } from '#skills/indexed'; import { flat } from './skills/flat.ts'; console.log(typeof save, a, flat);", "function a flat"},
		"library":              {"", "import * as lib from 'mcprun'; console.log(typeof lib);", "object"},
		"byte order mark":      {"", "\ufeffimport { getDocument } from './servers/google-drive';" + get, back},
		"hashbang":             {"", "#!/usr/bin/env node\nimport { getDocument } from './servers/google-drive';" + get, back},
		"default export":       {"", "import { getDocument } from './servers/google-drive'; export default async function main() { return 1; }\nmain().then(console.log);", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, opt := world(t, beside)
			r := run(t, Source{Name: tt.file, Code: tt.code, Dir: dir}, opt)
			if r.err != "" || r.text() != tt.want {
				t.Errorf("error %s, log\n%s\nwant\n%s", r.err, r.text(), tt.want)
			}
		})
	}
}

// TestOneClassOfErrors imports the real library and client, with and without a tree.
func TestOneClassOfErrors(t *testing.T) {
	top := folder(t, map[string]string{"servers/client.ts": templates.Text("ts/client.ts"), "work/.keep": ""})
	code := "import { MCPError, readFile } from 'mcprun';\nconst c = 'client', l = 'mcprun';\nconst late = await import(l);\nconsole.log(late.MCPError === MCPError, typeof readFile);\n"
	tree := "const { MCPToolError, MCPError: E } = await import(`./servers/${c}.ts`); import { MCPToolError as T } from './servers/client.js'; console.log(E === MCPError, T === MCPToolError);"
	if r := run(t, Source{Code: code, Dir: filepath.Join(top, "work")}, Options{}); r.err != "" || r.text() != "true function" {
		t.Errorf("without a tree: %s\n%s", r.err, r.text())
	}
	if r := run(t, Source{Code: code + tree, Dir: filepath.Join(top, "work")}, Options{Tree: filepath.Join(top, "servers")}); r.err != "" || r.text() != "true function\ntrue true" {
		t.Errorf("with a tree: %s\n%s", r.err, r.text())
	}
}

// TestNearestNames asks for what is not there.
func TestNearestNames(t *testing.T) {
	dir, opt := world(t, map[string]string{"helper.ts": "export const help = 1;", "lib/one.ts": "", "lib/two.js": ""})
	for _, name := range []string{".mcprun", "README.md"} { // are no skills
		if err := os.WriteFile(filepath.Join(opt.Skills, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for code, want := range map[string]string{
		"import './lib';":                                                      `"./lib" is a folder without an index.ts or index.js; import one of its files: one, two`,
		"const m = await import('cheerio');":                                   `"cheerio" cannot be imported: no packages are installed`,
		"try { require('a'); } catch {} require('cheerio');":                   `"cheerio" cannot be imported: no packages are installed`,
		"import 'https://x.example/y';":                                        `"https://x.example/y" cannot be imported: there is no network in the sandbox`,
		"import { x } from './servers/gogle-drive'; x();":                      `there is no server "gogle-drive"; did you mean "google_drive"?`,
		"import { x } from './servers/google-drive/getDocumnet'; x();":         `server "google_drive" has no tool "getDocumnet"; did you mean "getDocument"?`,
		"import { getDocumnet } from './servers/google-drive'; getDocumnet();": `servers/google_drive/index.ts exports no "getDocumnet"; did you mean "getDocument"? it has: getDocument, listDocuments`,
		"import * as d from './servers/google-drive'; await d.getDocumnet();":  `servers/google_drive/index.ts exports no "getDocumnet"; did you mean "getDocument"?`,
		"import './helper'; return 5;":                                         `return stands outside of a function, which a module cannot have; to leave a value behind, write: export const result = VALUE`,
		"import { hlep } from './helper'; console.log(hlep);":                  `helper.ts exports no "hlep"; did you mean "help"?`,
		"import './helpr';":                                                    `"./helpr" does not exist next to the script or below it; did you mean "helper"?`,
		"import './skills/save-shet';":                                         `there is no skill "save-shet"; did you mean "save-sheet"?`,
		"import './skills/zzzzzzzz';":                                          `there are: flat, indexed, save-sheet, several`,
		"import './skills/several';":                                           `skill "several" has several scripts and no index.ts or main.ts; import one of them: one.ts, two.ts`,
		"import './skills/save-sheet/nope.ts';":                                `skill "save-sheet" has no module "nope.ts"`,
		"import './skills';":                                                   "must name one",
		"import fs from 'node-fs/promise'; fs();":                              "no packages are installed",
		"import { readFile } from 'mcprum'; readFile();":                       `did you mean "mcprun"?`,
		"import '../outside.ts';":                                              "outside of the script's folder",
	} {
		_, err := Read(t.Context(), Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript, Dir: dir}, opt)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.Problems[0].Line != 1 {
			t.Errorf("%s\n%v\nwant %s", code, err, want)
		}
	}
	// Whether something is there may be asked.
	code := "import * as d from './servers/google-drive'; if (d.maybe) console.log(d.maybe?.(1)); console.log(typeof d.other);"
	if _, err := Read(t.Context(), Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript, Dir: dir}, opt); err != nil {
		t.Error(err)
	}
}

func TestWantedFrom(t *testing.T) {
	for text, want := range map[string]string{
		`import { a, b as c, type D, default as e } from "./x"`:        "a b default",
		`import {a} from "./x"; export { b } from './x';`:              "a b",
		"import {\n  a,\n  b,\n} from \"./x\"":                         "a b",
		`import type { A } from "./x"`:                                 "A",
		`import * as x from "./x"; x.a(); y(x?.b, x . c)`:              "a b c",
		"import * as x from \"./x\"; `${x.a}`; o.x; ax; x1":            "a",
		`import * as x from "./x"`:                                     "",
		`import * as x from "./x"; f(x)`:                               "?",
		`import * as x from "./x"; x["a"]`:                             "?",
		`import * as x from "./x"; x?.[a]`:                             "?",
		`import * as x from "./x"; ({...x})`:                           "?",
		`import * as x from "./x"; ({x})`:                              "?",
		`import * as x from "./x"; const y: typeof x = 1`:              "?",
		`import * as x from "./x"; const { a } = x;`:                   "?",
		`import * as x from "./x"; export { x };`:                      "?",
		`import x from "./x"`:                                          "?",
		`import x, { a } from "./x"`:                                   "?",
		`import "./x"`:                                                 "?",
		`export * from "./x"`:                                          "?",
		`export * as x from "./x"`:                                     "?",
		`import("./x")`:                                                "?",
		`import { a } from "./x"; import("./x")`:                       "?",
		`import { a /* b */ } from "./x"`:                              "?",
		`import { a } from "./x" // "./x"`:                             "?",
		`import { a } from "./x"; import * as y from "./\u0078"; f(y)`: "?",
		`import { a } from "./y"`:                                      "?",
		"import { a } from `./x`":                                      "a",
	} {
		names, ok := wantedFrom(text, "./x")
		got := strings.Join(slices.Compact(names), " ")
		if !ok {
			got = "?"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestTrimIndex(t *testing.T) {
	index := generated + " DO NOT EDIT.\n/** A server.\n * export of things */\nexport { a } from \"./a.ts\"; // Does a.\nexport { ab } from \"./ab.ts\";\nexport { c } from \"./c.ts\"\n" +
		"export * as d from \"./d/index.ts\";\nexport const kept = 1;\n"
	want := generated + " DO NOT EDIT.\n/** A server.\n * export of things */\nexport { a } from \"./a.ts\"; // Does a.\nexport * as d from \"./d/index.ts\";\nexport const kept = 1;\nexport {};\n"
	if got := trimIndex(index, []string{"a", "d", "x"}); got != want {
		t.Errorf("trimmed, want %s:\n%s", want, got)
	}
	index = generated + " DO NOT EDIT.\nexport * from \"./a.ts\"; // Does a.\nexport * from \"./ab.ts\";\nexport { b, type BInput } from \"./b.ts\";\nexport { c, type CInput } from \"./c.ts\";\nexport type { T } from \"./a.ts\";\n"
	want = generated + " DO NOT EDIT.\nexport * from \"./a.ts\"; // Does a.\nexport { b, type BInput } from \"./b.ts\";\nexport type { T } from \"./a.ts\";\nexport {};\n"
	if got := trimIndex(index, []string{"a", "b", "x"}); got != want {
		t.Errorf("trimmed, want %s:\n%s", want, got)
	}
	if own := "export { a } from \"./a.ts\";\n"; trimIndex(own, nil) != own {
		t.Error("an index that somebody wrote was trimmed")
	}
}
