package main

import (
	"fmt"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config/ignore"
)

// tellFormatters makes the formatters that the project uses leave the tree alone, and says so.
func (o *initOptions) tellFormatters(p project) error {
	tree, err := o.treeName(p.dir)
	if err != nil {
		return err
	}
	edits, err := ignore.Plan(p.dir, tree)
	if err != nil {
		return fmt.Errorf("look for formatters: %w", err)
	}
	for _, e := range edits {
		line := cli.EscapeLine(e.Line)
		if e.After == nil {
			o.say("For %s to leave %s alone, add %s to %s.", e.Tool, tree, line, o.name(e.Path))
			continue
		}
		if err := o.put(e.Path, e.After, e.Before != nil); err != nil {
			return err
		}
		o.say("  %s leaves %s alone: %s", e.Tool, tree, line)
	}
	return nil
}
