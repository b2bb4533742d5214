package customers

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// Sealer encrypts what is kept of calls that outlive their process, with AES-256-GCM. Processes of several machines need the same secret; see
// [Key].
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns a Sealer with a key that is derived from the user's secret (HKDF, RFC 5869).
func NewSealer(app *cli.App) (*Sealer, error) {
	secret, err := Key(app)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "mcprun calls", 32)
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

// Seal encrypts a text.
func (s *Sealer) Seal(plain []byte) ([]byte, error) { return s.aead.Seal(nil, nil, plain, nil), nil }

// Open decrypts what Seal has returned, or fails if it was changed.
func (s *Sealer) Open(sealed []byte) ([]byte, error) { return s.aead.Open(nil, nil, sealed, nil) }
