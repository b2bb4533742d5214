package pii

import (
	"encoding/json"
	"strings"
)

// Restore puts back what tokens stand for. A text that is a JSON object or list is treated as JSON: see
// [Vault.RestoreJSON]. What is no token to the letter, such as [email_1], stays. The error is an *UnknownTokenError for a
// token that the vault did not give out, a *LimitError, or a *VaultError.
func (v *Vault) Restore(text string) (string, error) {
	r, err := v.restorer(text)
	if err != nil || r == nil {
		return text, err
	}
	out := r.value(text, 0)
	if r.err != nil {
		return "", r.err
	}
	return out, nil
}

// RestoreJSON puts back what tokens in a JSON value stand for: in strings, in names of members, and numbers, which a string
// that is nothing but the token of one becomes again. All else stays byte for byte. Errors are those of Restore, and one for
// what is no JSON.
func (v *Vault) RestoreJSON(raw json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	r, err := v.restorer(string(raw))
	if err != nil || r == nil {
		return raw, err
	}
	out := r.json(string(raw), 0)
	if r.err != nil {
		return nil, r.err
	}
	return json.RawMessage(out), nil
}

// restorer makes what turns tokens back; nil: there can be none in the text, however it is escaped.
func (v *Vault) restorer(text string) (*restorer, error) {
	if !strings.ContainsAny(text, `[\`) {
		return nil, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(); err != nil {
		return nil, err
	}
	return &restorer{v: v, room: v.maxRestored}, nil
}

// restorer goes once over a text.
type restorer struct {
	v    *Vault
	room int // bytes that may still be written
	err  error
}

// entry returns what a token stands for.
func (r *restorer) entry(token string) (entry, bool) {
	r.v.mu.Lock()
	e, ok := r.v.kept.byToken[token]
	r.v.mu.Unlock()
	if !ok && r.err == nil {
		r.err = &UnknownTokenError{Token: token}
	}
	return e, ok
}

// spend takes bytes from what may still be written.
func (r *restorer) spend(n int) bool {
	if r.room -= n; r.room < 0 && r.err == nil {
		r.err = &LimitError{Bytes: r.v.maxRestored}
	}
	return r.err == nil
}

// value restores the text of a string, depth strings deep.
func (r *restorer) value(text string, depth int) string {
	if isNested(text, depth) {
		return r.json(text, depth+1)
	}
	return apply(text, r.edits(text))
}

// edits are the tokens of a text and what they stand for.
func (r *restorer) edits(text string) []edit {
	var out []edit
	for at := 0; r.err == nil; {
		start, end := nextToken(text, at)
		if start < 0 {
			return out
		}
		e, ok := r.entry(text[start:end])
		if !ok || !r.spend(len(e.Value)) {
			return nil
		}
		if e.As != asItself {
			out = append(out, edit{start, end, string(e.Value)})
		}
		at = end
	}
	return nil
}

// json restores a text that is valid JSON.
func (r *restorer) json(s string, depth int) string {
	w := jsonMasker{s: s}
	for i := 0; i < len(s) && r.err == nil; {
		if s[i] != '"' {
			i++
			continue
		}
		end, escaped := stringEnd(s, i+1)
		r.string(&w, i, end, escaped, depth)
		i = end + 1
	}
	if r.err != nil {
		return ""
	}
	return string(w.done())
}

// string restores the string whose quotes are at i and end.
func (r *restorer) string(w *jsonMasker, i, end int, escaped bool, depth int) {
	raw := w.s[i+1 : end]
	text := raw
	if escaped {
		text = unescape(raw, nil)
	}
	if !strings.Contains(text, "[") {
		return
	}
	after := end + 1
	for after < len(w.s) && isSpace(w.s[after]) {
		after++
	}
	isName := after < len(w.s) && w.s[after] == ':'
	if !isName && tokenEnd(text, 0) == len(text) {
		if e, ok := r.entry(text); ok && e.As == asNumber && r.spend(len(e.Value)) {
			w.put(i, end+1, string(e.Value))
			return
		}
	}
	if !isName && isNested(text, depth) {
		w.change(i+1, raw, escaped, whole(text, r.json(text, depth+1)))
		return
	}
	w.change(i+1, raw, escaped, r.edits(text))
}
