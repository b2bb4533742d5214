package guest

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// encodings returns the natives that encode and decode text, hash bytes and parse URLs.
func (g *guest) encodings() map[string]native {
	return map[string]native{
		// encode(text, encoding) → ArrayBuffer
		"encode": func(a args) (engine.Value, error) { return g.vm.Bytes(encodeText(a.text(0), a.text(1))) },
		// decode(bytes, encoding) → text
		"decode": func(a args) (engine.Value, error) {
			b, err := a.bytes(0)
			if err != nil {
				return engine.Undefined(), err
			}
			return g.vm.String(decodeText(b, a.text(1))), nil
		},
		// utf8Prefix(bytes) → the number of bytes before an incomplete character at the end, or -1 if they are not UTF-8
		"utf8Prefix": func(a args) (engine.Value, error) {
			b, err := a.bytes(0)
			if err != nil {
				return engine.Undefined(), err
			}
			return engine.Int(utf8Prefix(b)), nil
		},
		"validUTF8": func(a args) (engine.Value, error) {
			b, err := a.bytes(0)
			return engine.Bool(utf8.Valid(b)), err
		},
		// hash(algorithm, bytes, key?) → ArrayBuffer, undefined for an unknown algorithm
		"hash": g.hash,
		// url(text, base?) → [href, protocol, username, password, hostname, port, pathname, search, hash], undefined if invalid
		"url": g.parseURL, "setURL": g.setURL,
	}
}

// encodeText encodes text in one of Node's encodings. An unknown encoding means UTF-8.
func encodeText(s, encoding string) []byte {
	switch strings.ToLower(encoding) {
	case "base64", "base64url":
		return decodeBase64(s)
	case "hex":
		n := 0
		for n+1 < len(s) && isHex(s[n]) && isHex(s[n+1]) {
			n += 2
		}
		b, _ := hex.DecodeString(s[:n])
		return b
	case "latin1", "binary", "ascii":
		b := make([]byte, 0, len(s))
		for _, r := range utf16.Encode([]rune(s)) {
			b = append(b, byte(r))
		}
		return b
	case "utf16le", "utf-16le", "ucs2", "ucs-2":
		b := make([]byte, 0, 2*len(s))
		for _, u := range utf16.Encode([]rune(s)) {
			b = binary.LittleEndian.AppendUint16(b, u)
		}
		return b
	}
	return []byte(s)
}

func decodeText(b []byte, encoding string) string {
	switch strings.ToLower(encoding) {
	case "base64":
		return base64.StdEncoding.EncodeToString(b)
	case "base64url":
		return base64.RawURLEncoding.EncodeToString(b)
	case "hex":
		return hex.EncodeToString(b)
	case "latin1", "binary", "ascii":
		mask := byte(0xff)
		if strings.EqualFold(encoding, "ascii") {
			mask = 0x7f
		}
		r := make([]rune, len(b))
		for i, c := range b {
			r[i] = rune(c & mask)
		}
		return string(r)
	case "utf16le", "utf-16le", "ucs2", "ucs-2":
		u := make([]uint16, len(b)/2)
		for i := range u {
			u[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		return string(utf16.Decode(u))
	}
	return string(b)
}

// decodeBase64 accepts both alphabets, with or without padding, and skips other characters, as Node does.
func decodeBase64(s string) []byte {
	clean := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '-':
			clean = append(clean, '+')
		case c == '_':
			clean = append(clean, '/')
		case c == '=':
			i = len(s)
		case c == '+' || c == '/' || isAlnum(c):
			clean = append(clean, c)
		}
	}
	if len(clean)%4 == 1 {
		clean = clean[:len(clean)-1]
	}
	b, _ := base64.RawStdEncoding.DecodeString(string(clean))
	return b
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// utf8Prefix returns the length of b without an incomplete character at its end.
func utf8Prefix(b []byte) int {
	for back := 1; back <= 3 && back <= len(b); back++ {
		if c := b[len(b)-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-back:]) {
				return len(b) - back
			}
			break
		}
	}
	return len(b)
}

func (g *guest) hash(a args) (engine.Value, error) {
	var make func() hash.Hash
	switch strings.ReplaceAll(strings.ToLower(a.text(0)), "-", "") {
	case "md5":
		make = md5.New
	case "sha1":
		make = sha1.New
	case "sha224":
		make = sha256.New224
	case "sha256":
		make = sha256.New
	case "sha384":
		make = sha512.New384
	case "sha512":
		make = sha512.New
	default:
		return engine.Undefined(), nil
	}
	data, err := a.bytes(1)
	if err != nil {
		return engine.Undefined(), err
	}
	h := hash.Hash(nil)
	if key := a.value(2); key.IsUndefined() {
		h = make()
	} else {
		k, err := a.bytes(2)
		if err != nil {
			return engine.Undefined(), err
		}
		h = hmac.New(make, k)
	}
	h.Write(data)
	return g.vm.Bytes(h.Sum(nil))
}
