// Package pii finds personal data and credentials in text and JSON, and puts tokens such as [EMAIL_1] in their place. Start
// with [OpenVault] and a [Vault], whose tokens last and can be turned back; with [Mask] for one text, or [New] and a
// [Tokenizer], whose tokens can't be and are the same for the same value for as long as it lives. [Find] only tells what is
// where.
//
// Nothing is taken for personal data by its look alone where a check exists: payment cards must pass Luhn's and have an
// issuer's prefix, account numbers their check digits, phone numbers the length that their country has, social security
// numbers the ranges that were given out, addresses of machines must parse, e-mail addresses must end in a domain that
// exists, keys must have their vendor's form. In JSON the name of a member counts too: what stands under "password" is a
// secret, and bare digits under "phone" are a phone number.
//
// What is not found: names and addresses of people, phone numbers in national forms that look like other numbers (unless the
// member's name or the words before say what they are), and what is written to be hidden. It lessens what a file or a model
// gets to see; it is no wall.
package pii

import (
	"crypto/sha256"
	"strings"
	"sync"
)

// Type is a kind of personal data; it is the first part of its tokens.
type Type string

const (
	Email  Type = "EMAIL"
	Phone  Type = "PHONE"
	SSN    Type = "SSN"     // social security number (United States)
	Card   Type = "CARD"    // payment card number
	IBAN   Type = "IBAN"    // number of a bank account
	IP     Type = "IP"      // address of a machine, version 4 or 6; not loopback, unspecified and reserved ones
	Key    Type = "API_KEY" // a credential in the form of its vendor, a private key, a token, a password in an address
	Secret Type = "SECRET"  // a value that was named beforehand, or that stands under, or is given to, a name such as "password"
)

// Match is one find.
type Match struct {
	Start, End int // bytes of the text, End exclusive
	Type       Type
}

// Find returns what is found in text, in order and without overlaps. It takes linear time whatever the text is.
func Find(text string) []Match {
	f := finder{s: text}
	f.scan()
	return f.out
}

// Mask replaces what is found in text. Tokens count from 1 for each text; use a Tokenizer for more than one.
func Mask(text string) string { return New(nil).Mask(text) }

// Options configure a Tokenizer; nil is valid.
type Options struct {
	// Secrets are values to be replaced wherever they stand, such as those of variables. Ones of fewer than 6 bytes are left
	// out: they would be found everywhere.
	Secrets []string
	// MaxTokens bounds how many values are remembered. Further ones become a token without a number, such as [EMAIL]. Zero:
	// 100,000.
	MaxTokens int
}

const (
	minSecret        = 6
	defaultMaxTokens = 100_000
)

// Tokenizer replaces personal data by tokens that are the same for the same value. It may be used by several goroutines at
// once. It keeps the values that it has met in memory, long ones as a digest; they can't be got out of it.
type Tokenizer struct {
	max     int
	secrets *literals

	mu     sync.Mutex
	tokens map[string]string // type and value → token
	counts map[Type]int
}

// New makes a Tokenizer.
func New(opts *Options) *Tokenizer {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = defaultMaxTokens
	}
	return &Tokenizer{
		max: o.MaxTokens, secrets: newLiterals(o.Secrets), tokens: map[string]string{}, counts: map[Type]int{},
	}
}

// Mask replaces what is found in text. Text without a find is returned as it came, and so are tokens.
func (t *Tokenizer) Mask(text string) string { return t.masker().text(text, "") }

func (t *Tokenizer) masker() *masker { return &masker{secrets: t.secrets, name: t.token} }

// token is what stands for a value.
func (t *Tokenizer) token(typ Type, value string, _ bool) string {
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
		return "[" + string(typ) + "]"
	}
	t.counts[typ]++
	token := tokenOf(typ, t.counts[typ])
	t.tokens[strings.Clone(key)] = token
	return token
}
