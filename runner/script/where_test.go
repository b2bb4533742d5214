package script

import "testing"

func TestAsksWhere(t *testing.T) {
	for code, want := range map[string]bool{
		"console.log(import.meta.url)":                  true,
		"import /* */ . meta\n.dirname":                 true,
		"(import.meta).main":                            true,
		"console.log(__dirname)":                        true,
		`console.log(__filen\u0061me)`:                  true,
		"if (require.main === module) main()":           true,
		`if (require["m\x61in"] === module) main()`:     true,
		"require\n?.main":                               true,
		"import { getFileInfo } from './servers/x'; //": false,
		"import { metadata } from './x'; f(metadata)":   false,
		"const fs = require('fs'); domain(required)":    false,
		"async function main() {} main()":               false,
	} {
		if got := asksWhere(code); got != want {
			t.Errorf("%s: %v, want %v", code, got, want)
		}
	}
}

// TestBundledOnce: the words of a server's documentation do not have a script bundled a second time.
func TestBundledOnce(t *testing.T) {
	const words = "// the main meta data that imports require, and __dirname\n"
	dir, opt := world(t, map[string]string{
		"servers/crm/getRecord.ts": words + "export async function getRecord() { return import.meta.url; }\n",
		"data.json":                `{"__dirname": "import.meta"}`,
		"beside.ts":                words + "export const here = __dirname;\n",
	})
	for code, twice := range map[string]bool{
		"import { getRecord } from './servers/crm'; import d from './data.json'; await getRecord(d);": false,
		"import { here } from './beside.ts'; here;":                                                   true,
	} {
		f := newFiles(Source{Name: "script.ts", Code: code, Dir: dir}, nil)
		defer f.close()
		if err := f.open(dir, opt); err != nil {
			t.Fatal(err)
		}
		if _, err := f.build(scriptNamespace+":script.ts", ""); err != nil {
			t.Fatal(err)
		}
		if got := len(f.answers) > 0; got != twice {
			t.Errorf("%s: bundled twice: %v", code, got)
		}
	}
}

// TestNothingIsNoResult: CommonJS always exports an object, also where it exports nothing.
func TestNothingIsNoResult(t *testing.T) {
	for code, want := range map[string]string{
		"function main() {} if (require.main === module) main();":                                                      "",
		"const n = 'helper'; if (require.main === module) void import(`./${n}.ts`);":                                   "",
		"module.exports = { n: 1 };":                                                                                   `{"n":1}`,
		"export const result = 1; if (require.main === module) void 0;":                                                "1",
		"import * as fs from 'node:fs'; if (require.main === module) console.log(typeof fs); export default 'module';": `"module"`,
	} {
		dir, opt := world(t, map[string]string{"helper.ts": "export const x = 1;\n"})
		if r := run(t, Source{Code: code, Dir: dir}, opt); r.err != "" || r.result != want {
			t.Errorf("%s: %s, result %s, want %s", code, r.err, r.result, want)
		}
	}
}

// TestWhereModulesLie: each module is told of itself; only the script was started.
func TestWhereModulesLie(t *testing.T) {
	const guard = "let log = [];\nfunction main() { log.push('main of ' + __filename); }\nmodule.exports = { log };\nif (require.main === module) main();\n"
	more := map[string]string{
		"lib/old.cjs":                    "'use strict';\n" + guard,
		"lib/where.ts":                   "export const at = [import.meta.url, import.meta.filename, import.meta . /* */ dirname, import.meta.main];\nexport const { main } = import.meta;\nexport const text = 'import.meta';\nexport const next = import.meta.resolve('./x.ts');\n",
		"lib/own.ts":                     "import { fileURLToPath } from 'node:url';\nconst __filename = String(new URL(import.meta.url).pathname);\nexport const mine = __filename;\n",
		"lib/odd.ts":                     "export const started = import.meta.main ? 'yes' : 'no';\nexport const guard = typeof module !== 'undefined' && require.main === module;\n",
		"skills/several/scripts/main.ts": "export const started = import.meta.main;\nexport const file = import.meta.filename;\n",
	}
	for name, tt := range map[string]struct{ code, want string }{
		"CommonJS":                  {"const { log } = require('./lib/old.cjs'); console.log(log.length);", "0"},
		"a module of a folder":      {"import { at, main, text, next } from './lib/where.ts'; console.log(at); console.log(main, text, next);", `["file:///workspace/lib/where.ts","/workspace/lib/where.ts","/workspace/lib",false]` + "\nfalse import.meta file:///workspace/lib/x.ts"},
		"a name of its own":         {"import { mine } from './lib/own.ts'; console.log(mine);", "/workspace/lib/own.ts"},
		"both ways":                 {"import { started, guard } from './lib/odd.ts'; console.log(started, guard);", "no false"},
		"a skill":                   {"import { started, file } from './skills/several/scripts/main.ts'; console.log(started, file);", "false /workspace/skills/several/scripts/main.ts"},
		"the script, taken apart":   {"const { dirname, main, url } = import.meta; console.log(dirname, main, url);", "/workspace true file:///workspace/script.ts"},
		"the script and a module":   {"import { at } from './lib/where.ts'; console.log(import.meta.main, at[3], import.meta.dirname, at[2]);", "true false /workspace /workspace/lib"},
		"guard with export":         {"export function main() { console.log('ran'); } if (require.main === module) main();", "ran"},
		"guard with await":          {"import * as fs from 'node:fs'; async function main() { console.log('ran'); } if (require.main === module) await main();", "ran"},
		"guard of CommonJS":         {"function main() { console.log('ran'); } module.exports = { main }; if (require['main'] === module) main();", "ran"},
		"in strings and comments":   {"// import.meta __dirname\nconsole.log('import.meta', `require.main ${import.meta.main}`, /__dirname/.source);", "import.meta require.main true __dirname"},
		"late, with its own answer": {"const n = 'where'; const { at } = await import(`./lib/${n}.ts`); console.log(at[1], import.meta.filename);", "/workspace/lib/where.ts /workspace/script.ts"},
		"a name in the way":         {"const n = 'own'; const m = await import(`./lib/${n}.ts`); const __dirname = 'x'; console.log(m.mine, __dirname, __filename);", "/workspace/lib/own.ts x /workspace/script.ts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, opt := world(t, more)
			r := run(t, Source{Code: tt.code, Dir: dir}, opt)
			if r.err != "" || r.text() != tt.want {
				t.Errorf("error %s, log\n%s\nwant\n%s", r.err, r.text(), tt.want)
			}
		})
	}
}
