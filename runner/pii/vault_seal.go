package pii

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/internal/seal"
)

// The format of a vault's lines:
//
//	"mcprun vault 3\n"   type and version
//	8 bytes              derived from the key, to distinguish another key from damage
//	16 bytes             derived from the key and the owner's name, to distinguish another owner from damage
//	1 byte               kindWhole or kindAdded
//	12 bytes and the rest  nonce and text, sealed with a key derived from the key and the owner's name; its place is everything before it, the
//	line's number, the end of the line before, and the owner's name
//
// So a line is only valid in its place, after the line that it was written after. A whole line follows none.
const (
	magicName = "mcprun vault "
	keySize   = 32
	keyIDSize = 8
	ownerSize = 16
	magicSize = len(magicName) + len("3\n")
	namesSize = magicSize + keyIDSize + ownerSize

	fileVersion = "2" // see readFile
	lineVersion = "3"

	kindWhole = '='
	kindAdded = '+'
)

// sealKey is a key and the owner for whom it seals a vault.
type sealKey struct {
	key   []byte
	owner string
}

// purpose returns what a part of the format derives from the key for.
func purpose(version, part string) string { return magicName + version + ": " + part }

// names returns the beginning of what the key has sealed: type, version, and what is derived from the key and the owner's name.
func (s sealKey) names(version string) ([]byte, error) {
	id, err := seal.Derive(s.key, nil, purpose(version, "name of the key"), keyIDSize)
	if err != nil {
		return nil, err
	}
	owner, err := seal.Derive(s.key, nil, purpose(version, "owner "+s.owner), ownerSize)
	if err != nil {
		return nil, err
	}
	return append(append([]byte(magicName+version+"\n"), id...), owner...), nil
}

// check returns why the key cannot open what begins with in.
func check(in, names []byte) error {
	switch {
	case len(in) < len(names) && bytes.HasPrefix(names, in[:min(len(in), magicSize)]), len(in) == 0:
		return errors.New("it is damaged: its end is missing")
	case !bytes.HasPrefix(in, []byte(magicName)):
		return errors.New("it is damaged or not a vault: its beginning is wrong")
	case !bytes.HasPrefix(in, names[:magicSize]):
		return errors.New("its version is unknown to this program")
	case !bytes.HasPrefix(in, names[:magicSize+keyIDSize]):
		return ErrForeignKey
	case !bytes.HasPrefix(in, names):
		return ErrForeignOwner
	}
	return nil
}

var errBroken = errors.New("it is damaged: its seal is broken")

// tag is the end of a line, which authenticates it.
type tag [16]byte

func tagOf(line []byte) (t tag) {
	copy(t[:], line[max(0, len(line)-len(t)):])
	return t
}

// sealer seals and opens lines.
type sealer struct {
	owner string
	names []byte
	seals *seal.Sealer
}

func newSealer(key sealKey) (*sealer, error) {
	names, err := key.names(lineVersion)
	if err != nil {
		return nil, err
	}
	seals, err := seal.New(key.key, nil, purpose(lineVersion, "sealing for "+key.owner))
	return &sealer{key.owner, names, seals}, err
}

// seal returns the line with a number, which follows the line that ends with after.
func (s *sealer) seal(number int64, after tag, b *batch) ([]byte, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	head := append(bytes.Clone(s.names), b.kind)
	return append(head, s.seals.Seal(text, s.place(head, number, after))...), nil
}

// open reads a line.
func (s *sealer) open(number int64, after tag, line []byte) (*batch, error) {
	if err := check(line, s.names); err != nil {
		return nil, err
	}
	if len(line) <= namesSize {
		return nil, errors.New("it is damaged: its end is missing")
	}
	head := line[:namesSize+1]
	text, err := s.seals.Open(line[len(head):], s.place(head, number, after))
	if err != nil {
		return nil, errBroken
	}
	b := &batch{}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	b.kind = head[namesSize]
	return b, nil
}

// place returns what a line's text is bound to.
func (s *sealer) place(head []byte, number int64, after tag) []byte {
	if head[namesSize] == kindWhole {
		after = tag{}
	}
	out := binary.BigEndian.AppendUint64(bytes.Clone(head), uint64(number))
	return append(append(out, after[:]...), s.owner...)
}
