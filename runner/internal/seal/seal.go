// Package seal encrypts values that are kept where others may read or change them, with a key that is derived from the user's secret for one
// purpose. A value is bound to its place, so that it opens nowhere else.
//
// What is missing is not noticed, nor is an older value in the same place; callers that need that put a number or what came before into the
// place.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	keySize   = 32 // of AES-256
	minSecret = 16
)

// ErrForeign is the error of Open.
var ErrForeign = errors.New("it was sealed with another key or for another place, or is damaged")

// Derive derives size bytes for one purpose from a secret of at least 16 bytes (HKDF with SHA-256; RFC 5869). A purpose names the format and its
// version. The salt may be nil.
func Derive(secret, salt []byte, purpose string, size int) ([]byte, error) {
	if len(secret) < minSecret {
		return nil, fmt.Errorf("a secret needs at least %d bytes", minSecret)
	}
	return hkdf.Key(sha256.New, secret, salt, purpose, size)
}

// Sealer seals values for one purpose: with AES-256-GCM and a random nonce of 12 bytes, which comes first. One may seal 2³² values (NIST SP
// 800-38D, 8.3). It is safe for concurrent use.
type Sealer struct{ aead cipher.AEAD }

// New returns a Sealer with the key that Derive returns.
func New(secret, salt []byte, purpose string) (*Sealer, error) {
	key, err := Derive(secret, salt, purpose, keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Sealer{aead}, err
}

// Seal returns a sealed value, which has 28 bytes more than the plain one.
func (s *Sealer) Seal(plain, place []byte) []byte { return s.aead.Seal(nil, nil, plain, place) }

// Open returns the plain value that was sealed for a place. The error is ErrForeign.
func (s *Sealer) Open(sealed, place []byte) ([]byte, error) {
	plain, err := s.aead.Open(nil, nil, sealed, place)
	if err != nil {
		return nil, ErrForeign
	}
	return plain, nil
}

// Place joins the names of a place, so that others never give the same bytes.
func Place(names ...string) []byte {
	var out []byte
	for _, name := range names {
		out = fmt.Appendf(out, "%d:%s", len(name), name)
	}
	return out
}

// At returns the place of a value that a store keeps under a key.
func At(key store.Key) []byte { return Place(key.Customer, key.Kind, key.Name) }
