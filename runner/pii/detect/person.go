package detect

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	maxNameWords = 5  // of a person's name, without particles such as "van"
	maxWordBytes = 48 // of one of these words
	maxCaseless  = 3  // words in a script without capitals
)

// personName returns the end of the name of a person that begins at i, and the number of its words, or 0. Each word has a capital, except
// particles; in scripts without capitals, a few words count. Words that name departments and programs end it.
func personName(s string, i int) (end, n int) {
	caseless := 0
	for at := i; n < maxNameWords; {
		w := nameWord(s, at)
		if w == 0 {
			break
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		text := s[at : at+w]
		switch {
		case isSpaceless(r) || unicode.Is(unicode.Hangul, r):
			if runes := utf8.RuneCountInString(text); n > 0 && end == at || runes > 8 || runes < 2 && n == 0 {
				return end, n
			}
			n++ // a script without spaces has the whole name in one word
			if isSpaceless(r) || utf8.RuneCountInString(text) > 2 {
				n++
			}
			end = at + w
		case unicode.IsUpper(r):
			if isNoName(text) || n > 0 && words()["title"][strings.ToLower(text)] {
				return end, n
			}
			end, n = at+w, n+1
			if (w == size || w == size+1 && text[size] == '.' || strings.EqualFold(text, "jr") || strings.EqualFold(text, "sr")) && end < len(s) && s[end] == '.' {
				end++ // an initial
			}
		case unicode.IsLower(r):
			if !words()["particle"][text] {
				return end, n
			}
		default:
			if caseless++; caseless > maxCaseless || isNoName(text) {
				return end, n
			}
			end, n = at+w, n+1
		}
		at += w
		if at < len(s) && s[at] == '.' && end == at+1 {
			at++
		}
		space := spaceAt(s, at)
		if space == 0 {
			break
		}
		at += space
	}
	return end, n
}

// isNoName reports whether a word is not part of a person's name.
func isNoName(w string) bool { return words()["not-name"][strings.ToLower(w)] }

// nameWord returns the length of the word at i if it may be part of a name: letters, with hyphens and apostrophes within. It is 0 if the word
// goes on like code.
func nameWord(s string, i int) int {
	at := i
	for at < len(s) && at-i <= maxWordBytes {
		if c := s[at]; c < utf8.RuneSelf {
			if !isLetter(c) && !(at > i && (c == '-' || c == '\'') && at+1 < len(s) && (isLetter(s[at+1]) || s[at+1] >= utf8.RuneSelf)) {
				break
			}
			if at > i && isUpper(c) && !isUpper(s[at-1]) && s[at-1] < utf8.RuneSelf && isLetter(s[at-1]) && at-i > 3 { // camelCase, unlike McDonald
				return 0
			}
			if c == '\'' && s[at+1] == 's' && !wordAfter(s, at+2) { // a genitive
				break
			}
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		if !(unicode.IsLetter(r) || unicode.IsMark(r) || at > i && (r == '’' || r == '・' || r == '·')) || r == utf8.RuneError {
			break
		}
		at += size
	}
	if at == i || at-i > maxWordBytes {
		return 0
	}
	if at < len(s) && (isDigit(s[at]) || strings.IndexByte("_(/\\[{=", s[at]) >= 0 || s[at] == '.' && at+1 < len(s) && wordAfter(s, at+1) && at-i > 1) {
		return 0
	}
	return at - i
}

// spaceAt returns the length of the space between two words at i, or 0.
func spaceAt(s string, i int) int {
	for _, space := range []string{" ", "\u00a0", "\u3000"} {
		if strings.HasPrefix(s[i:], space) {
			return len(space)
		}
	}
	return 0
}

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
		for phrase := range words()[section] {
			phrases[phrase] = c
		}
	}
	return phrases
})

