package pii

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/detect/known"
)

// Restore replaces tokens by what they stand for. A text that is a JSON object or list is treated as JSON: see [Vault.RestoreJSON]. Tokens
// that the vault did not issue stay, as does anything that only resembles a token, such as [email_1]. The error is a *LimitError or a
// *VaultError.
func (v *Vault) Restore(text string) (string, error) { return v.restore(text, isContainer(text)) }

// RestoreJSON replaces tokens in a JSON value by what they stand for, in strings and in names of members. A string that consists of the
// token of a number becomes that number again. Everything else stays byte for byte. Errors are those of Restore, or report invalid JSON.
func (v *Vault) RestoreJSON(raw json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	out, err := v.restore(string(raw), true)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(out), nil
}

func (v *Vault) restore(text string, asJSON bool) (string, error) {
	if !mayHaveTokens(text, false) {
		return text, nil
	}
	v.mu.Lock()
	err := v.refresh(context.Background())
	v.mu.Unlock()
	if err != nil {
		return "", err
	}
	r := restorer{v: v, left: v.maxRestored}
	return r.restore(text, asJSON)
}

// mayHaveTokens reports whether there may be a token in a text, in whatever way it is escaped. lost is that of a restorer.
func mayHaveTokens(text string, lost bool) bool {
	start, _ := nextLost(text, 0, lost)
	return start >= 0 || escapedASCII.MatchString(text)
}

// escapedASCII is the beginning of what JSON may write for a character of a token.
var escapedASCII = regexp.MustCompile(`\\u00[2-7]`)

// nextLost is nextToken. If lost is set, it also finds what took the place of values that could not be kept: tokens without a number, and the note
// for texts without a detector's answer.
func nextLost(s string, i int, lost bool) (start, end int) {
	if !lost {
		return nextToken(s, i)
	}
	start, end = anyToken(s, i)
	if note := strings.Index(s[i:], unchecked); note >= 0 && (start < 0 || i+note < start) {
		return i + note, i + note + len(unchecked)
	}
	return start, end
}

// restorer restores one text.
type restorer struct {
	v      *Vault
	left   int  // bytes that may still be written
	strict bool // unknown tokens are an error
	lost   bool // so is what took the place of values that could not be kept
	// changed are the forms of changed tokens that are errors.
	changed []*regexp.Regexp
	of      []string // the only tokens that are restored; nil: all
	// numbersAsText restores a number as a string.
	numbersAsText bool
	err           error
	stale         []string // tokens whose use is to be noted
	used          *Restored
}

// Restored are the values that were put in the place of tokens. Nil: none were.
type Restored struct {
	values    known.Values
	hasNumber bool
}

// HasNumber reports whether one of the values is a JSON number.
func (r *Restored) HasNumber() bool { return r != nil && r.hasNumber }

func (r *Restored) add(e *entry) {
	r.hasNumber = r.hasNumber || e.As == asNumber
	r.values.AddExact(e.Type, string(e.Value))
}

// find returns where the values stand in a text as words of their own.
func (r *Restored) find(text string) []detect.Match {
	if r == nil {
		return nil
	}
	return r.values.Find(text)
}

// Tokens that were changed on their way: with brackets that are encoded for a URL, or, which only a script that has tokens does, to lower case.
var (
	encodedToken = regexp.MustCompile(`(?i:%5B)([A-Z]+(?:_[A-Z]+)*_[1-9][0-9]*)(?i:%5D)`)
	loweredToken = regexp.MustCompile(`\[([a-z]+(?:_[a-z]+)*_[1-9][0-9]*)\]`)
)

// altered reports the first token in a span that was changed on its way, if the vault has issued it.
func (r *restorer) altered(s *span) {
	for _, form := range r.changed {
		for _, m := range form.FindAllStringSubmatchIndex(s.text, -1) {
			token := "[" + strings.ToUpper(s.text[m[2]:m[3]]) + "]"
			r.v.mu.Lock()
			e, ok := r.v.ledger.byToken[token]
			r.v.mu.Unlock()
			if ok && e.As != asItself && r.err == nil {
				r.err = &UnknownTokenError{Token: s.text[m[0]:m[1]], Pointer: pointerAt(s.doc.text, s.origin(m[0])), Issued: token}
			}
		}
	}
}

func (r *restorer) restore(text string, asJSON bool) (string, error) {
	d, s := newDocument(text)
	if asJSON {
		r.json(s)
	} else {
		r.text(s)
	}
	if r.err != nil {
		return "", r.err
	}
	return d.apply(), nil
}

// entry returns what the token from start to end stands for, if the vault issued it and the limit allows it.
func (r *restorer) entry(s *span, start, end int) (*entry, bool) {
	token := s.text[start:end]
	r.v.mu.Lock()
	defer r.v.mu.Unlock()
	e, ok := r.v.ledger.byToken[token]
	if !ok || r.of != nil && !slices.Contains(r.of, token) {
		if r.strict && r.err == nil {
			r.err = &UnknownTokenError{Token: token, Pointer: pointerAt(s.doc.text, s.origin(start)), Forgotten: r.v.ledger.isForgotten(token)}
		}
		return nil, false
	}
	if r.v.isStale(e) {
		r.stale = append(r.stale, token)
	}
	r.left -= max(len(e.Value), len(e.Source))
	if r.err == nil && r.left < 0 {
		r.err = &LimitError{Bytes: r.v.maxRestored}
	}
	return e, r.err == nil
}

// pointerAt returns the JSON pointer of what is at an offset of a JSON text, or "" if the text is not JSON.
func pointerAt(text string, offset int) string {
	d := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for d.InputOffset() <= int64(offset) {
		if _, err := d.ReadToken(); err != nil {
			return ""
		}
	}
	return string(d.StackPointer())
}

// json restores a span of valid JSON.
func (r *restorer) json(s *span) {
	s.walk(nil, func(l literal, _ hint) {
		if r.err != nil || !l.isString() {
			return
		}
		in := l.text()
		if !l.isName && in.text != "" && tokenEnd(in.text, 0) == len(in.text) {
			if e, ok := r.entry(in, 0, len(in.text)); ok && e.As == asNumber && !r.numbersAsText {
				r.put(s, l.start, l.end, e)
			} else if ok {
				r.put(in, 0, len(in.text), e)
			}
			return
		}
		if !l.isName && in.isJSON() {
			r.json(in)
			return
		}
		if l.isName {
			r.tokens(in)
		} else {
			r.text(in)
		}
	})
}

// text restores the tokens in a text, and in the JSON in it.
func (r *restorer) text(s *span) { s.eachPart(r.tokens, r.json) }

// tokens restores the tokens in a text without JSON.
func (r *restorer) tokens(s *span) {
	r.altered(s)
	for at := 0; r.err == nil; {
		start, end := nextLost(s.text, at, r.lost)
		if start < 0 {
			return
		}
		if e, ok := r.entry(s, start, end); ok {
			r.put(s, start, end, e)
		}
		at = end
	}
}

// put writes what an entry stands for. It keeps the original spelling if the place is like the one where the value was found.
func (r *restorer) put(s *span, start, end int, e *entry) {
	if e.As != asItself {
		if r.used == nil {
			r.used = &Restored{}
		}
		r.used.add(e)
	}
	switch {
	case e.As == asItself:
	case e.Source != nil && e.Depth == s.depth:
		s.put(start, end, string(e.Source))
	default:
		s.replace(start, end, string(e.Value))
	}
}
