package pii

import "strconv"

// form is the kind of value that a token is restored to.
type form string

const (
	asText   form = ""
	asNumber form = "number" // a JSON number
	asItself form = "itself" // it was found in a text and only looks like our tokens
)

// entry is one token and what it stands for.
type entry struct {
	Token string `json:"token"`
	Type  Type   `json:"type,omitempty"`
	As    form   `json:"as,omitempty"`
	Value []byte `json:"value"` // bytes, because half of a surrogate pair is not text
	// Source is the value as JSON wrote it, with its depth in strings, if it was written with unusual escapes.
	Source []byte `json:"source,omitempty"`
	Depth  int    `json:"depth,omitempty"`
	Field  bool   `json:"field,omitempty"` // a field held it, so it is looked for in texts; others were only found in one
	Used   int    `json:"used,omitempty"`  // the day since 1970 on which its last use was noted
}

// entryOf returns the entry of a value, without its token.
func entryOf(typ Type, v value) *entry {
	e := &entry{Type: typ, Value: []byte(v.text), Field: v.field && isLearned(typ)}
	if v.number {
		e.As = asNumber
	}
	if v.source != "" {
		e.Source, e.Depth = []byte(v.source), v.depth
	}
	return e
}

// key returns what distinguishes values: each key has a token of its own.
func (e *entry) key() string {
	key := string(e.Type) + " " + string(e.As) + " " + string(e.Value)
	if e.Source != nil {
		key = strconv.Itoa(len(key)) + " " + strconv.Itoa(e.Depth) + " " + key + string(e.Source) // no type begins with a digit
	}
	return key
}

func (e *entry) size() int { return len(e.Value) + len(e.Source) }

// ledger holds the entries of a vault.
type ledger struct {
	entries []*entry
	bytes   int
	byToken map[string]*entry
	byValue map[string]string // tokens by entry.key
	last    map[Type]int      // the highest number issued
}

func newLedger() *ledger {
	return &ledger{byToken: map[string]*entry{}, byValue: map[string]string{}, last: map[Type]int{}}
}

// add adds an entry and reports whether it is consistent with the others.
func (l *ledger) add(e *entry) bool {
	if _, ok := l.byToken[e.Token]; ok {
		return false
	}
	if e.As != asItself {
		key := e.key()
		if _, ok := l.byValue[key]; ok {
			return false
		}
		l.byValue[key] = e.Token
		typ, n := numberOf(e.Token)
		l.last[typ] = max(l.last[typ], n)
	}
	l.byToken[e.Token] = e
	l.entries = append(l.entries, e)
	l.bytes += e.size()
	return true
}

// unused returns a token that does not stand for anything yet.
func (l *ledger) unused(typ Type) string {
	for {
		l.last[typ]++
		token := tokenOf(typ, l.last[typ])
		if _, ok := l.byToken[token]; !ok {
			return token
		}
	}
}
