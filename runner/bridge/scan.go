package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep frames may be nested, the frame's own object included.
const maxDepth = 512

// member is one member of an object. Its value is a slice of the scanned data.
type member struct {
	name  string
	value []byte
}

// scanObject checks that data is one JSON object that follows the rules for guests, and returns its members. It does not use encoding/json,
// which accepts duplicate members and repairs invalid text, so what it checks could differ from what is sent on.
func scanObject(data []byte) ([]member, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return nil, errors.New("not a JSON object")
	}
	members := make([]member, 0, 4)
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	name, end := "", 0
	err := scan(dec, data, 0, func(tok jsontext.Token) {
		start := end
		end = int(dec.InputOffset())
		switch _, count := dec.StackIndex(1); {
		case count == 0: // the brace that opens the object
		case count%2 == 1:
			name = tok.String()
		default:
			members = append(members, member{name, bytes.TrimLeft(data[start:end], ": \t\r\n")})
		}
	})
	return members, err
}

// checkValue checks that a value to be sent is valid JSON and UTF-8, and not nested too deep to be put into a frame. Duplicate members and
// unpaired surrogates are allowed, because they come from upstream servers.
func checkValue(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return scan(dec, data, 1, func(jsontext.Token) {})
}

// scan reads the one value in data, which will be nested outer levels deep. It calls each after each token that belongs to the value's own
// object: its opening brace, its names, and the last token of each member's value.
func scan(dec *jsontext.Decoder, data []byte, outer int, each func(jsontext.Token)) error {
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		depth := dec.StackDepth()
		switch {
		case outer+depth > maxDepth:
			return fmt.Errorf("nested deeper than %d", maxDepth)
		case depth == 1:
			each(tok)
		case depth == 0:
			if rest := bytes.Trim(data[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
				return errors.New("not JSON: trailing data after the value")
			}
			return nil
		}
	}
}
