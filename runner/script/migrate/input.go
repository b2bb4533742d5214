package migrate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

var noArguments = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*\(\s*\)`) })

// input rewrites what a call gives to a tool. Its arguments are behind the byte open, or, if that is zero, behind others.
func (f *rewriter) input(n *syntax.Node, args []*syntax.Node, open int, t *tool) {
	p := t.pair(t.old, t.new)
	if slices.ContainsFunc(args, func(arg *syntax.Node) bool { return arg.Kind == syntax.Keyword }) {
		f.object(n, args, p, 0)
		return
	}
	if len(args) > 0 {
		f.value(args[0], p, 0)
		return
	}
	names, values := p.needed()
	if len(names) == 0 {
		return
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, f.given(name, values[name], f.python))
	}
	text := strings.Join(parts, ", ")
	if !f.python {
		text = "{ " + text + " }"
	}
	if found := noArguments().FindString(f.text[open:]); open > 0 && found != "" {
		f.insert(open+strings.Index(found, "(")+1, text)
	} else {
		f.leave(n, "the tool now requires %s", strings.Join(names, ", "))
	}
}

// given writes a member with its value.
func (f *rewriter) given(name string, v any, keyword bool) string {
	text := jsonText(v)
	if f.python {
		text = pythonText(v)
	}
	if keyword {
		return name + "=" + text
	}
	return f.key(name) + ": " + text
}

func (f *rewriter) key(name string) string {
	if !f.python && ident.IsIdentifier(name) {
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

// value rewrites a value for a place of the input. A constant that is used once is what it is declared as.
func (f *rewriter) value(n *syntax.Node, p pair, depth int) {
	if p.old == nil || p.new == nil || depth > maxFollowed {
		return
	}
	at, text, written := f.literal(n)
	switch {
	case n.Kind == syntax.Dict:
		f.object(n, n.Kids, p, depth)
	case n.Kind == syntax.List:
		spread := false
		for _, kid := range n.Kids {
			if spread = spread || kid.Kind == syntax.Spread; kid.Kind != syntax.Spread {
				f.value(kid, p.items(), depth+1)
			}
		}
		if what := p.items().concerned(0); spread && what != "" {
			f.leave(n, "part of this list is built elsewhere; check %s", what)
		}
	case n.Kind == syntax.Any && n.Text != "/":
		for i, kid := range n.Kids {
			if n.Text != "?" || i < 2 { // the third is the condition
				f.value(kid, p, depth+1)
			}
		}
	case n.Kind == syntax.Name && f.bound[n.Text] == 1 && len(f.uses[n.Text]) == 1 && f.values[n.Text] != nil:
		f.value(f.values[n.Text], p, depth+1)
	case n.Kind == syntax.Number || n.Kind == syntax.Other && n.Text != "":
	case written:
		switch now, gone := p.values()[text]; {
		case gone && now == nil:
			f.leave(n, "the value %q no longer exists; the values are now %s", text, strings.Join(texts(p.new), ", "))
		case gone:
			f.replace(at, quoteLike(f.text[at.start:at.end], now.(string)))
		}
	default:
		if what := p.concerned(0); what != "" {
			f.leave(n, "this value is built elsewhere; check %s", what)
		}
	}
}

var noMembers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{\s*\}`) })

// memberName returns where the name of a member is written. One that is computed, or that of a function, has none.
func (f *rewriter) memberName(kid *syntax.Node) (at span, ok bool) {
	if kid.Kind != syntax.Pair && kid.Kind != syntax.Keyword || kid.Kids[0].Kind == syntax.Function {
		return span{}, false
	}
	if at, ok = f.word(kid); !ok && kid.Kind == syntax.Pair {
		at, _, ok = f.literal(kid)
	}
	return at, ok && !strings.HasSuffix(strings.TrimRight(f.text[:at.start], " \t\r\n"), "[")
}

// object rewrites the members of an object, or the keyword arguments of a call.
func (f *rewriter) object(n *syntax.Node, kids []*syntax.Node, p pair, depth int) {
	paired := p.members()
	gone := p.gone()
	names, values := p.needed()
	present := map[string]bool{}
	keywords, spread, first := n.Kind == syntax.Call, false, -1
	for _, kid := range kids {
		at, ok := f.memberName(kid)
		if !ok {
			spread = true
			continue
		}
		if first < 0 {
			first = at.start
		}
		name := f.property(kid.Text, p.old, keywords)
		present[name] = true
		now := name
		if to, ok := paired[name]; ok {
			now = to
			f.member(kid, at, to)
		} else if slices.Contains(gone, name) {
			f.leave(kid, "%s", p.missing(name))
			names = nil // one of them may be what is gone
		}
		f.value(kid.Kids[0], p.member(name, now), depth+1)
	}
	if spread {
		if what := p.concerned(0); what != "" {
			f.leave(n, "part of this value is built elsewhere; check %s", what)
		}
		return
	}
	var parts []string
	for _, name := range names {
		if !present[name] {
			parts = append(parts, f.given(name, values[name], keywords))
		}
	}
	text := strings.Join(parts, ", ")
	switch at, ok := f.tree.Offset(n); {
	case len(parts) == 0:
	case first >= 0:
		f.insert(first, text+", ")
	case ok && noMembers().MatchString(f.text[at:]):
		f.replace(span{at, at + len(noMembers().FindString(f.text[at:]))}, "{ "+text+" }")
	case ok:
		f.insert(at+1, " "+text+",")
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
func (f *rewriter) member(n *syntax.Node, at span, to string) {
	written := f.text[at.start:at.end]
	valueAt, ok := f.tree.Offset(n.Kids[0])
	switch {
	case n.Kind == syntax.Keyword && (!ident.IsIdentifier(to) || ident.PythonKeyword(to)):
		f.leave(n, "%s is %s now", n.Text, to)
	case n.Kind == syntax.Keyword:
		f.replace(at, to)
	case ok && valueAt == at.start && n.Kids[0].Kind == syntax.Name: // { name }
		f.replace(at, f.key(to)+": "+written)
	case strings.ContainsAny(written[:1], "\"'"):
		f.replace(at, quoteLike(written, to))
	default:
		f.replace(at, f.key(to))
	}
}
