package customer

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxID is the maximum length of an id in bytes.
const maxID = 64

// IDError reports that a text cannot be the id of a customer, a session or a checkpoint.
type IDError struct {
	What, ID string // such as "customer", and the text
	Problem  string
}

func (e *IDError) Error() string { return fmt.Sprintf("%s id %q: %s", e.What, e.ID, e.Problem) }

// Hint returns the rule for ids.
func (e *IDError) Hint() string {
	return "an id has 1 to 64 ASCII letters, digits and characters of . _ -, begins with a letter, a digit or _, and does not end with a dot"
}

// CheckID checks an id of what, such as "customer". Ids become names of folders on any system: an id has no separators, is
// not made of dots alone, and is not a Windows device name. The error is an *[IDError].
func CheckID(what, id string) error {
	refuse := func(problem string) error { return &IDError{What: what, ID: clip(id, 2*maxID), Problem: problem} }
	switch {
	case id == "":
		return refuse("it is empty")
	case len(id) > maxID:
		return refuse(fmt.Sprintf("it has more than %d characters", maxID))
	case id[0] == '.' || id[0] == '-':
		return refuse(fmt.Sprintf("it begins with %q", id[:1]))
	case id[len(id)-1] == '.':
		return refuse("it ends with a dot, which some systems drop")
	}
	if i := strings.IndexFunc(id, func(r rune) bool { return !isIDRune(r) }); i >= 0 {
		return refuse(fmt.Sprintf("%q is not allowed in an id", []rune(id[i:])[0]))
	}
	// Windows ignores the extension of a device name.
	if base, _, _ := strings.Cut(id, "."); ident.ReservedFile(base) {
		return refuse("it is a device name on Windows")
	}
	return nil
}

func isIDRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

const ellipsis = "…"

// clip cuts a text to at most max bytes, between characters. An ellipsis replaces the end.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max-len(ellipsis)], "") + ellipsis
}

// clipFront is like clip, but keeps the end of the text.
func clipFront(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return ellipsis + strings.ToValidUTF8(s[len(s)-max+len(ellipsis):], "")
}
