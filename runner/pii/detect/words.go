package detect

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
)

// Hints besides the types of personal data.
const (
	version   Type = "version"    // of a program or a section: not an IP address
	record    Type = "record"     // identifier of a record: not a payment card
	thing     Type = "thing"      // number of an order, a parcel, a part: neither a card nor a phone
	messageID Type = "message id" // it looks like an e-mail address
)

// hintSections are the sections of words.txt whose words precede a number, with the hint that they give.
var hintSections = []struct {
	section string
	hint    Type
}{{"phone", Phone}, {"card", Card}, {"record", record}, {"thing", thing}, {"ssn", SSN}}

// wordHints returns the hints by word.
var wordHints = sync.OnceValue(func() map[string]Type {
	hints := map[string]Type{}
	for _, h := range hintSections {
		for w := range lexicon.Words()[h.section] {
			hints[w] = h.hint
		}
	}
	return hints
})

// nameEnd is a suffix of member names and its hint.
type nameEnd struct {
	text string
	hint Type
}

// nameEnds returns the suffixes by their last byte.
var nameEnds = sync.OnceValue(func() *[256][]nameEnd {
	var ends [256][]nameEnd
	add := func(section string, hint Type) {
		for w := range lexicon.Words()[section] {
			last := w[len(w)-1]
			ends[last] = append(ends[last], nameEnd{w, hint})
		}
	}
	add("secret-end", Secret)
	add("phone-name-end", Phone)
	add("phone-end", Phone)
	for _, e := range []nameEnd{{"ssn", SSN}, {"socialsecuritynumber", SSN}, {"version", version}, {"versions", version}, {"card", Card}, {"cardnumber", Card}, {"cardno", Card}} {
		ends[e.text[len(e.text)-1]] = append(ends[e.text[len(e.text)-1]], e)
	}
	return &ends
})

const maxName = 64 // bytes of a name

// plainName returns the plain name, or "" if it is too long.
func plainName(name string) string {
	if len(name) > maxName {
		return ""
	}
	return PlainName(name)
}

// PlainName returns the name of a member without what does not count: separators, and the difference between capitals and small letters.
func PlainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// valueHint is [Signs.Hint] for the types that do not depend on the object.
func valueHint(name, plain string) Type {
	if plain == "" {
		return ""
	}
	switch plain {
	case "ver", "oid", "rev", "release", "build", "firmware", "section":
		return version
	case "messageid", "inreplyto", "references":
		return messageID
	case "id":
		return record
	case "pan":
		return Card
	}
	switch {
	case lexicon.Words()["secret"][plain] && plain != "pw" && plain != "passe" || strings.HasSuffix(strings.ToLower(name), "_pass"):
		return Secret
	case lexicon.Words()["phone-name"][plain]:
		return Phone
	}
	for _, e := range nameEnds()[plain[len(plain)-1]] {
		if strings.HasSuffix(plain, e.text) {
			return e.hint
		}
	}
	return identifierHint(name, plain)
}

// identifierHint returns the hint of names such as orderNo and account_id. The plain name is in lower case, without separators.
func identifierHint(name, plain string) Type {
	if strings.Contains(plain, "card") || strings.HasPrefix(plain, "pan") || strings.Contains(plain, "payment") {
		return ""
	}
	stem := plain
	for _, end := range []string{"number", "no", "nr"} {
		stem = strings.TrimSuffix(stem, end)
	}
	for end := range lexicon.Words()["thing-name-end"] {
		if stem == end || len(stem) < len(plain) && strings.HasSuffix(stem, end) {
			return thing
		}
	}
	singular := strings.TrimRight(name, "s")
	for _, end := range []string{"Id", "ID", "_id", "-id", ".id"} {
		if strings.HasSuffix(singular, end) {
			return record
		}
	}
	return ""
}

