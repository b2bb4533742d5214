package guest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxReport bounds the message or stack in the report of an uncaught error, in bytes. maxReportEnd is how many of these bytes come from its
// end, where a report has the stack.
const (
	maxReport    = 64 << 10
	maxReportEnd = 8 << 10
	noteSize     = 64 // bytes of the note about the part left out
)

// bounded shortens a text about an error to maxReport by leaving out a part of its middle.
func bounded(report string) string {
	if len(report) <= maxReport {
		return report
	}
	head, tail := ident.Head(report, maxReport-maxReportEnd-noteSize), ident.Tail(report, maxReportEnd)
	if line := strings.IndexByte(tail, '\n'); line >= 0 {
		tail = tail[line:] // it begins with a whole line
	}
	middle := report[len(head) : len(report)-len(tail)]
	return fmt.Sprintf("%s… (%d characters left out)%s", head, utf8.RuneCountInString(middle), tail)
}
