package task

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Scaffold returns a script to be completed by a person or a model: the imports of all tools, their signatures as comments, and one example call
// of each. Its types are right, and its values are examples, so it runs only the calls of tools that say they are read-only. Those of others are in
// functions that nothing calls.
func (s *Selection) Scaffold(text string) string {
	python := s.Language == sandbox.LangPython
	mark, read, write := "// ", "const output%d = await %s;\n", "async function example%d(): Promise<unknown> {\n  return await %s;\n}\n"
	library, result, member, end := "", "export const result: unknown = ", "%s: output%d", ";"
	if python {
		mark, read, write = "# ", "output%d = %s\n", "def example%d() -> object:\n    return %s\n"
		result, member, end = "result: object = ", "%q: output%d", ""
	}
	var reads, writes, names []string
	for _, t := range s.Tools {
		call, loose := t.example(python)
		if loose && python {
			library = "from typing import Any, cast\n\n"
		}
		head := "\n" + commented(mark, t.Signature)
		if t.readOnly() {
			n := len(reads) + 1
			reads, names = append(reads, head+fmt.Sprintf(read, n, call)), append(names, fmt.Sprintf(member, t.name, n))
		} else {
			n := len(writes) + 1
			writes = append(writes, head+commented(mark, fmt.Sprintf("It may change something, so nothing calls example%d yet.", n))+fmt.Sprintf(write, n, call))
		}
	}
	object := "{}"
	if len(names) > 0 {
		object = "{ " + strings.Join(names, ", ") + " }"
	}
	return commented(mark, "Task: "+strings.TrimSpace(ident.CleanText(text))) + library + s.imports() + strings.Join(append(reads, writes...), "") + "\n" +
		commented(mark, "Keep the calls that the task needs, and replace the example values.") + result + object + end + "\n"
}

// readOnly reports whether the tool's server says that it changes nothing.
func (t *Tool) readOnly() bool { return t.tool.Hints.ReadOnly != nil && *t.tool.Hints.ReadOnly }

// lineEnds are all characters that end a line in one of the languages.
var lineEnds = regexp.MustCompile(`\r\n|[\n\r\v\f\x{85}\x{2028}\x{2029}]`)

// commented makes each line of a hostile text a comment.
func commented(mark, text string) string {
	var b strings.Builder
	for _, line := range lineEnds.Split(strings.TrimSpace(text), -1) {
		b.WriteString(strings.TrimRight(mark+line, " ") + "\n")
	}
	return b.String()
}

// example returns a call with an example of each required argument. loose reports whether it has arguments of the type Any.
func (t *Tool) example(python bool) (call string, loose bool) {
	s, _ := schema.Convert(t.tool.Input)
	p := &sample{schema: &s, python: python}
	object, isObject := s.Resolve(s.Root).(ir.Object)
	if strings.Contains(t.Signature, t.function+"()") {
		return t.name + "()", false
	}
	if !isObject {
		return p.anyCall(t.name)
	}
	if !python {
		text, ok := p.value(object, 0)
		if !ok {
			return p.anyCall(t.name)
		}
		return t.name + "(" + text + ")", false
	}
	var args []string
	for _, f := range object.Fields {
		if !f.Required {
			continue
		}
		text, ok := p.value(f.Type, 1)
		if !ok || !plain.MatchString(f.Name) || ident.PythonKeyword(f.Name) {
			return p.anyCall(t.name)
		}
		args = append(args, f.Name+"="+text)
	}
	return t.name + "(" + strings.Join(args, ", ") + ")", false
}

// plain matches names that are parameters as they are.
var plain = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// sample writes examples of types.
type sample struct {
	schema *ir.Schema
	python bool
}

// maxSampleDepth bounds the nesting of an example, because types may be recursive.
const maxSampleDepth = 6

// anyCall is a call with arguments that fit any type, for types without a short example.
func (p *sample) anyCall(name string) (call string, loose bool) {
	if p.python {
		return name + `(**cast("dict[str, Any]", {}))`, true
	}
	return name + "({} as never)", true
}

// value returns a value of a type, or ok false.
func (p *sample) value(t ir.Type, depth int) (text string, ok bool) {
	if depth > maxSampleDepth {
		return "", false
	}
	switch t := p.schema.Resolve(t).(type) {
	case ir.Null:
		return p.word("null", "None"), true
	case ir.Bool:
		return p.word("false", "False"), true
	case ir.String:
		return `"…"`, true
	case ir.Number:
		return "1", true
	case ir.Literal:
		return p.literal(t), true
	case ir.Array:
		return "[]", true
	case ir.Map, ir.Unknown:
		return "{}", true
	case ir.Tuple:
		var items []string
		for _, item := range t.Items[:t.Required] {
			text, ok := p.value(item, depth+1)
			if !ok {
				return "", false
			}
			items = append(items, text)
		}
		return "[" + strings.Join(items, ", ") + "]", true
	case ir.Union:
		for _, m := range t.Members {
			if text, ok := p.value(m, depth+1); ok && text != p.word("null", "None") {
				return text, true
			}
		}
	case ir.Object:
		var fields []string
		for _, f := range t.Fields {
			if !f.Required {
				continue
			}
			text, ok := p.value(f.Type, depth+1)
			if !ok {
				return "", false
			}
			fields = append(fields, p.key(f.Name)+": "+text)
		}
		if len(fields) == 0 {
			return "{}", true
		}
		return "{ " + strings.Join(fields, ", ") + " }", true
	}
	return "", false
}

func (p *sample) word(typescript, python string) string {
	if p.python {
		return python
	}
	return typescript
}

func (p *sample) key(name string) string {
	if !p.python && ident.IsIdentifier(name) {
		return name
	}
	return quoted(name)
}

func (p *sample) literal(t ir.Literal) string {
	switch {
	case t.Kind == ir.LiteralNumber:
		return t.Text
	case t.Kind == ir.LiteralString:
		return quoted(t.Text)
	case t.Bool:
		return p.word("true", "True")
	}
	return p.word("false", "False")
}

// quoted returns a string literal of both languages.
func quoted(text string) string {
	b, _ := json.Marshal(text) // which cannot fail for a string
	return string(b)
}
