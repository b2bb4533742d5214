package runner

import (
	"regexp"
	"sync"

	"github.com/mcpgen/mcpgen/runner/bridge"
)

// noNetwork is what the interpreters and the C library say where there is none: of names, and of addresses.
var noNetwork = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`getaddrinfo (EAI_AGAIN|ENOTFOUND|EAI_FAIL)|connect (EPERM|EACCES|EAFNOSUPPORT|ENETUNREACH|EHOSTUNREACH) |` +
		`Temporary failure in name resolution|Name or service not known|Network is unreachable|Address family not supported by protocol|` +
		`(?s:socket\.py.*PermissionError: \[Errno 1\])`)
})

// offline says that there is no network where that is why a script failed; the system's own words sound as if it were worth
// another try.
func offline(e *bridge.ScriptError) string {
	if e == nil || !noNetwork().MatchString(e.Message+"\n"+e.Stack) {
		return ""
	}
	return "there is no network in the sandbox; what is outside is reached by calling tools, from ./servers"
}
