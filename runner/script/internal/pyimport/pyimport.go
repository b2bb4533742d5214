// Package pyimport finds the imports of Python code without running it, and without a Python.
//
// [Scan] reports import statements that begin a line, or follow a semicolon or colon, and calls of importlib.import_module and
// __import__ with a plain string. Text in long strings and comments is not reported. It never fails: where code is not Python, it
// reports what looks like an import, and names in a report are always identifiers. Its time is linear in the length of the code.
package pyimport

import (
	"regexp"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Import is one module that Python code imports.
type Import struct {
	Level  int      // the number of dots before the name; 0 for an absolute import
	Module []string // the parts of the name
	Names  []string // what a from statement imports: attributes, modules, or *
	Line   int      // from 1
}

// maxImports bounds the imports that are reported of one file.
const maxImports = 5000

// texts matches comments and strings; long strings may have several lines.
var texts = pattern(`#[^\n]*|"""(?s:\\.|.)*?(?:"""|\z)|'''(?s:\\.|.)*?(?:'''|\z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`)

// statements matches an import statement, a from statement, or a call, in code without comments.
var statements = pattern(`(?m)(?:^|[;:])[ \t\f]*import[ \t]+([^\n;()]+)` +
	`|(?:^|[;:])[ \t\f]*from[ \t]*(\.[. \t]*|[ \t])([^\n;()]*?)[ \t]*\bimport\b[ \t]*(\([^()]*\)?|[^\n;()]*)` +
	`|\b(?:import_module|__import__)[ \t]*\(\s*(?:"([^"\\\n]+)"|'([^'\\\n]+)')`)

// Scan returns the imports of code in their order, at most 5,000.
func Scan(code string) []Import {
	code = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(code)
	code = texts().ReplaceAllStringFunc(code, func(text string) string {
		if text[0] != '#' && !strings.HasPrefix(text, `"""`) && !strings.HasPrefix(text, "'''") && !strings.Contains(text, "\n") {
			return text // short strings stay, for calls
		}
		return strings.Repeat("\n", strings.Count(text, "\n"))
	})
	// A line that goes on after a backslash is one line; its number counts all.
	code = strings.ReplaceAll(code, "\\\n", " \x00")
	var found []Import
	line, counted := 1, 0
	for _, at := range statements().FindAllStringSubmatchIndex(code, maxImports) {
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return strings.ReplaceAll(code[at[2*n]:at[2*n+1]], "\x00", "")
		}
		start := at[0] + strings.IndexFunc(code[at[0]:at[1]], func(r rune) bool { return !strings.ContainsRune("\n;: \t\f\x00", r) })
		line += strings.Count(code[counted:start], "\n") + strings.Count(code[counted:start], "\x00")
		counted = start
		im := Import{Line: line, Level: strings.Count(group(2), ".")}
		switch {
		case at[2] >= 0:
			for _, name := range namesOf(group(1)) {
				if module := dotted(name); module != nil {
					found = append(found, Import{Module: module, Line: line})
				}
			}
			continue
		case at[4] >= 0:
			im.Module = dotted(group(3))
			for _, name := range namesOf(strings.Trim(group(4), "() \t\n")) {
				if name == "*" || IsIdentifier(name) {
					im.Names = append(im.Names, name)
				}
			}
		default:
			im.Module = dotted(group(5) + group(6))
		}
		if im.Level > 0 || im.Module != nil {
			found = append(found, im)
		}
	}
	return found[:min(len(found), maxImports)]
}

// namesOf returns the names of a list, without what they are called: a.b as c, d.
func namesOf(list string) []string {
	var names []string
	for item := range strings.SplitSeq(list, ",") {
		name, _, _ := strings.Cut(strings.Join(strings.Fields(item), " "), " as ")
		names = append(names, strings.ReplaceAll(name, " ", ""))
	}
	return names
}

// dotted returns the parts of a name with dots; nil when one is no identifier.
func dotted(name string) []string {
	parts := strings.Split(strings.Join(strings.Fields(name), ""), ".")
	for _, part := range parts {
		if !IsIdentifier(part) {
			return nil
		}
	}
	return parts
}

// IsIdentifier reports whether s can be a name in Python, of at most 255 bytes.
func IsIdentifier(s string) bool {
	return len(s) <= 255 && !strings.Contains(s, "$") && ident.IsIdentifier(s)
}

// LinesBeyond returns the lines of relative imports that lead out of the script's folder, or would in a package. The file
// lies in depth folders below the script's: more dots than that, and more than one, lead out.
func LinesBeyond(code string, depth int) []int {
	var lines []int
	for _, im := range Scan(code) {
		if im.Level > max(depth, 1) {
			lines = append(lines, im.Line)
		}
	}
	return lines
}

// pattern compiles an expression when it is first needed: every process of the program would otherwise do so at its start.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
