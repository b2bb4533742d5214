package search

// stem cuts an English word down to its stem by M. F. Porter's algorithm (An algorithm for suffix stripping, 1980):
// creating, created and creates all give creat. A word with anything but a-z in it stays as it is.
func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	s := stemmer(word)
	s.plural()
	s.tense()
	s.finalY()
	s.replace(1, longEndings)
	s.replace(1, shortEndings)
	s.drop()
	s.tidy()
	return string(s)
}

type stemmer []byte

// consonant tells whether the letter at i is one; y is one at the beginning and after a vowel.
func (s stemmer) consonant(i int) bool {
	switch s[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !s.consonant(i-1)
	}
	return true
}

// measure counts the changes from vowels to consonants in the first n letters.
func (s stemmer) measure(n int) int {
	m, vowel := 0, false
	for i := range n {
		if s.consonant(i) {
			if vowel {
				m++
			}
			vowel = false
		} else {
			vowel = true
		}
	}
	return m
}

func (s stemmer) hasVowel(n int) bool {
	for i := range n {
		if !s.consonant(i) {
			return true
		}
	}
	return false
}

func (s stemmer) ends(suffix string) bool {
	return len(s) > len(suffix) && string(s[len(s)-len(suffix):]) == suffix
}

// doubled tells whether it ends with a doubled consonant.
func (s stemmer) doubled() bool {
	n := len(s)
	return n >= 2 && s[n-1] == s[n-2] && s.consonant(n-1)
}

// short tells whether the first n letters end with consonant, vowel, consonant, the last not being w, x or y.
func (s stemmer) short(n int) bool {
	if n < 3 || !s.consonant(n-1) || s.consonant(n-2) || !s.consonant(n-3) {
		return false
	}
	return s[n-1] != 'w' && s[n-1] != 'x' && s[n-1] != 'y'
}

func (s *stemmer) cut(suffix, by string) {
	*s = append((*s)[:len(*s)-len(suffix)], by...)
}

// plural is step 1a.
func (s *stemmer) plural() {
	switch {
	case s.ends("sses"):
		s.cut("es", "")
	case s.ends("ies"):
		s.cut("ies", "i")
	case s.ends("ss"):
	case s.ends("s"):
		s.cut("s", "")
	}
}

// tense is step 1b.
func (s *stemmer) tense() {
	if s.ends("eed") {
		if s.measure(len(*s)-3) > 0 {
			s.cut("eed", "ee")
		}
		return
	}
	switch {
	case s.ends("ed") && s.hasVowel(len(*s)-2):
		s.cut("ed", "")
	case s.ends("ing") && s.hasVowel(len(*s)-3):
		s.cut("ing", "")
	default:
		return
	}
	last := (*s)[len(*s)-1]
	switch {
	case s.ends("at") || s.ends("bl") || s.ends("iz"):
		s.cut("", "e")
	case s.doubled() && last != 'l' && last != 's' && last != 'z':
		*s = (*s)[:len(*s)-1]
	case s.measure(len(*s)) == 1 && s.short(len(*s)):
		s.cut("", "e")
	}
}

// finalY is step 1c.
func (s *stemmer) finalY() {
	if s.ends("y") && s.hasVowel(len(*s)-1) {
		s.cut("y", "i")
	}
}

type ending struct{ suffix, by string }

// longEndings are step 2, shortEndings step 3; where one ends another, the longer is before it.
var (
	longEndings = []ending{
		{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"},
		{"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"},
		{"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},
		{"iviti", "ive"}, {"biliti", "ble"}, {"logi", "log"},
	}
	shortEndings = []ending{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	}
	// droppedEndings are step 4.
	droppedEndings = []string{
		"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
		"ous", "ive", "ize",
	}
)

// replace exchanges the ending that fits, if what is before it has at least that measure.
func (s *stemmer) replace(measure int, list []ending) {
	for _, e := range list {
		if s.ends(e.suffix) {
			if s.measure(len(*s)-len(e.suffix)) >= measure {
				s.cut(e.suffix, e.by)
			}
			return
		}
	}
}

func (s *stemmer) drop() {
	for _, suffix := range droppedEndings {
		if !s.ends(suffix) {
			continue
		}
		n := len(*s) - len(suffix)
		if suffix == "ion" && (*s)[n-1] != 's' && (*s)[n-1] != 't' {
			return
		}
		if s.measure(n) > 1 {
			s.cut(suffix, "")
		}
		return
	}
}

// tidy is step 5.
func (s *stemmer) tidy() {
	if n := len(*s) - 1; s.ends("e") {
		if m := s.measure(n); m > 1 || m == 1 && !s.short(n) {
			s.cut("e", "")
		}
	}
	if s.doubled() && s.ends("l") && s.measure(len(*s)) > 1 {
		*s = (*s)[:len(*s)-1]
	}
}
