package script

import (
	"path/filepath"
	"strings"
	"testing"
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
		"again":                    {"const p = 'a', one = await import(`./plugins/${p}`), two = await import(`./plugins/${p}.ts`); console.log(one === two, one.default());", "true default a"},
		"main has it":              {"import * as a from './plugins/a.ts'; const p = 'a', two = await import(`./plugins/${p}.ts`); console.log(a.default === two.default, two.name);", "true a"},
		"from a module":            {"const p = 'deep', n = 'a'; const d = await import(`./plugins/${p}.ts`); console.log(await d.inner(n));", "a"},
		"CommonJS":                 {"import { names } from './registry.ts'; const p = 'old', m = await import(`./plugins/${p}.cjs`); console.log(m.default(), m.extra, names);", `old 7 ["old"]`},
		"JSON with its type":       {"import d from './data/one.json' with { type: 'json' }; import e from './data/one.json'; const p = 'a'; await import(`./plugins/${p}.ts`); console.log(d.n + e.n);", "2"},
		"JSON":                     {"const p = 'one', m = await import(`./data/${p}.json`, { with: { type: 'json' } }); console.log(m.default.n);", "1"},
		"builtin":                  {"const p = 'path', m = await import('node:' + p), q = await import(p); console.log(m.join('a', 'b'), m.default.sep, q === m);", "a/b / true"},
		"library":                  {"const p = 'run', m = await import('mcp' + p); console.log(typeof m);", "object"},
		"skill":                    {"const s = 'save-sheet'; const { save } = await import(`./skills/${s}`); console.log(await save('1'));", "google_drive__get_documentgoogle_drive__get_document"},
		"address":                  {"const s = 'crm'; const m = await import(new URL(`./servers/${s}/index.ts`, import.meta.url).href); console.log(Object.keys(m));", `["getRecord"]`},
		"where a module lies":      {"import { at } from './where.ts'; console.log(at);", `["/workspace/where.ts",false,"/workspace"]`},
		"where a late one lies":    {"const p = 'where'; console.log((await import(`./${p}.ts`)).at);", `["/workspace/where.ts",false,"/workspace"]`},
		"where, written oddly":     {"console.log(__filen\\u0061me, import /* */ . meta\n.dirname);", "/workspace/script.ts /workspace"},
		"missing":                  {"const s = 'gogle_drive'; try { await import(`./servers/${s}`); } catch (e) { console.log(e.message); }", `there is no server "gogle_drive"; did you mean "google_drive"? there are: crm, google_drive`},
		"broken":                   {"const p = 'bad'; for (const i of [1, 2]) try { await import(`./plugins/${p}.ts`); } catch (e) { console.log(e.message.split('\\n')[0]); }", "plugins/bad.ts:1:18: Unexpected \";\"\nplugins/bad.ts:1:18: Unexpected \";\""},
		"throws":                   {"const p = 'throws'; for (const i of [1, 2]) try { await import(`./plugins/${p}.ts`); } catch (e) { console.log(e.message); }", "thrown by a plugin\nthrown by a plugin"},
		"outside":                  {"for (const p of ['../secret', '/etc/passwd', '../../x', 'file:///etc/passwd', 'lodash', './.keep', '..', '']) try { await import(p); console.log('read', p); } catch (e) { console.log('no'); }", strings.TrimSpace(strings.Repeat("no\n", 8))},
		"itself":                   {"export const mine = 1; for (const p of ['./script.ts', './plugins/self.ts']) try { await import(p); } catch (e) { console.log(e.message.includes('the script that runs')); }", "true\ntrue"},
		"one of two":               {"const p = Math.random() > 2 ? 'x' : 'y'; const m = await import(p === 'x' ? './plugins/a.ts' : `./plugins/${'b'}.ts`); console.log(m.name);", "b"},
		"require":                  {"const n = 'fs', o = 'one'; const fs = require(n); console.log(typeof fs.readFileSync); import './data/one.json'; try { require(`./plugins/${o}`); } catch (e) { console.log(e.message); }", "function\nrequire(./plugins/one) is computed: use await import()"},
		"require of what is there": {"const r = require('./registry.ts'); r.register('x'); const n = 'registry'; console.log(require(`./${n}`).names, require('./' + n + '.js').names === require(`./${n}.ts`).names);", `["x"] true`},
		"positions":                {"const s = 'x';\nconst f = async () => { const e = new Error('here'); return [e, await import('node:' + (s ? 'fs' : '')), new Error('there')]; };\nconsole.log((await f()).length);", "3"},
		"words in strings":         {"const s = 'fs'; console.log('import(x) $imp0$', \"require('\" + s, `import(`, /import(x)/.source); console.log(typeof await import('node:' + s));", "import(x) $imp0$ require('fs import( import(x)\nobject"},
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
