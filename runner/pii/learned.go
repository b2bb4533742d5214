package pii

import (
	"sync"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/detect/known"
)

// learned finds the names, companies, addresses and phone numbers in texts that fields held, as the vault notes it, and others that were added.
type learned struct {
	mu     sync.RWMutex
	values known.Values

	ledger  *ledger // the vault's mutex guards it and entries
	entries int     // of the ledger that values has
}

func (l *learned) find(text string) []detect.Match {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.values.Find(text)
}

// add adds a value, and reports whether it will be found.
func (l *learned) add(typ Type, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.values.Add(typ, text)
}

// learn adds the values that fields held.
func (l *learned) learn(entries []*entry) {
	for _, e := range entries {
		if e.Field && e.As == asText {
			l.add(e.Type, string(e.Value))
		}
	}
}

// isLearned reports whether values of a type are looked for in texts.
func isLearned(typ Type) bool {
	return typ == detect.Name || typ == detect.Company || typ == detect.Address || typ == detect.Phone
}

// known returns what is looked for of the vault's values. The caller holds the mutex.
func (v *Vault) known() *learned {
	if v.names == nil || v.names.ledger != v.ledger && !v.ledger.continues(v.names.ledger, v.names.entries) {
		v.names = &learned{}
	}
	l := v.names
	l.ledger = v.ledger
	l.learn(v.ledger.entries[l.entries:])
	l.entries = len(v.ledger.entries)
	return l
}

// continues reports whether the ledger begins with the first n entries of another.
func (l *ledger) continues(other *ledger, n int) bool {
	if len(l.entries) < n {
		return false
	}
	for i, e := range other.entries[:n] {
		if own := l.entries[i]; own.Token != e.Token || own.Field != e.Field || string(own.Value) != string(e.Value) {
			return false
		}
	}
	return true
}

// named calls visit for each name, company, address and phone number that a member of JSON holds by its name.
func (s *span) named(f *fields, visit func(typ Type, text string)) {
	s.walk(f, func(l literal, h hint) {
		if !l.isString() || l.isName || h.set && !isLearned(h.typ) {
			return
		}
		in := l.text()
		switch {
		case h.set:
			visit(h.typ, in.text)
		case in.isJSON():
			in.named(f, visit)
		case isLearned(h.typ):
			for _, m := range detect.Find(in.text, h.typ) {
				if isLearned(m.Type) {
					visit(m.Type, in.text[m.Start:m.End])
				}
			}
		}
	})
}
