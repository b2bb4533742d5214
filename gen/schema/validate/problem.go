package validate

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	santhosh "github.com/santhosh-tekuri/jsonschema/v5"
)

// maxProblems bounds how many problems one error lists, unless [Options] say otherwise.
const maxProblems = 10

// maxCauses bounds how many of the library's errors become problems. A long list can have a million, and each takes time.
const maxCauses = 1000

// Problem is one place where a value does not match its schema.
type Problem struct {
	// Path is the place in the value as a script writes it: "filter.limit" or "rows[3].name"; empty for the value itself.
	Path string
	// Expected describes what the schema accepts there, and Got the value that is there, both shortened.
	Expected, Got string
	// Keys are the names and indexes of Path.
	Keys []string
	// Missing are the required properties that the object there lacks; nil if the problem is another one.
	Missing []string
	// Message is one sentence with all of it.
	Message string
}

// ValidationError reports a value that does not match its schema.
type ValidationError struct {
	// Problems has at least one entry, in the order of their paths, and at most ten or what [Options] say.
	Problems []Problem
}

func (e *ValidationError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Message
	}
	return strings.Join(texts, "; ")
}

func (v *Validator) explain(err *santhosh.ValidationError, instance *jsonschema.Value, subject string) *ValidationError {
	out := &ValidationError{}
	seen := map[string]bool{}
	causes := leaves(err)
	if len(causes) > maxCauses { // the library reports members in any order; sorting keeps the choice stable
		slices.SortStableFunc(causes, func(a, b *santhosh.ValidationError) int {
			return cmp.Or(strings.Compare(a.InstanceLocation, b.InstanceLocation), strings.Compare(a.KeywordLocation, b.KeywordLocation))
		})
		causes = causes[:maxCauses]
	}
	for _, leaf := range causes {
		p := v.problem(leaf, instance, subject)
		if !seen[p.Message] {
			seen[p.Message] = true
			out.Problems = append(out.Problems, p)
		}
	}
	slices.SortStableFunc(out.Problems, func(a, b Problem) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	out.Problems = out.Problems[:min(len(out.Problems), v.problems)]
	return out
}

// leaves returns the errors without causes. Of an anyOf or oneOf it returns those deepest in the value: their branch is
// the one that was meant.
func leaves(err *santhosh.ValidationError) []*santhosh.ValidationError {
	if len(err.Causes) == 0 {
		return []*santhosh.ValidationError{err}
	}
	var out []*santhosh.ValidationError
	for _, cause := range err.Causes {
		out = append(out, leaves(cause)...)
	}
	switch lastToken(err.KeywordLocation) {
	case "anyOf", "oneOf":
		deepest := 0
		for _, leaf := range out {
			deepest = max(deepest, strings.Count(leaf.InstanceLocation, "/"))
		}
		if deepest == strings.Count(err.InstanceLocation, "/") {
			return append(out[:0:0], err)
		}
		out = slices.DeleteFunc(out, func(l *santhosh.ValidationError) bool {
			return strings.Count(l.InstanceLocation, "/") < deepest
		})
	}
	return out
}

func (v *Validator) problem(err *santhosh.ValidationError, instance *jsonschema.Value, subject string) Problem {
	tokens := pointerTokens(err.InstanceLocation)
	got := follow(instance, tokens)
	p := Problem{Path: pathText(tokens), Keys: tokens, Got: describe(got)}
	_, fragment, _ := strings.Cut(err.AbsoluteKeywordLocation, "#")
	keyword := lastToken(fragment)
	rule := follow(v.source, pointerTokens(fragment))
	parent := follow(v.source, parentTokens(fragment))
	subject = cmp.Or(p.Path, subject)
	switch keyword {
	case "required":
		for _, item := range rule.Elements() {
			if got.Get(item.Text) == nil {
				p.Missing = append(p.Missing, item.Text)
			}
		}
		missing := quotedAll(p.Missing)
		p.Expected = "properties " + strings.Join(missing, ", ")
		p.Message = fmt.Sprintf("%s: missing %s", subject, strings.Join(withSuggestions(missing, undeclaredIn(parent, got), "there is %s"), ", "))
		return p
	case "additionalProperties", "unevaluatedProperties":
		p.Expected = "only " + knownProperties(parent)
		unknown := withSuggestions(quotedAll(undeclaredIn(parent, got)), propertyNames(parent), "did you mean %s?")
		p.Message = fmt.Sprintf("%s: unknown property %s; known are %s", subject, jsonschema.Clip(strings.Join(unknown, ", ")), knownProperties(parent))
		return p
	}
	p.Expected = expectation(keyword, rule, parent, err.Message)
	p.Message = fmt.Sprintf("%s: expected %s, got %s", subject, p.Expected, p.Got)
	return p
}

func expectation(keyword string, rule, parent *jsonschema.Value, message string) string {
	text := ""
	if rule != nil {
		text = jsonschema.Clip(string(rule.AppendJSON(nil)))
	}
	switch keyword {
	case "type":
		if rule != nil && rule.Kind == jsonschema.KindArray {
			return "one of the types " + text
		}
		return strings.Trim(text, `"`)
	case "enum":
		return "one of " + text
	case "const":
		return text
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		if s := jsonschema.NumberBounds(parent); s != "" {
			return "a number " + s
		}
	case "minLength", "maxLength":
		return jsonschema.LengthBounds(parent, "minLength", "maxLength", " characters")
	case "minItems", "maxItems":
		return jsonschema.LengthBounds(parent, "minItems", "maxItems", " items")
	case "format":
		return "a text of the format " + strings.Trim(text, `"`)
	case "pattern":
		return "a text that matches " + text
	case "anyOf", "oneOf":
		var kinds []string
		for _, item := range rule.Elements() {
			if t := item.Str("type"); t != "" && !slices.Contains(kinds, t) {
				kinds = append(kinds, t)
			}
		}
		if len(kinds) > 0 {
			return "one of the alternatives (" + strings.Join(kinds, ", ") + ")"
		}
		return "one of the alternatives in the schema"
	}
	return jsonschema.Clip(message)
}

// undeclaredIn returns the names in an object for which the schema declares no property.
func undeclaredIn(schema, got *jsonschema.Value) []string {
	var out []string
	if got != nil {
		for _, m := range got.Members {
			if schema.Get("properties").Get(m.Key) == nil {
				out = append(out, m.Key)
			}
		}
	}
	return out
}

func propertyNames(schema *jsonschema.Value) []string {
	var out []string
	if props := schema.Get("properties"); props != nil {
		for _, m := range props.Members {
			out = append(out, m.Key)
		}
	}
	return out
}

func quotedAll(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", jsonschema.Clip(name))
	}
	return out
}

