package typescript

import (
	"regexp"
	"strings"

	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// declared matches the name and the body of a declared type.
var declared = regexp.MustCompile(`(?s)^(?:interface (\w+) |type (\w+) = )(.*?);?$`)

// longUnion matches a union of six or more texts. Its first members say little about the others.
var longUnion = regexp.MustCompile(`(?:"[^"\\]*"\|){5,}"[^"\\]*"`)

// brief implements [render.Language.Brief].
func brief(source, function string) string {
	i := strings.Index(source, "\nexport async function "+function+"(")
	if i < 0 {
		return ""
	}
	head := cutBody(source[i:])
	code := text.Uncomment(source[:i]+head, "//", "/*", "*/", ";")
	code = strings.ReplaceAll(code, "; [key: string]: unknown", "")
	parts := strings.Split(code, "\nexport ")[1:] // imports come before them
	head = strings.TrimPrefix(parts[len(parts)-1], "async function ")
	var types []string
	for n, part := range parts[:len(parts)-1] {
		m := declared.FindStringSubmatch(part)
		if m == nil {
			types = append(types, part)
			continue
		}
		name := regexp.MustCompile(`\b` + m[1] + m[2] + `\b`)
		others := strings.Join(append(append([]string{}, parts[:n]...), parts[n+1:]...), "\n")
		if used := name.FindAllStringIndex(others, 2); len(used) == 1 && name.MatchString(head) && !name.MatchString(m[3]) {
			if strings.HasSuffix(head, ": Promise<"+m[1]+m[2]+">") {
				m[3] = longUnion.ReplaceAllLiteralString(m[3], "string") // types of results are in the wrapper
			}
			head = name.ReplaceAllLiteralString(head, m[3])
			continue
		}
		types = append(types, part)
	}
	return strings.Join(append([]string{head}, types...), "\n")
}

// cutBody removes the function's body from a wrapper.
func cutBody(source string) string {
	if i := strings.LastIndex(source, " { return callMCPTool("); i >= 0 {
		return source[:i]
	}
	return source
}
