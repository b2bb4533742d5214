package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// Digest is "sha256:" and the hex SHA-256 of a JSON value in canonical form: as RFC 8785, but numbers as written. So
// white space, the order of keys and the way a character is escaped make no difference. The order of a list does, and
// the way a number is written: 1 and 1.0 differ, and no digit is lost. Of a key that stands twice in one object the last
// value counts, as in every common reader, and half of a surrogate pair counts as U+FFFD. Changing any of this is a new
// [LockVersion].
func Digest(raw json.RawMessage) (string, error) {
	canonical, err := Canonical(raw)
	if err != nil {
		return "", err
	}
	return digestBytes(canonical), nil
}

func digestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Canonical is the form that [Digest] hashes.
func Canonical(raw json.RawMessage) ([]byte, error) {
	v, err := jsonschema.Parse(raw, jsonschema.Unlimited)
	if err != nil {
		return nil, fmt.Errorf("read JSON: the text %w", err)
	}
	return v.AppendCanonical(make([]byte, 0, len(raw))), nil
}
