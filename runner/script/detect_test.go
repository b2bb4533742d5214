package script

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestDetectLanguage(t *testing.T) {
	for name, want := range map[string]sandbox.Language{".py": sandbox.LangPython, ".ts": sandbox.LangTypeScript} {
		files, err := filepath.Glob("../../examples/*" + name)
		if err != nil || len(files) < 3 {
			t.Fatalf("examples: %v, %v, want len(files) at least 3 and no error", files, err)
		}
		for _, f := range files {
			code, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if got := DetectLanguage(string(code)); got != want {
				t.Errorf("DetectLanguage(%s) = %v, want %v", f, got, want)
			}
		}
	}
	for _, code := range []string{
		"rows = json.loads(read_file('orders.json'))\nresult = summarize_list(rows)",
		"print('hi')",
		"raise ValueError('x')",
		"assert 1 == 1",
		"del x",
		"time.sleep(1)",
		"print(callMCPTool('a__b', {'x': 1}))",
		"result = 1 + 1",
		"x = [1, 2]\nx",
		"import json\nresult = 1",
		"import os, sys",
		"from servers.drive import get_sheet\nget_sheet(sheet_id='x')",
		"write_file('a.txt', 'b')",
		"result = aggregate_stats(rows)",
		"save_skill('x', '''const a = 1; export function f() { return a === 1; }''', 'adds')",
		"# const a = 1;\nresult = callMCPTool('a__b')",
		"cursor = None\nwhile True:\n    page = list_things(cursor=cursor)\n    if not page.get('next'):\n        break\n",
		"'''Say ${what} // it does => really'''\ntotal = 0",
		"data = {'a': True}",
		"await asyncio.sleep(1)",
		"n = 7 // 2\nprint(f\"{n}\")",
		"#!/usr/bin/env python3\n1",
		"code = load_skill('x')\nexec(code)",
		"assert detokenize_pii(text, tokens) == 'x'",
	} {
		if got := DetectLanguage(code); got != sandbox.LangPython {
			t.Errorf("DetectLanguage(%q) = %v, want python", code, got)
		}
	}
	for _, code := range []string{
		"", "1", "1 + 1",
		"console.log(1)",
		"await callMCPTool('a__b', { x: 1 })",
		"const rows = JSON.parse(await readFile('orders.json'));",
		"export const result = 1 + 1",
		"export default 5",
		"result = filterByField(rows, 'a', 1)",
		"import * as gdrive from './servers/google-drive';\nawait gdrive.getDocument({ documentId: 'x' })",
		"import { a } from './a.ts'",
		"let cursor;\ndo { const page = await list({ cursor }); cursor = page.next } while (cursor)",
		"for (const name of names) {\n  if (name in seen) { continue }\n}",
		"// print(x)\nawait saveSkill('x', `def f():\n    return None\n`)",
		"const don = \"don't: if x:\"\nconst t = 'import os'",
		"const servers = await fs.readdir('./servers')",
		"while (!found) { await new Promise((ok) => setTimeout(ok, 1000)); }",
		"class A { #x = 1; get() { return this.#x; } }\nconsole.log(new A().get());",
		"type Row = { id: number }\nconst json = {} as Row\nconsole.log(json.id)",
	} {
		if got := DetectLanguage(code); got != sandbox.LangTypeScript {
			t.Errorf("DetectLanguage(%q) = %v, want typescript", code, got)
		}
	}
}

func TestDetectLanguageEndsOnAnything(t *testing.T) {
	for _, code := range []string{"\\", "'\\", "\"\"\"", "`", "/*", "#", "'''\\", "\xff'", "//"} {
		DetectLanguage(code)
	}
}
