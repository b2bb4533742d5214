package script

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The bundler asks the plugin for every module, but it has three ways of reading the host's files without asking:
//
//   - import(`../${x}.json`) and require() likewise are patterns to it; it lists folders for what may match;
//   - a comment that names a source map by a file: URL makes it read that file;
//   - a source map, even one written out in such a comment, makes it read the sources that the map names.
//
// A script is hostile text, and what is bundled reaches the script. So these forms are refused before the bundler sees
// them, in the script and in every module.

// maybeComputed finds text that may hold an import() or require() whose path is not written out. It finds too much.
var maybeComputed = regexp.MustCompile(`\b(?:import|require)[\s\p{Z}\x{feff}\x0b]*[./(?]`)

// mapComment finds the comments that the bundler takes a source map from, and strings that look like one.
var mapComment = regexp.MustCompile(`/[/*][#@] sourceMappingURL=`)

// unsafe finds what must not reach the bundler.
func unsafe(code string, loader api.Loader) []api.Message {
	if loader == api.LoaderJSON {
		return nil
	}
	if at := mapComment.FindStringIndex(code); at != nil {
		return []api.Message{sourceMapRefused(code, at[0])}
	}
	if maybeComputed.MatchString(code) {
		return computed(code, loader)
	}
	return nil
}

func sourceMapRefused(code string, offset int) api.Message {
	start := strings.LastIndexByte(code[:offset], '\n') + 1
	line, _, _ := strings.Cut(code[start:], "\n")
	return api.Message{
		Text:     "a script must not refer to a source map",
		Notes:    []api.Note{{Text: "remove the sourceMappingURL comment; errors point into the script as it is"}},
		Location: &api.Location{Line: lineOf(code, offset), Column: offset - start, LineText: line},
	}
}

// computed finds import() and require() with a path that is known only when the script runs.
func computed(code string, loader api.Loader) []api.Message {
	refused := map[string]api.LogLevel{
		"unsupported-dynamic-import": api.LogLevelError,
		"unsupported-require-call":   api.LogLevelError,
	}
	// Transforming looks at this text alone, where bundling it with the same options would be too late.
	res := api.Transform(code, api.TransformOptions{
		Loader: loader, Format: api.FormatESModule, TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent, LogOverride: refused,
	})
	var found []api.Message
	for _, m := range res.Errors {
		literal := strings.HasPrefix(m.Text, `Converting "require"`) // said of any require when not bundling
		if _, ok := refused[m.ID]; ok && !literal {
			m.Text = "the path of an import must be written out, because modules are put together before the script runs"
			m.Notes = []api.Note{{Text: `write one import("./servers/NAME/index.ts") for each case`}}
			found = append(found, m)
		}
	}
	return found
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