// wordHint returns the hint that a word, in lower case, gives for the number after it.
func wordHint(w string) Type {
	if hint := wordHints()[w]; hint != "" {
		return hint
	}
	if w[0] >= utf8.RuneSelf {
		stem := strings.TrimRight(w, "はがをに番号碼码是")
		for end := range lexicon.Words()["phone-end"] {
			if strings.HasSuffix(w, end) || strings.HasSuffix(stem, end) {
				return Phone
			}
		}
		for end := range lexicon.Words()["card"] {
			if end[0] >= utf8.RuneSelf && strings.HasSuffix(stem, end) {
				return Card
			}
		}
		if strings.HasSuffix(w, "番号") || strings.HasSuffix(w, "单号") {
			return thing
		}
	}
	if strings.ContainsAny(w, "_-.") || char.HasAnySuffix(w, "phone", "phones", "mobile", "number", "nummer", "ssn", "version") {
		if hint := valueHint(w, plainName(w)); hint != Secret {
			return hint
		}
	}
	return ""
}

const (
	maxWords = 6
)

// hintAt returns what the member's name or the words just before i mean for the number at i. It skips filler words, as in "call me on" and
// "Telefon Nr.:". It does not read beyond the line or the last match.
func (f *finder) hintAt(i int) Type {
	if f.field != "" || i == 0 {
		return f.field
	}
	if f.followsPhone(i) {
		return Phone
	}
	last := i - 1
	for last > f.from && strings.IndexByte(" :=#.\t()\"'-", f.s[last]) >= 0 {
		last--
	}
	if last < f.from || char.IsDigit(f.s[last]) {
		return "" // most numbers in lists and tables end here
	}
	before := f.wordsBefore(i)
	unknown := false // an unknown word was skipped, such as "Tim" in "reach Tim at"
	for n := range maxWords {
		w := before.next()
		switch {
		case w == "":
			return ""
		case len(w) == 1 && f.isLabel(i):
			return Phone
		case w == "text" && n == 0:
			return "" // as in "text=", unlike "text me at"
		}
		if hint := wordHint(w); hint != "" {
			return hint
		}
		if lexicon.Words()["filler"][w] {
			continue
		}
		if n != 1 || unknown || !endsInPreposition(f.s[max(0, i-char.MaxBefore):i]) {
			return ""
		}
		unknown = true
	}
	return ""
}

// endsInPreposition reports whether a text ends in a word that stands between a person and their number, as "at" does.
func endsInPreposition(text string) bool {
	text = strings.TrimRight(text, " ")
	switch text[strings.LastIndexByte(text, ' ')+1:] {
	case "at", "on", "under", "unter", "au", "al", "via":
		return true
	}
	return false
}

// isLabel reports whether a one-letter label, as on business cards, precedes the number at i: "T: ", "M: ".
func (f *finder) isLabel(i int) bool {
	at := strings.TrimRight(f.s[max(f.from, i-4):i], " (+")
	if len(at) < 2 || at[len(at)-1] != ':' {
		return false
	}
	letter := at[len(at)-2]
	return strings.IndexByte("TMPFHCW", letter) >= 0 && f.s[i-1] == ' ' && (len(at) == 2 || !char.IsAlnum(at[len(at)-3]))
}

// followsPhone reports whether nothing but a word such as "or" separates i from the preceding phone number.
func (f *finder) followsPhone(i int) bool {
	if len(f.matches) == 0 || i-f.from > 8 || f.matches[len(f.matches)-1].Type != Phone {
		return false
	}
	switch strings.TrimSpace(f.s[f.from:i]) {
	case "or", "and", "oder", "und", "bzw.", "ou", "et", "o", "y", "e", "of", "en", "/", "или", "и":
		return true
	}
	return false
}

// backwards reads words from the end of a text.
type backwards struct{ text string }

// wordsBefore returns a reader of the words before i in lower case, within the line and after the last match.
func (f *finder) wordsBefore(i int) backwards {
	before := f.s[max(f.from, 0, i-char.MaxBefore):i]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	return backwards{strings.ToLower(before)}
}

// next returns the word before those already read, or "" at a comma, a bracket or a quote.
func (b *backwards) next() string {
	b.text = strings.TrimRight(b.text, " :=#.\t()\"'*>[`/：-–—（°\u00a0\u202f")
	at := strings.LastIndexAny(b.text, " \t,;()\"'{}|/<>[]*`、，。（：\u00a0\u202f") + 1
	for at < len(b.text) && !utf8.RuneStart(b.text[at]) { // remaining bytes of a separator beyond ASCII
		at++
	}
	w := b.text[at:]
	b.text = b.text[:at]
	return strings.TrimPrefix(w, "-")
}
