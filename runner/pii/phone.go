package pii

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// phone returns where the phone number ends that begins at i with '+' and a country code, or with an area code in
// parentheses.
func phone(s string, i int) (end int) {
	if s[i] == '(' {
		if end = localArea(s, i); end > 0 {
			return end
		}
		if end = groupedArea(s, i); end > 0 {
			return end
		}
		// (212) 555-0123
		if i+4 >= len(s) || s[i+4] != ')' || i > 0 && (s[i-1] == ')' || s[i-1] == '(') {
			return 0
		}
		area, next := s[i+1:i+4], i+5
		if next < len(s) && s[next] == ' ' {
			next++
		}
		if next >= len(s) || !isDigit(s[next]) {
			return 0
		}
		var buf [2]group
		groups := splitGroups(s, next, buf[:0])
		if !formed(s, groups, 3, 4) || !numberPlan(area, s[groups[0].start:groups[0].end]) {
			return 0
		}
		return groups[1].end
	}
	if i > 3 && s[i-4:i] == "sip:" {
		end = i + 1
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		if n := end - i - 1; n <= mostDigits && end < len(s) && s[end] == '@' && inPlan([]byte(s[i+1:end])) {
			return end
		}
	}
	if end = international(s, i+1); end > 0 && strings.Count(s[i:end], ".") == 1 && isDecimal(s[i:end]) {
		return 0
	}
	return end
}

// localArea returns where the number ends whose area code, at i in parentheses, begins with its trunk zero: (02) 9374 4000.
func localArea(s string, i int) (end int) {
	at := i + 1
	for at < len(s) && isDigit(s[at]) && at-i <= 5 {
		at++
	}
	area := at - i - 1
	if area < 2 || s[i+1] != '0' || s[i+2] == '0' || at+2 >= len(s) || s[at] != ')' {
		return 0
	}
	if at++; s[at] == ' ' {
		at++
	}
	if !isDigit(s[at]) {
		return 0
	}
	var buf [4]group
	groups := splitGroups(s, at, buf[:0])
	digits := area
	for n, g := range groups {
		if digits += g.end - g.start; g.end-g.start < 3-min(1, n) || n == 3 {
			break
		}
		if digits >= 9 && digits <= 11 && mayEnd(s, g.end) {
			end = g.end
		}
	}
	return end
}

// groupedArea returns where the number ends whose area code is at i in parentheses, in the forms of Brazil and Russia: (11)
// 96123-4567, (912) 345-67-89.
func groupedArea(s string, i int) (end int) {
	for _, form := range [][]int{{2, 5, 4}, {2, 4, 4}, {3, 3, 2, 2}} {
		at := i + 1 + form[0]
		if at+2 >= len(s) || s[at] != ')' || s[i+1] == '0' {
			continue
		}
		if at++; s[at] == ' ' {
			at++
		}
		var buf [3]group
		groups := splitGroups(s, at, buf[:0])
		if last := len(form) - 2; formed(s, groups, form[1:]...) && s[groups[0].end] == '-' && !(isYear(s, groups[0]) && isYear(s, groups[last])) {
			return groups[last].end
		}
	}
	return 0
}

// isYear tells whether four digits may be a year: two of them with a hyphen are no number of a phone.
func isYear(s string, g group) bool {
	return g.end-g.start == 4 && (s[g.start:g.start+2] == "19" || s[g.start:g.start+2] == "20")
}

// international returns where the number ends whose country code begins at i (E.164). It may have one or two separators
// between its digits, and a trunk zero in parentheses.
func international(s string, i int) (end int) {
	var buf [15]byte
	digits, separators := buf[:0], 0
	for at := i; at < len(s) && len(digits) < len(buf); at++ {
		switch c := s[at]; {
		case isDigit(c):
			digits, separators = append(digits, c), 0
			if mayEnd(s, at+1) && inPlan(digits) {
				end = at + 1
			}
		case strings.HasPrefix(s[at:], "(0)"):
			at += len("(0)") - 1
		case strings.IndexByte(" -./()", c) >= 0 && separators < 2:
			separators++
		case c >= 0x80 && separators < 2:
			r, n := utf8.DecodeRuneInString(s[at:])
			if r != '\u00a0' && r != '\u202f' && r != '\u2009' && (r < '\u2010' || r > '\u2013') { // spaces and hyphens of print
				return end
			}
			separators++
			at += n - 1
		default:
			return end
		}
	}
	return end
}

