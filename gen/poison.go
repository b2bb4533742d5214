package gen

import (
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/poison"
)

// warnSuspicious adds a warning for each text of a server that tries to instruct a model, unless allow_text permits it. The
// text stays in the tree.
func (s *job) warnSuspicious(c *catalog.Catalog) {
	for _, f := range poison.Servers(c.Servers, s.allowedTexts()) {
		s.report.Warnings = append(s.report.Warnings, Warning{
			Place: f.Place, Message: f.Message, Suspicious: true, Code: f.Rule,
		})
	}
}

// allowedTexts are the rules for suspicious texts that servers may break.
func (s *job) allowedTexts() map[string][]string {
	allowed := map[string][]string{}
	for key, settings := range s.config.Settings.Servers {
		allowed[key] = settings.AllowText
	}
	return allowed
}
