package detect

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/number"
)

// phone returns the end of the number that begins with the '+' or '(' at i.
func (f *finder) phone(i int) (end int) {
	s := f.s
	if s[i] == '(' {
		if end = number.AreaInParentheses(s, i); end == 0 && f.hintAt(i) == Phone {
			end = number.Announced(s, i)
		}
	} else {
		end = number.International(s, i+1)
	}
	if end == 0 || strings.Count(s[i:end], ".") == 1 && number.IsDecimal(s[i:end]) {
		return 0
	}
	return number.Extension(s, end)
}

// nationalPhone returns the end of the phone number without a country code that the groups begin with. It must have a form that only phone
// numbers have, or follow a word such as "call".
func (f *finder) nationalPhone(groups []number.Group) (end int) {
	s, i := f.s, groups[0].Start
	at := func(n int) string { return s[groups[n].Start:groups[n].End] }
	switch {
	case number.BehindTrunkDigit(s, i) > 0:
		end = number.BehindTrunkDigit(s, i)
	case number.Formed(s, groups, 3, 3, 4) && number.NorthAmerican(at(0), at(1)):
		end = groups[2].End
	case number.Formed(s, groups, 1, 3, 3, 4) && at(0) == "1" && number.NorthAmerican(at(1), at(2)):
		end = groups[3].End
	default:
		end = f.hintedPhone(groups)
	}
	if end == 0 {
		return 0
	}
	return number.Extension(s, end)
}

// hintedPhone is nationalPhone for forms that other numbers have too. To find hints takes long, so it comes last.
func (f *finder) hintedPhone(groups []number.Group) (end int) {
	s, i := f.s, groups[0].Start
	trunk, announced := number.TrunkZero(s, groups), number.Announced(s, i)
	first := groups[0]
	ten := number.Formed(s, groups, 10) && number.NorthAmerican(s[first.Start:first.Start+3], s[first.Start+3:first.Start+6])
	if trunk == 0 && announced == 0 && !ten {
		return 0
	}
	switch hint := f.hintAt(i); {
	case hint == Phone && ten:
		return first.End
	case hint == thing:
		return 0
	case trunk == 0 && hint == Phone:
		return announced
	}
	return trunk
}
