package gen

import (
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/poison"
)

// suspect reports what servers say that tries to instruct a model. It changes nothing in the tree.
func (s *job) suspect(c *catalog.Catalog) {
	for _, f := range poison.Servers(c.Servers) {
		s.report.Warnings = append(s.report.Warnings, Warning{
			Place: f.Place, Message: f.Message, Suspicious: true, Code: f.Rule,
		})
	}
}
