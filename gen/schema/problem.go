package schema

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxProblems bounds how many problems one error lists.
const maxProblems = 10

// maxCauses bounds how many of them are put into words. A long list can have a million, each of which takes a while.
const maxCauses = 1000

// Problem is one place where an instance does not fit.
type Problem struct {
	// Path is the place in the instance, as a script would write it: "filter.limit", "rows[3].name", "" for the whole.
	Path string
	// Expected is what the schema wants there; Got is what was there, cut to a short text.
	Expected, Got string
	// Message is all of it in one sentence.
	Message string
}

// ValidationError says why an instance does not fit its schema.
type ValidationError struct {
	// Problems has at least one entry and at most ten, in the order of their paths.
	Problems []Problem
}

func (e *ValidationError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Message
	}
	return strings.Join(texts, "; ")
}

func (v *Validator) explain(err *jsonschema.ValidationError, instance *value, whole string) *ValidationError {
	out := &ValidationError{}
	seen := map[string]bool{}
	causes := leaves(err)
	if len(causes) > maxCauses { // the same ones each time: the library has members in any order
		slices.SortStableFunc(causes, func(a, b *jsonschema.ValidationError) int {
			return cmp.Or(strings.Compare(a.InstanceLocation, b.InstanceLocation), strings.Compare(a.KeywordLocation, b.KeywordLocation))
		})
		causes = causes[:maxCauses]
	}
	for _, leaf := range causes {
		p := v.problem(leaf, instance, whole)
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
	out.Problems = out.Problems[:min(len(out.Problems), maxProblems)]
	return out
}

// leaves returns the causes that say something. Below an anyOf or oneOf the branches that failed deepest in the
// instance are the ones that were meant.
func leaves(err *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(err.Causes) == 0 {
		return []*jsonschema.ValidationError{err}
	}
	var out []*jsonschema.ValidationError
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
		out = slices.DeleteFunc(out, func(l *jsonschema.ValidationError) bool {
			return strings.Count(l.InstanceLocation, "/") < deepest
		})
	}
	return out
}

func (v *Validator) problem(err *jsonschema.ValidationError, instance *value, whole string) Problem {
	tokens := pointerTokens(err.InstanceLocation)
	got := follow(instance, tokens)
	p := Problem{Path: pathText(tokens), Got: describe(got)}
	_, fragment, _ := strings.Cut(err.AbsoluteKeywordLocation, "#")
	keyword := lastToken(fragment)
	rule := follow(v.source, pointerTokens(fragment))
	parent := follow(v.source, parentTokens(fragment))
	subject := cmp.Or(p.Path, whole)
	switch keyword {
	case "required":
		missing := missingNames(rule, got)
		p.Expected = "properties " + strings.Join(missing, ", ")
		p.Message = fmt.Sprintf("%s: missing %s", subject, strings.Join(withNear(missing, strangers(parent, got), "there is %s"), ", "))
		return p
	case "additionalProperties", "unevaluatedProperties":
		p.Expected = "only " + known(parent)
		unknown := withNear(quotedAll(strangers(parent, got)), propertyNames(parent), "did you mean %s?")
		p.Message = fmt.Sprintf("%s: unknown property %s; known are %s", subject, clip(strings.Join(unknown, ", ")), known(parent))
		return p
	}
	p.Expected = expectation(keyword, rule, parent, err.Message)
	p.Message = fmt.Sprintf("%s: expected %s, got %s", subject, p.Expected, p.Got)
	return p
}

func expectation(keyword string, rule, parent *value, message string) string {
	text := ""
	if rule != nil {
		text = clip(string(rule.appendJSON(nil)))
	}
	switch keyword {
	case "type":
		if rule != nil && rule.kind == kindArray {
			return "one of the types " + text
		}
		return strings.Trim(text, `"`)
	case "enum":
		return "one of " + text
	case "const":
		return text
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		if s := interval(parent); s != "" {
			return "a number " + s
		}
	case "minLength", "maxLength":
		return counted(parent, "minLength", "maxLength", " characters")
	case "minItems", "maxItems":
		return counted(parent, "minItems", "maxItems", " items")
	case "pattern":
		return "a text that matches " + text
	case "anyOf", "oneOf":
		var kinds []string
		for _, item := range rule.itemsOf() {
			if t := item.str("type"); t != "" && !slices.Contains(kinds, t) {
				kinds = append(kinds, t)
			}
		}
		if len(kinds) > 0 {
			return "exactly or at least one of the alternatives (" + strings.Join(kinds, ", ") + ")"
		}
		return "one of the alternatives in the schema"
	}
	return clip(message)
}

func (v *value) itemsOf() []*value {
	if v == nil {
		return nil
	}
	return v.items
}

func missingNames(rule, got *value) []string {
	var out []string
	for _, item := range rule.itemsOf() {
		if got.get(item.text) == nil {
			out = append(out, fmt.Sprintf("%q", clip(item.text)))
		}
	}
	return out
}

// strangers are the names of an object that the schema has no property for.
func strangers(schema, got *value) []string {
	var out []string
	if got != nil {
		for _, m := range got.members {
			if schema.get("properties").get(m.key) == nil {
				out = append(out, m.key)
			}
		}
	}
	return out
}

func propertyNames(schema *value) []string {
	var out []string
	if props := schema.get("properties"); props != nil {
		for _, m := range props.members {
			out = append(out, m.key)
		}
	}
	return out
}

func quotedAll(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", clip(name))
	}
	return out
}

// maxNear bounds how many names are compared with how many.
const maxNear = 200

// withNear adds to each quoted name the one of candidates that it may be meant for, in words.
func withNear(quoted, candidates []string, words string) []string {
	if len(quoted)*len(candidates) > maxNear*maxNear {
		return quoted
	}
	out := make([]string, len(quoted))
	for i, name := range quoted {
		out[i] = name
		if near := ident.Nearest(strings.Trim(name, `"`), candidates, 1); len(near) > 0 {
			out[i] += " (" + fmt.Sprintf(words, fmt.Sprintf("%q", clip(near[0]))) + ")"
		}
	}
	return out
}

func known(schema *value) string {
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

// describe shows a value by its kind and, where it is short, its text.
func describe(v *value) string {
	if v == nil {
		return "nothing"
	}
	switch v.kind {
	case kindNull:
		return "null"
	case kindArray:
		return fmt.Sprintf("an array of %d items", len(v.items))
	case kindObject:
		return "an object"
	}
	return v.kind.String() + " " + clip(string(v.appendJSON(nil)))
}

func follow(v *value, tokens []string) *value {
	for _, token := range tokens {
		if v == nil {
			return nil
		}
		v = child(v, token)
	}
	return v
}

func pointerTokens(pointer string) []string {
	if pointer == "" || pointer == "/" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(unescape(token))
	}
	return tokens
}

// unescape undoes what the library does to names in pointers.
func unescape(token string) string {
	if plain, err := url.PathUnescape(token); err == nil {
		return plain
	}
	return token
}

func parentTokens(pointer string) []string {
	tokens := pointerTokens(pointer)
	return tokens[:max(0, len(tokens)-1)]
}

func lastToken(pointer string) string { return pointer[strings.LastIndexByte(pointer, '/')+1:] }

// pathText writes a place the way a script reaches it.
func pathText(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + clip(token))
		default:
			b.WriteString(clip(token))
		}
	}
	return b.String()
}
