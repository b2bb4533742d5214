package python

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// pyTree renders tools with these input schemas, by name, and writes the tree.
func pyTree(t *testing.T, inputs map[string]string) string {
	t.Helper()
	server := render.Server{Key: "s", Dir: "s"}
	for name, input := range inputs {
		in, _ := schema.Convert(json.RawMessage(input))
		server.Tools = append(server.Tools, render.Tool{ID: "s__" + name, Name: name, Input: in})
	}
	r, err := render.Render([]render.Server{server}, []*render.Language{Language()})
	if err != nil {
		t.Fatal(err)
	}
	return rendertest.Write(t, r.Tree)
}

// TestLiteralsAreNotTypes makes both type checkers read values that would be types, or crash them, if they were read as types in quotation
// marks.
func TestLiteralsAreNotTypes(t *testing.T) {
	values := []string{
		"now()", "await approval", "ask if unsure else deny", "[x for x in y]", "{{f()}}", "lambda: 0", "x := 1", "a|b", "int | 'x'", "|", "||",
		"# type: ignore", "a # type: ignore[x]", strings.Repeat("()", 200), strings.Repeat("[[],", 300) + strings.Repeat("]", 300), strings.Repeat("word ", 2000),
		strings.Repeat("-", 900) + "1", strings.Repeat("not ", 240) + "a", "\U000E0041", "A", "\U0010FFFF", "\uFFFF", "\U0001FAE9",
	}
	inputs := map[string]string{}
	var called []string
	for i, value := range values {
		v := text.Quote(value, text.Braces)
		v = strings.NewReplacer(`\u{e0041}`, `\udb40\udc41`, `\u{10ffff}`, `\udbff\udfff`, `\u{1fae9}`, `\ud83e\udee9`).Replace(v)
		name := fmt.Sprintf("t%d", i)
		inputs[name] = `{"type":"object","properties":{"a":{"enum":[` + v + `,"other"]},"n":{"$ref":"#/$defs/N"}},
			"$defs":{"N":{"type":"object","properties":{` + v + `:{"const":` + v + `},"next":{"$ref":"#/$defs/N"}}}}}`
		called = append(called, fmt.Sprintf("from .s import %s\n%[1]s(a=%s)\n", name, pyRaw(value)))
	}
	inputs["keys"] = `{"type":"object","properties":{"o":{"type":"object","properties":{"A":{},"\udb40\udc41":{},"\uffff":{},"\udbff\udfff":{}}}}}`
	dir := pyTree(t, inputs)
	if err := os.WriteFile(filepath.Join(dir, "calls.py"), []byte(strings.Join(called, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	rendertest.Run(t, dir, rendertest.Checker(t, "pyright"), "-p", ".")
	rendertest.CheckMypy(t, dir)
}

// pyRaw returns a string literal in which only backslashes and quotation marks are escaped.
func pyRaw(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }

// TestEntangledTypes makes mypy read wrappers whose types it would unfold for hours.
func TestEntangledTypes(t *testing.T) {
	def := func(i int, to ...int) string {
		var b strings.Builder
		for j, n := range to {
			fmt.Fprintf(&b, `,"p%d":{"$ref":"#/$defs/d%d"}`, j, n)
		}
		return fmt.Sprintf(`"d%d":{"type":"object","properties":{"s":{"type":"string"}%s}},`, i, b.String())
	}
	var chain, entangled strings.Builder
	for i := range 100 {
		chain.WriteString(def(i, i+1))
	}
	for i := range 15 {
		entangled.WriteString(def(i, (i+1)%15, (i+4)%15, (i+7)%15))
	}
	schema := func(defs string) string {
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + defs + `"d100":{"type":"object","properties":{"z":{}}}}}`
	}
	dir := pyTree(t, map[string]string{"chain": schema(chain.String()), "entangled": schema(entangled.String()), "plain": schema(def(0)), "wide": wideUnion(3000)})
	for name, want := range map[string]bool{"chain": true, "entangled": true, "plain": false} {
		src, err := os.ReadFile(filepath.Join(dir, "s", name+".py"))
		if err != nil || strings.Contains(string(src), "@any_tool(") != want {
			t.Errorf("%s: %v\n%.300s", name, err, src)
		}
	}
	rendertest.Run(t, dir, "python3", "-m", "compileall", "-q", ".")
	rendertest.Run(t, dir, rendertest.Checker(t, "pyright"), "-p", ".")
	start := time.Now()
	rendertest.CheckMypy(t, dir)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("mypy took %s, want at most %s", took, time.Minute)
	}
}

// wideUnion returns a union of the given number of objects, which must not be too deep for Python's parser and pyright.
func wideUnion(members int) string {
	var b strings.Builder
	for i := range members {
		fmt.Fprintf(&b, `,{"type":"object","required":["p%d"],"properties":{"p%[1]d":{"const":%[1]d}}}`, i)
	}
	return `{"type":"object","properties":{"a":{"anyOf":[` + b.String()[1:] + `]}}}`
}
