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

// signature implements [render.Language].
func signature(source, function string) string {
	i := strings.Index(source, "\ndef "+function+"(")
	if i < 0 {
		return ""
	}
	head := source[i+1:]
	end, from := len(head), 0
	if line, _, _ := strings.Cut(head, "\n"); strings.HasSuffix(line, "(*,") || strings.HasSuffix(line, "(") {
		// If parameters are on lines of their own, they have comments, which may look like the end of a head.
		from = max(0, strings.Index(head, "\n) -> "))
	}
	for _, mark := range []string{":\n", ": ...\n"} {
		if j := strings.Index(head[from:], mark); j >= 0 {
			end = min(end, from+j)
		}
	}
	return head[:end]
}
