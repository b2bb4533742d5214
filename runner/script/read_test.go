package script

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// tree writes a small generated tree and returns its folder.
func tree(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "servers")
	for name, text := range map[string]string{
		"client.ts":                   `export async function callMCPTool(tool: string, args: unknown) { return [tool, args]; }`,
		"google_drive/index.ts":       `export { getDocument, type Doc } from "./getDocument.ts";`,
		"google_drive/getDocument.ts": `import { callMCPTool } from "../client.ts"; export type Doc = string; export async function getDocument(input: unknown) { return callMCPTool("google_drive__get_document", input); }`,
		"crm/index.ts":                `export const marker = 1;`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func prepare(t testing.TB, code, dir, tree string) (string, error) {
	t.Helper()
	job, err := Read(t.Context(), Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript, Dir: dir}, Options{Tree: tree})
	if err != nil {
		return "", err
	}
	return job.Code, nil
}

func TestImportStyles(t *testing.T) {
	servers := tree(t)
	for _, spec := range []string{
		"./servers/google-drive", "./servers/google_drive", "./servers/google_drive/", "./servers/google_drive/index.ts", "./servers/google_drive/index.js",
		"./servers/google_drive/getDocument", "./servers/google_drive/getDocument.js", "./servers/google_drive/getDocument.ts",
		"./servers/google_drive/get_document.ts", "../servers/google-drive", "../../servers/google-drive/index.js",
		"#servers/google_drive", "#servers/google-drive/getDocument", "servers/google_drive", "/workspace/servers/google_drive", "/mcp/servers/google_drive", "/servers/google_drive", "@/servers/google_drive",
	} {
		code, err := prepare(t, `import { getDocument } from "`+spec+`"; console.log(await getDocument({}));`, "", servers)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if !strings.Contains(code, `"google_drive__get_document"`) {
			t.Errorf("%s: the wrapper is not in the bundle: got %q, want %q in it", spec, code, `"google_drive__get_document"`)
		}
	}
}

func TestTypesWithoutTheWordTypeAndClient(t *testing.T) {
	code, err := prepare(t, `import { getDocument, Doc } from "./servers/google_drive"; import { callMCPTool } from "./servers/client.js";
		const d: Doc = "x"; enum E { A } console.log(d, E.A, await callMCPTool("x__y", {}), getDocument);`, "", tree(t))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(code, "Doc }") || !strings.Contains(code, "callMCPTool") {
		t.Errorf("unexpected bundle, want no \"Doc }\" in it and \"callMCPTool\" in it:\n%.800s", code)
	}
}

func TestBuiltinsStayOutside(t *testing.T) {
	code, err := prepare(t, `import fs from "fs"; import { join } from "node:path"; import { readFile } from "fs/promises"; console.log(fs, join, readFile)`, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`from "node:fs"`, `from "node:path"`, `from "node:fs/promises"`} {
		if !strings.Contains(code, want) {
			t.Errorf("no %s in the bundle", want)
		}
	}
}

