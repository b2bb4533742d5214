package detect

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/key"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/number"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/person"
)

const (
	maxNameValue    = 120 // runes of the name of a person or an organization
	maxAddressValue = 300 // runes of a postal address
)

// valueType returns the type of a whole value under a hint, or "" if the value is to be searched like text.
func valueType(text string, hint Type) Type {
	v := strings.TrimSpace(text)
	if v == "" || len(v) > maxAddressValue*utf8.UTFMax || strings.IndexByte(v, '@') >= 0 || strings.Contains(v, "://") || key.IsToken(v) || strings.Contains(v, "{{") {
		return ""
	}
	if key.IsPlaceholder(v) && !(strings.HasPrefix(v, "My ") && person.IsName(v)) { // My Nguyen, unlike "My company"
		return ""
	}
	switch hint {
	case Phone:
		if isPhoneValue(v) {
			return Phone
		}
		return ""
	case postcode:
		if len(v) <= 12 && strings.ContainsAny(v, "0123456789") && strings.IndexFunc(v, notPostcode) < 0 {
			return Address
		}
		return ""
	}
	if lexicon.Words()["no-value"][strings.ToLower(v)] || strings.IndexFunc(v, unicode.IsLetter) < 0 || char.IsIdentifier(v) {
		return ""
	}
	switch hint {
	case Address:
		if utf8.RuneCountInString(v) <= maxAddressValue && strings.Count(v, "\n") <= 6 {
			return Address
		}
	case place:
		if utf8.RuneCountInString(v) <= maxAddressValue && isPlace(v) {
			return Address
		}
	case Name:
		if isNameValue(v) && strings.IndexByte(v, '/') < 0 && !isQualified(v) {
			switch {
			case person.HasLegalForm(v):
				return Company
			case !lexicon.Words()["department"][strings.ToLower(v[strings.LastIndexByte(v, ' ')+1:])]:
				return Name
			}
		}
	case Company:
		if isNameValue(v) {
			return Company
		}
	case party:
		switch {
		case !isNameValue(v):
		case person.HasLegalForm(v):
			return Company
		case person.IsName(v):
			return Name
		}
	}
	return ""
}

func notPostcode(r rune) bool {
	return !unicode.IsDigit(r) && !unicode.IsUpper(r) && r != ' ' && r != '-' && r != '〒'
}

// isPhoneValue reports whether a value consists of the digits and separators of one phone number.
func isPhoneValue(v string) bool {
	digits := 0
	for i := range len(v) {
		switch {
		case char.IsDigit(v[i]):
			digits++
		case strings.IndexByte("+-().  /x#*", v[i]) < 0:
			return false
		}
	}
	_, err := netip.ParseAddr(v)
	return err != nil && digits >= number.MinPhone && digits <= number.MaxPhone && !number.IsDecimal(v) && !number.IsDate(v)
}

// isQualified reports whether a value is a name with dots as programs have them: typing.Union.
func isQualified(v string) bool {
	at := strings.IndexByte(v, '.')
	return at > 1 && at+2 < len(v) && strings.IndexByte(v, ' ') < 0
}

// isNameValue reports whether a value may be the name of someone.
func isNameValue(v string) bool {
	return utf8.RuneCountInString(v) <= maxNameValue && !strings.ContainsAny(v, "\n\t<>=|\\") && !isTime(v)
}

// isTime reports whether a value begins with a date and has nothing but a time after it.
func isTime(v string) bool { return len(v) >= 10 && number.IsDate(v[:10]) }

// isPlace reports whether a value has the form of a postal address: words, with a number or a comma, or a script other than Latin.
func isPlace(v string) bool {
	if strings.IndexFunc(v, char.IsSpaceless) >= 0 {
		return true
	}
	return strings.IndexByte(v, ' ') > 0 && (strings.ContainsAny(v, "0123456789") || strings.IndexByte(v, ',') > 0)
}
