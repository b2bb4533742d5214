package pii

import "encoding/json"

// Quote replaces in a JSON value, or a text, only what looks like a token, by [LITERAL_1] and so on, and the values of [Outlet.With]. It is for what
// a script gets of servers with real values: a server has no tokens, so what looks like one must not become another server's value when the
// script sends it back.
func (o *Outlet) Quote(raw []byte) []byte {
	text := string(raw)
	if !mayHaveTokens(text, false) && o.restored == nil {
		return raw
	}
	isJSON := json.Valid(raw)
	v, _, err := o.ready()
	for n := 1; ; n++ {
		p := pass{v: v, foreign: true, byKey: map[string]*entry{}}
		m := (&masker{token: p.token, lookalike: p.lookalike, restored: o.restored}).without()
		d, top := newDocument(text)
		if isJSON {
			m.json(top)
		} else {
			m.text(top, hint{})
		}
		if len(p.new) == 0 || v == nil || err != nil || n == maxPasses {
			if len(p.new) > 0 || err != nil {
				o.lost.Store(true)
				o.report(err)
			}
			return []byte(d.apply())
		}
		err = o.keep(v, p.new, p.stale)
	}
}