// maxNear bounds how many names are compared with as many others.
const maxNear = 200

// withSuggestions appends to each quoted name, in parentheses, the candidate that is nearest to it. words is a format for
// the quoted candidate.
func withSuggestions(quoted, candidates []string, words string) []string {
	if len(quoted)*len(candidates) > maxNear*maxNear {
		return quoted
	}
	out := make([]string, len(quoted))
	for i, name := range quoted {
		out[i] = name
		if near := ident.Nearest(strings.Trim(name, `"`), candidates, 1); len(near) > 0 {
			out[i] += " (" + fmt.Sprintf(words, fmt.Sprintf("%q", jsonschema.Clip(near[0]))) + ")"
		}
	}
	return out
}

// knownProperties lists the properties of a schema, or counts them if the list would be long.
func knownProperties(schema *jsonschema.Value) string {
	out := propertyNames(schema)
	if len(out) == 0 {
		return "none"
	}
	const most = 400
	if text := strings.Join(out, ", "); len(text) <= most {
		return text
	}
	return fmt.Sprintf("%d others", len(out))
}

// describe returns the kind of a value and, of a scalar, its shortened text.
func describe(v *jsonschema.Value) string {
	if v == nil {
		return "nothing"
	}
	switch v.Kind {
	case jsonschema.KindNull:
		return "null"
	case jsonschema.KindArray:
		return fmt.Sprintf("an array of %d items", len(v.Items))
	case jsonschema.KindObject:
		return "an object"
	}
	return v.Kind.String() + " " + jsonschema.Clip(string(v.AppendJSON(nil)))
}

func follow(v *jsonschema.Value, tokens []string) *jsonschema.Value {
	for _, token := range tokens {
		if v == nil {
			return nil
		}
		v = v.Child(token)
	}
	return v
}

// pointerTokens returns the tokens of a JSON pointer, whose names the library also escapes as in a URL.
func pointerTokens(pointer string) []string {
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	if pointer == "/" {
		return nil
	}
	return slices.Collect(jsontext.Pointer(pointer).Tokens())
}

func parentTokens(pointer string) []string {
	tokens := pointerTokens(pointer)
	return tokens[:max(0, len(tokens)-1)]
}

func lastToken(pointer string) string { return pointer[strings.LastIndexByte(pointer, '/')+1:] }

// pathText returns a place as a script writes it.
func pathText(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + jsonschema.Clip(token))
		default:
			b.WriteString(jsonschema.Clip(token))
		}
	}
	return b.String()
}
