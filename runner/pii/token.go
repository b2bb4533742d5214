package pii

import (
	"strconv"
	"strings"
)

// literal is the type of tokens that stand for a text that looks like a token and was there before.
const literal Type = "LITERAL"

// Types are all that Find tells, in the order of their names.
func Types() []Type { return []Type{Key, Card, Email, IBAN, IP, Phone, Secret, SSN} }

const mostTokenDigits = 9

// tokenOf is the token of a type and number.
func tokenOf(typ Type, n int) string { return "[" + string(typ) + "_" + strconv.Itoa(n) + "]" }

// nextToken returns where the next token is at or behind i, exactly as tokenOf writes them: [EMAIL_1], not [email_1], not
// [EMAIL_01]. -1: there is none.
func nextToken(s string, i int) (start, end int) {
	for {
		at := strings.IndexByte(s[i:], '[')
		if at < 0 {
			return -1, -1
		}
		start = i + at
		if end = tokenEnd(s, start); end > 0 {
			return start, end
		}
		i = start + 1
	}
}

// tokenEnd returns where the token ends that begins at i; 0 when there is none.
func tokenEnd(s string, i int) (end int) {
	name := i + 1
	for end = name; end < len(s) && (isUpper(s[end]) || s[end] == '_') && end-name <= len("LITERAL_"); end++ {
	}
	if end-name < 2 || s[end-1] != '_' || !tokenType(Type(s[name:end-1])) {
		return 0
	}
	digits := end
	for end < len(s) && isDigit(s[end]) && end-digits <= mostTokenDigits {
		end++
	}
	if n := end - digits; n < 1 || n > mostTokenDigits || s[digits] == '0' || end >= len(s) || s[end] != ']' {
		return 0
	}
	return end + 1
}

func tokenType(t Type) bool {
	switch t {
	case Email, Phone, SSN, Card, IBAN, IP, Key, Secret, literal:
		return true
	}
	return false
}
