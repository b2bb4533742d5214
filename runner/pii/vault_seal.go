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

// The format of a vault's file:
//
//	"mcprun vault 2\n"   type and version
//	8 bytes              derived from the key, to distinguish another key from damage
//	16 bytes             derived from the key and the owner's name, to distinguish another owner from damage
//	32 bytes             salt, new with each write
//	12 bytes and the rest  nonce and text, sealed with AES-256-GCM under a key derived from key and salt (HKDF, SHA-256);
//	everything before it, and the owner's name, is authenticated too
const (
	magicName = "mcprun vault "
	magic     = magicName + "2\n"
	keySize   = 32
	saltSize  = 32
	keyIDSize = 8
	ownerSize = 16
	headSize  = len(magic) + keyIDSize + ownerSize + saltSize

	infoKey   = "mcprun vault 2: sealing"
	infoID    = "mcprun vault 2: name of the key"
	infoOwner = "mcprun vault 2: owner "
)

// sealKey is a key and the owner for whom it seals a vault.
type sealKey struct {
	key   []byte
	owner string
}

// sealed is the plain text of a vault's file.
type sealed struct {
	Entries []*entry     `json:"entries"`
	Last    map[Type]int `json:"last"`
}

// seal returns the content of a vault's file.
func (l *ledger) seal(key sealKey) ([]byte, error) {
	text, err := json.Marshal(sealed{l.entries, l.last})
	if err != nil {
		return nil, err
	}
	head, err := key.head()
	if err != nil {
		return nil, err
	}
	head = head[:headSize]
	salt := head[headSize-saltSize:]
	rand.Read(salt)
	aead, err := sealer(key.key, salt)
	if err != nil {
		return nil, err
	}
	out := make([]byte, headSize, headSize+len(text)+aead.Overhead())
	copy(out, head)
	return aead.Seal(out, nil, text, key.bound(head)), nil
}

// head returns the beginning of a file sealed with the key, up to the salt, with capacity for the salt.
func (s sealKey) head() ([]byte, error) {
	id, err := hkdf.Key(sha256.New, s.key, nil, infoID, keyIDSize)
	if err != nil {
		return nil, err
	}
	owner, err := hkdf.Key(sha256.New, s.key, nil, infoOwner+s.owner, ownerSize)
	if err != nil {
		return nil, err
	}
	return append(append(append(make([]byte, 0, headSize), magic...), id...), owner...), nil
}

// bound returns the data that is authenticated with the text: the head, which has a fixed length, and the owner.
func (s sealKey) bound(head []byte) []byte { return append(bytes.Clone(head), s.owner...) }

// unseal reads the content of a vault's file.
func unseal(file []byte, key sealKey) (*ledger, error) {
	switch {
	case len(file) < headSize && bytes.HasPrefix([]byte(magic), file[:min(len(file), len(magic))]), len(file) == 0:
		return nil, errors.New("it is damaged: its end is missing")
	case !bytes.HasPrefix(file, []byte(magicName)):
		return nil, errors.New("it is damaged or not a vault: its beginning is wrong")
	case !bytes.HasPrefix(file, []byte(magic)):
		return nil, errors.New("its version is unknown to this program")
	}
	head := file[:headSize]
	own, err := key.head()
	if err != nil {
		return nil, err
	}
	const owners = len(magic) + keyIDSize
	if !bytes.Equal(head[:owners], own[:owners]) {
		return nil, ErrForeignKey
	}
	if !bytes.Equal(head[:len(own)], own) {
		return nil, ErrForeignOwner
	}
	aead, err := sealer(key.key, head[headSize-saltSize:])
	if err != nil {
		return nil, err
	}
	text, err := aead.Open(nil, nil, file[headSize:], key.bound(head))
	if err != nil {
		return nil, errors.New("it is damaged: its seal is broken")
	}
	var in sealed
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	l := newLedger()
	for _, e := range in.Entries {
		if e == nil || tokenEnd(e.Token, 0) != len(e.Token) || !l.add(e) {
			return nil, errors.New("it is damaged: a token is in it twice, or is not one")
		}
	}
	for t, n := range in.Last {
		l.last[t] = n
	}
	return l, nil
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
