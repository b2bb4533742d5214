package oauth

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"
)

// printable drops control characters from foreign text and cuts it to a number of bytes.
func printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// plain drops the address from what net/http says: it may hold a secret, and the place is named elsewhere.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return printable(err.Error(), 300)
}
