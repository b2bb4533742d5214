package guest

import (
	"fmt"
	"strings"
	"unicode/utf8"
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
	from, to := maxReport-maxReportEnd-noteSize, len(report)-maxReportEnd
	if line := strings.IndexByte(report[to:], '\n'); line >= 0 {
		to += line // the end starts with a whole line
	}
	for !utf8.RuneStart(report[from]) {
		from--
	}
	for to < len(report) && !utf8.RuneStart(report[to]) {
		to++
	}
	return fmt.Sprintf("%s… (%d characters left out)%s", report[:from], utf8.RuneCountInString(report[from:to]), report[to:])
}
