package migrate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/runner/script/migrate/internal/reading"
)

// input rewrites what a call gives to a tool.
func (f *rewriter) input(c reading.Call, t *tool) {
	p := t.pair(t.old, t.new)
	if c.Input != nil {
		f.value(c.Input, p, 0)
		return
	}
	names, values := p.needed()
	if len(names) == 0 {
		return
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, f.given(name, values[name], f.lang == "python"))
	}
	text := strings.Join(parts, ", ")
	if f.lang == "typescript" {
		text = "{ " + text + " }"
	}
	if c.Open == 0 {
		f.leave(c.Line, "the tool now requires %s", strings.Join(names, ", "))
		return
	}
	f.insert(c.Open, text)
}

// given writes a member with its value.
func (f *rewriter) given(name string, v any, keyword bool) string {
	text := jsonText(v)
	if f.lang == "python" {
		text = pythonText(v)
	}
	if keyword {
		return name + "=" + text
	}
	return f.key(name) + ": " + text
}

func (f *rewriter) key(name string) string {
	if f.lang == "typescript" && ident.IsIdentifier(name) {
		return name
	}
	return jsonText(name)
}

// pythonText writes a JSON value in Python.
func pythonText(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case []any:
		var parts []string
		for _, each := range v {
			parts = append(parts, pythonText(each))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for name, each := range v {
			parts = append(parts, jsonText(name)+": "+pythonText(each))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case json.Number:
		return v.String()
	}
	return jsonText(v)
}

// value rewrites a value for a place of the input.
func (f *rewriter) value(v *reading.Value, p pair, depth int) {
	if p.old == nil || p.new == nil || depth > maxFollowed {
		return
	}
	switch v.Kind {
	case "object":
		f.object(v, p, depth)
	case "array":
		for _, item := range v.Items {
			f.value(item, p.items(), depth+1)
		}
		if what := p.items().concerned(0); v.Spread && what != "" {
			f.leave(v.Line, "part of this list is built elsewhere; check %s", what)
		}
	case "choice":
		for _, item := range v.Items {
			f.value(item, p, depth+1)
		}
	case "string":
		switch now, gone := p.values()[v.Text]; {
		case gone && now == nil:
			f.leave(v.Line, "the value %q no longer exists; the values are now %s", v.Text, strings.Join(texts(p.new), ", "))
		case gone:
			f.replace(v.At, quoteLike(f.text[v.At.Start:v.At.End], now.(string)))
		}
	case "other":
		if what := p.concerned(0); what != "" {
			f.leave(v.Line, "this value is built elsewhere; check %s", what)
		}
	}
}

// object rewrites the members of an object.
func (f *rewriter) object(v *reading.Value, p pair, depth int) {
	paired := p.members()
	gone := p.gone()
	names, values := p.needed()
	present := map[string]bool{}
	for _, m := range v.Members {
		name := f.property(m.Name, p.old, v.Keywords)
		present[name] = true
		now := name
		if to, ok := paired[name]; ok {
			now = to
			f.member(m, to, v.Keywords)
		} else if slices.Contains(gone, name) {
			f.leave(f.line(m.At.Start), "%s", p.missing(name))
			names = nil // one of them may be what is gone
		}
		if m.Value != nil {
			f.value(m.Value, p.member(name, now), depth+1)
		}
	}
	if v.Spread {
		if what := p.concerned(0); what != "" {
			f.leave(v.Line, "part of this value is built elsewhere; check %s", what)
		}
		return
	}
	var parts []string
	for _, name := range names {
		if !present[name] {
			parts = append(parts, f.given(name, values[name], v.Keywords))
		}
	}
	text := strings.Join(parts, ", ")
	switch {
	case len(parts) == 0:
	case len(v.Members) > 0:
		f.insert(v.Members[0].At.Start, text+", ")
	case v.Keywords:
		f.insert(v.At.Start, text)
	default:
		f.replace(v.At, "{ "+text+" }")
	}
}

// missing says that a property is gone, and which ones are new.
func (p pair) missing(name string) string {
	text := name + " is gone"
	if came := (pair{p.tool, p.new, p.old}).gone(); len(came) > 0 {
		text += "; new: " + strings.Join(came, ", ")
	}
	return text
}

// property returns the property that a member means: keyword arguments of Python have names of their own where a property is no identifier.
func (f *rewriter) property(name string, schema *jsonschema.Value, keyword bool) string {
	if property(schema, name) != nil || !keyword {
		return name
	}
	found := ""
	for _, m := range properties(schema) {
		if ident.Fold(m.Key) == ident.Fold(name) {
			if found != "" {
				return name
			}
			found = m.Key
		}
	}
	if found != "" {
		return found
	}
	return name
}

// member gives a member a new name.
func (f *rewriter) member(m reading.Member, to string, keyword bool) {
	written := f.text[m.At.Start:m.At.End]
	switch {
	case keyword && (!ident.IsIdentifier(to) || ident.PythonKeyword(to)):
		f.leave(f.line(m.At.Start), "%s is %s now", m.Name, to)
	case keyword:
		f.replace(m.At, to)
	case m.Short:
		f.replace(m.At, f.key(to)+": "+written)
	case strings.ContainsAny(written[:1], "\"'"):
		f.replace(m.At, quoteLike(written, to))
	default:
		f.replace(m.At, f.key(to))
	}
}
