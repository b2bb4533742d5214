package document

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/expr"
)

// methodEval is the method that evaluates an expression. The guests' libraries know it.
const methodEval = "workflow/eval"

// Method answers a method of the host.
type Method = func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// maxText bounds the text that a template gives, in bytes.
const maxText = 4 << 20

// question is an expression of a document as the script asks for it.
type question struct{ text, as string }

// answers evaluate the expressions of a document.
type answers struct {
	variables map[question][]string // that an expression has
}

func (a *answers) add(text, as string, used uses) {
	names := slices.Clone(used.variables)
	if len(used.tasks) > 0 {
		names = append(names, "tasks")
	}
	q := question{text, as}
	for _, name := range names {
		if !slices.Contains(a.variables[q], name) {
			a.variables[q] = append(a.variables[q], name)
		}
	}
	if a.variables[q] == nil {
		a.variables[q] = []string{}
	}
}

// evaluator is a compiled expression or template.
type evaluator struct {
	variables   []string // that it reads
	parts       []expr.Part
	expressions []*expr.Expression // of the parts that are expressions
}

// compiled compiles the expressions. They were checked, so an error is a fault of ours.
func (a *answers) compiled() (map[question]*evaluator, error) {
	out := map[question]*evaluator{}
	for q, variables := range a.variables {
		e := &evaluator{variables: variables, parts: []expr.Part{{Text: q.text, IsExpression: true}}}
		if q.as == asText {
			var err error
			if e.parts, err = expr.Template(q.text); err != nil {
				return nil, err
			}
		}
		for _, p := range e.parts {
			if !p.IsExpression {
				continue
			}
			compiled, err := expr.Compile(p.Text, variables...)
			if err != nil {
				return nil, fmt.Errorf("the expression %.200q: %w", p.Text, err)
			}
			e.expressions = append(e.expressions, compiled)
		}
		out[q] = e
	}
	return out, nil
}

// Answers returns the methods that the script calls on the host, for [runner.Script.Answers]: workflow/eval, which evaluates the expressions
// of the document and no others. What the script sends is hostile: an evaluation changes nothing, and its work is bounded. Other methods that
// the script calls, workflow/step and form/fill, are not of this package.
func (c *Compiled) Answers() map[string]Method {
	return map[string]Method{
		methodEval: func(_ context.Context, params json.RawMessage) (json.RawMessage, error) { return c.eval(params) },
	}
}

func (c *Compiled) eval(params json.RawMessage) (json.RawMessage, error) {
	decoded, err := expr.Decode(params)
	in, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return nil, refused("", "invalid parameters")
	}
	text, _ := in["expression"].(string)
	as, _ := in["as"].(string)
	variables, _ := in["variables"].(map[string]any)
	e := c.answers[question{text, as}]
	if e == nil {
		return nil, refused(text, "the workflow has no such expression")
	}
	if variables == nil {
		variables = map[string]any{}
	}
	for _, name := range e.variables {
		if _, ok := variables[name]; !ok {
			return nil, refused(text, "the variable "+name+" is missing")
		}
	}
	value, err := e.value(as, variables)
	if err != nil {
		return nil, refused(text, err.Error())
	}
	return json.Marshal(map[string]json.RawMessage{"value": value})
}

func refused(text, why string) error {
	return &call.Error{Kind: call.KindArgument, Message: fmt.Sprintf("the expression ${ %.200s } cannot be evaluated: %s", text, why)}
}

// value evaluates an expression, and checks that its value has the form that the script asked for.
func (e *evaluator) value(as string, variables map[string]any) (json.RawMessage, error) {
	var text strings.Builder
	var raw []byte
	next := 0
	for _, p := range e.parts {
		if !p.IsExpression {
			text.WriteString(p.Text)
			continue
		}
		var err error
		if raw, err = e.expressions[next].Eval(variables); err != nil {
			return nil, err
		}
		next++
		if as == asText {
			s, err := expr.Text(raw)
			if err != nil {
				return nil, err
			}
			text.WriteString(s)
		}
		if text.Len() > maxText {
			return nil, fmt.Errorf("the text is longer than %d bytes", maxText)
		}
	}
	switch {
	case as == asText:
		return json.Marshal(text.String())
	case as == asBoolean && string(raw) != "true" && string(raw) != "false":
		return nil, fmt.Errorf("it gave %s, not true or false", short(raw))
	case as == asList && raw[0] != '[':
		return nil, fmt.Errorf("it gave %s, not a list", short(raw))
	case as == asSeconds:
		return secondsOf(raw)
	}
	return raw, nil
}

// secondsOf converts a number of seconds, or the text of a duration.
func secondsOf(raw []byte) (json.RawMessage, error) {
	var n float64
	var text string
	if json.Unmarshal(raw, &n) == nil && n >= 0 && n <= maxDuration.Seconds() {
		return raw, nil
	}
	if json.Unmarshal(raw, &text) != nil {
		return nil, fmt.Errorf("it gave %s, not a number of seconds, at most %.0f", short(raw), maxDuration.Seconds())
	}
	d, err := parseDuration(text)
	return json.RawMessage(seconds(d)), err
}

func short(raw []byte) string { return fmt.Sprintf("%.100s", raw) }
