package python

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// brief implements [render.Language.Brief].
func brief(source, function string) string {
	head := signature(source, function)
	if head == "" {
		return ""
	}
	types, _, _ := strings.Cut(source, "\ndef "+function+"(")
	types = text.Uncomment(types, "#", "", "", "")
	var out []string
	for line := range strings.Lines(types) {
		if !strings.HasPrefix(line, "from ") && !strings.HasPrefix(line, "import ") && !strings.HasPrefix(line, "@") {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	head = strings.NewReplacer(", **extra: Any", "", ",) ->", ") ->").Replace(text.Uncomment(strings.TrimPrefix(head, "def "), "#", "", "", ""))
	return strings.Join(append([]string{head}, out...), "\n")
}
