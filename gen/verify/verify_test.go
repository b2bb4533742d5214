package verify

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unsafe"
)

// trees are folders of generated files that are checked in.
var trees = []string{"../../servers", "../../testdata/golden/servers"}

// generated returns the wrappers and indexes of the checked-in trees, by path.
func generated(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, dir := range trees {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Dir(name) == filepath.Clean(dir) || strings.Contains(name, "__pycache__") || strings.Contains(name, ".mcpgen") {
				return err
			}
			if ext := filepath.Ext(name); ext == ".ts" || ext == ".py" {
				files[filepath.ToSlash(name)], err = os.ReadFile(name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 50 {
		t.Fatalf("only %d generated files", len(files))
	}
	return files
}

func check(name string, src []byte) error {
	if strings.HasSuffix(name, ".ts") {
		return TypeScript(src)
	}
	return Python(src)
}

var called = regexp.MustCompile(`(?:callMCPTool(?:<[A-Za-z0-9]+>)?|@tool)\("([a-z0-9_]+)"`)

func TestGeneratedFiles(t *testing.T) {
	for name, src := range generated(t) {
		if err := check(name, src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		file := strings.TrimSuffix(path.Base(name), path.Ext(name))
		found := called.FindSubmatch(src)
		if found == nil {
			continue
		}
		right, other := Wrapper{string(found[1]), file}, Wrapper{string(found[1]) + "x", file}
		renamed := Wrapper{string(found[1]), file + "x"}
		judge := func(w Wrapper) error {
			if path.Ext(name) == ".ts" {
				return w.TypeScript(src)
			}
			return w.Python(src)
		}
		if err := judge(right); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if judge(other) == nil || judge(renamed) == nil {
			t.Errorf("%s stands for another tool or function as well", name)
		}
	}
}

// payloads are pieces of code. None of them may stand anywhere between two tokens of a generated file.
var payloads = map[string][]string{
	".ts": {
		"evil();", "evil()", "await evil()", "import \"x\";", "import(\"x\")", "export * from \"x\";", "`${evil()}`", "@evil", "eval(\"x\")",
		"= evil", "=> 0", "new Evil", "process.exit()", ";(evil)()", "<any>evil", "/x/.test(y)", "'x'", "// @ts-ignore\n", "/* @ts-nocheck */",
		"/// <reference path=\"x\" />\n", "declare module \"x\" {}", "enum E {}", "typeof import(\"x\")", "#!", "\\u0065vil()", "\u2028evil()",
		"any", "infer X", "\x00", "\u202e", "\"open\n", "throw 1", "var x = 1;",
	},
	".py": {
		"evil()", "\nevil()\n", "\nimport os\n", "import os", "from os import system", "; evil()", "lambda: 0", "__import__(\"os\")", "@evil\n",
		"f\"{evil()}\"", "b\"x\"", "r\"x\"", "\"a\" \"b\" \"c\"", "[evil() for x in y]", "(evil())", "(evil := 1)", "x.y()", "await x", "yield",
		"= evil()", "exec(\"x\")", "\"\"\"x\"\"\" + evil()", "# type: ignore\n", "#pyright: basic\n", "\\\n", "\x0c", "\u2028", "'''x'''",
		"\nif True:\n    evil()\n", "\nclass X(metaclass=evil): pass\n", "\nglobal x\n", "`x`", "~x", "%s", "\"\\N{BULLET}\"", "\"\"\"open", "\x00",
	},
}

// TestNothingCanBeAdded puts every payload between every two tokens of real files.
func TestNothingCanBeAdded(t *testing.T) {
	files := generated(t)
	tried := 0
	for _, name := range []string{
		"../../testdata/golden/servers/docs/prompts.ts", "../../testdata/golden/servers/docs/prompts.py", "../../testdata/golden/servers/docs/resources.ts",
		"../../testdata/golden/servers/docs/resources.py", "../../testdata/golden/servers/hostile/index.ts", "../../testdata/golden/servers/hostile/__init__.py",
		"../../servers/calculator/evaluate.ts", "../../servers/calculator/evaluate.py", "../../servers/filesystem/readFile.ts", "../../servers/filesystem/read_file.py",
	} {
		src, ok := files[name]
		if !ok {
			t.Fatalf("%s is not there", name)
		}
		s := string(src)
		for _, at := range gaps(t, name, s) {
			for _, payload := range payloads[path.Ext(name)] {
				tried++
				if changed := s[:at] + " " + payload + " " + s[at:]; check(name, []byte(changed)) == nil {
					t.Errorf("%s: %q was accepted after %q", name, payload, s[max(0, at-40):at])
				}
			}
		}
	}
	t.Logf("%d files", tried)
}

// gaps returns the offsets between the tokens of a file.
func gaps(t *testing.T, name, s string) []int {
	var tokens []token
	var err *Error
	if path.Ext(name) == ".ts" {
		tokens, err = lexTypeScript(s)
	} else {
		var l *pyLexer
		if l, err = lexPython(s); err == nil {
			tokens = l.tokens
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, token := range tokens {
		if token.text == "" {
			continue
		}
		// A token's text is a part of s.
		at := int(uintptr(unsafe.Pointer(unsafe.StringData(token.text))) - uintptr(unsafe.Pointer(unsafe.StringData(s))))
		at += len(token.text)
		switch token.quote {
		case '"', '\'':
			at++
		case 'd':
			at += 3
		}
		out = append(out, at)
	}
	return out
}

func TestRefused(t *testing.T) {
	const ts, py = "// Code generated by mcpgen. DO NOT EDIT.\n", "# Code generated by mcpgen. DO NOT EDIT.\n"
	client := ts + "import { callMCPTool } from \"../client.ts\";\n"
	tool := py + "from ..client import tool\n\n"
	tests := []struct {
		name, file, src string
		line            int
	}{
		{"no header", "a.ts", "export {};\n", 1},
		{"another header", "a.py", "# Code generated by mcpgen. DO NOT EDIT. \n", 1},
		{"template", "a.ts", ts + "export type A = `x`;\n", 2},
		{"statement", "a.ts", ts + "\nalert(1);\n", 3},
		{"two wrappers", "a.ts", client + strings.Repeat("export async function a(input: object): Promise<unknown> {\n  return callMCPTool(\"a\", input);\n}\n", 2), 6},
		{"another argument", "a.ts", client + "export async function a(input: object): Promise<unknown> {\n  return callMCPTool(\"a\", evil);\n}\n", 4},
		{"a second statement", "a.ts", client + "export async function a(input: object): Promise<unknown> {\n  return callMCPTool(\"a\", input); evil();\n}\n", 4},
		{"id with an escape", "a.ts", client + "export async function a(input: object): Promise<unknown> {\n  return callMCPTool(\"\\u0061\", input);\n}\n", 4},
		{"default that is code", "a.ts", client + "export async function a(input: object = { a: 1 }): Promise<unknown> {\n  return callMCPTool(\"a\", input);\n}\n", 3},
		{"without import", "a.ts", ts + "export async function a(input: object): Promise<unknown> {\n  return callMCPTool(\"a\", input);\n}\n", 2},
		{"import from elsewhere", "a.ts", ts + "import { callMCPTool } from \"../evil.ts\";\n", 2},
		{"import of more", "a.ts", ts + "import { callMCPTool, x } from \"../client.ts\";\n", 2},
		{"export from elsewhere", "index.ts", ts + "export { a } from \"./b.ts\";\n", 2},
		{"all of a path", "index.ts", ts + "export * from \"../a.ts\";\n", 2},
		{"all of a deeper path", "index.ts", ts + "export * from \"./b/a.ts\";\n", 2},
		{"all of no wrapper", "index.ts", ts + "export * from \"./a.js\";\n", 2},
		{"all under a name", "index.ts", ts + "export * as b from \"./a.ts\";\n", 2},
		{"all beside a type", "a.ts", ts + "export type A = 1;\nexport * from \"./a.ts\";\n", 3},
		{"a second function", "index.ts", ts + "export { a, b } from \"./a.ts\";\n", 2},
		{"a type under another name", "index.ts", ts + "export { a, type A as B } from \"./a.ts\";\n", 2},
		{"a type of a file that is not exported", "index.ts", ts + "export * from \"./a.ts\";\nexport type { A } from \"./b.ts\";\n", 3},
		{"multiplication", "a.ts", ts + "export type A = 1 * 2;\n", 2},
		{"export of a path", "index.ts", ts + "export { a } from \"../a.ts\";\n", 2},
		{"unknown type", "a.ts", ts + "export type A = Evil;\n", 2},
		{"type declared twice", "a.ts", ts + "export type A = 1;\nexport type A = 2;\n", 3},
		{"type that hides one of the language", "a.ts", ts + "export type string = 1;\n", 2},
		{"bidi in a comment", "a.ts", ts + "// \u202e\nexport {};\n", 2},
		{"zero width in a string", "a.ts", ts + "export type A = \"\u200b\";\n", 2},
		{"variation selector", "a.py", py + "\"\"\"a\ufe0f\"\"\"\n", 2},
		{"tag character", "a.py", py + "\"\"\"a\U000E0041\"\"\"\n", 2},
		{"invisible filler", "a.py", py + "# \u034f\n", 2},
		{"tab", "a.py", py + "\tx = int\n", 2},
		{"carriage return", "a.ts", ts + "// a\r\n", 2},
		{"bad UTF-8", "a.ts", ts + "// \xff\n", 2},
		{"line separator", "a.ts", ts + "// \u2028 evil()\n", 2},
		{"encoding", "a.py", py + "# -*- coding: utf-7 -*-\n", 2},
		{"encoding by vim", "a.py", py + "# vim: set fileencoding=utf-7 :\n", 2},
		{"type comment", "a.py", py + "# x\n# type: ignore\n", 3},
		{"statement", "a.py", py + "evil()\n", 2},
		{"import", "a.py", py + "import os\n", 2},
		{"import of a module that is none of ours", "a.py", py + "from os import system\n", 2},
		{"relative import upwards", "a.py", py + "from ..evil import tool\n", 2},
		{"late import", "a.py", py + "A = int\nfrom typing import Literal\n", 3},
		{"other decorator", "a.py", tool + "@evil(\"a\")\ndef a() -> object: ...\n", 4},
		{"decorator not imported", "a.py", tool + "@any_tool(\"a\")\ndef a() -> object: ...\n", 4},
		{"two decorators", "a.py", tool + "@tool(\"a\")\n@tool(\"b\")\ndef a() -> object: ...\n", 5},
		{"call in a default", "a.py", tool + "@tool(\"a\")\ndef a(*, x: int = evil()) -> object: ...\n", 5},
		{"call in a type", "a.py", py + "A = list[evil()]\n", 2},
		{"call in a quoted type", "a.py", py + "A = \"list[evil()]\"\n", 2},
		{"unknown name in a quoted type", "a.py", py + "A = \"Evil\"\n", 2},
		{"escape in a quoted type", "a.py", py + "A = \"li\\x73t[int]\"\n", 2},
		{"body", "a.py", tool + "@tool(\"a\")\ndef a() -> object:\n    evil()\n", 6},
		{"base class", "a.py", py + "from typing import TypedDict\nclass A(Evil):\n    a: int\n", 3},
		{"metaclass", "a.py", py + "from typing import TypedDict\nclass A(TypedDict, metaclass=evil):\n    a: int\n", 3},
		{"value of a field", "a.py", py + "from typing import TypedDict\nclass A(TypedDict):\n    a: int = evil()\n", 4},
		{"method", "a.py", py + "from typing import TypedDict\nclass A(TypedDict):\n    def a(self): ...\n", 4},
		{"two functions", "a.py", tool + strings.Repeat("@tool(\"a\")\ndef a() -> object: ...\n", 2), 6},
		{"adjacent strings", "a.py", py + "\"\"\"a\"\"\"\"b\"\n", 2},
		{"two docstrings", "a.py", py + "\"\"\"a\"\"\"\n\"\"\"b\"\"\"\n", 3},
		{"named character", "a.py", py + "\"\"\"\\N{BULLET}\"\"\"\n", 2},
		{"comment in a quoted type", "a.py", py + "A = \"int # x\"\n", 2},
		{"order to mypy in a docstring", "a.py", py + "\"\"\"x\n# mypy: ignore-errors\n\"\"\"\n", 3},
		{"order to mypy on another line", "a.py", py + "\n# mypy: disable-error-code=empty-body\n", 3},
		{"order outside of a block", "a.py", py + "A = int  # type: ignore\n", 2},
		{"semicolon", "a.py", py + "A = int; evil()\n", 2},
		{"offer without its import", "resources.ts", client + "export const resources = serverResources(\"a\");\n", 3},
		{"offer of another", "resources.ts", ts + "import { serverResources } from \"../client.ts\";\nexport const prompts = serverResources(\"a\");\n", 3},
		{"offer of a path", "resources.ts", ts + "import { serverResources } from \"../client.ts\";\nexport const resources = serverResources(\"../a\");\n", 3},
		{"prompts without a type", "prompts.ts", ts + "import { serverPrompts } from \"../client.ts\";\nexport const prompts = serverPrompts<Prompts>(\"a\");\n", 3},
		{"offer without its import", "resources.py", tool + "resources = ServerResources(\"a\")\n", 4},
		{"offer of another", "resources.py", py + "from .._content import ServerResources\nresources = evil(\"a\")\n", 3},
		{"something behind an offer", "resources.py", py + "from .._content import ServerResources\nresources = ServerResources(\"a\")\nA = int\n", 4},
		{"prompts that do more", "prompts.py", py + "from .._content import *\nclass Prompts(ServerPrompts):\n    def get(self, name: str, args: None = None) -> MCPPromptResult:\n        return evil()\n", 5},
		{"another method of prompts", "prompts.py", py + "from .._content import *\nclass Prompts(ServerPrompts):\n    def __init__(self, name: str, args: None = None) -> MCPPromptResult:\n        return self._get(name, args)\n", 4},
		{"prompts of nobody", "prompts.py", py + "from .._content import *\nclass Prompts(ServerPrompts):\n    pass\n", 1},
		{"hidden builtin", "a.py", py + "str = int\n", 2},
	}
	for _, tt := range tests {
		t.Run(path.Ext(tt.file)[1:]+" "+tt.name, func(t *testing.T) {
			err := check(tt.file, []byte(tt.src))
			var at *Error
			if !errors.As(err, &at) {
				t.Fatalf("accepted:\n%s", tt.src)
			}
			if at.Line != tt.line {
				t.Errorf("%v; want line %d", err, tt.line)
			}
		})
	}
}

// TestOffers holds the files of resources and prompts to what they should export.
func TestOffers(t *testing.T) {
	for name, src := range generated(t) {
		file, dir := path.Base(name), path.Base(path.Dir(name))
		kind, ext, _ := strings.Cut(file, ".")
		if kind != "resources" && kind != "prompts" || dir != "docs" {
			continue
		}
		judge := func(o Offer) error {
			if ext == "ts" {
				return o.TypeScript(src)
			}
			return o.Python(src)
		}
		if err := judge(Offer{kind, dir}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		other := map[string]string{"resources": "prompts", "prompts": "resources"}[kind]
		if judge(Offer{kind, "other"}) == nil || judge(Offer{other, dir}) == nil {
			t.Errorf("%s stands for another offer as well", name)
		}
		if ext == "ts" && (Wrapper{"docs__resources", kind}).TypeScript(src) == nil || ext == "py" && (Wrapper{"docs__resources", kind}).Python(src) == nil {
			t.Errorf("%s is a wrapper too", name)
		}
	}
}

// Layout is free.
func TestAccepted(t *testing.T) {
	const ts, py = "// Code generated by mcpgen. DO NOT EDIT.\n", "# Code generated by mcpgen. DO NOT EDIT.\n"
	tests := []struct{ file, src string }{
		{"a.ts", ts},
		{"a.py", py},
		{"index.ts", ts + "export {};\n"},
		{"index.ts", ts + "export * from \"./a.ts\"; // x\nexport { b, type BInput, type B } from \"./b.ts\";\nexport type { A } from \"./a.ts\";\n"},
		{"a.ts", ts + "export type A = { a?: B[] | null, \"b c\": [A, B?, ...string[]]; readonly c: -1 | 1.5e10 }; // x\ntype B = Readonly<Record<string, A>> & {\n  [k: string]: unknown\n  x: 1 /* y */\n};\n"},
		{"a.ts", ts + "export interface A { a: string }\n"},
		{"a.py", py + "\"\"\"Doc.\"\"\"\nfrom typing import Literal, TypeAlias, TypedDict\n# A comment.\nA: TypeAlias = \"dict[str, A] | None\"\nclass B(TypedDict, total=False):\n    # above\n    a: 'A'  # beside\n\n    b: list[\n        Literal[\"x\", -1, True]\n    ]\nC = TypedDict(\"C\", {\"a b\": int, 'c': \"B\"}, total=False)\n"},
		{"a.py", py + "from typing import Literal\nA = 'list[Literal[\"# x\"]]'\n"},
		{"a.py", py + "# mypy: disable-error-code=\"attr-defined,call-arg\"\nfrom typing import TYPE_CHECKING, Any, Never, TypedDict as TypedDict_\n\nif TYPE_CHECKING:\n    from typing_extensions import ReadOnly  # pyright: ignore[reportMissingModuleSource]\n\n    class Open(TypedDict_, extra_items=ReadOnly[object]):  # x\n        pass\nelse:\n    class Open(TypedDict_):\n        pass\n\nif 0:  # for mypy\n    Extra = Any\nelse:\n    Extra = Never  # type: ignore\n\nclass A(Open):\n    a: Extra\n"},
		{"a.py", py + "# mypy: disable-error-code=empty-body\nfrom ..client import *\n@tool(\"a\")\ndef a(*, b: OneOf[str] = ..., **extra: Any) -> Open: ...\n"},
		{"a.py", py + "from ..client import *\nfrom ..client import any_tool\n@any_tool(\"a\")\ndef a() -> object: ...\n"},
		{"a.py", py + "from ..client import UNSET, tool\n@tool(\"a__b\", \"-\", x=\"y z\")\ndef a_b(a: int, /, *, b: int = UNSET, c: int | None = None) -> object: \"\"\"Doc.\"\"\"\n"},
	}
	for _, tt := range tests {
		if err := check(tt.file, []byte(tt.src)); err != nil {
			t.Errorf("%v\n%s", err, tt.src)
		}
	}
}

func TestDeepTypesEnd(t *testing.T) {
	deep := "// Code generated by mcpgen. DO NOT EDIT.\nexport type A = " + strings.Repeat("(", 1_000_000)
	if err := TypeScript([]byte(deep)); err == nil {
		t.Error("accepted")
	}
	deep = "# Code generated by mcpgen. DO NOT EDIT.\nA = " + strings.Repeat("list[", 1_000_000)
	if err := Python([]byte(deep)); err == nil {
		t.Error("accepted")
	}
}

func BenchmarkVerify(b *testing.B) {
	files := generated(b)
	for b.Loop() {
		for name, src := range files {
			if err := check(name, src); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(files)), "µs/file")
}
