package script

import (
	"strings"
	"testing"
)

func TestAsksWhere(t *testing.T) {
	for code, want := range map[string]bool{
		"console.log(import.meta.url)":                  true,
		"import /* */ . meta\n.dirname":                 true,
		"(import.meta).main":                            true,
		"console.log(__dirname)":                        true,
		"if (require.main === module) main()":           true,
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

// TestGeneratedModulesDoNotAsk: the words of a server's documentation change nothing.
func TestGeneratedModulesDoNotAsk(t *testing.T) {
	const words = "// the main meta data that imports require, and __dirname\n"
	dir, opt := world(t, map[string]string{
		"servers/crm/getRecord.ts": words + "export async function getRecord() { return __dirname; }\n",
		"data.json":                `{"__dirname": "import.meta"}`,
		"beside.ts":                words + "export const here = __dirname;\n",
	})
	const code = "import { getRecord } from './servers/crm'; import d from './data.json'; import { here } from './beside.ts'; await getRecord(d, here);"
	f := newFiles(Source{Name: "script.ts", Code: code, Dir: dir})
	defer f.close()
	if err := f.open(dir, opt); err != nil {
		t.Fatal(err)
	}
	res, err := f.build(scriptNamespace+":script.ts", "")
	if err != nil {
		t.Fatal(err)
	}
	if made := output(res); !strings.Contains(made, `here = "/workspace"`) || strings.Contains(made, "/workspace/servers") {
		t.Errorf("want only the module beside the script to be told where it is:\n%s", made)
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
	more["lib/short.ts"] = "export const info = { __dirname, __filename };\n"
	more["lib/old-short.cjs"] = "'use strict'; module.exports = { __dirname, strict: (function () { return this === undefined; })() };\n"
	more["lib/named.ts"] = strings.Repeat("// import.meta, require.main and __dirname\n", 300) + "export const at = [import.meta.main, __dirname, 'import.meta'];\n"
	more["lib/cast.ts"] = "// require.main\nexport let log = 'no';\nif ((require as any).main === (globalThis as any).nothing) log = 'never';\nif (require['main'] === 1 as any) log = 'never';\n"
	more["lib/root.cjs"] = "const path = require('path');\nmodule.exports = path.dirname(require.main.filename);\n"
	more["lib/throws.ts"] = "const where = import.meta.url;\nexport function fail() {\n  const x = import.meta.dirname; throw new Error(x);\n}\n"
	more["lib/tool.ts"] = "#!/usr/bin/env node\nexport const started = (require as any).main !== undefined && (require as any).main.filename;\n"
	more["lib/tool.mts"] = "#!/usr/bin/env node\nexport const at = import.meta.filename;\n"
	for name, tt := range map[string]struct{ code, want string }{
		"programs":                  {"import { started } from './lib/tool.ts'; import { at } from './lib/tool.mts'; console.log(started, at);", "/workspace/script.ts /workspace/lib/tool.mts"},
		"short members":             {"import { info } from './lib/short'; console.log(Object.keys(info).join(), info.__dirname);", "__dirname,__filename /workspace/lib"},
		"short members of CommonJS": {"const m = require('./lib/old-short.cjs'); console.log(m.__dirname, m.strict);", "/workspace/lib true"},
		"named in comments":         {"import { at } from './lib/named'; console.log(at);", `[false,"/workspace/lib","import.meta"]`},
		"odd ways":                  {"import { log } from './lib/cast'; console.log(log, require.main === module, (require as any).main === module);", "no true true"},
		"the root":                  {"const root = require('./lib/root.cjs'); console.log(root);", "/workspace"},
		"a library for every host":  {"const g = {} as any; (function (root, f) { if (typeof module === 'object' && (module as any).exports) (module as any).exports = f(); else root.Lib = f(); })(g, () => 'require main'); await 1; console.log(g.Lib); export {};", "require main"},
		"many":                      {"console.log(" + strings.Repeat("import.meta.main && ", 300) + "import.meta.main, import.meta);", `true {"url":"file:///workspace/script.ts","filename":"/workspace/script.ts","dirname":"/workspace","main":true}`},
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
