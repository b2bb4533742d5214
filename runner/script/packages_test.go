package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// installed writes packages, and returns the folder that has node_modules. A text that begins with -> is a link.
func installed(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, "node_modules", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(file, []byte(text), 0o644)
		if target, ok := strings.CutPrefix(text, "->"); ok {
			err = errors.Join(os.Remove(file), os.Symlink(target, file))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPackages runs scripts that import packages in every form.
func TestPackages(t *testing.T) {
	dir := installed(t, map[string]string{
		"cjs/package.json":         `{"main": "lib/main.js"}`,
		"cjs/lib/main.js":          "const { join } = require('path'); exports.name = join('c', require('../part').part, require('@own/esm').name);\n//# sourceMappingURL=file:///etc/passwd",
		"cjs/part/index.js":        "exports.part = 'js';",
		"@own/esm/package.json":    `{"type": "module", "sideEffects": false, "exports": {".": {"browser": "./b.js", "node": "./n.js"}, "./sub": "./sub.js", "./data.json": "./data.json"}}`,
		"@own/esm/b.js":            "import { sub } from '#own'; export const name = 'esm'; export default sub;",
		"@own/esm/n.js":            "export const name = 'of node';",
		"@own/esm/sub.js":          "export const sub = 1;",
		"@own/esm/data.json":       `{"rows": 2}`,
		"@own/esm/hidden.js":       "export const hidden = 1;",
		"optional/index.js":        "let m = 'without'; try { m = require('./x.node'); } catch (e) { m += ' ' + e.code; } try { require('never-there'); } catch { m += ', alone'; } module.exports = m;",
		"optional/x.node":          "\x7fELF",
		"asking/index.js":          "const name = 'os'; const t = require; module.exports = typeof require(name).tmpdir + typeof require.resolve;",
		"extras/index.js":          "let m = 'without'; try { m = require('extra'); } catch (e) { m += ' ' + e.code; } module.exports = m;",
		"buffer/index.js":          "throw new Error('not of node');",
		"uses-buffer/index.js":     "module.exports = typeof require('buffer/').Buffer;",
		"typed/index.ts":           "export const typed: number = 4;",
		"typed/package.json":       `{"main": "index.ts"}`,
		"@own/esm/node_modules/.x": "",
		"mapped/package.json":      `{"type": "module", "main": "index.js", "browser": {"./lib/node.js": false, "./lib/other.js": "./lib/browser.js", "not-for-browsers": false}}`,
		"mapped/index.js":          "import { platform } from './lib/node.js'; export { other } from './lib/other.js'; export { platform }; export const mode = typeof process.env.NODE_ENV;",
		"mapped/lib/node.js":       "import { posix } from 'node:path'; export const platform = 'node' + posix.sep;",
		"mapped/lib/other.js":      "export const other = 'other';",
		"mapped/lib/browser.js":    "export const other = 'browser';",
	})
	pkg := filepath.Join(dir, "node_modules/@own/esm/package.json")
	if err := os.WriteFile(pkg, []byte(`{"type": "module", "imports": {"#own": "./sub.js"}, "exports": {".": {"browser": "./b.js", "node": "./n.js"}, "./sub": "./sub.js", "./data.json": "./data.json"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(dir), "node_modules/extra/index.js"), "module.exports = 'of a folder above';")
	for code, want := range map[string]string{
		`import m from "extras"; console.log(m)`:                                                                 "without MODULE_NOT_FOUND",
		`import { name } from "cjs"; console.log(name)`:                                                          "c/js/esm",
		`import sub, { name } from "@own/esm"; console.log(sub, name)`:                                           "1 esm",
		`import { sub } from "@own/esm/sub"; import data from "@own/esm/data.json"; console.log(sub, data.rows)`: "1 2",
		`console.log(require("cjs").name, require("@own/esm").name)`:                                             "c/js/esm esm",
		`const { name } = await import("cjs"); console.log(name)`:                                                "c/js/esm",
		`const p = ["@own", "esm"].join("/"); console.log((await import(p)).name, (await import("cjs")).name)`:   "esm c/js/esm",
		`import m from "optional"; console.log(m)`:                                                               "without ERR_DLOPEN_FAILED, alone",
		`import t from "uses-buffer"; import { typed } from "typed"; console.log(t, typed)`:                      "function 4",
		`try { require("absent"); } catch (e) { console.log(e.code); }`:                                          "MODULE_NOT_FOUND",
		`import { platform, other, mode } from "mapped"; console.log(platform, other, mode)`:                     "node/ other undefined",
		`import m from "asking"; console.log(m)`:                                                                 "functionfunction",
	} {
		if r := run(t, Source{Code: code}, Options{Packages: dir}); r.err != "" || r.text() != want {
			t.Errorf("%s printed %q and failed with %q, want %q", code, r.text(), r.err, want)
		}
	}
}

// TestPackagesOfOthers runs scripts with packages as their authors publish them, in one form that the embedded engine runs too.
func TestPackagesOfOthers(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/npm")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		`import { z } from "zod"; console.log(z.object({ a: z.number() }).parse({ a: 1 }).a)`: "1",
		`import YAML from "yaml"; console.log(YAML.parse("a: [1, 2]").a.length)`:              "2",
		`import _ from "lodash"; console.log(_.chunk([1, 2, 3], 2).length)`:                   "2",
		`import chunk from "lodash/chunk"; console.log(chunk([1, 2, 3], 2).length)`:           "2",
		`import Ajv from "ajv"; console.log(new Ajv().compile({ type: "number" })(1))`:        "true",
		`import { chunk } from "es-toolkit"; console.log(chunk([1, 2, 3], 2).length)`:         "2",
		`import * as yaml from "js-yaml"; console.log(yaml.load("a: 1").a)`:                   "1",
	} {
		if r := run(t, Source{Code: code}, Options{Packages: dir}); r.err != "" || r.text() != want {
			t.Errorf("%s printed %q and failed with %q, want %q", code, r.text(), r.err, want)
		}
	}
}

// TestNothingBesidesPackages imports what must not be found: files outside of the packages, and what is not installed.
func TestNothingBesidesPackages(t *testing.T) {
	outside := t.TempDir()
	for _, name := range []string{"secret.js", "secret.json"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(`"the secret"`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := installed(t, map[string]string{
		"absolute/index.js":   "require(" + quote(filepath.Join(outside, "secret.js")) + ")",
		"up/index.js":         "require('../../" + filepath.Base(outside) + "/x')",
		"list/index.js":       "const name = 'secret'; module.exports = require(`../../../" + filepath.Base(filepath.Dir(outside)) + "/${name}.json`);",
		"link/index.js":       "->" + filepath.Join(outside, "secret.js"),
		"linked":              "->" + outside,
		"needs/index.js":      "import x from 'absent-one'; export default x;",
		"needs/other.wasm":    "\x00asm",
		"closed/a.mjs":        "export const a = 1;",
		"closed/package.json": `{"exports": {".": "./a.mjs"}}`,
		"broken/index.js":     "const = 3",
		"data-url/index.js":   "import 'data:text/javascript,export default 1'",
	})
	if err := os.WriteFile(filepath.Join(dir, "beside.js"), []byte("'beside'"), 0o600); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		`import x from "closed"; console.log(x)`: `the package closed exports no "default"; write: import { NAME } from "closed"`,
		`import "up"`:                            "the package up imports",
		`import "link"`:                          "is not a file of the installed packages",
		`import "linked/secret.js"`:              `"linked/secret.js" cannot be imported`,
		`import "needs"`:                         `the package needs imports "absent-one", which is not installed`,
		`import "closed/b.js"`:                   `"closed/b.js" cannot be imported: the package closed is installed, but has no such module`,
		`import "broken"`:                        "node_modules/broken/index.js:1:7: Expected identifier",
		`import "data-url"`:                      "is not a module of this script",
		`import "absent-two"`:                    `"absent-two" cannot be imported: the installed packages are x; there are the wrappers`,
		`import "../beside.js"`:                  "this script is not a file",
		`import "..%2fbeside.js"`:                "cannot be imported",
		`import "closed/%2e%2e/%2e%2e/beside"`:   "cannot be imported: the installed packages are x",
		`import "closed/%2e%2e/%2e%2e/absent"`:   "cannot be imported: the installed packages are x",
		`import "needs/../../beside.js"`:         `"needs/../../beside.js" cannot be imported: the installed packages are x`,
		`import "./node_modules/closed/a"`:       "this script is not a file",
		`import "/etc/passwd"`:                   "cannot be imported",
		`import "file:///etc/passwd"`:            "cannot be imported",
	} {
		_, err := Read(t.Context(), Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript}, Options{Packages: dir, Installed: "the installed packages are x"})
		if e := new(Error); !errors.As(err, &e) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error %v, want %q in it and no path of the machine", code, err, want)
		}
	}
	for code, want := range map[string]string{
		`import "absolute"`:                    `a package needs "secret.js", which is not a file of the installed packages`,
		`import "needs/other.wasm"`:            "the package needs needs its file other.wasm, and scripts import only JavaScript",
		`import m from "list"; console.log(m)`: "",
	} {
		r := run(t, Source{Code: code}, Options{Packages: dir})
		if r.err == "" || !strings.Contains(r.err, want) || strings.Contains(r.text()+r.err, "the secret") {
			t.Errorf("%s printed %q and failed with %q, want %q in the error", code, r.text(), r.err, want)
		}
	}
}

// TestComputedPathsInPackages: the bundler lists no folder for a path that a package computes, in whatever form it does so.
func TestComputedPathsInPackages(t *testing.T) {
	for _, code := range []string{
		"require(`../../${x}.json`)",
		"require('../../' + x + '.json')",
		"import(`../../${x}.json`)",
		"require/**/(`../../${x}.json`)",
		"import/**/(`../../${x}.json`)",
		"import.defer(`../../${x}.json`)",
		"require\u00a0(`../../${x}.json`)",
		"import\u00a0(`../../${x}.json`)",
		"require<!-- c\n(`../../${x}.json`)",
		"require\n--> c\n(`../../${x}.json`)",
		"requ\\u0069re(`../../${x}.json`)",
		"r\\u{65}quire(`../../${x}.json`)",
		"i\\u006Dport(`../../${x}.json`)",
		"require(\"../../c\\\", \" + x)",
	} {
		dir := installed(t, map[string]string{"hostile/index.js": "var x = 'cred';\nvar m = " + code + ";"})
		for _, name := range []string{"cred.json", `c", cred`} {
			write(t, filepath.Join(dir, name), `{"token": "CANARY"}`)
		}
		made, err := Read(t.Context(), Source{Name: "script.ts", Code: `import "hostile"`, Language: sandbox.LangTypeScript}, Options{Packages: dir})
		said := fmt.Sprint(err)
		if err == nil {
			said = made.Code + decoded(t, made.Code)
		}
		if strings.Contains(said, "CANARY") || strings.Contains(said, "cred.json") || strings.Contains(said, "not a file") {
			t.Errorf("%s: the host's folder is in the bundle or error:\n%s", code, said)
		}
	}
}
