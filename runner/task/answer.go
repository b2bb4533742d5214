package task

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// maxCode is the longest script of a model, in bytes.
	maxCode = 64 << 10
	// maxEcho bounds how much of its answer a model reads again, in bytes.
	maxEcho = maxCode + 4<<10
	// cannot begins an answer that says why the tools cannot do the task.
	cannot = "CANNOT:"
)

// tags are the words after the fence of a script in a language.
var tags = map[sandbox.Language][]string{
	sandbox.LangTypeScript: {"", "ts", "typescript", "js", "javascript", "mjs"},
	sandbox.LangPython:     {"", "py", "python", "python3"},
}

// fence matches the first line of a block, and a last line.
var fence = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*?)[ \t]*$")

// parseAnswer returns the script of an answer: its only code block. The error is a *RefusedError if the model does not do the task, else it tells
// the model what is wrong.
func parseAnswer(res *model.Response, lang sandbox.Language) (string, error) {
	text := strings.TrimSpace(res.Text)
	if reason, found := strings.CutPrefix(text, cannot); found || res.Stop == model.StopRefusal {
		return "", &RefusedError{Reason: ident.Shorten(ident.CleanLine(strings.TrimSpace(reason)), 500), lacks: found && res.Stop != model.StopRefusal}
	}
	var blocks []string
	tag, open, block := "", "", []string(nil)
	for _, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open == "" && m != nil:
			open, tag, block = m[1], strings.ToLower(m[2]), nil
		case open != "" && m != nil && m[2] == "" && strings.HasPrefix(m[1], open):
			blocks, open = append(blocks, strings.Join(block, "\n")+"\n"), ""
		case open != "":
			block = append(block, line)
		}
	}
	switch {
	case res.Stop == model.StopLength:
		return "", fmt.Errorf("the answer was too long and was cut: write a shorter script")
	case open != "":
		return "", fmt.Errorf("the code block has no end")
	case len(blocks) != 1:
		return "", fmt.Errorf("the answer has %s instead of one", count(len(blocks), "code block"))
	case !slices.Contains(tags[lang], tag):
		return "", fmt.Errorf("the code block is marked as %q, not as %s", ident.Shorten(tag, 40), lang)
	case strings.TrimSpace(blocks[0]) == "":
		return "", fmt.Errorf("the code block is empty")
	case len(blocks[0]) > maxCode:
		return "", fmt.Errorf("the script has %d bytes; at most %d are allowed", len(blocks[0]), maxCode)
	}
	return blocks[0], nil
}

// cut returns the beginning of a text that is longer than most bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return ident.Head(text, most) + "\n…"
}
