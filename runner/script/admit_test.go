package script

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// folder writes files and returns their folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

// world is a folder with a tree, skills and files beside a script, to which more can be added.
func world(t testing.TB, more map[string]string) (dir string, opt Options) {
	t.Helper()
	files := map[string]string{
		"servers/client.ts":                       "export class MCPError extends Error {}\nexport class MCPArgumentError extends MCPError {}\nexport class MCPConnectionError extends MCPError {}\nexport class MCPDeniedError extends MCPError {}\nexport class MCPProtocolError extends MCPError {}\nexport class MCPTimeoutError extends MCPError {}\nexport class MCPToolError extends MCPError {}\nexport async function callMCPTool(tool: string, args: unknown) { return (globalThis as any)[Symbol.for('mcprun.transport')].call(tool, args); }\n",
		"servers/google_drive/index.ts":           generated + " DO NOT EDIT.\nexport { getDocument } from \"./getDocument.ts\"; // Get one.\nexport { listDocuments } from \"./listDocuments.ts\";\n",
		"servers/google_drive/getDocument.ts":     "import { callMCPTool } from \"../client.ts\";\nexport interface Doc { id: string }\nexport async function getDocument(input: Doc) {\n  return callMCPTool(\"google_drive__get_document\", input);\n}\n",
		"servers/google_drive/listDocuments.ts":   "import { callMCPTool } from \"../client.ts\";\nexport async function listDocuments(input = {}) {\n  return callMCPTool(\"google_drive__list_documents\", input);\n}\n",
		"servers/crm/index.ts":                    generated + " DO NOT EDIT.\nexport { getRecord } from \"./getRecord.ts\";\n",
		"servers/crm/getRecord.ts":                "import { callMCPTool, MCPError } from \"../client.ts\";\nexport async function getRecord(input: { id: string }) {\n  if (!input.id) throw new MCPError('no id');\n  return callMCPTool(\"crm__get_record\", input);\n}\n",
		"skills/save-sheet/SKILL.md":              "# save",
		"skills/save-sheet/scripts/save.ts":       "import { getDocument } from '../../../servers/google-drive';\nimport { twice } from './lib/helper.js';\nexport async function save(id: string) { return twice((await getDocument({ id })).tool); }\n",
		"skills/save-sheet/scripts/lib/helper.ts": "export const twice = (s: string) => s + s;\n",
		"skills/several/scripts/one.ts":           "export const n = 1;",
		"skills/several/scripts/two.ts":           "export const n = 2;",
		"skills/flat.ts":                          "export const flat = 'flat';",
		"skills/indexed/index.ts":                 "export * from './scripts/a.ts';",
		"skills/indexed/scripts/a.ts":             "export const a = 'a';",
	}
	for name, text := range more {
		files["work/"+name] = text
	}
	top := folder(t, files)
	write(t, filepath.Join(top, "work/.keep"), "")
	return filepath.Join(top, "work"), Options{Tree: filepath.Join(top, "servers"), Skills: filepath.Join(top, "skills")}
}

