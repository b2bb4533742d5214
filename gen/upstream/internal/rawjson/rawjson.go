// Package rawjson takes JSON apart without decoding or copying the values: results of servers are as large as tens of
// megabytes, and their bytes are passed on as they are. Duplicate names and invalid UTF-8 are accepted, because servers
// send both.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrKind reports a JSON value of another kind than the one asked for.
var ErrKind = errors.New("the JSON value has another type")

// Decoder returns a decoder that reads raw in place and accepts duplicate names and invalid UTF-8.
func Decoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Next returns the next value of a decoder over raw. The value shares its memory with raw.
func Next(d *jsontext.Decoder, raw []byte) (json.RawMessage, error) {
	value, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	return raw[end-len(value) : end : end], nil
}

// Members returns the values of an object by name. Of duplicate names the last one counts. The values share their
// memory with raw. The error is [ErrKind] if raw is not an object.
func Members(raw []byte) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage)
	err := EachMember(raw, func(name string, value json.RawMessage) error {
		out[name] = value
		return nil
	})
	return out, err
}

// EachMember calls visit for each member of an object, in order, until visit returns an error. The error is [ErrKind]
// if raw is not an object.
func EachMember(raw []byte, visit func(name string, value json.RawMessage) error) error {
	d := Decoder(raw)
	if d.PeekKind() != '{' {
		return ErrKind
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		text := name.String() // the token is valid until the next read only
		value, err := Next(d, raw)
		if err != nil {
			return err
		}
		if err := visit(text, value); err != nil {
			return err
		}
	}
	return finish(d)
}

// finish reads the end of the outermost object or array.
func finish(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	_, err := d.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("a second JSON value follows")
	}
	return err
}

// Elements returns the elements of an array, which share their memory with raw. The error is [ErrKind] if raw is not an
// array.
func Elements(raw []byte) ([]json.RawMessage, error) {
	d := Decoder(raw)
	if d.PeekKind() != '[' {
		return nil, ErrKind
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	out := []json.RawMessage{}
	for d.PeekKind() != ']' {
		value, err := Next(d, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, finish(d)
}
