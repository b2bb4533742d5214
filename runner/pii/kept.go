package pii

import "maps"

// form says what a token becomes again.
type form string

const (
	asText   form = ""
	asNumber form = "number" // of JSON
	asItself form = "itself" // it is no token of ours, but was found in a text
)

// entry is one token and what it stands for.
type entry struct {
	Token string `json:"token"`
	Type  Type   `json:"type,omitempty"`
	As    form   `json:"as,omitempty"`
	Value []byte `json:"value"` // bytes: half of a surrogate pair is no text
}

// kept is what a vault knows.
type kept struct {
	entries []entry
	bytes   int
	byToken map[string]entry
	byValue map[string]string // the token
	last    map[Type]int      // the highest number given out
}

func newKept() *kept {
	return &kept{byToken: map[string]entry{}, byValue: map[string]string{}, last: map[Type]int{}}
}

func valueKey(typ Type, value string, as form) string {
	return string(typ) + " " + string(as) + " " + value
}

// add adds an entry; false: it contradicts what is there.
func (k *kept) add(e entry) bool {
	if _, ok := k.byToken[e.Token]; ok {
		return false
	}
	if e.As != asItself {
		key := valueKey(e.Type, string(e.Value), e.As)
		if _, ok := k.byValue[key]; ok {
			return false
		}
		k.byValue[key] = e.Token
	}
	k.byToken[e.Token] = e
	k.entries = append(k.entries, e)
	k.bytes += len(e.Value)
	return true
}

// free returns a token that stands for nothing yet.
func (k *kept) free(typ Type) string {
	for {
		k.last[typ]++
		token := tokenOf(typ, k.last[typ])
		if _, ok := k.byToken[token]; !ok {
			return token
		}
	}
}

// mark is how much is known at a time.
type mark struct {
	entries, bytes int
	last           map[Type]int
}

func (k *kept) mark() mark { return mark{len(k.entries), k.bytes, maps.Clone(k.last)} }

// back forgets what was added after the mark.
func (k *kept) back(m mark) {
	for _, e := range k.entries[m.entries:] {
		delete(k.byToken, e.Token)
		if e.As != asItself {
			delete(k.byValue, valueKey(e.Type, string(e.Value), e.As))
		}
	}
	k.entries, k.bytes, k.last = k.entries[:m.entries], m.bytes, m.last
}