// TestComputedImports runs scripts whose imports nobody can know before.
func TestComputedImports(t *testing.T) {
	beside := map[string]string{
		"plugins/a.ts":      "import { register } from '../registry.ts';\nregister('a');\nexport const name: string = 'a';\nexport default function () { return 'default a'; }\n",
		"plugins/b.ts":      "import { register } from '../registry.js';\nawait null;\nregister('b');\nexport const name = 'b';\n",
		"plugins/bad.ts":    "export const x = ;\n",
		"plugins/throws.ts": "throw new Error('thrown by a plugin');\n",
		"plugins/deep.ts":   "export const inner = async (n: string) => (await import(`./${n}.ts`)).name;\n",
		"plugins/old.cjs":   "const r = require('../registry.ts');\nr.register('old');\nmodule.exports = function old() { return 'old'; };\nmodule.exports.extra = 7;\n",
		"plugins/self.ts":   "import { mine } from '../script.ts';\nexport const x = mine;\n",
		"registry.ts":       "export const names: string[] = [];\nexport const register = (n: string) => { names.push(n); };\n",
		"data/one.json":     `{"n": 1}`,
		"where.ts":          "export const at = [import.meta.filename, import.meta.main, __dirname];\n",
		"tools.js":          "module.exports = { load(n) { return require('./data/' + n + '.json'); } };\n",
	}
	for name, tt := range map[string]struct{ code, want string }{
		"servers by name": {"for (const s of ['google_drive', 'crm', 'google-drive']) { const m = await import(`./servers/${s}/index.ts`); console.log(Object.keys(m)); }",
			`["getDocument","listDocuments"]` + "\n" + `["getRecord"]` + "\n" + `["getDocument","listDocuments"]`},
		"the way back":          {"const n = 'crm'; const m = await import('./servers/' + n); console.log(await m.getRecord({ id: '1' }));", `{"tool":"crm__get_record","args":{"id":"1"}}`},
		"one class":             {"import { MCPError } from './servers/client.ts'; const n = 'crm'; const { getRecord } = await import(`#servers/${n}`); try { await getRecord({ id: '' }); } catch (e) { console.log(e instanceof MCPError, e.constructor === MCPError); }", "true true"},
		"one class, found late": {"const n = 'crm', c = 'client'; const { getRecord } = await import(`./servers/${n}`); const { MCPError } = await import(`./servers/${c}.ts`); try { await getRecord({ id: '' }); } catch (e) { console.log(e instanceof MCPError); }", "true"},
		"state is shared":       {"import { names } from './registry.ts'; for (const p of ['a', 'b']) { const m = await import(`./plugins/${p}.ts`); console.log(m.name); } console.log(names);", "a\nb\n[\"a\",\"b\"]"},
		"state is shared among those that come late": {"const list = ['a', 'b']; await Promise.all(list.map((p) => import(`./plugins/${p}.ts`))); const r = await import('./' + 'regis' + list.join('').replace('ab', 'try') + '.ts'); console.log(r.names.sort());", `["a","b"]`},
		"again":                 {"const p = 'a', one = await import(`./plugins/${p}`), two = await import(`./plugins/${p}.ts`); console.log(one === two, one.default());", "true default a"},
		"main has it":           {"import * as a from './plugins/a.ts'; const p = 'a', two = await import(`./plugins/${p}.ts`); console.log(a.default === two.default, two.name);", "true a"},
		"from a module":         {"const p = 'deep', n = 'a'; const d = await import(`./plugins/${p}.ts`); console.log(await d.inner(n));", "a"},
		"CommonJS":              {"import { names } from './registry.ts'; const p = 'old', m = await import(`./plugins/${p}.cjs`); console.log(m.default(), m.extra, names);", `old 7 ["old"]`},
		"JSON with its type":    {"import d from './data/one.json' with { type: 'json' }; import e from './data/one.json'; const p = 'a'; await import(`./plugins/${p}.ts`); console.log(d.n + e.n);", "2"},
		"JSON":                  {"const p = 'one', m = await import(`./data/${p}.json`, { with: { type: 'json' } }); console.log(m.default.n);", "1"},
		"builtin":               {"const p = 'path', m = await import('node:' + p), q = await import(p); console.log(m.join('a', 'b'), m.default.sep, q === m);", "a/b / true"},
		"library":               {"const p = 'run', m = await import('mcp' + p); console.log(typeof m);", "object"},
		"skill":                 {"const s = 'save-sheet'; const { save } = await import(`./skills/${s}`); console.log(await save('1'));", "google_drive__get_documentgoogle_drive__get_document"},
		"address":               {"const s = 'crm'; const m = await import(new URL(`./servers/${s}/index.ts`, import.meta.url).href); console.log(Object.keys(m));", `["getRecord"]`},
		"where a module lies":   {"import { at } from './where.ts'; console.log(at);", `["/workspace/where.ts",false,"/workspace"]`},
		"where a late one lies": {"const p = 'where'; console.log((await import(`./${p}.ts`)).at);", `["/workspace/where.ts",false,"/workspace"]`},
		"where, written oddly":  {"console.log(__filen\\u0061me, import /* */ . meta\n.dirname);", "/workspace/script.ts /workspace"},
		"missing":               {"const s = 'gogle_drive'; try { await import(`./servers/${s}`); } catch (e) { console.log(e.message); }", `there is no server "gogle_drive"; did you mean "google_drive"? there are: crm, google_drive`},
		"broken":                {"const p = 'bad'; for (const i of [1, 2]) try { await import(`./plugins/${p}.ts`); } catch (e) { console.log(e.message.split('\\n')[0]); }", "plugins/bad.ts:1:18: Unexpected \";\"\nplugins/bad.ts:1:18: Unexpected \";\""},
		"throws":                {"const p = 'throws'; for (const i of [1, 2]) try { await import(`./plugins/${p}.ts`); } catch (e) { console.log(e.message); }", "thrown by a plugin\nthrown by a plugin"},
		"outside":               {"for (const p of ['../secret', '/etc/passwd', '../../x', 'file:///etc/passwd', 'lodash', './.keep', '..', '']) try { await import(p); console.log('read', p); } catch (e) { console.log('no'); }", strings.TrimSpace(strings.Repeat("no\n", 8))},
		"itself":                {"export const mine = 1; for (const p of ['./script.ts', './plugins/self.ts']) try { await import(p); } catch (e) { console.log(e.message.includes('the running script')); }", "true\ntrue"},
		"one of two":            {"const p = Math.random() > 2 ? 'x' : 'y'; const m = await import(p === 'x' ? './plugins/a.ts' : `./plugins/${'b'}.ts`); console.log(m.name);", "b"},
		"require":               {"const n = 'fs', o = 'one'; const fs = require(n); console.log(typeof fs.readFileSync); import './data/one.json'; try { require(`./plugins/${o}`); } catch (e) { console.log(e.message); }", "function\nrequire(./plugins/one) is computed: use await import()"},
		"positions":             {"const s = 'x';\nconst f = async () => { const e = new Error('here'); return [e, await import('node:' + (s ? 'fs' : '')), new Error('there')]; };\nconsole.log((await f()).length);", "3"},
		"words in strings":      {"const s = 'fs'; console.log('import(x)', \"require('\" + s, `import(`, /import(x)/.source); console.log(typeof await import('node:' + s));", "import(x) require('fs import( import(x)\nobject"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, opt := world(t, beside)
			r := run(t, Source{Code: tt.code, Dir: dir}, opt)
			if r.err != "" || r.text() != tt.want {
				t.Errorf("error %s, log\n%s\nwant\n%s", r.err, r.text(), tt.want)
			}
		})
	}
}

