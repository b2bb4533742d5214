package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
)

// Key signs the heads of a record.
type Key struct {
	signer   note.Signer
	verifier string
}

// Name returns the name of the record, which is the first line of its heads.
func (k *Key) Name() string { return k.signer.Name() }

// Verifier returns the key with which others verify heads and proofs, in the form of c2sp.org/signed-note. It is public.
func (k *Key) Verifier() string { return k.verifier }

// ReadKey reads a key from a file that only its owner can read: one line in the form of package note, PRIVATE+KEY+NAME+HASH+DATA. Errors
// wrap fs.ErrNotExist if there is no such file.
func ReadKey(path string) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others can read the key of the record in %s: run chmod 600 %s, and make another key if somebody may have read it", path, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k, err := ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("read the key of the record in %s: %w", path, err)
	}
	return k, nil
}

// CreateKey reads the key in a file, or makes one and writes it there if the file does not exist. Processes that do this at the same time
// get the same key. The record's name is mcprun/ and the given one, without spaces and "+".
func CreateKey(path, name string) (*Key, error) {
	k, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	secret, _, err := note.GenerateKey(rand.Reader, "mcprun/"+name)
	if err != nil {
		return nil, err
	}
	if _, err := note.NewSigner(secret); err != nil {
		return nil, fmt.Errorf("%q cannot be the name of a record: use letters, digits, - and /", name)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), atomicfile.TempPrefix) // for its owner alone
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(secret + "\n")
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) { // unlike a rename, it replaces no key
		return nil, err
	}
	return ReadKey(path)
}

// ParseKey parses a key of the form PRIVATE+KEY+NAME+HASH+DATA, which package note calls a signer's key.
func ParseKey(secret string) (*Key, error) {
	secret = strings.TrimSpace(secret)
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, errors.New("it is not a key of the form PRIVATE+KEY+NAME+HASH+DATA")
	}
	fields := strings.SplitN(secret, "+", 5) // NewSigner has found five; the last may have a "+", too
	data, err := base64.StdEncoding.DecodeString(fields[4])
	if err != nil {
		return nil, err
	}
	public := ed25519.NewKeyFromSeed(data[1:]).Public().(ed25519.PublicKey) // NewSigner has checked the length
	verifier, err := note.NewEd25519VerifierKey(signer.Name(), public)
	return &Key{signer, verifier}, err
}
