package config

import (
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// UseCases are what people use the tools of a server for, in their words: by the tool's own name, and for all tools of the server by
// [AllTools].
type UseCases map[string][]string

// AllTools stands for all tools of a server.
const AllTools = "*"

// UnmarshalYAML reads a list for all tools, or a mapping from tools to lists.
func (u *UseCases) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return n.Decode((*map[string][]string)(u))
	}
	var all []string
	if err := n.Decode(&all); err != nil {
		return err
	}
	*u = UseCases{AllTools: all}
	return nil
}

// checkCategories refuses the description of a category that no server has.
func (s *Settings) checkCategories(file *node.File, root *yaml.Node, servers []Server) error {
	used := map[string]bool{}
	for _, server := range servers {
		category := s.Servers[server.Key].Category
		used[category], used[server.Key] = true, used[server.Key] || category == ""
	}
	for key := range node.Pairs(node.Value(root, "categories")) {
		if !used[key.Value] {
			return file.ErrorAt(key.Line, node.Join("categories", key.Value), "no server has this category", "give it to a server, with servers.NAME.category, or remove the entry")
		}
	}
	return nil
}
