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
		"await import(x)",
	} {
		for _, dir := range []string{"", work} {
			src := Source{Name: "script.ts", Code: "const x = 'cred';\nconst m = " + code + "; console.log(m);", Language: sandbox.LangTypeScript, Dir: dir}
			made, err := Prepare(t.Context(), src, Options{Runtime: sandbox.Node, Tree: tree(t)})
			if strings.Contains(code, ".defer") || strings.Contains(code, ".source") || strings.Contains(code, `\u`) {
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
			if made.Import == nil || strings.Contains(made.Code+decoded(t, made.Code), "CANARY") || strings.Contains(made.Code, "cred.json") {
				t.Fatalf("%s: the bundle is\n%s", code, made.Code)
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
			t.Errorf("%s: %v, bundle\n%s", spec, err, bundled)
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
					t.Fatalf("%s: a file of the host is in the bundle", text)
				}
				var e *Error
				if !errors.As(err, &e) || e.Problems[0].File != file || e.Problems[0].Line != 3 {
					t.Errorf("%s: error = %v, want a refusal at %s:3", comment, err, file)
				}
			}
		}
	}
}
