package script

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"

	"github.com/evanw/esbuild/pkg/api"
)

// The bundler asks the plugin for every module, but it has three ways of reading the host's files without asking:
//
//   - import(`../${x}.json`) and require() likewise are patterns to it; it lists folders for what may match;
//   - a comment that names a source map by a file: URL makes it read that file;
//   - a source map, even one written out in such a comment, makes it read the sources that the map names.
//
// A script is hostile text, and what is bundled reaches the script. So the bundler never sees these forms, in the script
// or in any module: the first gets another text (see admit), the others are refused.

// maybeComputed finds text that may hold an import() or require() whose path is not written out. It finds too much:
// names can be spelt with escapes.
func maybeComputed(code string) bool {
	for _, word := range []string{"import", "require"} {
		for rest := code; ; {
			_, after, found := strings.Cut(rest, word)
			if !found {
				break
			}
			rest = after
			after = strings.TrimLeftFunc(after, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || r == '\ufeff' })
			if after != "" && strings.IndexByte("./(?", after[0]) >= 0 {
				return true
			}
		}
	}
	return strings.Contains(code, `\u`)
}

// mapComment finds the comments that the bundler takes a source map from, and strings that look like one.
var mapComment = pattern(`/[/*][#@] sourceMappingURL=`)

// maxMapComments bounds how many places are looked at that may be such a comment.
const maxMapComments = 20

// sourceMapComment finds a comment that the bundler would take a source map from.
func sourceMapComment(code string, loader api.Loader) *api.Message {
	if !strings.Contains(code, "sourceMappingURL") {
		return nil
	}
	found := mapComment().FindAllStringIndex(code, maxMapComments+1)
	for i, at := range found {
		if i == maxMapComments || isComment(code, found, i, loader) {
			m := refused(code, at[0], "a script must not refer to a source map", "remove the sourceMappingURL comment; errors point into the script as it is")
			return &m
		}
	}
	return nil
}

// probe is the source of a map that isComment writes.
const probe = "mcprun-probe"

// isComment tells whether the i-th of the places found is a comment to the bundler, and not a piece of a string: in a copy
// of the code where no other place looks like one, this one refers to a map of ours, which is used or not.
func isComment(code string, found [][]int, i int, loader api.Loader) bool {
	sourceMap := base64.StdEncoding.EncodeToString([]byte(`{"version":3,"sources":["` + probe + `"],"sourcesContent":[""],"names":[],"mappings":"AAAA"}`))
	var b strings.Builder
	last := 0
	for j, at := range found {
		b.WriteString(code[last:at[0]])
		last = at[1]
		if j == i {
			b.WriteString(code[at[0]:at[1]] + "data:application/json;base64," + sourceMap + " ")
		} else {
			b.WriteString(strings.ReplaceAll(code[at[0]:at[1]], "sourceMappingURL", "anotherMappingURL"))
		}
	}
	b.WriteString(code[last:])
	res := api.Transform(b.String(), api.TransformOptions{
		Loader: loader, TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent, Sourcemap: api.SourceMapExternal,
	})
	// A text that cannot be read is one that the answer is not known of.
	return len(res.Errors) > 0 || strings.Contains(string(res.Map), probe)
}

// inModule says which module messages are about.
func inModule(messages []api.Message, namespace, file string) []api.Message {
	for _, m := range messages {
		if m.Location != nil {
			m.Location.Namespace, m.Location.File = namespace, file
		}
	}
	return messages
}

// refuseFiles answers for modules that the bundler found by itself.
func refuseFiles(a api.OnLoadArgs) (api.OnLoadResult, error) {
	return api.OnLoadResult{}, fmt.Errorf("%q is not a module of this script", a.Path)
}
