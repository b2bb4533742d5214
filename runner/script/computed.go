package script

import (
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// An import whose path is known only when the script runs would be a pattern to the bundler, which lists the host's
// folders for what may match. So the bundler gets another text: each such import calls a function at the module's end
// that asks the host for the module. The words have the same length as those they stand for, so that positions remain.

// admitted is what the bundler may see of a module.
type admitted struct {
	code     string
	imports  bool // it has import() with a computed path
	requires bool // it has require() with one
}

// admit makes a module's text safe for the bundler, or says why it cannot.
func admit(code string, loader api.Loader, id string) (admitted, []api.Message) {
	safe := admitted{code: code}
	if loader == api.LoaderJSON {
		return safe, nil
	}
	if found := sourceMapComment(code, loader); found != nil {
		return safe, []api.Message{*found}
	}
	if !maybeComputed(code) {
		return safe, nil
	}
	sites, problems := computed(code, loader)
	if len(sites) == 0 || len(problems) > 0 {
		return safe, problems
	}
	forImport, forRequire := unusedWord(code, "$imp"), unusedWord(code, "$requ")
	text := []byte(code)
	for _, s := range sites {
		word := forImport
		if s.require {
			word, safe.requires = forRequire, true
		} else {
			safe.imports = true
		}
		copy(text[s.offset:], word)
	}
	safe.code = string(text)
	// What is left now would be read.
	if left, problems := computed(safe.code, loader); len(left) > 0 || len(problems) > 0 {
		for _, s := range left {
			problems = append(problems, refused(code, s.offset, "this import is written in a way that cannot be put together", "write the path out"))
		}
		return safe, problems
	}
	var b strings.Builder
	b.WriteString(safe.code)
	b.WriteString("\n;")
	if safe.imports {
		b.WriteString("function " + forImport + "(path){return globalThis[" + registryKey + "].import(path," + quote(id) + ")}")
	}
	if safe.requires {
		b.WriteString("function " + forRequire + "(path){return globalThis[" + registryKey + "].require(path," + quote(id) + ")}")
	}
	safe.code = b.String()
	return safe, nil
}

// unusedWord makes a word of the beginning, a character or two and $ that code does not hold.
func unusedWord(code, begin string) string {
	for i := range 36 {
		if word := begin + strconv.FormatInt(int64(i), 36) + "$"; !strings.Contains(code, word) {
			return word
		}
	}
	return begin + "_$" // the code has all others: it is then refused for having this one twice
}

// site is the first character of a computed import or require.
type site struct {
	offset  int
	require bool
}

// computed finds import() and require() with a path that is known only when the script runs, and what else is wrong
// with the text.
func computed(code string, loader api.Loader) ([]site, []api.Message) {
	words := map[string]string{"unsupported-dynamic-import": "import", "unsupported-require-call": "require"}
	asked := map[string]api.LogLevel{}
	for id := range words {
		asked[id] = api.LogLevelError
	}
	// Transforming looks at this text alone, where bundling it with the same options would be too late.
	res := api.Transform(code, api.TransformOptions{
		Loader: loader, Format: api.FormatESModule, TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent, LogOverride: asked,
	})
	var sites []site
	seen := map[site]bool{} // one import of one of several paths is reported for each
	var problems []api.Message
	var lines lineOffsets
	for _, m := range res.Errors {
		word, ok := words[m.ID]
		if !ok || m.Location == nil {
			problems = append(problems, m)
			continue
		}
		if strings.HasPrefix(m.Text, `Converting "require"`) {
			continue // said of any require when not bundling
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

// lineOffsets finds lines by their numbers, as the bundler counts them. The zero value is ready.
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

// refused is a problem at an offset of the code.
func refused(code string, offset int, text, note string) api.Message {
	start := strings.LastIndexByte(code[:offset], '\n') + 1
	line, _, _ := strings.Cut(code[start:], "\n")
	return api.Message{
		Text: text, Notes: []api.Note{{Text: note}},
		Location: &api.Location{Line: lineOf(code, offset), Column: offset - start, LineText: line},
	}
}
