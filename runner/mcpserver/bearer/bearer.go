// Package bearer maps the bearer tokens of HTTP clients to customers. Start with [Read].
package bearer

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	minToken  = 16 // bytes; shorter ones can be guessed
	maxToken  = 4 << 10
	maxTokens = 10_000
)

// Tokens maps bearer tokens to customers. The zero value is empty.
type Tokens struct {
	sums      [][sha256.Size]byte
	customers []string
}

// Add adds a token of a customer: 16 to 4,096 bytes of printable ASCII without spaces. A customer may have several tokens,
// but a token has one customer.
func (t *Tokens) Add(token, customer string) error {
	switch {
	case len(token) < minToken:
		return fmt.Errorf("the token has %d characters: at least %d are needed, or it can be guessed; make one with: openssl rand -hex 32", len(token), minToken)
	case len(token) > maxToken:
		return fmt.Errorf("the token has more than %d characters", maxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token has spaces, or characters that are not ASCII, which an HTTP header cannot carry")
	case len(t.sums) >= maxTokens:
		return fmt.Errorf("there are more than %d tokens", maxTokens)
	}
	if _, ok := t.Customer(token); ok {
		return errors.New("the token is listed twice")
	}
	t.sums, t.customers = append(t.sums, sha256.Sum256([]byte(token))), append(t.customers, customer)
	return nil
}

// Customer returns the customer of a token. The time it takes does not depend on which tokens exist.
func (t *Tokens) Customer(token string) (string, bool) {
	sum, found := sha256.Sum256([]byte(token)), -1
	for i := range t.sums {
		if subtle.ConstantTimeCompare(sum[:], t.sums[i][:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return "", false
	}
	return t.customers[found], true
}

// Len returns the number of tokens.
func (t *Tokens) Len() int { return len(t.sums) }

// Customers returns the customers of all tokens, sorted, each once.
func (t *Tokens) Customers() []string {
	return slices.Compact(slices.Sorted(slices.Values(t.customers)))
}

// Read reads a file of tokens: on each line a token, spaces, and its customer. A token alone belongs to the customer
// given, which may be empty. Empty lines and lines that begin with # are skipped. Errors name the line, never the token.
func Read(text []byte, customer string) (*Tokens, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the file is not UTF-8")
	}
	t := &Tokens{}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		owner := customer
		switch {
		case len(fields) == 2:
			owner = fields[1]
		case len(fields) > 2:
			return nil, fmt.Errorf("line %d: expected a token and a customer", n)
		}
		if err := t.Add(fields[0], owner); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if t.Len() == 0 {
		return nil, errors.New("the file has no token")
	}
	return t, nil
}
