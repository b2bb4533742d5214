package stdio

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

func TestStderrTail(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"starting\nno licence found\n", "no licence found"},
		{"node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module 'x'\nRequire stack:\n- /a.js\n" +
			"    at load (a.js:1)\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v24.1.0\n", "Error: Cannot find module 'x'"},
		{"npm warn old\nnpm error code E404\nnpm error 404 Not Found - GET https://x\nnpm error 404\nnpm error A complete log is in: y\n",
			`npm error 404 Not Found - GET https://x; npm does not find this package, or asks for a login: check its name in "args"`},
		{"Traceback:\n  File x\nKeyError: 'k'\n", "KeyError: 'k'"},
		{"Node.js v24.1.0\n", "Node.js v24.1.0"},
		{"", ""},
	} {
		tail := &stderrTail{ended: make(chan struct{})}
		forwardStderr(strings.NewReader(c.output), nil, &redact.Redactor{}, tail)
		if got := strings.TrimPrefix(tail.quote(), ", last line of its standard error: "); got != c.want {
			t.Errorf("quote() after %q = %q, want %q", c.output, got, c.want)
		}
	}
}
