package mcpserver

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
	minToken  = 16 // bytes; what is shorter can be guessed
	maxToken  = 4 << 10
	maxTokens = 10_000
)

// Tokens say which customer a bearer token stands for. The zero value knows none.
type Tokens struct {
	sums      [][sha256.Size]byte
	customers []string
}

// Add lets a token stand for a customer. It is at least 16 bytes of printable ASCII without spaces; several may stand for
// one customer, but no token for two.
func (t *Tokens) Add(token, customer string) error {
	switch {
	case len(token) < minToken:
		return fmt.Errorf("the token has %d characters: fewer than %d can be guessed; make one with: openssl rand -hex 32", len(token), minToken)
	case len(token) > maxToken:
		return fmt.Errorf("the token has more than %d characters", maxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token holds spaces, or characters that are not ASCII, which no HTTP header carries")
	case len(t.sums) >= maxTokens:
		return fmt.Errorf("there are more than %d tokens", maxTokens)
	}
	if _, ok := t.Customer(token); ok {
		return errors.New("the token is there twice")
	}
	t.sums, t.customers = append(t.sums, sha256.Sum256([]byte(token))), append(t.customers, customer)
	return nil
}

// Customer returns whom a token stands for. How long it takes tells nothing of the tokens that there are.
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

// Len is the number of tokens.
func (t *Tokens) Len() int { return len(t.sums) }

// Customers are those that the tokens stand for, sorted, each once.
func (t *Tokens) Customers() []string {
	return slices.Compact(slices.Sorted(slices.Values(t.customers)))
}

// ReadTokens reads a file of tokens: one on each line, a token, spaces, and the customer it stands for; a line with a token
// alone is for the customer given, which may be empty. Empty lines and lines that begin with # are passed over. Errors name the line, never
// the token.
func ReadTokens(text []byte, customer string) (*Tokens, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	t := &Tokens{}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		who := customer
		switch {
		case len(fields) == 2:
			who = fields[1]
		case len(fields) > 2:
			return nil, fmt.Errorf("line %d: more than a token and a customer", n)
		}
		if err := t.Add(fields[0], who); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if t.Len() == 0 {
		return nil, errors.New("there is no token in it")
	}
	return t, nil
}
