// Package validate checks values against JSON Schemas, and reads the arguments of a tool as a person writes them. Start
// with [Compile].
//
// Schemas and values are hostile. Their size, depth and the digits of their numbers are bounded, the work of a check is
// computed before it begins, and no reference is followed out of the schema.
package validate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
	santhosh "github.com/santhosh-tekuri/jsonschema/v5"
)

const (
	// timeBudget bounds one compilation or validation. It is the last resort, since a goroutine that exceeds it cannot be
	// stopped: the cost of the work is computed beforehand.
	timeBudget = 2 * time.Second
	// Bounds on a value. Arguments and results may be data, which is larger than a schema.
	maxInstanceBytes = 64 << 20
	maxInstanceDepth = 512
	maxInstanceNodes = 1_000_000
	// cheap is the cost in steps up to which a validation runs without a timer, which would cost more than the validation.
	cheap     = 20_000
	schemaURL = "mcpgen:///schema.json"
)

// ErrTooCostly reports a check that could take more work than is allowed. Whether the value matches is unknown.
var ErrTooCostly = errors.New("the schema takes too much work to check")

// Validator checks values against one schema. It is safe for concurrent use.
type Validator struct {
	compiled *santhosh.Schema
	source   *jsonschema.Value // what was compiled, after repair
	document *jsonschema.Document
	problems int // the most that an error lists
}

// Options say how strictly values are checked. The zero value is that of [Compile].
type Options struct {
	// Formats asserts formats, such as date and email; otherwise drafts since 2019-09 do not.
	Formats bool
	// Problems is the most problems that an error lists. Zero: ten.
	Problems int
}

// Dialect returns the $schema that the validator checks by.
func (v *Validator) Dialect() string { return v.source.Str("$schema") }

// Compile returns a validator for a schema. It reads nothing but raw. A schema without a $schema is compiled as draft
// 2020-12 and, if it is not valid there, as draft 7 and draft 4.
func Compile(raw json.RawMessage) (*Validator, error) { return Options{}.Compile(raw) }

// Compile is [Compile] with options.
func (o Options) Compile(raw json.RawMessage) (*Validator, error) {
	root, err := jsonschema.Parse(raw, jsonschema.Limits{})
	if err != nil {
		return nil, fmt.Errorf("compile schema: it %w", err)
	}
	if err := checkNumbers(root); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	source := Repair(root)
	var first error
	for _, dialect := range jsonschema.Attempts(source) {
		attempt := jsonschema.WithDraft(source, dialect)
		compiled, err := guard(func() (*santhosh.Schema, error) { return compile(attempt, o.Formats) })
		if err == nil {
			return &Validator{compiled: compiled, source: attempt, document: jsonschema.NewDocument(attempt), problems: cmp.Or(o.Problems, maxProblems)}, nil
		}
		if first == nil {
			first = err
		}
		var loop santhosh.InfiniteLoopError
		if errors.As(err, &loop) { // an older dialect may not know the keyword, and so not see the loop
			break
		}
	}
	return nil, fmt.Errorf("compile schema: %w", first)
}

func compile(source *jsonschema.Value, formats bool) (*santhosh.Schema, error) {
	c := santhosh.NewCompiler()
	c.AssertFormat = formats
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("reference to %q leaves the schema", url)
	}
	if source.Kind != jsonschema.KindObject { // true or false: the compiler wants a resource either way
		source = &jsonschema.Value{Kind: jsonschema.KindObject, Members: []jsonschema.Member{{Key: "allOf", Value: &jsonschema.Value{Kind: jsonschema.KindArray, Items: []*jsonschema.Value{source}}}}}
	}
	if err := c.AddResource(schemaURL, bytes.NewReader(source.AppendJSON(nil))); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// Validate checks one value. The error is a [*ValidationError] if the value does not match, wraps [ErrTooCostly] if the
// check would take too long, and is another error if the value is not JSON or exceeds a bound.
func (v *Validator) Validate(instance json.RawMessage) error {
	return v.ValidateAs("the value", instance)
}

// ValidateAs is [Validator.Validate] with a name for the value, such as "the arguments", for the text of errors.
func (v *Validator) ValidateAs(subject string, instance json.RawMessage) error {
	parsed, err := jsonschema.Parse(instance, jsonschema.Limits{Bytes: maxInstanceBytes, Depth: maxInstanceDepth, Nodes: maxInstanceNodes})
	if err != nil {
		return fmt.Errorf("%s: it %w", subject, err)
	}
	if err := checkNumbers(parsed); err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	cost, err := checkCost(v.document, parsed)
	if err != nil {
		return err
	}
	run := func() (struct{}, error) { return struct{}{}, v.compiled.Validate(parsed.Plain()) }
	if cost <= cheap {
		_, err = recovered(run)
	} else {
		_, err = guard(run)
	}
	var invalid *santhosh.ValidationError
	if errors.As(err, &invalid) {
		return v.explain(invalid, parsed, subject)
	}
	return err
}

// Undeclared returns the properties of an object that the schema does not mention, and those that it declares. It returns
// nothing if the schema provides for other properties, by additionalProperties, patternProperties or subschemas, or if it
// declares none.
func (v *Validator) Undeclared(instance json.RawMessage) (undeclared, declared []string) {
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"} {
		if v.source.Get(keyword) != nil {
			return nil, nil
		}
	}
	if declared = propertyNames(v.source); len(declared) == 0 {
		return nil, nil
	}
	got, err := jsonschema.Parse(instance, jsonschema.Limits{Bytes: maxInstanceBytes, Depth: maxInstanceDepth, Nodes: maxInstanceNodes})
	if err != nil {
		return nil, nil
	}
	return undeclaredIn(v.source, got), declared
}

// recovered calls f and returns a panic of the library as an error.
func recovered[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema library panicked: %v", p)
		}
	}()
	return f()
}

// guard is recovered with a limit of time, for a library that may loop forever.
func guard[T any](f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var out outcome
		out.value, out.err = recovered(f)
		done <- out
	}()
	timer := time.NewTimer(timeBudget)
	defer timer.Stop()
	select {
	case out := <-done:
		return out.value, out.err
	case <-timer.C:
		var zero T
		return zero, fmt.Errorf("%w: not done after %s", ErrTooCostly, timeBudget)
	}
}
