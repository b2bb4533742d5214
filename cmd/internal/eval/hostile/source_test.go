// Package hostile tests the whole generator with malicious servers: names, texts and schemas designed to become code, to
// leave their folder, or to use too much time or memory. It contains only tests. "make fuzz" is its long run.
package hostile

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// source makes decisions from the bytes of a fuzzer and, when those are used up, from a random generator seeded by them.
type source struct {
	data []byte
	rest *rand.Rand
}

func newSource(data []byte) *source {
	return &source{data: data, rest: rand.New(rand.NewChaCha8(sha256.Sum256(data)))}
}

func numbered(seed, n uint64) *source {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	binary.LittleEndian.PutUint64(b[8:], n)
	return &source{rest: rand.New(rand.NewChaCha8(sha256.Sum256(b[:])))}
}

// below returns a number from 0 up to n-1.
func (s *source) below(n int) int {
	if len(s.data) == 0 {
		return s.rest.IntN(n)
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// oneIn returns true once in n times.
func (s *source) oneIn(n int) bool { return s.below(n) == 0 }

func pick[T any](s *source, from []T) T { return from[s.below(len(from))] }

// canary is the word that hostile texts carry. It is in no name, so it must not be in any code.
const canary = "zqxevil"

// payloads try to end a comment, a docstring or a string, and to turn what follows into code.
var payloads = []string{
	"*/ zqxevil() /*", "*/\nzqxevil()\n/*", "*\\/ zqxevil()", "**/zqxevil();//", "/* zqxevil", "// zqxevil\nzqxevil()", "\nzqxevil()\n",
	`""" + zqxevil() + """`, `"""`, `""`, `"`, `\"""`, `\\"""; zqxevil()`, `""""`, "'''", `'; zqxevil(); '`, `"; zqxevil(); "`, `\`, `\\`, `\\\`,
	"${zqxevil()}", "`zqxevil`", "`${zqxevil()}`", "{{zqxevil}}", "{{.zqxevil}}", "%s%d%!zqxevil", "f\"{zqxevil()}\"",
	"\u2028zqxevil()\u2029", "\u0085zqxevil()", "\rzqxevil()\r", "\r\nzqxevil()", "\x0bzqxevil()\x0c", "\x00zqxevil", "\x1b[31mzqxevil", "\x1azqxevil",
	`\N{BULLET}zqxevil`, `\N{zqxevil}`, `\x41zqxevil`, `\u0041zqxevil`, `\u{110000}zqxevil`, `\U00110000zqxevil`, `\777zqxevil`, `\` + "\nzqxevil()",
	"# type: ignore[zqxevil]", "type: ignore", "#type:ignore", "# pyright: basic", "pyright: ignore", "# noqa", "# -*- coding: utf-7 -*- zqxevil", "coding: utf-16", "coding=latin-1",
	"// @ts-ignore", "@ts-nocheck", "@ts-expect-error zqxevil", "/// <reference path=\"zqxevil\" />", "@jsx zqxevil", "@__PURE__", "#__PURE__", "//# sourceMappingURL=zqxevil", "@license zqxevil",
	"\u202ezqxevil\u202c", "\u2066zqxevil\u2069", "\u200bzqxevil\u200d", "\ufeffzqxevil", "zqxevil\U000E0041\U000E0042", "a\ufe0fzqxevil", "\u034fzqxevil", "\u3164zqxevil", "\u00adzqxevil",
	"<script>zqxevil()</script>", "]]>zqxevil", "--><!--zqxevil", "<!-- zqxevil", "#! zqxevil", "]; zqxevil(); [", "}; zqxevil(); {", ") zqxevil() (", "> zqxevil() <", "=> zqxevil()", "; zqxevil();",
	"import os; zqxevil()", "\nimport zqxevil\n", "\nfrom zqxevil import x\n", "@zqxevil\n", "export * from \"zqxevil\";", "lambda: zqxevil()", "__import__('zqxevil')", "eval(\"zqxevil\")", "new Function('zqxevil')()",
	"zqxevil" + strings.Repeat(" ", 300), strings.Repeat("\n", 40) + "zqxevil", strings.Repeat("zqxevil ", 400), strings.Repeat("*/", 50), strings.Repeat(`"`, 50), strings.Repeat(`\`, 51), strings.Repeat("(", 300),
	"\xff\xfezqxevil", "\xc0\xaf", "\xed\xa0\x80zqxevil", "🚀zqxevil", "日本語zqxevil", "é\u0301zqxevil", "שלום zqxevil", "(cut; the whole text is in .mcpgen)", "default zqxevil", "…",
}

// text returns a description, title or value.
func (s *source) text() string {
	var b strings.Builder
	for range 1 + s.below(3) {
		switch s.below(6) {
		case 0:
			b.WriteString("Reads a thing zqxevil. ")
		case 1:
			b.WriteRune(s.char())
		default:
			b.WriteString(pick(s, payloads))
		}
		if s.oneIn(4) {
			b.WriteString(pick(s, []string{" ", "\n", "\n\n", ". ", "\t", "  "}))
		}
	}
	return b.String()
}

// char returns any character, dangerous ones more often.
func (s *source) char() rune {
	switch s.below(4) {
	case 0:
		return rune(s.below(0x20))
	case 1:
		return rune("\"'`\\/*#${}()[]<>@;:=.,|&%!?~^-+_ \n"[s.below(34)])
	case 2:
		return rune(0x2000 + s.below(0x100)<<3%0x70)
	default:
		return rune(s.below(256)<<8|s.below(256)) + rune(s.below(2))<<16
	}
}

// names are reserved somewhere, or are not valid identifiers or file names.
var names = []string{
	"__proto__", "constructor", "prototype", "hasOwnProperty", "toString", "__init__", "__main__", "__class__", "__dict__", "index", "client", "init", "default", "then", "con", "nul", "aux", "CON", "nul.txt", "COM1", "lpt9",
	"class", "import", "await", "async", "def", "None", "True", "type", "interface", "function", "return", "eval", "arguments", "self", "cls", "input", "tool", "UNSET", "callMCPTool", "object", "str", "int", "dict", "list", "string", "number", "Record", "Promise", "Array",
	"TypedDict", "Literal", "NotRequired", "annotations", "Mapping", "Sequence", "any", "unknown", "never", "module", "require", "exports", "undefined", "NaN", "_", "__", "$", "-", ".", "..", "/", "\\", " ", "🚀", "🚀🚀", "日本語", "é", "e\u0301", "ﬁ", "ſ", "İ", "ı", "K",
	"../../x", "a/b", `C:\x`, "a:b", ".git", ".env", "x.", "x ", " x", "x\n", "a\x00b", "\u202ename", "\u200b", "123", "1name", "0", "-1", "a-b", "a_b", "aB", "AB", "ab", "a b", "A_B", "zqxname", "zqxName", "ZQXNAME", "zqx-name", "zqx_name", "zqx name", "*/", `"""`, "`", "${x}", "a\"b", "a'b", "a\\b", "#x", "@x", "%s", "{{.}}",
	"Input", "Output", "zqxnameInput", "ZqxnameOutput", "\xff", "\u2028", "get", "set", "readonly", "static", "declare", "namespace", "enum", "infer", "keyof", "match", "case", "print", "exec", "..name", "name__", "__name", "_name", "a__b",
}

func (s *source) name() string {
	switch s.below(8) {
	case 0:
		return "zqxname" + pick(s, names)
	case 1:
		return pick(s, names) + fmt.Sprint(s.below(10))
	case 2:
		return string(s.char()) + "zqxname"
	case 3:
		return strings.ReplaceAll(pick(s, payloads), canary, "zqxname")
	case 4:
		return strings.Repeat(pick(s, names), 1+s.below(60))
	default:
		return pick(s, names)
	}
}

// quoted returns a JSON string, sometimes with escapes that UTF-8 cannot encode.
func (s *source) quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	if s.oneIn(60) {
		b.WriteString(`\ud800`)
	}
	b.WriteByte('"')
	return b.String()
}
