package script

import (
	"regexp"
	"sync"
)

// pattern compiles an expression when it is first asked for: every process of the program, the ones in sandboxes included,
// would wait for it at its start otherwise.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
