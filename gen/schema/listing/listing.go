// Package listing prepares the schemas of upstream tools for a list of tools that programs and models read: [Input] and [Output].
//
// The schemas are hostile. Invisible characters are removed from texts. Names and values that contain them are left out, and so is every
// keyword that JSON Schema does not have or whose value has the wrong kind, because one bad schema makes some clients refuse the whole list.
// The order of properties and the digits of numbers stay. Nothing is checked against what is listed; package validate has the schema as
// it was sent.
package listing

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// MaxText bounds one text of a schema, in bytes. More is cut.
const MaxText = 8_000

// anything is an object of any content. Hosts refuse objects that do not say which properties they have.
const anything = `{"type":"object","properties":{}}`

// Result is the name of the property in which results hold a value that is not an object, because structured content must be an object.
// [Output] describes such a value under this name.
const Result = "result"

// Output returns an output schema that describes a result and accepts every object; about, which may be empty, is its description.
// Clients throw away a result that does not fit the listed schema, although the call was made, and results do not always fit: servers
// break their own schemas, and a learned shape is that of a few replies. It reports false if nothing
// can be described.
func Output(raw json.RawMessage, about string) (json.RawMessage, bool) {
	root, err := jsonschema.Parse(raw, jsonschema.Limits{})
	if err != nil || root.Kind != jsonschema.KindObject {
		return nil, false
	}
	at, wrapped := "#/anyOf/0", !describesObject(root)
	if wrapped {
		at += "/properties/" + Result
	}
	l := lister{output: true, at: at}
	clean := l.schema(root)
	if l.lost || len(clean.Members) == 0 || slices.ContainsFunc(l.refs, func(pointer string) bool { return !leads(clean, pointer) }) {
		return nil, false
	}
	shape, said := string(clean.AppendJSON(nil)), ""
	if wrapped {
		shape = `{"type":"object","properties":{"` + Result + `":` + shape + `},"required":["` + Result + `"]}`
	}
	if about != "" {
		said = `"description":` + string(jsonschema.Text(about).AppendJSON(nil)) + ","
	}
	out := json.RawMessage(`{"type":"object",` + said + `"anyOf":[` + shape + `,{"type":"object"}]}`)
	if _, err := validate.Compile(out); err != nil { // such as references in a circle, which make a check endless
		return nil, false
	}
	return out, true
}

// describesObject reports whether values of a schema may be objects.
func describesObject(root *jsonschema.Value) bool {
	switch t := root.Get("type"); {
	case t == nil:
		return true
	case t.Kind == jsonschema.KindString:
		return t.Text == "object"
	default:
		return slices.ContainsFunc(t.Items, func(one *jsonschema.Value) bool { return one.Text == "object" })
	}
}

// leads reports whether a JSON pointer leads to a schema.
func leads(root *jsonschema.Value, pointer string) bool {
	for token := range jsontext.Pointer(pointer).Tokens() {
		if root = root.Child(token); root == nil {
			return false
		}
	}
	return root.Kind == jsonschema.KindObject || root.Kind == jsonschema.KindBool
}

// lister copies a schema.
type lister struct {
	output bool
	draft  jsonschema.Draft // of an input
	// Of an output: at is where its root will be, refs are the pointers of its references, and lost reports that it uses something
	// that has no meaning elsewhere.
	at   string
	refs []string
	lost bool
}

func (l *lister) schema(v *jsonschema.Value) *jsonschema.Value {
	if v.Kind == jsonschema.KindBool {
		return v
	}
	if !l.output {
		v = modern(v, l.draft)
	}
	out := jsonschema.Record()
	for _, m := range v.Members {
		if kept := l.keyword(m); kept != nil {
			out.Members = append(out.Members, jsonschema.Member{Key: m.Key, Value: kept})
		}
	}
	return out
}

// keyword returns the value of a keyword as it is listed, or nil.
func (l *lister) keyword(m jsonschema.Member) *jsonschema.Value {
	if l.output && !slices.Contains(described, m.Key) {
		l.lost = l.lost || slices.Contains(anchors, m.Key)
		return nil
	}
	switch jsonschema.Subschemas(m) {
	case jsonschema.OneSchema:
		if m.Value.Kind != jsonschema.KindObject && m.Value.Kind != jsonschema.KindBool {
			return nil
		}
		return l.schema(m.Value)
	case jsonschema.ListOfSchemas:
		if m.Value.Kind != jsonschema.KindArray || len(m.Value.Items) == 0 || l.output && m.Key == "items" {
			return nil // a tuple of the older drafts, which the newest refuses
		}
		return jsonschema.List(each(m.Value.Items, l.schema)...)
	case jsonschema.MapOfSchemas:
		return l.schemas(m.Value)
	}
	switch m.Key {
	case "title", "description":
		if m.Value.Kind != jsonschema.KindString {
			return nil
		}
		return jsonschema.Text(ident.Clip(ident.CleanText(m.Value.Text), MaxText))
	case "required":
		if m.Value.Kind != jsonschema.KindArray {
			return nil
		}
		var list []string
		for _, name := range m.Value.Items {
			if name.Kind == jsonschema.KindString && !unseen(name) && !slices.Contains(list, name.Text) {
				list = append(list, name.Text)
			}
		}
		return names(list)
	case "$ref":
		return l.reference(m.Value)
	}
	if fits, known := keywords[m.Key]; !known || !fits(m.Value) || unseen(m.Value) {
		return nil
	}
	return m.Value
}

