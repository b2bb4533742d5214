package python

import "strings"

// maxMypyCost bounds the work of mypy on the types of one wrapper, in visits of classes. It corresponds to some tenths of a second.
const maxMypyCost = 30_000

// costsMypy reports whether mypy would take very long for a wrapper that keeps its types. To apply a decorator, mypy unfolds the classes in
// a signature along all paths until one repeats, in a time that doubles with each level.
func costsMypy(declarations []string, signature string) bool {
	uses := map[string][]string{}
	var texts []string
	var names []string
	for _, d := range declarations {
		code := codeOf(d)
		words := words(strings.TrimPrefix(strings.TrimSpace(code), "class "))
		if len(words) > 0 {
			names, texts = append(names, words[0]), append(texts, code)
			uses[words[0]] = nil
		}
	}
	known := func(code, but string) []string {
		var out []string
		for _, word := range words(code) {
			if _, ok := uses[word]; ok && word != but {
				out = append(out, word)
			}
		}
		return out
	}
	for i, name := range names {
		uses[name] = known(texts[i], name)
	}
	left, open := maxMypyCost, map[string]bool{}
	var visit func(name string, cost int) bool
	visit = func(name string, cost int) bool {
		if open[name] {
			return true
		}
		if left -= cost; left < 0 {
			return false
		}
		open[name] = true
		defer delete(open, name)
		for _, next := range uses[name] {
			if !visit(next, 2*cost) {
				return false
			}
		}
		return true
	}
	for _, name := range known(codeOf(signature), "") {
		if !visit(name, 1) {
			return true
		}
	}
	return false
}

// codeOf removes comments and strings from a declaration, line by line. Parts of docstrings may remain.
func codeOf(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(stringLiterals.ReplaceAllString(line, ""), "#")
		b.WriteString(line + "\n")
	}
	return b.String()
}
