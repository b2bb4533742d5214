package pii

import (
	"strconv"
	"strings"
)

// literalType is the type of tokens that stand for texts that already looked like tokens.
const literalType Type = "LITERAL"

const maxTokenDigits = 9

// tokenOf returns the token of a type and number.
func tokenOf(typ Type, n int) string { return "[" + string(typ) + "_" + strconv.Itoa(n) + "]" }

// nextToken returns the next token at or after i, written exactly as tokenOf writes it: [EMAIL_1], but neither [email_1] nor [EMAIL_01].
// Both results are -1 if there is none.
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

// anyToken is nextToken for tokens without a number, such as [EMAIL], too.
func anyToken(s string, i int) (start, end int) {
	for ; i < len(s); i++ {
		if s[i] != '[' {
			continue
		}
		if end = tokenEnd(s, i); end > 0 {
			return i, end
		}
		if n := strings.IndexByte(s[i:min(len(s), i+len("[LITERAL]"))], ']'); n > 0 && isTokenType(Type(s[i+1:i+n])) {
			return i, i + n + 1
		}
	}
	return -1, -1
}

// bareToken returns a type's token for values that cannot be restored.
func bareToken(typ Type) string { return "[" + string(typ) + "]" }

// tokenEnd returns the end of the token that begins at i, or 0 if there is none.
func tokenEnd(s string, i int) (end int) {
	name := i + 1
	for end = name; end < len(s) && (s[end]-'A' < 26 || s[end] == '_') && end-name <= len("LITERAL_"); end++ {
	}
	if end-name < 2 || s[end-1] != '_' || !isTokenType(Type(s[name:end-1])) {
		return 0
	}
	digits := end
	for end < len(s) && s[end]-'0' < 10 && end-digits <= maxTokenDigits {
		end++
	}
	if n := end - digits; n < 1 || n > maxTokenDigits || s[digits] == '0' || end >= len(s) || s[end] != ']' {
		return 0
	}
	return end + 1
}

func isTokenType(t Type) bool { return tokenTypes[t] }

var tokenTypes = func() map[Type]bool {
	types := map[Type]bool{literalType: true}
	for _, t := range Types() {
		types[t] = true
	}
	return types
}()
