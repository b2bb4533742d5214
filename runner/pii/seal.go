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
//	"mcprun vault 2\n"   what it is, and its version
//	8 bytes              derived from the key, to tell another key from damage
//	16 bytes             derived from the key and the owner's name, to tell another owner from damage
//	32 bytes             salt, new with each writing
//	12 bytes and the rest: nonce and text, sealed with AES-256-GCM under a key derived from key and salt (HKDF, SHA-256);
//	all that stands before, and the owner's name, is authenticated with it
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

// sealKey is what a vault is sealed with: a key, and for whom.
type sealKey struct {
	key   []byte
	owner string
}

// sealed is the text in a vault's file.
type sealed struct {
	Entries []entry      `json:"entries"`
	Last    map[Type]int `json:"last"`
}

// seal returns the file of a vault.
func (k *kept) seal(key sealKey) ([]byte, error) {
	text, err := json.Marshal(sealed{k.entries, k.last})
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

// head is the beginning of a file that it seals, up to the salt, with room for that.
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

// bound is what is authenticated with the text: the head, whose length is always the same, and the owner.
func (s sealKey) bound(head []byte) []byte { return append(bytes.Clone(head), s.owner...) }

// unseal reads the file of a vault.
func unseal(file []byte, key sealKey) (*kept, error) {
	switch {
	case len(file) < headSize && bytes.HasPrefix([]byte(magic), file[:min(len(file), len(magic))]), len(file) == 0:
		return nil, errors.New("it is damaged: its end is missing")
	case !bytes.HasPrefix(file, []byte(magicName)):
		return nil, errors.New("it is damaged, or no vault: it does not begin as one")
	case !bytes.HasPrefix(file, []byte(magic)):
		return nil, errors.New("it is of a version that this program does not know")
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