// inPlan tells whether digits are a whole number of the country that they begin with.
func inPlan(digits []byte) bool {
	if len(digits) < 7 || digits[0] == '0' {
		return false
	}
	if digits[0] == '1' {
		return len(digits) == 11 && numberPlan(string(digits[1:4]), string(digits[4:7]))
	}
	code := 0
	for n, d := range digits[:3] {
		code = code*10 + int(d-'0')
		if p := countries()[code]; p.most > 0 {
			rest := len(digits) - n - 1
			return rest >= int(p.least) && rest <= int(p.most) && (p.zero || digits[n+1] != '0')
		}
	}
	return false
}

// plan says how many digits follow a country code, and whether the first of them may be a zero.
type plan struct {
	least, most uint8
	zero        bool
}

// plans are those of ITU-T E.164 by country code, of fixed and mobile numbers together. A zero at the end: see plan.zero.
const plans = "7:10 20:8-10 27:9 30:10 31:9 32:8-9 33:9 34:9 36:8-9 39:6-11:0 40:9 41:9 43:6-12 44:9-10 45:8 46:7-10 47:8 48:9 49:6-11 " +
	"51:8-9 52:10-11 53:8 54:10-11 55:10-11 56:9 57:10 58:10 60:8-10 61:9 62:8-12 63:8-10 64:8-10 65:8 66:8-9 81:9-10 82:8-10 84:9-10 " +
	"86:10-11 90:10 91:10 92:9-10 93:9 94:9 95:7-10 98:10 " +
	// Africa
	"211:9 212:9 213:8-9 216:8 218:9 220:7 221:9 222:8 223:8 224:8-9 225:10:0 226:8 227:8 228:8 229:8-10:0 230:7-8 231:7-9 232:8 233:9 " +
	"234:8-10 235:8 236:8 237:9 238:7 239:7 240:9 241:7-8:0 242:9:0 243:7-9 244:9 245:7-9 246:7 247:5-6 248:7 249:9 250:9 251:9 252:7-9 253:8 254:9 " +
	"255:9 256:9 257:8 258:8-9 260:9 261:9 262:9 263:7-9 264:8-9 265:7-9 266:8 267:7-8 268:8 269:7 290:4-5 291:7 297:7 298:6 299:6 " +
	// Europe
	"350:8 351:9 352:6-9 353:7-9 354:7-9 355:8-9 356:8 357:8 358:5-11 359:7-9 370:8 371:8 372:7-8 373:8 374:8 375:9 376:6-9 377:8-9 " +
	"378:6-10:0 380:9 381:8-9 382:8 383:8-9 385:8-9 386:8 387:8 389:8 420:9 421:9 423:7-9 " +
	// the Americas
	"500:5 501:7 502:8 503:8 504:8 505:8 506:8 507:7-8 508:6 509:8 590:9 591:8 592:7 593:8-9 594:9 595:9 596:9 597:6-7 598:8 599:7-8 " +
	// Asia and the Pacific
	"670:7-8 672:6 673:7 674:7 675:7-8 676:5-7 677:5-7 678:5-7 679:7 680:7 681:6-9 682:5 683:4-7 685:5-7 686:5-8 687:6 688:5-7 689:6-8 690:4-7 691:7 692:7 850:8-10 " +
	"852:8 853:8 855:8-9 856:8-10 880:8-10 886:8-9 960:7 961:7-8 962:8-9 963:8-9 964:8-10 965:8 966:8-9 967:7-9 968:8 970:8-9 971:8-9 " +
	"972:8-9 973:8 974:8 975:7-8 976:8 977:8-10 992:9 993:8 994:9 995:9 996:9 998:9"

var countries = sync.OnceValue(func() *[1000]plan {
	var t [1000]plan
	for entry := range strings.FieldsSeq(plans) {
		code, rest, _ := strings.Cut(entry, ":")
		lengths, zero, hasZero := strings.Cut(rest, ":")
		least, most, ranged := strings.Cut(lengths, "-")
		if !ranged {
			most = least
		}
		t[number(code)] = plan{uint8(number(least)), uint8(number(most)), hasZero && zero == "0"}
	}
	return &t
})

// number reads the digits of the table.
func number(digits string) (n int) {
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n
}
