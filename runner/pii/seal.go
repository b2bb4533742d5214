package pii

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// The form of a vault's file:
//
//	"mcprun vault 1\n"   what it is, and its version
//	8 bytes              derived from the key, to tell another key from damage
//	32 bytes             salt, new with each writing
//	12 bytes and the rest: nonce and text, sealed with AES-256-GCM under a key derived from key and salt (HKDF, SHA-256);
//	all that stands before is authenticated with it
const (
	magicName = "mcprun vault "
	magic     = magicName + "1\n"
	keySize   = 32
	saltSize  = 32
	keyIDSize = 8
	headSize  = len(magic) + keyIDSize + saltSize

	infoKey = "mcprun vault 1: sealing"
	infoID  = "mcprun vault 1: name of the key"
)

// sealed is the text in a vault's file.
type sealed struct {
	Entries []entry      `json:"entries"`
	Last    map[Type]int `json:"last"`
}

// seal returns the file of a vault.
func (k *kept) seal(key []byte) ([]byte, error) {
	text, err := json.Marshal(sealed{k.entries, k.last})
	if err != nil {
		return nil, err
	}
	id, err := keyID(key)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 0, headSize)
	head = append(append(head, magic...), id...)
	head = head[:headSize]
	salt := head[headSize-saltSize:]
	rand.Read(salt)
	aead, err := sealer(key, salt)
	if err != nil {
		return nil, err
	}
	out := make([]byte, headSize, headSize+len(text)+aead.Overhead())
	copy(out, head)
	return aead.Seal(out, nil, text, head), nil
}

// unseal reads the file of a vault.
func unseal(file, key []byte) (*kept, error) {
	switch {
	case len(file) < headSize && bytes.HasPrefix([]byte(magic), file[:min(len(file), len(magic))]), len(file) == 0:
		return nil, errors.New("it is damaged: its end is missing")
	case !bytes.HasPrefix(file, []byte(magicName)):
		return nil, errors.New("it is damaged, or no vault: it does not begin as one")
	case !bytes.HasPrefix(file, []byte(magic)):
		return nil, errors.New("it is of a version that this program does not know")
	}
	head := file[:headSize]
	id, err := keyID(key)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(head[len(magic):len(magic)+keyIDSize], id) {
		return nil, ErrForeignKey
	}
	aead, err := sealer(key, head[headSize-saltSize:])
	if err != nil {
		return nil, err
	}
	text, err := aead.Open(nil, nil, file[headSize:], head)
	if err != nil {
		return nil, errors.New("it is damaged: its seal is broken")
	}
	var in sealed
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	k := newKept()
	for _, e := range in.Entries {
		if tokenEnd(e.Token, 0) != len(e.Token) || !k.add(e) {
			return nil, fmt.Errorf("it is damaged: the token %q is in it twice, or is none", e.Token)
		}
	}
	for t, n := range in.Last {
		k.last[t] = n
	}
	return k, nil
}

func keyID(key []byte) ([]byte, error) {
	return hkdf.Key(sha256.New, key, nil, infoID, keyIDSize)
}

func sealer(key, salt []byte) (cipher.AEAD, error) {
	own, err := hkdf.Key(sha256.New, key, salt, infoKey, keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
