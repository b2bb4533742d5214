package soundness

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// LoadServers reads every recorded tool list of a folder as the servers they came from, ready to be rendered. The
// second result is, by tool id, the case of each tool's input; the cases have no values yet.
func LoadServers(dir, source string) ([]render.Server, map[string]*Case, error) {
	var servers []render.Server
	inputs := map[string]*Case{}
	err := eachJSON(dir, func(file string, raw []byte) error {
		var list struct {
			ID, Instructions string
			ServerInfo       struct{ Title string }
			Tools            []json.RawMessage
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		key := cmp.Or(list.ID, file)
		s := render.Server{Key: key, Dir: ident.Snake(key), Title: list.ServerInfo.Title, Instructions: list.Instructions}
		for _, definition := range list.Tools {
			tool, input, err := toolOf(s.Dir, definition)
			if err != nil {
				return err
			}
			if _, dup := inputs[tool.ID]; !dup {
				s.Tools = append(s.Tools, tool)
				inputs[tool.ID] = &Case{Source: source, Name: fmt.Sprintf("%s/%s#input", file, tool.Name), Schema: input}
			}
		}
		servers = append(servers, s)
		return nil
	})
	return servers, inputs, err
}

func toolOf(dir string, definition json.RawMessage) (render.Tool, json.RawMessage, error) {
	var d struct {
		Name, Title, Description  string
		InputSchema, OutputSchema json.RawMessage
		Annotations               struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
	}
	if err := json.Unmarshal(definition, &d); err != nil {
		return render.Tool{}, nil, err
	}
	tool := render.Tool{
		ID: dir + "__" + ident.Snake(d.Name), Name: d.Name, Title: d.Title, Description: d.Description,
		Hints: render.Hints{ReadOnly: d.Annotations.ReadOnlyHint, Destructive: d.Annotations.DestructiveHint,
			Idempotent: d.Annotations.IdempotentHint, OpenWorld: d.Annotations.OpenWorldHint},
	}
	tool.Input, _ = schema.Convert(d.InputSchema)
	if len(d.OutputSchema) > 0 {
		output, _ := schema.Convert(d.OutputSchema)
		tool.Output = &output
	}
	return tool, d.InputSchema, nil
}

// CaseServer makes a server of cases: a tool each, with the case's schema as input and, to be seen compile, output.
func CaseServer(dir string, cases []*Case) (render.Server, map[string]*Case) {
	s := render.Server{Key: dir, Dir: dir}
	inputs := map[string]*Case{}
	for i, c := range cases {
		name := fmt.Sprintf("%s%05d", dir, i)
		input, _ := schema.Convert(c.Schema)
		tool := render.Tool{ID: dir + "__" + name, Name: name, Input: input, Output: &input}
		s.Tools = append(s.Tools, tool)
		inputs[tool.ID] = c
	}
	return s, inputs
}
