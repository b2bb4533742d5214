package pii

import (
	"sync"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/detect/known"
)

// learned finds in texts the values that fields held, as the vault notes it, and others that were added.
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
		if e.Field && e.As != asItself {
			l.add(e.Type, string(e.Value))
		}
	}
}

// isLearned reports whether values of a type that a field held are looked for in texts. Addresses of e-mail and IP are found there anyway.
func isLearned(typ Type) bool {
	switch typ {
	case detect.Name, detect.Company, detect.Address, detect.Phone, detect.SSN, detect.Card, detect.IBAN, detect.Key, detect.Secret:
		return true
	}
	return false
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

// held calls visit for each value that a member of JSON holds by its name, or a cell of a table by the name of its column.
func (s *span) held(f *fields, visit func(typ Type, text string)) {
	found := func(typ Type, text string) {
		if isLearned(typ) {
			visit(typ, text)
		}
	}
	s.walk(f, func(l literal, h hint) {
		switch {
		case l.isName:
			return
		case !l.isString():
			digits := s.text[l.start:l.end]
			if !h.set {
				h.typ = numberType(digits, h.typ)
			}
			found(h.typ, digits)
			return
		}
		in := l.text()
		var matches []detect.Match
		switch {
		case h.set:
			found(h.typ, in.text)
		case in.isJSON():
			in.held(f, visit)
		case h.typ == detect.Secret:
			if detect.IsSecretValue(in.text) {
				found(h.typ, in.text)
			}
		case detect.IsWhole(h.typ) || isLearned(h.typ):
			matches = detect.Find(in.text, h.typ)
		default:
			matches = detect.Cells(in.text)
		}
		for _, m := range matches {
			found(m.Type, in.text[m.Start:m.End])
		}
	})
}
