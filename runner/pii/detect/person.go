package detect

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/person"
)

// context is what a word announces.
type context uint8

const (
	title context = 1 << iota
	titleWithDot
	greeting
	closing
	introduction // followed by a name
	speaker      // followed by a name of several words
	caller       // followed by such a name and a word such as "from"
)

// introductions are the phrases before the name of the speaker.
var introductions = sync.OnceValue(func() map[string]context {
	phrases := map[string]context{}
	for section, c := range map[string]context{"introduction": introduction, "introduction-weak": speaker, "introduction-caller": caller} {
		for phrase := range lexicon.Words()[section] {
			phrases[phrase] = c
		}
	}
	return phrases
})

// contexts are the words before names, in lower case. The last word of an introduction stands for it.
var contexts = sync.OnceValue(func() map[string]context {
	t := map[string]context{}
	for section, c := range map[string]context{"title": title, "title-dot": titleWithDot, "greeting": greeting, "closing": closing} {
		for w := range lexicon.Words()[section] {
			t[w] |= c
		}
	}
	for phrase, c := range introductions() {
		t[phrase[strings.LastIndexByte(phrase, '_')+1:]] |= c
	}
	return t
})

// contextStarts are the first two bytes of these words, with a capital or without. They rule out most other words.
var contextStarts = sync.OnceValue(func() *[1 << 16]bool {
	var t [1 << 16]bool
	add := func(w string) {
		if len(w) == 1 {
			w += "."
		}
		t[int(w[0])<<8|int(w[1])] = true
	}
	for w, c := range contexts() {
		if c&^(title|titleWithDot) != 0 {
			add(w)
		}
		r, size := utf8.DecodeRuneInString(w)
		add(string(unicode.ToUpper(r)) + w[size:])
		if len(w) == 2 {
			add(strings.ToUpper(w))
		}
	}
	return &t
})

// nameAfterWord returns the name of a person that the word at i announces.
func (f *finder) nameAfterWord(i int) Match {
	s := f.s
	if i+3 >= len(s) || !contextStarts()[int(s[i])<<8|int(s[i+1])] {
		return Match{}
	}
	end := i
	for end < len(s) && end-i <= 24 && (char.IsLetter(s[end]) || s[end] >= utf8.RuneSelf || s[end] == '\'' || s[end] == '-') {
		end++
	}
	w := s[i:end]
	lower := strings.ToLower(w)
	c := contexts()[lower]
	if c == 0 {
		return Match{}
	}
	capital := w != lower && w[1:] == lower[1:]
	if w[0] >= utf8.RuneSelf {
		capital = w != lower
	}
	start, last := 0, 0
	switch {
	case c&(introduction|speaker|caller) != 0 && char.SpaceAt(s, end) > 0:
		start, last = f.introduced(end)
	case c&greeting != 0 && f.beginsSentence(i):
		start, last = f.greeted(end)
	}
	if last <= start && c&closing != 0 && f.closes(lower, capital, i, end) {
		start, last = signed(s, end)
	}
	if last <= start && capital && (c&title != 0 || c&titleWithDot != 0 && end < len(s) && s[end] == '.') {
		start = person.AfterTitles(s, i, false)
		for _, more := range []string{".ra ", ".na ", ".ssa "} { // Sig.ra, Dott.ssa
			if strings.HasPrefix(s[end:], more) {
				start = end + len(more)
			}
		}
		if last, _ = person.Name(s, start); last-start < 3 {
			last = 0
		}
	}
	if last <= start {
		return Match{}
	}
	return Match{start, last, Name}
}

// introduced returns the name after a phrase that ends at end, before a space, if the speaker says their name with it.
func (f *finder) introduced(end int) (start, last int) {
	s := f.s
	c := introductionOf(strings.ToLower(s[max(f.from, end-32):end]))
	if c == 0 {
		return 0, 0
	}
	start = person.AfterTitles(s, end+char.SpaceAt(s, end), false)
	last, n := person.Name(s, start)
	switch {
	case c == introduction && n > 0:
		return start, last
	case n < 2:
		return 0, 0
	case c == caller:
		after, _, _ := strings.Cut(strings.TrimLeft(s[last:min(len(s), last+12)], ", "), " ")
		if !lexicon.Words()["caller"][strings.TrimRight(after, ".,!\n")] {
			return 0, 0
		}
	}
	return start, last
}

// introductionOf returns the kind of the phrase at the end of a text in lower case, or 0.
func introductionOf(before string) context {
	before = before[strings.LastIndexAny(before, "\n\t.,;:!?\"(")+1:]
	at := len(before)
	for n := 0; n < 4 && at >= 0; n++ {
		at = strings.LastIndexByte(before[:at], ' ')
		if c := introductions()[strings.ReplaceAll(before[at+1:], " ", "_")]; c != 0 {
			return c
		}
	}
	return 0
}

// beginsLine reports whether only a few bytes of words precede i in its line.
func (f *finder) beginsLine(i, most int) bool {
	at := strings.LastIndexByte(f.s[max(0, i-most):i], '\n')
	return at >= 0 || i <= most
}

// beginsSentence reports whether a sentence begins at i.
func (f *finder) beginsSentence(i int) bool {
	before := strings.TrimRight(f.s[max(0, i-8):i], " \t>*_")
	if before == "" {
		return true
	}
	return strings.IndexByte("\n\"'.,:!?|(n`", before[len(before)-1]) >= 0 && (before[len(before)-1] != 'n' || strings.HasSuffix(before, `\n`))
}