// schemas copies an object whose members are schemas.
func (l *lister) schemas(v *jsonschema.Value) *jsonschema.Value {
	if v.Kind != jsonschema.KindObject {
		return nil
	}
	out := jsonschema.Record()
	for _, m := range v.Members {
		switch {
		case m.Lossy || hidden(m.Key):
		case m.Value.Kind == jsonschema.KindObject || m.Value.Kind == jsonschema.KindBool:
			out.Members = append(out.Members, jsonschema.Member{Key: m.Key, Value: l.schema(m.Value)})
		}
	}
	return out
}

// reference returns a $ref. In an output it points to the later place of its target.
func (l *lister) reference(v *jsonschema.Value) *jsonschema.Value {
	if v.Kind != jsonschema.KindString || unseen(v) {
		return nil
	}
	if !l.output {
		return v
	}
	pointer, local := strings.CutPrefix(v.Text, "#")
	if !local || pointer != "" && pointer[0] != '/' || strings.Contains(pointer, "%") {
		l.lost = true
		return nil
	}
	l.refs = append(l.refs, pointer)
	return jsonschema.Text(l.at + pointer)
}

// described are the keywords that describe a result. All others only refuse values.
var described = []string{
	"title", "description", "type", "enum", "const", "properties", "required", "additionalProperties", "items", "prefixItems",
	"anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions", "deprecated",
}

// anchors are the keywords whose references are not JSON pointers.
var anchors = []string{"$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"}

// keywords are the keywords whose values hold no schemas, with the check of their values.
var keywords = map[string]func(*jsonschema.Value) bool{
	"type": isType, "enum": isList, "const": isAny, "default": isAny, "examples": isList,
	"minimum": isNumber, "maximum": isNumber, "multipleOf": isPositive, "exclusiveMinimum": isNumber, "exclusiveMaximum": isNumber,
	"minLength": isCount, "maxLength": isCount, "minItems": isCount, "maxItems": isCount, "minContains": isCount, "maxContains": isCount,
	"minProperties": isCount, "maxProperties": isCount, "uniqueItems": isBool, "deprecated": isBool, "readOnly": isBool, "writeOnly": isBool,
	"pattern": isString, "format": isString, "contentEncoding": isString, "contentMediaType": isString, "dependentRequired": isLists,
	"$id": isString, "$anchor": isString, "$dynamicRef": isString, "$dynamicAnchor": isString, "$recursiveRef": isString, "$recursiveAnchor": isBool,
}

func isAny(*jsonschema.Value) bool      { return true }
func isString(v *jsonschema.Value) bool { return v.Kind == jsonschema.KindString }
func isNumber(v *jsonschema.Value) bool { return v.Kind == jsonschema.KindNumber }
func isBool(v *jsonschema.Value) bool   { return v.Kind == jsonschema.KindBool }
func isList(v *jsonschema.Value) bool   { return v.Kind == jsonschema.KindArray && len(v.Items) > 0 }

func isPositive(v *jsonschema.Value) bool {
	f, err := strconv.ParseFloat(v.Text, 64)
	return isNumber(v) && err == nil && f > 0
}

func isCount(v *jsonschema.Value) bool {
	f, err := strconv.ParseFloat(v.Text, 64)
	return isNumber(v) && err == nil && f >= 0 && f == math.Trunc(f)
}

// isLists reports whether v is an object of lists of names.
func isLists(v *jsonschema.Value) bool {
	return v.Kind == jsonschema.KindObject && !slices.ContainsFunc(v.Members, func(m jsonschema.Member) bool {
		return m.Value.Kind != jsonschema.KindArray || slices.ContainsFunc(m.Value.Items, func(name *jsonschema.Value) bool { return !isString(name) })
	})
}

func isType(v *jsonschema.Value) bool {
	_, ok := jsonschema.TypesOf(jsonschema.Record(jsonschema.Member{Key: "type", Value: v}))
	return ok
}

// unseen reports whether a value has an invisible character, or a number that programs cannot read.
func unseen(v *jsonschema.Value) bool {
	switch v.Kind {
	case jsonschema.KindString:
		return v.Lossy || hidden(v.Text)
	case jsonschema.KindNumber:
		f, err := strconv.ParseFloat(v.Text, 64)
		return err != nil || math.IsInf(f, 0)
	}
	return slices.ContainsFunc(v.Items, unseen) ||
		slices.ContainsFunc(v.Members, func(m jsonschema.Member) bool { return m.Lossy || hidden(m.Key) || unseen(m.Value) })
}

// hidden reports whether a text that must not be changed has invisible characters. White space counts as visible.
func hidden(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !ident.Visible(r) && !strings.ContainsRune("\t\n\r\u00a0\u3000\ufe0f", r) })
}

func each(items []*jsonschema.Value, f func(*jsonschema.Value) *jsonschema.Value) []*jsonschema.Value {
	out := make([]*jsonschema.Value, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}
