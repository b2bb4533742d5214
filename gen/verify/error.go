package verify

import (
	"fmt"
	"strconv"
	"strings"
)

// Error reports the first token in a file that is not allowed in its place.
type Error struct {
	// Line counts from 1.
	Line int
	// Found is the token, quoted and cut. It is foreign text. It is empty at the end of the file.
	Found string
	// Want describes what is allowed instead.
	Want string
}

func (e *Error) Error() string {
	if e.Found == "" {
		return fmt.Sprintf("line %d: want %s", e.Line, e.Want)
	}
	return fmt.Sprintf("line %d: found %s; want %s", e.Line, e.Found, e.Want)
}

// maxFound bounds how much of a file an error quotes, in bytes.
const maxFound = 60

func fail(line int, found, want string) *Error {
	if len(found) > maxFound {
		found = strings.ToValidUTF8(found[:maxFound], "") + "…"
	}
	if found != "" {
		found = strconv.QuoteToGraphic(found)
	}
	return &Error{Line: line, Found: found, Want: want}
}
