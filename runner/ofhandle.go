package runner

import (
	"regexp"
	"sync"

	"github.com/mcpgen/mcpgen/runner/bridge"
)

// handleTaken is what node, Python and the embedded engine say where a function wanted a text or plain data and got the
// handle of a large answer.
var handleTaken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:Result)?Handle\b|Received object$`) })

// ofHandle says what to do where a script failed because it took the handle of a large answer for the answer itself. The
// language's own words name a class that the script has never heard of. given tells whether there was a handle at all.
func ofHandle(e *bridge.ScriptError, given bool) string {
	if !given || e == nil || e.Name != "TypeError" || !handleTaken().MatchString(e.Message) {
		return ""
	}
	return "an answer beyond --max-result is a handle: where a function wants the text or the data itself, pass its text() or json()"
}
