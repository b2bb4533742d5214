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
		"servers/crm/getRecord.ts": words + "export async function getRecord() { return 1; }\n",
		"data.json":                `{"__dirname": "import.meta"}`,
		"beside.ts":                words,
	})
	for code, twice := range map[string]bool{
		"import { getRecord } from './servers/crm'; import d from './data.json'; await getRecord(d);": false,
		"import './beside.ts'": true,
	} {
		f := newFiles(Source{Name: "script.ts", Code: code, Dir: dir}, nil)
		defer f.close()
		if err := f.open(dir, opt); err != nil {
			t.Fatal(err)
		}
		if _, err := f.build(scriptNamespace+":script.ts", ""); err != nil {
			t.Fatal(err)
		}
		if f.where != twice {
			t.Errorf("%s: bundled twice: %v", code, f.where)
		}
	}
}
