package journal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
)

const (
	sealInfo = "mcprun journal 1: sealing"
	keySize  = 32
)

// NewSealer returns a Sealer with a key that is derived from a secret (HKDF, SHA-256; RFC 5869). It seals with AES-256-GCM and a random nonce
// of 12 bytes, which comes first.
func NewSealer(secret []byte) (Sealer, error) {
	if len(secret) < keySize/2 {
		return nil, errors.New("the secret of a journal needs at least 16 bytes")
	}
	key, err := hkdf.Key(sha256.New, secret, nil, sealInfo, keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

type sealer struct{ aead cipher.AEAD }

func (s sealer) Seal(plain []byte) ([]byte, error) { return s.aead.Seal(nil, nil, plain, nil), nil }

func (s sealer) Open(sealed []byte) ([]byte, error) {
	plain, err := s.aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, errors.New("it was sealed with another key, or is damaged")
	}
	return plain, nil
}
