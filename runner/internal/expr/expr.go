// Package expr evaluates CEL, the one expression language of mcprun: it has what conditions of policies, forms and workflows share. Start with
// [Compile].
//
// Expressions come from files of a project. What they read may be hostile, so the work of an evaluation is bounded.
package expr

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

const (
	// MaxCost bounds the work of one evaluation, in CEL's units: at most about 0.2 s.
	MaxCost = 50_000
	// MaxLength bounds the length of an expression, in characters.
	MaxLength = 10_000
)

// ErrNoValue says that an expression reads a member that its value lacks, or returns an optional without a value.
var ErrNoValue = errors.New("it has no value")

// SyntaxError is a mistake in an expression.
type SyntaxError struct {
	Line, Column int // in the expression, from 0
	Problem      string
}

func (e *SyntaxError) Error() string { return e.Problem }

// Options are the options that all environments have.
func Options() []cel.EnvOption {
	return []cel.EnvOption{ext.Strings(ext.StringsVersion(5)), cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), cel.ParserExpressionSizeLimit(MaxLength)}
}

// Braced returns the expression in a text of the form ${…}, and whether the text has that form.
func Braced(text string) (expression string, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "${") || !strings.HasSuffix(text, "}") {
		return "", false
	}
	return text[2 : len(text)-1], true
}

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct{ program cel.Program }

// Compile compiles an expression on variables of any type. The error is a [*SyntaxError].
func Compile(text string, variables ...string) (*Expression, error) {
	options := Options()
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, &SyntaxError{Problem: err.Error()}
	}
	ast, issues := env.Compile(text)
	if bad := Problem(issues); bad != nil {
		return nil, bad
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(MaxCost))
	if err != nil {
		return nil, &SyntaxError{Problem: err.Error()}
	}
	return &Expression{program}, nil
}

// inPlainWords rewrites the parser's messages.
var inPlainWords = strings.NewReplacer("Syntax error: ", "syntax error: ", "mismatched input", "unexpected", "extraneous input", "unexpected", "'<EOF>'", "end of the expression")

// Problem returns the first mistake that a compilation found, or nil.
func Problem(issues *cel.Issues) *SyntaxError {
	if issues == nil || len(issues.Errors()) == 0 {
		return nil
	}
	first := issues.Errors()[0]
	problem, _, _ := strings.Cut(strings.TrimSuffix(first.Message, " (in container '')"), " expecting ") // the parser appends a list of all tokens
	return &SyntaxError{max(0, first.Location.Line()-1), max(0, first.Location.Column()), inPlainWords.Replace(problem)}
}

// Eval evaluates the expression on values that [Decode] returned, and returns its result as JSON. The error wraps [ErrNoValue] if it has none.
func (e *Expression) Eval(variables map[string]any) ([]byte, error) {
	out, _, err := e.program.Eval(variables)
	if err != nil {
		if strings.HasPrefix(err.Error(), "no such key: ") {
			return nil, fmt.Errorf("%w: %w", ErrNoValue, err)
		}
		return nil, err
	}
	if o, ok := out.(*types.Optional); ok && !o.HasValue() {
		return nil, ErrNoValue
	}
	raw, err := json.Marshal(Native(out), json.Deterministic(true), json.WithMarshalers(json.MarshalFunc(func(d time.Duration) ([]byte, error) {
		return json.Marshal(d.String())
	})))
	if err != nil {
		return nil, fmt.Errorf("its result, %s, cannot be written as JSON", out.Type().TypeName())
	}
	return raw, nil
}

// Decode reads JSON for expressions. An integer, as 1e3 and 5.0 are too, becomes an int64; any other number a float64, which may be infinite. A
// name that occurs twice in an object is an error: others might read the other one.
func Decode(raw []byte) (any, error) {
	numbers := json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
		if dec.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*v, err = number(token.String())
		return err
	})
	var out any
	err := json.Unmarshal(raw, &out, json.WithUnmarshalers(numbers))
	return out, err
}

func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, err
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	return f, nil
}

// Native converts a CEL value to a Go value. A missing optional value becomes nil.
func Native(value ref.Val) any {
	switch v := value.(type) {
	case types.String:
		return string(v)
	case *types.Optional:
		if !v.HasValue() {
			return nil
		}
		return Native(v.GetValue())
	case traits.Mapper:
		out := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if name, ok := key.(types.String); ok {
				out[string(name)] = Native(v.Get(key))
			}
		}
		return out
	case traits.Lister:
		out := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			out = append(out, Native(it.Next()))
		}
		return out
	case types.Null:
		return nil
	}
	return value.Value()
}
