package script

import (
	"strings"
	"unicode"

	"github.com/evanw/esbuild/pkg/api"
)

// The bundler treats an import with a computed path as a pattern, and lists the host's folders for matches. So it gets a changed text, with
// two functions at the end of the module. Each such import calls one that asks the host for the module; each such require() calls one that
// asks the guest, which knows the modules of node. The functions' names are as long as the words that they replace, to keep positions the
// same.
const (
	forImport  = "$imp0$"
	forRequire = "$requ0$"
)

// wordsBack puts the original words back into texts that people see.
var wordsBack = strings.NewReplacer(forImport, "import", forRequire, "require")

// admit makes a module's text safe for the bundler, or returns why it cannot. It reports whether the text has an import() with a
// computed path.
func admit(code string, loader api.Loader, id string) (safe string, imports bool, problems []api.Message) {
	if loader == api.LoaderJSON || !maybeComputed(code) {
		return code, false, nil
	}
	sites, problems := computed(code, loader)
	if len(sites) == 0 || len(problems) > 0 {
		return code, false, problems
	}
	for _, word := range []string{forImport, forRequire} {
		if at := strings.Index(code, word); at >= 0 {
			return code, false, []api.Message{refused(code, at, "a script with a computed import must not contain "+word, "choose another name")}
		}
	}
	text := []byte(code)
	requires := false
	for _, s := range sites {
		word := forImport
		if s.require {
			word, requires = forRequire, true
		} else {
			imports = true
		}
		copy(text[s.offset:], word)
	}
	safe = string(text)
	// The bundler would list folders for any computed path that is still left.
	if left, problems := computed(safe, loader); len(left) > 0 || len(problems) > 0 {
		for _, s := range left {
			problems = append(problems, refused(code, s.offset, "this form of import cannot be bundled", "write the path out"))
		}
		return code, false, problems
	}
	safe += "\n;"
	if imports {
		safe += "function " + forImport + "(path){return globalThis[" + registryKey + "].import(path," + quote(id) + ")}"
	}
	if requires {
		safe += "function " + forRequire + "(path){return globalThis[Symbol.for(\"mcprun.require\")](path," + quote(id) + ")}"
	}
	return safe, imports, nil
}

// escapedLetter matches an escape of a letter that import and require have.
var escapedLetter = pattern(`(?i)\\u(?:00|\{0*)(?:6[5-9d-f]|7[0-5])`)

// admitPackage is like admit for a module of a package. An import with a computed path finds only modules of node. It looks at less of a text
// that writes all paths out, because packages have many files.
func admitPackage(code string, loader api.Loader) (safe string, problems []api.Message) {
	if !calls(code, true) && !escapedLetter().MatchString(code) {
		return code, nil
	}
	sites, problems := computed(code, loader)
	if len(sites) == 0 || len(problems) > 0 {
		return code, problems
	}
	text := []byte(code)
	for _, s := range sites {
		word := forImport
		if s.require {
			word = forRequire
		}
		copy(text[s.offset:], word)
	}
	find := "return globalThis[Symbol.for(\"mcprun.require\")](path,\"\")"
	return string(text) + "\n;async function " + forImport + "(path){" + find + "}function " + forRequire + "(path){" + find + "}", nil
}

// site is the first character of a computed import or require.
type site struct {
	offset  int
	require bool
}

// computed returns the import() and require() calls with a computed path, and other errors of the text.
func computed(code string, loader api.Loader) ([]site, []api.Message) {
	words := map[string]string{"unsupported-dynamic-import": "import", "unsupported-require-call": "require"}
	asked := map[string]api.LogLevel{}
	for id := range words {
		asked[id] = api.LogLevelError
	}
	// Transform reads only this text; a build would already have read files.
	res := api.Transform(code, api.TransformOptions{
		Loader: loader, Format: api.FormatESModule, TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent, LogOverride: asked,
	})
	var sites []site
	seen := map[site]bool{} // an import of one of several paths is reported once per path
	var problems []api.Message
	var lines lineOffsets
	for _, m := range res.Errors {
		word, ok := words[m.ID]
		if !ok || m.Location == nil {
			problems = append(problems, m)
			continue
		}
		if strings.HasPrefix(m.Text, `Converting "require"`) {
			continue // reported for any require without bundling
		}
		at := lines.offset(code, m.Location)
		rest := strings.TrimLeft(strings.TrimPrefix(code[at:], word), " \t\r\n")
		if !strings.HasPrefix(code[at:], word) || strings.HasPrefix(rest, ".") {
			problems = append(problems, refused(code, at, "this form of import has no computed path", `write import("./servers/NAME") or require("./NAME")`))
			continue
		}
		if s := (site{at, word == "require"}); !seen[s] {
			seen[s] = true
			sites = append(sites, s)
		}
	}
	return sites, problems
}

// lineOffsets has the offsets of lines as the bundler counts them. The zero value is ready.
type lineOffsets []int

func (l *lineOffsets) offset(code string, at *api.Location) int {
	if *l == nil {
		*l = append(*l, 0)
		for i, r := range code {
			switch r {
			case '\n', '\u2028', '\u2029':
				*l = append(*l, i+len(string(r)))
			case '\r':
				if !strings.HasPrefix(code[i:], "\r\n") {
					*l = append(*l, i+1)
				}
			}
		}
	}
	if at.Line < 1 || at.Line > len(*l) {
		return len(code)
	}
	return min((*l)[at.Line-1]+at.Column, len(code))
}

// The bundler asks the plugin for every module, but there are three ways in which it reads the host's files without asking:
//
//   - import(`../${x}.json`) and require() likewise are patterns to it; it lists folders for what may match;
//   - a comment that names a source map by a file: URL makes it read that file;
//   - a source map, even one written out in such a comment, makes it read the sources that the map names.
//
// A script is hostile, and can read what is bundled. So the bundler never sees these forms, in the script or in any module: admit
// replaces the first, the others are refused.

// maybeComputed reports whether text may have an import() or require() with a computed path. It errs on the safe side: escapes can
// spell any name.
func maybeComputed(code string) bool { return calls(code, false) || strings.Contains(code, `\u`) }

// writtenOut matches what follows import or require in a call whose path is written out.
var writtenOut = pattern(`^\(\s*(?:"[^"\\\n]*"|'[^'\\\n]*'|` + "`[^`\\\\$\n]*`" + `)\s*[,)]`)

// calls reports whether text may call import or require by their names; if computed, with a path that may not be written out. Between a name
// and the parenthesis may be spaces and comments.
func calls(code string, computed bool) bool {
	for _, word := range []string{"import", "require"} {
		for rest := code; ; {
			_, after, found := strings.Cut(rest, word)
			if !found {
				break
			}
			rest = after
			after = strings.TrimLeftFunc(after, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || r == '\ufeff' })
			if after != "" && strings.IndexByte("./(?<-", after[0]) >= 0 && (!computed || !writtenOut().MatchString(after)) {
				return true
			}
		}
	}
	return false
}

// mapComment matches comments from which the bundler takes a source map, and strings that look like one.
var mapComment = pattern(`/[/*][#@] sourceMappingURL=`)

// sourceMapComment returns the error for a text with such a comment.
func sourceMapComment(code string) []api.Message {
	at := mapComment().FindStringIndex(code)
	if at == nil {
		return nil
	}
	return []api.Message{refused(code, at[0], "a script must not refer to a source map", "remove the sourceMappingURL comment; in a string, write it in two parts")}
}
