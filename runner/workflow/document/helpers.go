package document

import (
	_ "embed"
	"strings"
)

// helperText has functions that scripts need for some words, each preceded by a line "// ---- NAME".
//
//go:embed helpers.ts
var helperText string

// helperCode returns the helpers that the script uses.
func (c *compiler) helperCode() (lines []string) {
	for _, section := range strings.Split(helperText, "// ---- ")[1:] {
		name, code, _ := strings.Cut(section, "\n")
		if c.helpers[name] {
			lines = append(lines, strings.Split(strings.TrimSuffix(code, "\n"), "\n")...)
		}
	}
	return lines
}
