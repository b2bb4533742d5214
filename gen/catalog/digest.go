package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
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
	v, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	return AppendCanonical(make([]byte, 0, len(raw)), v), nil
}

// Decode reads one JSON value, with numbers as they are written.
func Decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read JSON: more than one value")
	}
	return v, nil
}

// AppendCanonical appends the canonical form of a value that [Decode] returned.
func AppendCanonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, compareUTF16)
		dst = append(dst, '{')
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, k), ':')
			dst = AppendCanonical(dst, v[k])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendCanonical(dst, item)
		}
		return append(dst, ']')
	case string:
		return appendString(dst, v)
	case json.Number:
		return append(dst, v...)
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	default: // Decode yields nothing else but nil
		return append(dst, "null"...)
	}
}

// appendString writes a string as RFC 8785 §3.2.2.2 demands, which is how jsontext quotes. Decode has replaced invalid UTF-8.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// compareUTF16 orders strings by their UTF-16 code units (RFC 8785 §3.2.3). It differs from Go's order only where a
// character outside the basic plane meets one in U+E000…U+FFFF.
func compareUTF16(a, b string) int {
	ascii := func(s string) bool {
		for i := range len(s) {
			if s[i] >= 0x80 {
				return false
			}
		}
		return true
	}
	if ascii(a) && ascii(b) {
		return cmp.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}
