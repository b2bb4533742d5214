package pii

import "encoding/json"

// Quote replaces in a JSON value only what looks like a token, by [LITERAL_1] and so on. It is for results of servers that a script gets with
// real values: a server has no tokens, so what looks like one must not become another server's value when the script sends it back.
func (o *Outlet) Quote(raw []byte) []byte {
	text := string(raw)
	if !mayHaveTokens(text, false) || !json.Valid(raw) {
		return raw
	}
	v, _, err := o.ready()
	for n := 1; ; n++ {
		p := pass{v: v, foreign: true, byKey: map[string]*entry{}}
		m := &masker{fields: newFields(nil), wants: func(Type) bool { return false }, token: p.token, lookalike: p.lookalike}
		d, top := newDocument(text)
		m.json(top)
		if len(p.new) == 0 || v == nil || err != nil || n == maxPasses {
			if len(p.new) > 0 || err != nil {
				o.lost.Store(true)
				o.report(err)
			}
			return []byte(d.apply())
		}
		err = v.keep(p.new, p.stale)
	}
}
