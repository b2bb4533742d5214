package config

import (
	_ "embed"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/config/shape"
)

//go:embed mcpgen.schema.json
var schemaText string

// SettingsSchema returns the JSON Schema (2020-12) of mcpgen.yaml, for editors and other checks.
func SettingsSchema() string { return schemaText }

var settingsSchema = sync.OnceValue(func() *shape.Root {
	root, err := shape.Parse(schemaText)
	if err != nil {
		panic(err) // embedded: any test would find the error
	}
	return root
})

// checkSettings returns an error for the first value below n that the schema refuses. key is the place of n. Only errors in a policy have a
// column, because people write code there.
func checkSettings(file *node.File, s *shape.Schema, n *yaml.Node, key string) error {
	found := settingsSchema().Check(s, n, key)
	if len(found) == 0 {
		return nil
	}
	m := found[0]
	e := &FileError{File: file.Name, Line: m.Node.Line, Key: m.Path, Problem: m.Problem, Remedy: m.Remedy}
	if m.Path == "policy" || strings.HasPrefix(m.Path, "policy.") {
		e.Column = m.Node.Column
	}
	return e
}

// IsRunKey reports whether run: in mcpgen.yaml may have the key.
func IsRunKey(key string) bool {
	_, ok := settingsSchema().Properties["run"].Properties[key]
	return ok
}
