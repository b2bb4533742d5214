package mcpserver

import (
	"context"
	"encoding/json"
)

type fillFormArgs struct {
	Form   string          `json:"form" required:""`
	Data   json.RawMessage `json:"data"`
	ID     string          `json:"id"`
	Submit *bool           `json:"submit"`
}

// fillFormCode are scripts that fill in a form. One in a sandbox has all that a run has: its policy, its questions to a person, its record.
var fillFormCode = map[string]string{
	TypeScript: `import { fillForm, vars } from "mcprun"; const { form, data, id, submit } = vars.filling as any; export const result = await fillForm(form, data, { id, submit });`,
	Python:     "from mcprun import fill_form, vars\nfilling = vars[\"filling\"]\nresult = fill_form(filling[\"form\"], filling.get(\"data\"), id=filling.get(\"id\"), submit=filling.get(\"submit\"))\n",
}

// callFillForm fills in a form, and asks the client's user for what is missing.
func callFillForm(ctx context.Context, c *toolCall, args *fillFormArgs) (*reply, error) {
	if err := c.object(&args.Data); err != nil {
		return nil, err
	}
	filling := map[string]any{"form": args.Form}
	if args.Data != nil {
		filling["data"] = args.Data
	}
	if args.ID != "" {
		filling["id"] = args.ID
	}
	if args.Submit != nil {
		filling["submit"] = *args.Submit
	}
	vars, err := json.Marshal(filling)
	if err != nil {
		return nil, c.errorf("the data cannot be read: %v", err)
	}
	language := c.view.Languages[0]
	return callExecuteCode(ctx, c, &executeArgs{Code: fillFormCode[language], Language: language, Vars: map[string]json.RawMessage{"filling": vars}})
}
