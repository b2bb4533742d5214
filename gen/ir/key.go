package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// Key returns a text that is the same for equal types. Documentation does not count.
func Key(t Type) string {
	switch t := t.(type) { // the most frequent types
	case Unknown:
		return "?"
	case String:
		return "s"
	case Literal:
		if t.Kind == LiteralString {
			return stringKey(t.Text)
		}
	}
	var b strings.Builder
	writeKey(&b, t)
	return b.String()
}

func writeKey(b *strings.Builder, t Type) {
	switch t := t.(type) {
	case Unknown:
		b.WriteByte('?')
	case Never:
		b.WriteByte('!')
	case Null:
		b.WriteByte('0')
	case Bool:
		b.WriteByte('b')
	case String:
		b.WriteByte('s')
	case Number:
		if t.Integer {
			b.WriteByte('i')
		} else {
			b.WriteByte('n')
		}
	case Literal:
		writeLiteralKey(b, t)
	case Array:
		b.WriteByte('[')
		writeKey(b, t.Elem)
		b.WriteByte(']')
	case Tuple:
		fmt.Fprintf(b, "(%d;", t.Required)
		writeKeys(b, t.Items)
		writeKey(b, t.Rest)
		b.WriteByte(')')
	case Map:
		b.WriteString("{*")
		writeKey(b, t.Value)
		b.WriteByte('}')
	case Object:
		writeObjectKey(b, t)
	case Union:
		b.WriteString("|(")
		writeKeys(b, t.Members)
		b.WriteByte(')')
	case Intersection:
		b.WriteString("&(")
		writeKeys(b, t.Members)
		b.WriteByte(')')
	case Ref:
		fmt.Fprintf(b, "@%q", t.Name)
	}
}

func writeLiteralKey(b *strings.Builder, l Literal) {
	switch l.Kind {
	case LiteralBool:
		fmt.Fprintf(b, "=%t", l.Bool)
	case LiteralNumber:
		b.WriteString("=#" + l.Text)
	default:
		b.WriteString(stringKey(l.Text))
	}
}

// stringKey begins with the length of the text, so that no text can imitate its own end followed by another type.
func stringKey(text string) string { return "=" + strconv.Itoa(len(text)) + ":" + text }

func writeObjectKey(b *strings.Builder, t Object) {
	b.WriteByte('{')
	for _, f := range t.Fields {
		fmt.Fprintf(b, "%q", f.Name)
		if !f.Required {
			b.WriteByte('?')
		}
		writeKey(b, f.Type)
		b.WriteByte(',')
	}
	if t.Extra != nil {
		b.WriteByte('+')
		writeKey(b, t.Extra)
	}
	b.WriteByte('}')
}

func writeKeys(b *strings.Builder, types []Type) {
	for _, t := range types {
		writeKey(b, t)
		b.WriteByte(',')
	}
}

// Same reports whether two types are equal. Documentation does not count.
func Same(a, b Type) bool {
	switch a := a.(type) {
	case Array:
		b, ok := b.(Array)
		return ok && Same(a.Elem, b.Elem)
	case Tuple:
		b, ok := b.(Tuple)
		return ok && a.Required == b.Required && sameAll(a.Items, b.Items) && Same(a.Rest, b.Rest)
	case Map:
		b, ok := b.(Map)
		return ok && Same(a.Value, b.Value)
	case Object:
		b, ok := b.(Object)
		return ok && sameObjects(a, b)
	case Union:
		b, ok := b.(Union)
		return ok && sameAll(a.Members, b.Members)
	case Intersection:
		b, ok := b.(Intersection)
		return ok && sameAll(a.Members, b.Members)
	case nil:
		return b == nil
	}
	switch b.(type) {
	case Array, Tuple, Map, Object, Union, Intersection:
		return false
	}
	return a == b
}

func sameAll(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Same(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameObjects(a, b Object) bool {
	if len(a.Fields) != len(b.Fields) || (a.Extra == nil) != (b.Extra == nil) {
		return false
	}
	for i, f := range a.Fields {
		if g := b.Fields[i]; f.Name != g.Name || f.Required != g.Required || !Same(f.Type, g.Type) {
			return false
		}
	}
	return Same(a.Extra, b.Extra)
}
