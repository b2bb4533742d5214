package form

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
)

// maxRounds bounds how often a person is asked about one form.
const maxRounds = 5

// Asker asks a person. *upstream.Pool and the terminal have such functions.
type Asker func(ctx context.Context, q *elicit.Question) (*elicit.Reply, error)

// Question returns a question for the values that are missing or do not fit, or nil if there is nothing that it can ask for. left are fields
// that need a value which no question can ask for, because they are nested.
func (x *Filling) Question() (q *elicit.Question, left []string, err error) {
	properties, required, message := &jsonschema.Value{Kind: jsonschema.KindObject}, []*jsonschema.Value{}, x.form.Title
	for _, row := range x.Rows() {
		if row.Problem == "" {
			continue
		}
		name := row.Field.Name
		if _, err := elicit.Parse("", question("", jsonschema.Record(jsonschema.Member{Key: name, Value: row.Field.schema}), nil)); err != nil {
			left = append(left, name)
			continue
		}
		properties.Set(name, row.Field.schema)
		if slices.Contains(x.Missing, name) || row.Field.Required {
			required = append(required, jsonschema.Text(name))
		}
		if row.Value != nil {
			message += fmt.Sprintf("\n%s: %s", row.Field.Label(), row.Problem)
		}
	}
	if len(properties.Members) == 0 {
		return nil, left, nil
	}
	q, err = elicit.Parse("form "+x.form.Name, question(message, properties, required))
	if q != nil {
		q.Own = true
	}
	return q, left, err
}

// question returns the parameters of a question.
func question(message string, properties *jsonschema.Value, required []*jsonschema.Value) json.RawMessage {
	return jsonschema.Record(
		jsonschema.Member{Key: "message", Value: jsonschema.Text(message)},
		jsonschema.Member{Key: "requestedSchema", Value: jsonschema.Record(
			jsonschema.Member{Key: "type", Value: jsonschema.Text("object")},
			jsonschema.Member{Key: "properties", Value: properties},
			jsonschema.Member{Key: "required", Value: jsonschema.List(required...)})},
	).AppendJSON(nil)
}

// Ask asks a person for what is missing or does not fit, until the form is complete or the person declines. Nested fields are not asked for.
func (x *Filling) Ask(ctx context.Context, ask Asker) error {
	for range maxRounds {
		q, _, err := x.Question()
		if err != nil || q == nil {
			return err
		}
		reply, err := ask(ctx, q)
		if err != nil {
			return err
		}
		if reply.Action != elicit.ActionAccept {
			return nil
		}
		content, _, err := q.Check(reply.Content)
		if err != nil { // whoever asks has checked it, but it may be a client of another program
			return fmt.Errorf("the answer: %w", err)
		}
		for i := range q.Fields { // one that the person leaves empty has no value any more
			delete(x.values, q.Fields[i].Name)
			delete(x.from, q.Fields[i].Name)
			delete(x.mistaken, q.Fields[i].Name)
		}
		if err := x.Set(content, "asked"); err != nil {
			return err
		}
	}
	return nil
}
