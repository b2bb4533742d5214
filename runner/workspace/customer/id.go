package customer

import (
	"fmt"
	"regexp"
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

// validID is the rule for ids; [IDError.Hint] tells it to people.
var validID = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$`)

// CheckID checks an id of what, such as "customer". Ids become names of folders on any system: an id has no separators, is
// not made of dots alone, and is not a Windows device name. The error is an *[IDError].
func CheckID(what, id string) error {
	problem := ""
	base, _, _ := strings.Cut(id, ".") // Windows ignores the extension of a device name
	switch {
	case id == "":
		problem = "it is empty"
	case !validID.MatchString(id):
		problem = "it has characters that are not allowed there, or too many"
	case ident.ReservedFile(base):
		problem = "it is a device name on Windows"
	default:
		return nil
	}
	return &IDError{What: what, ID: clip(id, 2*maxID), Problem: problem}
}

const ellipsis = "…"

// clip cuts a text to at most max bytes, between characters. An ellipsis replaces the end.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return ident.Head(s, max-len(ellipsis)) + ellipsis
}

// clipFront is like clip, but keeps the end of the text.
func clipFront(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return ellipsis + ident.Tail(s, max-len(ellipsis))
}
