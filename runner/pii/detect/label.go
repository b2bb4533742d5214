package detect

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/person"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/postal"
)

const (
	maxLabel      = 40  // bytes of a label before a colon
	maxLabelLines = 4   // lines before and after a label that tell what "Name:" means
	maxNear       = 320 // bytes of these lines
)

// afterLabel appends the names and addresses in the rest of a line that begins with a label and the colon of n bytes at i: "Name: Jane Doe",
// "To: Jane Doe; Ann Lee", "姓名：张伟明". It returns the last.
func (f *finder) afterLabel(i, n int) Match {
	s, start := f.s, i+n
	if start+1 >= len(s) || n == 1 && strings.IndexByte(" *\t", s[start]) < 0 || i < f.from+2 || s[i-1] == '"' || s[i-1] == ' ' && char.Classes[s[i-2]] != char.InWord {
		return Match{}
	}
	label, ok := f.labelBefore(i)
	if !ok {
		return Match{}
	}
	for start < len(s) && start-i < 12 && strings.IndexByte(" \t*", s[start]) >= 0 {
		start++
	}
	if lower := strings.ToLower(label); lexicon.Words()["header"][lower] || lexicon.Words()["header-weak"][lower] && f.inMail(i) {
		return f.people(start)
	}
	hint := Signs(0).Hint(label)
	if plain := plainName(label); lexicon.Words()["any-name"][plain] || isWeakValue(plain) {
		hint = f.signsNear(i).Hint(label)
	}
	switch hint {
	case Name, Company, party, Address, place:
	default:
		return Match{}
	}
	end := strings.IndexByte(s[start:min(len(s), start+maxAddressValue)], '\n')
	if end < 0 && len(s)-start > maxAddressValue {
		return Match{}
	}
	if end = start + end; end < start {
		end = len(s)
	}
	end = start + len(strings.TrimRight(s[start:end], " \r\t*.\\"))
	value := s[start:end]
	if at := strings.IndexAny(value, "，；"); at >= 0 {
		value = value[:at]
	}
	if at := strings.Index(value, wideColon); at >= 0 { // 姓名：张伟明 电话：…
		value = strings.TrimRight(value[:max(0, strings.LastIndexAny(value[:at], " \u3000"))], " \u3000")
	}
	typ := valueType(value, hint)
	if typ == "" || !f.isLabelled(label, value, typ) {
		return Match{}
	}
	return Match{start, start + len(value), typ}
}

// isLabelled reports whether a value after a label has the form of its type. Code has labels too, so lower case and single words count less.
func (f *finder) isLabelled(label, value string, typ Type) bool {
	lower := label[0]-'a' < 26
	switch typ {
	case Name:
		end, n := person.Name(value, 0)
		return end == len(value) && (n >= 2 || n == 1 && !lower)
	case Company:
		first, _ := utf8.DecodeRuneInString(value)
		return person.HasLegalForm(value) || !lower && isCapitalOrCaseless(first) && strings.Count(value, " ") < 5 && !strings.ContainsAny(value, "(){};`\"'")
	}
	isNumber := func(w string) bool { return char.IsDigit(w[0]) && len(w) <= 7 }
	if w := postal.WordTo(value, 0); w == "" || !char.IsCapital(w) && w[0]-'a' < 26 && !lexicon.Words()["street-start"][w] {
		return false
	}
	return isPlace(value) && !strings.ContainsAny(value, "(){};`\"=") &&
		(slices.ContainsFunc(strings.Fields(value), isNumber) || strings.IndexFunc(value, char.IsSpaceless) >= 0 && strings.IndexFunc(value, unicode.IsDigit) >= 0)
}

// labelBefore returns the label that ends at i and begins its line.
func (f *finder) labelBefore(i int) (label string, ok bool) {
	line := f.s[max(f.from, i-maxLabel-1):i]
	at := strings.LastIndexByte(line, '\n')
	if at < 0 && len(line) > maxLabel {
		return "", false
	}
	label = strings.Trim(line[at+1:], " \t>*-•")
	return label, label != "" && len(label) <= maxLabel
}

// signsNear returns the signs that the labels of the lines around i give.
func (f *finder) signsNear(i int) (signs Signs) {
	f.near(i, func(label, _ string) { signs |= MemberSigns(label) })
	return signs
}

// inMail reports whether i is in the head of a mail: near it is an e-mail address, or a header that nothing else has.
func (f *finder) inMail(i int) (found bool) {
	f.near(i, func(label, line string) {
		found = found || strings.IndexByte(line, '@') >= 0 || lexicon.Words()["header-mail"][strings.ToLower(label)]
	})
	return found
}

// near calls visit for the rest of the line of i and for the lines around it up to an empty one, each with its label or "".
func (f *finder) near(i int, visit func(label, line string)) {
	ends := func(line string) bool {
		label, _, ok := strings.Cut(strings.Replace(line, wideColon, ":", 1), ":")
		label = strings.Trim(label, " \t>*-•")
		if !ok || len(label) > maxLabel {
			label = ""
		}
		visit(label, line)
		return strings.TrimSpace(line) == ""
	}
	before := f.s[max(0, i-maxNear):i]
	before = before[:strings.LastIndexByte(before, '\n')+1]
	for n := 0; n < maxLabelLines && before != ""; n++ {
		at := strings.LastIndexByte(before[:len(before)-1], '\n') + 1
		if ends(before[at:]) {
			break
		}
		before = before[:at]
	}
	n := 0
	for line := range strings.Lines(f.s[i:min(len(f.s), i+maxNear)]) {
		if n++; n > maxLabelLines+1 || ends(line) {
			break
		}
	}
}

// people appends the names in a list of people that begins at i, and returns the last, which is not appended. Names before an e-mail address
// are found with it.
func (f *finder) people(i int) (last Match) {
	s := f.s
	for i < len(s) {
		quoted := s[i] == '"'
		if quoted {
			i++
		}
		i = person.AfterTitles(s, i, false)
		end, n := person.Name(s, i)
		if n < 2 || !(end >= len(s) || strings.IndexByte("\n\r,;\"", s[end]) >= 0 || strings.HasPrefix(s[end:], " <")) {
			return last
		}
		if last.End > 0 {
			f.matches = append(f.matches, last)
		}
		last = Match{i, end, Name}
		if end+1 >= len(s) || s[end] != ',' && s[end] != ';' || s[end+1] != ' ' {
			return last
		}
		i = end + 2
	}
	return last
}
