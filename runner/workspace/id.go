package workspace

import (
	"fmt"
	"strings"
)

// maxID is the length of an id, in bytes.
const maxID = 64

// IDError says that an id cannot be that of a customer, a session or a checkpoint.
type IDError struct {
	What, ID string // what it was to name, and the id as it was given
	Problem  string
}

func (e *IDError) Error() string { return fmt.Sprintf("%s id %q: %s", e.What, e.ID, e.Problem) }

// Hint is the rule.
func (e *IDError) Hint() string {
	return "an id has 1 to 64 of the letters, digits and . _ - of ASCII, begins with a letter, a digit or _, and does not end with a dot"
}

// CheckID tells whether id may name what, in words such as "customer". Ids become names of folders, on any system: there
// are no separators in them, none is a name of dots, and none a device of Windows. An error is an *[IDError].
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
		return refuse("it ends with a dot, which some systems leave out")
	}
	for i, c := range []byte(id) {
		if !isIDByte(c) {
			return refuse(fmt.Sprintf("%q cannot be in one", runeAt(id, i)))
		}
	}
	if isDevice(id) {
		return refuse("it is a device's name on Windows")
	}
	return nil
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

func runeAt(s string, i int) string {
	for _, r := range s[i:] {
		return string(r)
	}
	return ""
}

// isDevice tells whether a name means a device on Windows, where what follows a dot does not count.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	if len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) {
		return base[3] >= '0' && base[3] <= '9'
	}
	return false
}

// clip cuts a text to at most max bytes, between characters; an ellipsis stands for the rest.
func clip(s string, max int) string {
	const more = "…"
	if len(s) <= max {
		return s
	}
	cut := max - len(more)
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + more
}
