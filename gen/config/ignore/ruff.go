package ignore

import (
	"fmt"
	"reflect"
	"regexp"

	"github.com/pelletier/go-toml/v2"
)

const ruffKey = "extend-exclude"

var (
	ruffSection = regexp.MustCompile(`(?m)^\[tool\.ruff\][ \t]*(?:#.*)?\r?$\n?`)
	anySection  = regexp.MustCompile(`(?m)^[ \t]*\[`)
	ruffList    = regexp.MustCompile(`(?m)^` + ruffKey + `[ \t]*=[ \t]*\[`)
)

// ruff adds the tree to extend-exclude of the file that ruff reads.
func (p *planner) ruff() error {
	name := p.first(".ruff.toml", "ruff.toml", "pyproject.toml")
	if name == "" {
		return nil
	}
	before, err := p.read(name)
	if err != nil {
		return err
	}
	var content map[string]any
	bad := toml.Unmarshal(before, &content)
	own := name != "pyproject.toml"
	settings := ruffSettings(content, own)
	if bad != nil || settings == nil {
		return nil // ruff reports the mistake, or the project does not use ruff
	}
	list, _ := settings[ruffKey].([]any)
	for _, pattern := range list {
		if s, ok := pattern.(string); ok && p.covers(s) {
			return nil
		}
	}
	pattern := p.tree + "/*"
	settings[ruffKey] = append([]any{pattern}, list...)
	after := editRuff(string(before), own, fmt.Sprintf("%q", pattern))
	var got map[string]any
	if toml.Unmarshal([]byte(after), &got) != nil || !reflect.DeepEqual(got, content) {
		after = "" // the file has a form that the edit does not handle
	}
	edited := []byte(after)
	if after == "" {
		edited = nil
	}
	p.add("ruff", name, before, edited, fmt.Sprintf("%q in %s", pattern, ruffKey))
	return nil
}

// ruffSettings returns the table of ruff's settings, or nil.
func ruffSettings(content map[string]any, own bool) map[string]any {
	if own {
		return content
	}
	tool, _ := content["tool"].(map[string]any)
	settings, _ := tool["ruff"].(map[string]any)
	return settings
}

// editRuff adds a pattern to the list in ruff's own table, and adds the list or the table if necessary.
func editRuff(text string, own bool, pattern string) string {
	start := 0
	if !own {
		at := ruffSection.FindStringIndex(text)
		if at == nil {
			return text + "\n[tool.ruff]\n" + ruffKey + " = [" + pattern + "]\n"
		}
		start = at[1]
	}
	end := len(text)
	if at := anySection.FindStringIndex(text[start:]); at != nil {
		end = start + at[0]
	}
	if at := ruffList.FindStringIndex(text[start:end]); at != nil {
		return text[:start+at[1]] + pattern + ", " + text[start+at[1]:]
	}
	return text[:start] + ruffKey + " = [" + pattern + "]\n" + text[start:]
}
