package main

import (
	"fmt"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config/ignore"
)

// planFormatters lists the formatters' files that tellFormatters will change. An error is reported later, when tellFormatters
// writes the settings.
func (o *initOptions) planFormatters(p project) {
	_, edits, _ := o.formatterEdits(p)
	for _, e := range edits {
		if e.After != nil {
			o.say("%s gets %s, for %s", o.name(e.Path), cli.EscapeLine(e.Line), e.Tool)
		}
	}
}

// formatterEdits returns the edits that make formatters leave the tree alone, and the tree's path.
func (o *initOptions) formatterEdits(p project) (string, []ignore.Edit, error) {
	tree, err := o.treeName(p.dir)
	if err != nil {
		return "", nil, err
	}
	edits, err := ignore.Plan(p.dir, tree)
	if err != nil {
		return "", nil, fmt.Errorf("look for formatters: %w", err)
	}
	return tree, edits, nil
}

// tellFormatters makes the formatters that the project uses leave the tree alone, and says so.
func (o *initOptions) tellFormatters(p project) error {
	tree, edits, err := o.formatterEdits(p)
	if err != nil {
		return err
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