// closes reports whether the closing word from i to end may end a letter. "Thank you" is also said within one: it must be a line of its own, and
// have a comma if an empty line follows.
func (f *finder) closes(lower string, capital bool, i, end int) bool {
	if lower != "you" {
		return capital || f.beginsLine(i, 24)
	}
	before := f.s[max(0, i-24):i]
	mark, after, _ := strings.Cut(f.s[end:min(len(f.s), end+8)], "\n")
	return strings.EqualFold(strings.Trim(before[strings.LastIndexByte(before, '\n')+1:], " >*_"), "thank") &&
		(strings.IndexByte(mark, ',') >= 0 || !strings.HasPrefix(strings.TrimLeft(after, " \r"), "\n"))
}

// greeted returns the name in a greeting whose first word ends at i. Punctuation or the end of the line must follow it. Of two names it
// appends the first.
func (f *finder) greeted(i int) (start, end int) {
	s := f.s
	space := char.SpaceAt(s, i)
	if space == 0 {
		return 0, 0
	}
	start = person.AfterTitles(s, i+space, true)
	end, n := person.Name(s, start)
	if end == 0 || n == 1 && char.IsCapitals(s[start:end]) || lexicon.Words()["closing"][strings.ToLower(s[start:end])] || strings.IndexFunc(s[start:end], char.IsSpaceless) >= 0 {
		return 0, 0
	}
	if and, _, ok := strings.Cut(strings.TrimPrefix(s[end:min(len(s), end+8)], " "), " "); ok && lexicon.Words()["and"][and] { // Dear Tobias and Monique
		second := person.AfterTitles(s, end+len(and)+2, true)
		if last, _ := person.Name(s, second); last > 0 && endsGreeting(s, last) {
			f.matches = append(f.matches, Match{start, end, Name})
			return second, last
		}
	}
	if !endsGreeting(s, end) {
		return 0, 0
	}
	return start, end
}

// endsGreeting reports whether a greeting may end at i.
func endsGreeting(s string, i int) bool {
	after := strings.TrimLeft(s[i:min(len(s), i+3)], " ")
	return after == "" || strings.IndexByte(",!:;\n\r-\\\"", after[0]) >= 0 || strings.HasPrefix(after, "–") || strings.HasPrefix(after, "—")
}

// signed returns the name below the closing words of a letter that end at i.
func signed(s string, i int) (start, end int) {
	at := i
	for at < len(s) && at-i < 8 && strings.IndexByte(" ,\r!.\t", s[at]) >= 0 {
		at++
	}
	if at >= len(s) || s[at] != '\n' {
		return 0, 0
	}
	for at < len(s) && at-i < 24 && strings.IndexByte(" \r\n\t>-", s[at]) >= 0 {
		at++
	}
	start = person.AfterTitles(s, at, false)
	end, n := person.Name(s, start)
	if n == 0 || n > 4 || n == 1 && strings.ToUpper(s[start:end]) == s[start:end] || end < len(s) && strings.IndexByte("\n\r,|(", s[end]) < 0 {
		return 0, 0
	}
	return start, end
}

// withName appends the name beside an e-mail address, and returns the last of both.
func (f *finder) withName(address Match) Match {
	before, after := f.nameBesideEmail(address.Start, address.End)
	if before.End > 0 {
		f.matches = append(f.matches, before)
	}
	if after.End > 0 {
		f.matches = append(f.matches, address)
		return after
	}
	return address
}

// nameBesideEmail returns the name before the address from start to end ("Jane Doe <", "Jane Doe, "), or the one in parentheses after it. Unless
// the address is in angle brackets, the name must agree with it.
func (f *finder) nameBesideEmail(start, end int) (before, after Match) {
	s, at := f.s, start
	if strings.HasSuffix(s[f.from:at], "mailto:") {
		at -= len("mailto:")
	}
	bracket := at > f.from && s[at-1] == '<'
	if at > f.from && strings.IndexByte("<([", s[at-1]) >= 0 {
		at--
	}
	local, _, _ := strings.Cut(strings.ToLower(s[start:end]), "@")
	if name, _, _ := strings.Cut(local, "+"); lexicon.Words()["program"][name] {
		return Match{}, Match{}
	}
	segment := s[max(f.from, at-80):at]
	last := strings.TrimRight(segment, " \t,-|:–—\"'")
	if rest, ok := strings.CutSuffix(last, "\n"); ok && rest != "" { // on the line before
		last = strings.TrimRight(rest, " \t,\r")
	}
	last = strings.TrimSuffix(strings.TrimSuffix(last, " at"), " on")
	if bracket || at < start {
		last = strings.TrimRight(segment, " \"'")
	}
	apart := strings.TrimRight(segment, " ") != last // by more than a space
	stop := at - len(segment) + len(last)
	first := stop - len(last)
	if quote := strings.LastIndexByte(last, '"'); bracket && strings.HasSuffix(segment, "\" ") && quote >= 0 {
		if family, given, ok := strings.Cut(last[quote+1:], ", "); ok && person.IsName(given+" "+family) { // "Doe, Jane" <
			return Match{first + quote + 1, stop, Name}, Match{}
		}
	}
	first += strings.LastIndexAny(last, "\n\t,;:<>()[]{}|\"") + 1
	for n := 0; first < stop && n < person.MaxNameWords+4; n++ {
		for first < stop && s[first] == ' ' {
			first++
		}
		if to, n := person.Name(s, first); to == stop && (bracket && n >= 2 || (n >= 2 || bracket || apart) && person.Agrees(s[first:stop], local)) {
			before = Match{first, stop, Name}
			break
		}
		next := strings.IndexByte(s[first:stop], ' ')
		if next < 0 {
			break
		}
		first += next + 1
	}
	if strings.HasPrefix(s[end:], " (") {
		if to, n := person.Name(s, end+2); n > 0 && to < len(s) && s[to] == ')' && person.Agrees(s[end+2:to], local) {
			after = Match{end + 2, to, Name}
		}
	}
	return before, after
}
