package judge

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/risk"
)

var (
	pythonName = regexp.MustCompile(`[\pL_][\pL\pN_]*`)
	// hiding is how texts look in which code may be hidden: literals that nobody reads, escapes, and characters beyond ASCII in names.
	hiding = regexp.MustCompile(`[A-Za-z0-9+/=_-]{120}|\[::-1\]|(\\[xuU0-7][0-9A-Fa-f]*){4}|[\x{202A}-\x{202E}\x{2066}-\x{2069}\x{200B}-\x{200F}]`)
	// usualMembers are members of modules that have dangerous ones too, and imports that give the modules no other name.
	usualMembers = regexp.MustCompile(`\bre\.compile\b|\bos\.(?:path|environ|getenv|getcwd|sep|linesep|makedirs|mkdir)\b|\bsys\.(?:argv|stdin|stdout|stderr|exit)\b|` +
		`(?m:^[ \t]*import (?:os|sys|re|json)(?:, ?(?:os|sys|re|json))*[ \t]*$)`)
	// privateNames are parts of the names of files of the system or with secrets.
	privateNames = regexp.MustCompile(`["'](?:/etc|/proc|/sys|/dev|/root|/var|/run|/mcp|~)|/\.|["']\.[a-z]|id_rsa|id_ed25519`)
	// sqlWords begin statements that destroy.
	sqlWords = regexp.MustCompile(`(?i)\b(drop|truncate|delete|update|alter)\b`)
	// pythonHarmless are names with underscores that scripts have for good reasons.
	pythonHarmless = set("__name__ __main__ __file__ __init__ __future__ __all__ __str__ __repr__ __eq__ __hash__ __len__ __iter__ __next__ __enter__ __exit__ __call__ __post_init__")
	pythonWords    = riskyNames(pythonAPIs, members, modules)
)

// riskyNames returns the names, or modules, without which no rule above medium risk finds anything in Python, but for what hides in texts.
func riskyNames(tables ...map[string]string) map[string]bool {
	out := set("getattr setattr delattr vars globals locals builtins importlib base64 binascii codecs zlib gzip lzma bz2 chr fromhex type object timeit cProfile profile ForwardRef")
	maps.Copy(out, sensitive)
	for _, table := range tables {
		for name, rule := range table {
			if ruleOf(rule).Risk > risk.Medium {
				head, _, _ := strings.Cut(name, ".")
				switch head {
				case "typing", "typing_extensions", "concurrent": // nearly all that they have is harmless
					head = last(name)
				case "pathlib":
					out[last(name)] = true
				}
				out[head] = true
			}
		}
	}
	return out
}

// PlainPython returns the report of a Python program that need not be parsed to know that no rule above medium risk finds anything:
// no text of it has a name that such a rule looks for, nor one of the given names of functions. Other programs have none.
func PlainPython(texts map[string]string, names []string) (*Report, bool) {
	for _, text := range texts {
		text = usualMembers.ReplaceAllString(text, " ")
		if hiding.MatchString(text) || privateNames.MatchString(text) || sqlWords.MatchString(text) {
			return nil, false
		}
		for _, name := range pythonName.FindAllString(text, -1) {
			hidden := strings.HasPrefix(name, "__") && !pythonHarmless[name]
			if hidden || pythonWords[strings.TrimPrefix(name, "_")] || slices.Contains(names, name) || strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f }) {
				return nil, false
			}
		}
	}
	return &Report{Risk: risk.Medium, Reason: "nothing looks dangerous; the script was not read in full", Findings: []Finding{}}, true
}