// contexts are the words before names, in lower case. The last word of an introduction stands for it.
var contexts = sync.OnceValue(func() map[string]context {
	t := map[string]context{}
	for section, c := range map[string]context{"title": title, "title-dot": titleWithDot, "greeting": greeting, "closing": closing} {
		for w := range words()[section] {
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
	for end < len(s) && end-i <= 24 && (isLetter(s[end]) || s[end] >= utf8.RuneSelf || s[end] == '\'' || s[end] == '-') {
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
	case c&(introduction|speaker|caller) != 0 && spaceAt(s, end) > 0:
		start, last = f.introduced(end)
	case c&greeting != 0 && f.beginsSentence(i):
		start, last = f.greeted(end)
	}
	if last <= start && c&closing != 0 && f.closes(lower, capital, i, end) {
		start, last = signed(s, end)
	}
	if last <= start && capital && (c&title != 0 || c&titleWithDot != 0 && end < len(s) && s[end] == '.') {
		start = afterTitles(s, i, false)
		for _, more := range []string{".ra ", ".na ", ".ssa "} { // Sig.ra, Dott.ssa
			if strings.HasPrefix(s[end:], more) {
				start = end + len(more)
			}
		}
		if last, _ = personName(s, start); last-start < 3 {
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
	start = afterTitles(s, end+spaceAt(s, end), false)
	last, n := personName(s, start)
	switch {
	case c == introduction && n > 0:
		return start, last
	case n < 2:
		return 0, 0
	case c == caller:
		after, _, _ := strings.Cut(strings.TrimLeft(s[last:min(len(s), last+12)], ", "), " ")
		if !words()["caller"][strings.TrimRight(after, ".,!\n")] {
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

// afterTitles returns the position after the titles at i and the space behind them.
func afterTitles(s string, i int, greets bool) int {
	for range 4 {
		w := nameWordOf(s, i)
		lower := strings.ToLower(strings.TrimSuffix(w, "."))
		if w == "" || !(words()["title"][lower] || words()["title-dot"][lower] || greets && (words()["title-greeting"][lower] || words()["greeting-filler"][lower])) {
			return i
		}
		at := i + len(w)
		space := spaceAt(s, at)
		if space == 0 {
			return i
		}
		i = at + space
	}
	return i
}

// nameWordOf returns the word at i with the dot after it, if there is one.
func nameWordOf(s string, i int) string {
	n := nameWord(s, i)
	if n > 0 && i+n < len(s) && s[i+n] == '.' {
		n++
	}
	return s[i : i+n]
}

// greeted returns the name in a greeting whose first word ends at i. Punctuation or the end of the line must follow it. Of two names it
// appends the first.
func (f *finder) greeted(i int) (start, end int) {
	s := f.s
	space := spaceAt(s, i)
	if space == 0 {
		return 0, 0
	}
	start = afterTitles(s, i+space, true)
	end, n := personName(s, start)
	if end == 0 || n == 1 && isCapitals(s[start:end]) || words()["closing"][strings.ToLower(s[start:end])] || strings.IndexFunc(s[start:end], isSpaceless) >= 0 {
		return 0, 0
	}
	if and, _, ok := strings.Cut(strings.TrimPrefix(s[end:min(len(s), end+8)], " "), " "); ok && words()["and"][and] { // Dear Tobias and Monique
		second := afterTitles(s, end+len(and)+2, true)
		if last, _ := personName(s, second); last > 0 && endsGreeting(s, last) {
			f.matches = append(f.matches, Match{start, end, Name})
			return second, last
		}
	}
	if !endsGreeting(s, end) {
		return 0, 0
	}
	return start, end
}

// isCapitals reports whether all letters of a word are capitals: MCP.
func isCapitals(w string) bool { return w == strings.ToUpper(w) && w != strings.ToLower(w) }

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
	start = afterTitles(s, at, false)
	end, n := personName(s, start)
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
	if name, _, _ := strings.Cut(local, "+"); words()["program"][name] {
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
		if family, given, ok := strings.Cut(last[quote+1:], ", "); ok && isPersonName(given+" "+family) { // "Doe, Jane" <
			return Match{first + quote + 1, stop, Name}, Match{}
		}
	}
	first += strings.LastIndexAny(last, "\n\t,;:<>()[]{}|\"") + 1
	for n := 0; first < stop && n < maxNameWords+4; n++ {
		for first < stop && s[first] == ' ' {
			first++
		}
		if to, n := personName(s, first); to == stop && (bracket && n >= 2 || (n >= 2 || bracket || apart) && agrees(s[first:stop], local)) {
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
		if to, n := personName(s, end+2); n > 0 && to < len(s) && s[to] == ')' && agrees(s[end+2:to], local) {
			after = Match{end + 2, to, Name}
		}
	}
	return before, after
}

// agrees reports whether a word of a name is part of the local part of an e-mail address.
func agrees(name, local string) bool {
	for w := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r >= utf8.RuneSelf || !isLetter(byte(r)) }) {
		if len(w) >= 3 && strings.Contains(local, w) {
			return true
		}
	}
	return false
}
