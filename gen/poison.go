package gen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/poison"
)

// warnSuspicious adds a warning for each text of a server that tries to instruct a model, unless allow_text permits it. The
// text stays in the tree.
func (s *job) warnSuspicious(c *catalog.Catalog) {
	allowed := map[string][]string{}
	for key, settings := range s.config.Settings.Servers {
		for _, a := range settings.AllowText {
			allowed[key] = append(allowed[key], a.Rule)
		}
	}
	for _, f := range poison.Servers(c.Servers, allowed) {
		s.report.Warnings = append(s.report.Warnings, Warning{
			Place: f.Place, Message: f.Message, Suspicious: true, Code: f.Rule,
		})
	}
}

// checkAllowed returns an error if allow_text names a rule that does not exist. Package config does not know the rules.
func checkAllowed(cfg *config.Config) error {
	var known []string
	for _, r := range poison.Rules() {
		known = append(known, r.ID)
	}
	for _, srv := range slices.Sorted(maps.Keys(cfg.Settings.Servers)) {
		for _, a := range cfg.Settings.Servers[srv].AllowText {
			if !slices.Contains(known, a.Rule) {
				return &config.FileError{
					File: cfg.Settings.Path, Line: a.Line, Key: "servers." + srv + ".allow_text",
					Problem: fmt.Sprintf("there is no rule %q", a.Rule), Remedy: "the rules are " + strings.Join(known, ", "),
				}
			}
		}
	}
	return nil
}
