package chain

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/journal"
)

// maxQuestion is the size of the largest question, in bytes.
const maxQuestion = 4 << 10

// plainSchema is the form of a question that wants a text.
const plainSchema = `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`

// askPerson answers workflow/ask.
func (c *Calls) askPerson(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
	var in struct {
		Question string          `json:"question"`
		Schema   json.RawMessage `json:"schema"`
		Timeout  json.RawMessage `json:"timeout"`
	}
	if err := readStep(a, &in); err != nil {
		return nil, err
	}
	if in.Question == "" || len(in.Question) > maxQuestion {
		return nil, badStep(a.Method, "the question must have 1 to %d bytes, not %d", maxQuestion, len(in.Question))
	}
	s := c.stepOf(journal.StepAsk, c.path(a.Step), in.Question)
	s.Topic = fmt.Sprintf("?%s#%d", s.In+"/"+s.Name, s.Number)
	if s.Schema = in.Schema; len(in.Schema) == 0 || string(in.Schema) == "null" {
		s.Schema = json.RawMessage(plainSchema)
	}
	q, err := Question(s.Step)
	if err != nil {
		return nil, badStep(a.Method, "%v", err)
	}
	answered := func(ctx context.Context) (*journal.Outcome, error) {
		reply := &elicit.Reply{Action: elicit.ActionDecline}
		if c.run.Elicit != nil {
			if reply, err = c.run.Elicit(ctx, q); err != nil {
				return nil, err
			}
		}
		return &journal.Outcome{Value: reply.Result()}, nil
	}
	if c.suspends() {
		answered = nil
	}
	raw, err := c.awaitUntil(ctx, a, s, in.Timeout, false, answered)
	if err != nil {
		return nil, err
	}
	return answerOf(q, raw)
}

// Question returns the question of a step of the kind ask. Its server is empty: the script asks.
func Question(s *journal.Step) (*elicit.Question, error) {
	params, err := json.Marshal(elicit.Params{Message: s.Name, Schema: s.Schema})
	if err != nil {
		return nil, err
	}
	return elicit.Parse("", params)
}

// answerOf returns what the script gets of a reply: the form, or the text if it has asked for no form.
func answerOf(q *elicit.Question, raw json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Value struct {
			Action  string          `json:"action"`
			Content json.RawMessage `json:"content"`
		} `json:"value"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	form, _, err := q.Check(in.Value.Content)
	switch {
	case in.Value.Action != elicit.ActionAccept:
		return nil, &call.Error{Kind: call.KindDenied, Message: "the person did not answer: " + q.Message}
	case err != nil:
		return nil, &call.Error{Kind: call.KindDenied, Message: fmt.Sprintf("the answer to %q does not fit: %v", q.Message, err)}
	case string(q.Schema) == plainSchema:
		var plain struct {
			Answer json.RawMessage `json:"answer"`
		}
		err = json.Unmarshal(form, &plain)
		form = plain.Answer
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"value": form})
}
