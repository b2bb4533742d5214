package script

import (
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// lostResult says what to write in place of a return that nobody gets.
const lostResult = "what is returned outside of a function is lost; to leave a value behind, write: export const result = VALUE"

// lostReturn finds a value that a CommonJS script returns outside of a function. In one it is allowed, and the value goes
// nowhere, which those do not expect who write the body of a function for other hosts. A return without a value ends the
// script early.
func (f *files) lostReturn(made string) error {
	code := f.main.Code
	if !strings.Contains(code, "return") || !strings.Contains(made, "\nexport default require_") {
		return nil
	}
	res := api.Transform(code+"\nexport {};", api.TransformOptions{Loader: loaderOf(f.main.Name), TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent})
	for _, m := range res.Errors {
		if !strings.HasPrefix(m.Text, "Top-level return ") || m.Location == nil {
			continue
		}
		_, after, found := strings.Cut(m.Location.LineText[min(m.Location.Column, len(m.Location.LineText)):], "return")
		after = strings.TrimSpace(after)
		if !found || after == "" || strings.HasPrefix(after, ";") || strings.HasPrefix(after, "}") || strings.HasPrefix(after, "/") {
			continue
		}
		m.Text, m.Notes = lostResult, nil
		return fromMessages(f.main.Name, inModule([]api.Message{m}, scriptNamespace, f.main.Name))
	}
	return nil
}
