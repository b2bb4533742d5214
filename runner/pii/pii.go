// Package pii replaces personal data and credentials in text and JSON by tokens such as [EMAIL_1]. A [Vault] keeps what its tokens stand
// for in a sealed file, restores them exactly, and issues the same token for the same value. [Mask] and a [Tokenizer] issue tokens that
// cannot be restored. Package detect finds the data.
//
// An [Outlet] stands between the model and everything else. What leaves is masked: results, texts, streams, errors. What comes back is
// restored, and a token that stands for nothing is an error. If the vault cannot be used, values leave as tokens that cannot be restored.
//
// In JSON the name of a member counts too: the value of "password" is a secret, and bare digits under "phone" are a phone number. JSON in
// strings, and in texts, is treated as JSON. Everything that is not replaced stays byte for byte.
//
// Names of people and companies, and postal addresses, are found by the member that holds them, or by the words before them. A vault looks
// for those that a member has held in each text. Phone numbers in national forms that look like other numbers are found only if a word or
// member name announces them. Text written to avoid detection is not found. The package reduces what a file or a model gets to see; it is not a security
// boundary.
package pii

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// Type is a kind of personal data; it is the first part of its tokens.
type Type = detect.Type

// Types returns all types that are replaced, ordered by name.
func Types() []Type { return detect.Types() }

// Mask replaces the personal data in text. Tokens count from 1 for each text; use a Tokenizer for several texts.
func Mask(text string) string { return New().Mask(text) }

// maxTokens bounds the number of values remembered. Further ones are replaced by a token without a number, such as [EMAIL].
const maxTokens = 100_000

// Bounds of what a Tokenizer knows of members, which keeps the texts that they come from: in bytes of one text, and in entries.
const (
	maxKnownText = 4 << 10
	maxKnown     = 100
)

// Tokenizer replaces personal data by tokens, the same one for the same value. It is safe for concurrent use. It remembers
// values in memory, long ones as a digest, and does not restore them.
type Tokenizer struct {
	max       int
	isPrivate bool // see NewPrivate

	fields sync.Pool // of *fields, since most texts of a run have the same members

	mu     sync.Mutex
	tokens map[string]string // type and value → token
	counts map[Type]int
}

// New returns a Tokenizer.
func New() *Tokenizer {
	return &Tokenizer{max: maxTokens, tokens: map[string]string{}, counts: map[Type]int{}}
}

// NewPrivate returns a Tokenizer whose tokens, such as [EMAIL #1], nobody takes for those of a vault, where the same number may stand for
// another value.
func NewPrivate() *Tokenizer {
	t := New()
	t.isPrivate = true
	return t
}

// Mask replaces the personal data in text. Tokens, and text without personal data, stay unchanged.
func (t *Tokenizer) Mask(text string) string {
	return t.mask(text, false)
}

// MaskJSON replaces personal data in a JSON text: in strings, in names of members, and whole numbers, which become strings. It
// returns raw itself if there is none. Text that is not JSON is masked as text.
func (t *Tokenizer) MaskJSON(raw []byte) []byte {
	text := string(raw)
	if masked := t.mask(text, json.Valid(raw)); masked != text {
		return []byte(masked)
	}
	return raw
}

func (t *Tokenizer) mask(text string, asJSON bool) string {
	d, s := newDocument(text)
	known, _ := t.fields.Get().(*fields)
	if known == nil {
		known = newFields(nil)
	}
	defer func() {
		if len(text) <= maxKnownText && known.count() <= maxKnown {
			t.fields.Put(known)
		}
	}()
	m := masker{fields: known, token: t.token, own: true}
	if asJSON {
		m.json(s)
	} else {
		m.replace(s, m.find(text, ""), never)
	}
	return d.apply()
}

// token returns the token of a value.
func (t *Tokenizer) token(typ Type, v value) string {
	value := v.text
	key := string(typ) + " " + value
	if len(value) > sha256.Size {
		sum := sha256.Sum256([]byte(value))
		key = string(typ) + "#" + string(sum[:])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if token, ok := t.tokens[key]; ok {
		return token
	}
	if len(t.tokens) >= t.max {
		return bareToken(typ)
	}
	t.counts[typ]++
	token := tokenOf(typ, t.counts[typ])
	if t.isPrivate {
		token = fmt.Sprintf("[%s #%d]", typ, t.counts[typ])
	}
	t.tokens[strings.Clone(key)] = token
	return token
}