// TestComputedPathsReadNothing asks for files of the host in every way that the bundler takes for a pattern.
func TestComputedPathsReadNothing(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"work", "private"} {
		if err := os.Mkdir(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "private", "cred.json"), []byte(`{"token":"CANARY"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(top, "work")
	t.Chdir(work) // patterns are looked up from here
	up := strings.Repeat("../", 40) + strings.TrimPrefix(filepath.ToSlash(top), "/") + "/private/"
	for _, code := range []string{
		"await import(`../private/${x}.json`)",
		"await import(`" + up + "${x}.json`)",
		"await import('../private/' + x)",
		"await import /* */ (\n`../private/${x}.json`)",
		"await import\u00a0(`../private/${x}.json`)",
		"await import(`../private/${x}.json`, { with: { type: 'json' } })",
		"await import.defer(`../private/${x}.json`)",
		"await import.source(`../private/${x}.json`)",
		"require(`../private/${x}.json`)",
		"require('../private/' + x + '.json')",
		"requ\\u0069re(`../private/${x}.json`)",
		"r\\u{65}quire(`../private/${x}.json`)",
		"await import/**/(`../private/${x}.json`)",
		"require/**/(`../private/${x}.json`)",
		"require\u00a0(`../private/${x}.json`)",
		"await import(x)",
		"await import(x) + $imp0$",
	} {
		for _, dir := range []string{"", work} {
			src := Source{Name: "script.ts", Code: "const x = 'cred';\nconst m = " + code + "; console.log(m);", Language: sandbox.LangTypeScript, Dir: dir}
			made, err := Read(t.Context(), src, Options{Tree: tree(t)})
			if strings.Contains(code, ".defer") || strings.Contains(code, ".source") || strings.Contains(code, `\u`) || strings.Contains(code, forImport) {
				var e *Error
				if !errors.As(err, &e) || e.Problems[0].File != "script.ts" || e.Problems[0].Line != 2 {
					t.Errorf("%s: error = %v, want a refusal with its place", code, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", code, err)
				continue
			}
			if (made.Import == nil) != strings.HasPrefix(code, "require") || strings.Contains(made.Code+decoded(t, made.Code), "CANARY") || strings.Contains(made.Code, "cred.json") {
				t.Fatalf("%s: the bundle is\n%s", code, made.Code)
			}
			if made.Import == nil {
				continue
			}
			for _, path := range []string{"../private/cred.json", up + "cred.json", filepath.Join(top, "private", "cred.json"), "file://" + filepath.Join(top, "private", "cred.json"), "./servers/../../private/cred.json"} {
				for _, from := range []string{"script:script.ts", "script:../private/x.ts", "servers:../x.ts", "x", ":", "entry:main", "known:x", "mcprun:x"} {
					id, code, err := made.Import(t.Context(), path, from)
					var e *Error
					if !errors.As(err, &e) || code != "" || id != "" {
						t.Fatalf("import %q from %q: %q %q %v", path, from, id, code, err)
					}
				}
			}
		}
	}
}

// TestComputedPathsInOtherModules does the same from a file beside the script and from the tree.
func TestComputedPathsInOtherModules(t *testing.T) {
	top, servers := t.TempDir(), tree(t)
	work := filepath.Join(top, "work")
	bad := "const x = 'cred';\nexport const m = await import(`../${x}.json`);"
	for path, text := range map[string]string{
		filepath.Join(top, "cred.json"):              `{"token":"CANARY"}`,
		filepath.Join(work, "lib.ts"):                bad,
		filepath.Join(servers, "crm", "changed.ts"):  bad,
		filepath.Join(work, "import.json"):           `{"import": "(x)"}`,
		filepath.Join(work, "servers", "ignored.ts"): bad,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(work)
	for _, spec := range []string{"./lib.ts", "./servers/crm/changed.ts"} {
		bundled, err := prepare(t, `import { m } from "`+spec+`"; console.log(m);`, work, servers)
		if err != nil || strings.Contains(bundled+decoded(t, bundled), "CANARY") {
			t.Errorf("%s: %v, bundle, want no \"CANARY\" in it and no error\n%s", spec, err, bundled)
		}
	}
	for _, code := range []string{
		`import d from "./import.json"; console.log(d, import.meta.url, await import("./servers/crm"), await import("node:fs"));`,
		"const fs = require('fs'), d = require('./import.json'), c = require(`./servers/crm`); console.log(fs, d, c);",
	} {
		if _, err := prepare(t, code, work, servers); err != nil {
			t.Errorf("written-out paths are refused: %v", err)
		}
	}
}

// TestSourceMapsReadNothing refers to source maps that would have the bundler read files of the host.
func TestSourceMapsReadNothing(t *testing.T) {
	top, servers := t.TempDir(), tree(t)
	secret := filepath.Join(top, "secret.txt")
	stolen := `{"version":3,"sources":["file://` + secret + `"],"names":[],"mappings":"AAAA"}`
	for path, text := range map[string]string{
		secret:                      "CANARY",
		filepath.Join(top, "x.map"): `{"version":3,"sources":["a"],"sourcesContent":["CANARY"],"names":[],"mappings":"AAAA"}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inline := "data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(stolen))
	for _, url := range []string{inline, "file://" + filepath.Join(top, "x.map"), "file://localhost" + filepath.Join(top, "x.map"), "x.map"} {
		for _, comment := range []string{"//# sourceMappingURL=%s", "//@ sourceMappingURL=%s", "/*# sourceMappingURL=%s */", "/*@ sourceMappingURL=%s\n*/"} {
			text := "export const m = 1;\nconsole.log(m);\n" + fmt.Sprintf(comment, url)
			if err := os.WriteFile(filepath.Join(top, "lib.ts"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for file, code := range map[string]string{"script.ts": text, "lib.ts": `import { m } from "./lib.ts"; console.log(m);`} {
				bundled, err := prepare(t, code, top, servers)
				_, encoded, _ := strings.Cut(bundled, "base64,")
				sourceMap, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
				if strings.Contains(string(sourceMap)+bundled, "CANARY") {
					t.Fatalf(`%s: a file of the host is in the bundle, want no "CANARY" in it`, text)
				}
				var e *Error
				if !errors.As(err, &e) || e.Problems[0].File != file || e.Problems[0].Line != 3 {
					t.Errorf("%s: error = %v, want a refusal at %s:3", comment, err, file)
				}
			}
		}
	}
}

// decoded returns the source map of a bundle.
func decoded(t *testing.T, bundle string) string {
	t.Helper()
	_, encoded, _ := strings.Cut(bundle, "base64,")
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
