package guest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxReport is the most bytes of an uncaught error's report, message or stack, maxReportEnd how many of them are of its end: that
// of a report has the stack.
const (
	maxReport    = 64 << 10
	maxReportEnd = 8 << 10
	noteSize     = 64 // most bytes of the note about what was left out
)

// bounded shortens a text about an error to maxReport: it leaves out a part of its middle.
func bounded(report string) string {
	if len(report) <= maxReport {
		return report
	}
	from, to := maxReport-maxReportEnd-noteSize, len(report)-maxReportEnd
	if line := strings.IndexByte(report[to:], '\n'); line >= 0 {
		to += line // the end begins with a whole line
	}
	for !utf8.RuneStart(report[from]) {
		from--
	}
	for to < len(report) && !utf8.RuneStart(report[to]) {
		to++
	}
	return fmt.Sprintf("%s… (%d characters left out)%s", report[:from], utf8.RuneCountInString(report[from:to]), report[to:])
}
