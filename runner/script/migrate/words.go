package migrate

import (
	"regexp"
	"strings"
	"sync"
)

var (
	importStatement = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[;{}]|\s)(import|export)\s+(type\s+)?([\w$*{}\s,]*?)\s*from\s*["']`)
	})
	specifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:(?:\.{1,2}/)*|/?.*/|#)servers(?:/(.*))?$`) })
	clause    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(\*\s*as\s+([\w$]+))|(?:type\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?`)
	})
	word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\w$]+`) })
	// notCode matches comments, strings, templates, and regular expressions with the operator before them.
	notCode = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`//[^\n]*|/\*(?s:.*?)(?:\*/|$)|"(?:\\(?s:.)|[^"\\\n])*"?|'(?:\\(?s:.)|[^'\\\n])*'?|` + "`(?s:\\\\.|[^`\\\\])*`?" +
			`|[(,=:\[!&|?{};]\s*/[^/*\n](?:\\.|[^/\\\n])*/?`)
	})
)

// words reads imports, identifiers and uses of types from the words of a TypeScript file.
func (s *source) words(masked string) {
	inImport := []span{}
	for _, m := range importStatement().FindAllStringSubmatchIndex(masked, -1) {
		start := m[1]
		end := strings.IndexByte(s.text[start:], s.text[start-1])
		if end < 0 {
			continue
		}
		module := span{start, start + end}
		if path, ok := specifierPath(s.text[module.start:module.end]); ok {
			inImport = append(inImport, span{m[2], module.end})
			s.clause(masked[m[6]:m[7]], m[6], imported{path: path, module: module, exported: masked[m[2]:m[3]] == "export"})
		}
	}
	types := map[string]bool{}
	for _, im := range s.imports { // names of types begin so, and no function's does
		types[im.local] = im.name != "" && im.local[0] >= 'A' && im.local[0] <= 'Z'
	}
	for _, m := range word().FindAllStringIndex(masked, -1) {
		name := masked[m[0]:m[1]]
		s.names[name] = true
		member := strings.HasSuffix(strings.TrimRight(masked[:m[0]], " \t\r\n"), ".") && !strings.HasSuffix(masked[:m[0]], "...")
		for len(inImport) > 0 && inImport[0].end < m[0] {
			inImport = inImport[1:]
		}
		if inside := len(inImport) > 0 && m[0] >= inImport[0].start; types[name] && !member && !inside {
			s.types[name] = append(s.types[name], span{m[0], m[1]})
		}
	}
}

// clause reads the names of one import or export, which begin at a byte.
func (s *source) clause(names string, at int, im imported) {
	for _, c := range clause().FindAllStringSubmatchIndex(names, -1) {
		if c[4] >= 0 {
			im.name, im.local = "", names[c[4]:c[5]]
		} else {
			im.at = span{at + c[6], at + c[7]}
			im.name = names[c[6]:c[7]]
			if im.local = im.name; c[8] >= 0 {
				im.local = names[c[8]:c[9]]
			}
		}
		s.imports = append(s.imports, im)
	}
}

// specifierPath returns what is behind "servers" in the specifier of an import.
func specifierPath(text string) ([]string, bool) {
	found := specifier().FindStringSubmatch(text)
	if found == nil {
		return nil, false
	}
	rest := strings.Trim(found[1], "/")
	for _, extension := range []string{".ts", ".js", ".mts", ".mjs"} {
		rest = strings.TrimSuffix(rest, extension)
	}
	if rest = strings.TrimSuffix("/"+rest, "/index"); rest == "" || rest == "/" {
		return nil, true
	}
	return strings.Split(rest[1:], "/"), true
}

// mask returns the text with blanks in place of comments, and of what is inside of strings.
func mask(text string) string {
	return notCode().ReplaceAllStringFunc(text, func(found string) string {
		out := []byte(found)
		for i, c := range out {
			edge := i == 0 || i == len(out)-1 && c == out[0]
			if comment := strings.HasPrefix(found, "//") || strings.HasPrefix(found, "/*"); c != '\n' && (comment || !edge) {
				out[i] = ' '
			}
		}
		return string(out)
	})
}

// tooDeep reports whether a text may be nested more deeply than a parser should be asked to follow: in brackets, or as an expression or
// statement of which each part is in the one before, which has no comma or semicolon.
func tooDeep(masked string) bool {
	const most, mostParts = 500, 50_000
	parts := []int{0} // so far, of what is in each bracket
	word := false
	for _, c := range []byte(masked) {
		before := word
		word = wordByte(c)
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' && !(word && before) {
			parts[len(parts)-1]++
		}
		switch {
		case strings.IndexByte("([{", c) >= 0:
			parts = append(parts, 0)
		case strings.IndexByte(")]}", c) >= 0 && len(parts) > 1:
			parts = parts[:len(parts)-1]
		case c == ';' || c == ',':
			parts[len(parts)-1] = 0
		}
		if len(parts) > most || parts[len(parts)-1] > mostParts {
			return true
		}
	}
	return false
}