func TestFilesBesideTheScript(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.ts")
	for path, text := range map[string]string{
		filepath.Join(dir, "lib.ts"):           `export const answer: number = 42;`,
		filepath.Join(dir, "sub", "data.json"): `{"rows": 3}`,
		secret:                                 `export const stolen = 1;`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link.ts")); err != nil {
		t.Fatal(err)
	}
	code, err := prepare(t, `import { answer } from "./lib.js"; import data from "./sub/data.json"; console.log(answer, data.rows)`, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(code, "42") || !strings.Contains(code, "rows: 3") {
		t.Errorf("unexpected bundle, want \"42\" in it and \"rows: 3\" in it:\n%s", code)
	}
	for _, spec := range []string{"./link.ts", "../" + filepath.Base(filepath.Dir(secret)) + "/secret.ts", "./../../etc/passwd", "/etc/passwd"} {
		if _, err := prepare(t, `import "`+spec+`"`, dir, ""); err == nil {
			t.Errorf("%s was read: got no error, want an error", spec)
		}
	}
}

func TestProblemsHaveAPlace(t *testing.T) {
	servers := tree(t)
	for _, c := range []struct{ code, place, want string }{
		{"const x = 1;\nimport x2 from \"lodash\";\nconsole.log(x2)", "script.ts:2:16", "no packages are installed"},
		{"\nimport { a } from './servers/gogle';\na()", "script.ts:2:19", "there are: crm, google_drive"},
		{"import { a } from './servers/google_drive/nope.ts';\na()", "script.ts:1:19", `has no tool "nope"; it has: getDocument`},
		{"const = 3", "script.ts:1:7", `Expected identifier`},
		{"import './other.ts'", "script.ts:1:8", "this script is not a file"},
	} {
		_, err := prepare(t, c.code, "", servers)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: error %v, want an *Error", c.code, err)
			continue
		}
		if text := e.Error(); !strings.HasPrefix(text, c.place+": ") || !strings.Contains(text, c.want) {
			t.Errorf("%q: error\n%s\nwant it at %s, with %q", c.code, text, c.place, c.want)
		}
	}
}

func TestRefusedForms(t *testing.T) {
	for name, code := range map[string]string{
		"too long": strings.Repeat("a", MaxSize+1), "not UTF-8": "x = '\xff'", "NUL": "x = '\x00'",
	} {
		_, err := Read(t.Context(), Source{Name: "s.py", Code: code, Language: sandbox.LangPython}, Options{})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want an *Error", name, err)
		}
	}
}

func TestPythonIsPassedOn(t *testing.T) {
	code := "print('ä')\n"
	job, err := Read(t.Context(), Source{Name: "s.py", Code: "\ufeff" + code, Language: sandbox.LangPython, Args: []string{"a"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if job.Code != code || job.Language != "python" || len(job.Args) != 1 {
		t.Errorf(`job = %+v, want Code %v, Language "python" and len(job.Args) 1`, job.Job, code)
	}
}

func BenchmarkRead(b *testing.B) {
	servers := tree(b)
	for b.Loop() {
		if _, err := prepare(b, `import { getDocument } from "./servers/google-drive"; console.log(await getDocument({}));`, "", servers); err != nil {
			b.Fatal(err)
		}
	}
}

// TestOddNameOfAScript: Go's way to write a control character is not JavaScript's.
func TestOddNameOfAScript(t *testing.T) {
	for _, name := range []string{"a\x1b[31m.ts", "\a\v\x7f.ts", "é \U000e0001\"\\'.ts"} {
		_, err := Read(t.Context(), Source{Name: name, Code: "console.log(import.meta.url, __filename)", Language: sandbox.LangTypeScript}, Options{})
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestReadWhatCannotRun: what a script does is known if a file that it imports does not exist, and if one that it imports by a computed
// path cannot be parsed.
func TestReadWhatCannotRun(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "broken.ts"), "export const = 1;")
	read := func(code string) (*Program, error) {
		return newBundler(t, nil).Read(t.Context(), typescript(code, dir), Options{})
	}
	p, err := read(`import "./missing"; eval("1")`)
	if err == nil || p == nil || p.Job != nil || len(p.Facts.Facts) == 0 || len(p.Digest) != 64 {
		t.Errorf("Read() of a missing import = %+v, %v; want facts, a digest and an error", p, err)
	}
	if p, err = read(`import "./broken.ts"`); p != nil || err == nil || !strings.HasPrefix(err.Error(), "broken.ts:1:14: ") {
		t.Errorf("Read() of a broken import = %+v, %v; want an error in broken.ts:1:14", p, err)
	}
	p, err = read(`const name = "broken"; await import("./" + name + ".ts").catch(() => {});`)
	if err != nil || p.Job == nil || len(p.Facts.Unreadable) != 1 || p.Facts.Unreadable[0].File != "broken.ts" || p.Facts.Unreadable[0].Line != 1 {
		t.Errorf("Read() of a late broken import = %+v, %v; want a program with a file that cannot be read", p, err)
	}
}
