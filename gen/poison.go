package gen

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/poison"
)

// warnSuspicious adds a warning for each text of a server that tries to instruct a model, unless allow_text permits it. The text stays in
// the tree.
func (s *job) warnSuspicious(c *catalog.Catalog) {
	for _, f := range poison.Servers(c.Servers, s.allowedTexts()) {
		s.report.Warnings = append(s.report.Warnings, Warning{
			Place: f.Place, Message: f.Message, Suspicious: true, Code: f.Rule,
		})
	}
}

// noteFirst adds notes about texts of servers and tools that are new in the tree and so were never reviewed.
func (s *job) noteFirst(c *catalog.Catalog, texts *poison.Checker) {
	whole, added := map[string]bool{}, map[string][]string{} // by server
	for _, change := range s.report.Changes {
		switch change.Kind {
		case diff.ServerAdded:
			whole[change.Server] = true
		case diff.ToolAdded:
			added[change.Server] = append(added[change.Server], change.Tool)
		}
	}
	for _, server := range c.Servers {
		switch {
		case whole[server.Key]:
		case added[server.Key] != nil:
			tools := slices.DeleteFunc(slices.Clone(server.Tools), func(t catalog.Tool) bool { return !slices.Contains(added[server.Key], t.Name) })
			server = catalog.Server{Key: server.Key, Tools: tools}
		default:
			continue
		}
		for _, f := range texts.First(server) {
			s.report.Warnings = append(s.report.Warnings, Warning{Place: f.Place, Message: f.Message, Note: true, Code: f.Rule})
		}
	}
}

// allowedTexts returns the rules for suspicious texts that servers may break.
func (s *job) allowedTexts() map[string][]string {
	allowed := map[string][]string{}
	for key, settings := range s.config.Settings.Servers {
		allowed[key] = settings.AllowText
	}
	return allowed
}
