package approve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/upstream"
)

// asker names mcprun as the one that asks, where a server's question has the server's name.
const asker = "mcprun"

// Elicit returns an Approver that asks with a form, as servers ask a person (MCP elicitation). The form passes through the client, so
// personal data in it is replaced by tokens. by says who answers.
func Elicit(ask upstream.ElicitFunc, by string) Approver { return &elicitation{ask, by} }

type elicitation struct {
	ask upstream.ElicitFunc
	by  string
}

// words are the choices of the form.
var words = map[Scope]string{
	Once: "Allow this call", Run: "Allow it for this run", Batch: "Allow this call and the others waiting",
	RefusedBatch: "Refuse this call and the others waiting", RefusedRun: "Refuse all that this rule asks about in this run",
}

func (e *elicitation) Approve(ctx context.Context, q *Question) (Answer, error) {
	view, err := q.masked().View(maxForm)
	if err != nil {
		return Answer{}, fmt.Errorf("ask with a form: %w", err)
	}
	lines := append(view.Lines, view.Others...)
	form, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"answer"},
		"properties": map[string]any{"answer": choice(q, view.Scopes)},
	})
	if err != nil {
		return Answer{}, err
	}
	reply, err := e.ask(ctx, &upstream.Question{Server: asker, Own: true, Message: q.Title() + "\n" + strings.Join(lines, "\n"), Schema: form})
	if err != nil {
		return Answer{}, err
	}
	a := Answer{By: e.by}
	var filled struct{ Answer Scope }
	if reply.Action == upstream.ActionAccept && json.Unmarshal(reply.Content, &filled) == nil && slices.Contains(view.Scopes, filled.Answer) {
		a.Scope = filled.Answer
	}
	return a, nil
}

// no is the word for Refused in forms.
const no Scope = "no"

// choice returns the schema of the answer. Its default is a no.
func choice(q *Question, scopes []Scope) map[string]any {
	values, titles := []Scope{no}, []string{"Refuse"}
	for _, s := range scopes {
		title := words[s]
		if q.Start != nil {
			title = "Run the script"
		}
		values, titles = append(values, s), append(titles, title)
	}
	return map[string]any{"type": "string", "title": "Answer", "enum": values, "enumNames": titles, "default": no}
}
