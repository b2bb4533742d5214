package script

import (
	"path"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// A server's index exports all of its tools, perhaps hundreds, but a script uses only a few. The bundler would read all of them to find out
// which. So an import gets an index with only the tools that the importing module can use, if its text leaves no doubt about them. An index
// has no state, so a bundle can hold several versions of it.

// onlyWanted returns the suffix that stands for an index with only what the importing module can use, or "" for the whole index.
func (f *files) onlyWanted(at place, specifier string, found place) string {
	own := at.Namespace == scriptNamespace || at.Namespace == skillsNamespace
	if !own || found.Namespace != treeNamespace || path.Base(found.Path) != "index.ts" && found.Path != allServers {
		return ""
	}
	text, err := f.text(at.Namespace, at.Path)
	if err != nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := at.id() + "\x00" + specifier
	suffix, ok := f.wanted[key]
	if !ok && len(f.wanted) < maxWanted {
		if names, sure := wantedFrom(text, specifier); sure && len(names) <= maxNames {
			suffix = "?" + strings.Join(names, ",")
		}
		f.wanted[key] = suffix
	}
	return suffix
}

// Bounds on the work for hostile texts. Beyond them an index is not trimmed.
const (
	maxWanted   = 200     // imports in one bundle
	maxNames    = 500     // names of one import: the bundler repeats them in every message about it
	maxPlaces   = 20      // occurrences of one specifier in one module
	maxClause   = 4 << 10 // bytes of one import clause
	maxSearched = 256 << 10
)

// clause matches the text before a specifier that imports names or a namespace.
var clause = pattern(`\b(?:(?:import|export)\s*(?:type\s*)?\{([\w$\s,]*)\}|import\s*(?:type\s*)?\*\s*as\s+([\w$]+))\s*from\s*$`)

// wantedFrom returns the names that text can use of the module that it imports as specifier. It returns false if it cannot tell.
func wantedFrom(text, specifier string) ([]string, bool) {
	if len(text) > maxSearched || strings.Contains(text, `\u`) || strings.Contains(text, `\x`) {
		return nil, false // escapes may spell names and specifiers differently
	}
	var names []string
	seen := 0
	for _, q := range []string{`"`, `'`, "`"} {
		literal := q + specifier + q
		for from := 0; ; {
			at := strings.Index(text[from:], literal)
			if at < 0 {
				break
			}
			at += from
			from = at + len(literal)
			m := clause().FindStringSubmatch(text[max(0, at-maxClause):at])
			if m == nil || seen == maxPlaces {
				return nil, false
			}
			seen++
			if m[2] == "" {
				names = append(names, imported(m[1])...)
				continue
			}
			members, ok := membersOf(strings.ReplaceAll(text, literal, q+q), m[2]) // the namespace's name may be a word in the specifier
			if !ok {
				return nil, false
			}
			names = append(names, members...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), seen > 0
}

// imported returns the names between the braces of an import.
func imported(list string) []string {
	var names []string
	for _, item := range strings.Split(list, ",") {
		words := strings.Fields(item)
		if len(words) > 1 && words[0] == "type" && words[1] != "as" {
			continue
		}
		if len(words) > 0 {
			names = append(names, words[0])
		}
	}
	return names
}

// membersOf returns the members of a namespace that text uses. It returns false if text also uses the namespace itself.
func membersOf(text, namespace string) ([]string, bool) {
	var names []string
	for at := 0; ; {
		found := strings.Index(text[at:], namespace)
		if found < 0 {
			return names, true
		}
		before, after := text[:at+found], text[at+found+len(namespace):]
		at += found + len(namespace)
		if before != "" && isWord(before[len(before)-1]) || after != "" && isWord(after[0]) {
			continue // a longer name
		}
		if strings.HasSuffix(before, "/") && after != "" && strings.IndexByte("\"'`/", after[0]) >= 0 {
			continue // a piece of a path: a server is often imported under its own name
		}
		before, after = strings.TrimRight(before, " \t\r\n"), strings.TrimLeft(after, " \t\r\n")
		if strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "..") || importedAs().MatchString(before[max(0, len(before)-20):]) {
			continue // a member of something else, or the import itself
		}
		member := memberOf().FindStringSubmatch(after)
		if member == nil {
			return nil, false
		}
		names = append(names, member[1])
	}
}

var (
	importedAs = pattern(`\*\s*as$`)
	memberOf   = pattern(`^(?:\?\s*)?\.\s*([A-Za-z_$][\w$]*)`)
)

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// trimIndex keeps only the lines of an index that export one of names.
func trimIndex(text string, names []string) string {
	if !strings.HasPrefix(text, generated) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if name := exportedBy(line); name == "" || slices.Contains(names, name) {
			b.WriteString(line)
		}
	}
	b.WriteString("export {};\n") // without any export it would count as a CommonJS module, which may have any name
	return b.String()
}

// exportedBy returns the name of the value that a line of an index exports, or "" for any other line. A line that exports all of a module
// exports the one value of that name, and types, which a running script does not need.
func exportedBy(line string) string {
	if rest, ok := strings.CutPrefix(line, "export * from \"./"); ok {
		if name, _, ok := strings.Cut(rest, ".ts\";"); ok && ident.IsIdentifier(name) {
			return name
		}
	}
	if rest, ok := strings.CutPrefix(line, "export { "); ok {
		if list, _, ok := strings.Cut(rest, " } from \"./"); ok {
			if name, _, _ := strings.Cut(list, ", type "); ident.IsIdentifier(name) {
				return name
			}
		}
	}
	if rest, ok := strings.CutPrefix(line, "export * as "); ok {
		if name, _, ok := strings.Cut(rest, " from \"./"); ok && ident.IsIdentifier(name) {
			return name
		}
	}
	return ""
}
