// Package learn infers the shape of a tool's replies from replies that were seen, for tools whose server declares no
// output schema. Start with [Infer]; [Merge] joins what was learned at different times.
//
// A shape is a JSON Schema. It holds the names of properties and the kinds of values, never a value: replies may be
// anybody's data. A property is required when every reply had it. Where the names of properties look like data
// themselves (ids, addresses, dates), they are left out and the object is a map.
package learn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// MaxReply bounds one reply, in bytes.
	MaxReply = 16 << 20
	// maxDepth is how deep a shape goes; below it any value is accepted.
	maxDepth = 16
	// maxProperties is how many properties an object may have to be more than a map.
	maxProperties = 200
)

// shape is what is known of the values at one place.
type shape struct {
	// any accepts every value; the other fields then say nothing.
	any                           bool
	null, boolean, integer, float bool
	text                          bool
	// list and object are set where such a value was seen; items is nil while all lists were empty.
	list, object bool
	items        *shape
	// asMap says that the object's names are data; values then stands for all of them. It is nil for empty objects.
	asMap  bool
	values *shape
	// properties are in the order in which they were first seen.
	properties []property
}

type property struct {
	name     string
	required bool
	shape    *shape
}

// Infer returns the JSON Schema of replies. It needs at least one. isData reports names of properties that must not be in
// it, beside those that look like data; nil reports none.
func Infer(replies []Reply, isData func(name string) bool) (json.RawMessage, error) {
	if len(replies) == 0 {
		return nil, errors.New("there is no reply to learn from")
	}
	var out *shape
	for i, reply := range replies {
		if len(reply.Value) > MaxReply {
			return nil, fmt.Errorf("reply %d has %d bytes; the limit is %d", i+1, len(reply.Value), MaxReply)
		}
		r := &reader{dec: json.NewDecoder(bytes.NewReader(reply.Value)), isData: isData, masked: reply.Masked}
		r.dec.UseNumber()
		one, err := r.read(0)
		if err == nil {
			if _, end := r.dec.Token(); !errors.Is(end, io.EOF) {
				err = errors.New("there is more than one JSON value")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reply %d: %w", i+1, err)
		}
		out = join(out, one)
	}
	return json.Marshal(out)
}

// Merge returns a shape that holds every value that a or b holds. Both are shapes that this package made.
func Merge(a, b json.RawMessage) (json.RawMessage, error) {
	var x, y shape
	for _, part := range []struct {
		raw json.RawMessage
		out *shape
	}{{a, &x}, {b, &y}} {
		if err := json.Unmarshal(part.raw, part.out); err != nil {
			return nil, fmt.Errorf("read a learned shape: %w", err)
		}
	}
	return json.Marshal(join(&x, &y))
}

// reader reads one reply.
type reader struct {
	dec    *json.Decoder
	isData func(name string) bool
	masked bool
}

// read takes one value. Its property order is that of the value.
func (r *reader) read(depth int) (*shape, error) {
	if depth >= maxDepth {
		var skipped json.RawMessage // the decoder refuses what is nested without end
		return &shape{any: true}, r.dec.Decode(&skipped)
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	s := &shape{}
	switch v := token.(type) {
	case nil:
		s.null = true
	case bool:
		s.boolean = true
	case string:
		s.any = r.masked && maskedAny(v)
		s.text = !s.any
	case json.Number:
		s.integer = isInteger(v.String())
		s.float = !s.integer
	case json.Delim:
		if v == '[' {
			err = r.list(s, depth)
		} else {
			err = r.object(s, depth)
		}
	}
	return s, err
}

func (r *reader) list(s *shape, depth int) error {
	s.list = true
	for r.dec.More() {
		item, err := r.read(depth + 1)
		if err != nil {
			return err
		}
		s.items = join(s.items, item)
	}
	_, err := r.dec.Token()
	return err
}

func (r *reader) object(s *shape, depth int) error {
	s.object = true
	seen := map[string]int{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		value, err := r.read(depth + 1)
		if err != nil {
			return err
		}
		name, _ := token.(string)
		s.asMap = s.asMap || r.isData != nil && r.isData(name) || r.masked && hasToken(name)
		if at, twice := seen[name]; twice {
			s.properties[at].shape = join(s.properties[at].shape, value)
			continue
		}
		seen[name] = len(s.properties)
		s.properties = append(s.properties, property{name: name, required: true, shape: value})
	}
	s.settle()
	_, err := r.dec.Token()
	return err
}

// join returns a shape that holds what a and what b holds. It may reuse both. Nil holds nothing.
func join(a, b *shape) *shape {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	if a.any || b.any {
		return &shape{any: true}
	}
	out := &shape{
		null: a.null || b.null, boolean: a.boolean || b.boolean, integer: a.integer || b.integer, float: a.float || b.float,
		text: a.text || b.text, list: a.list || b.list, object: a.object || b.object,
		items: join(a.items, b.items), asMap: a.asMap || b.asMap, values: join(a.values, b.values),
	}
	switch {
	case !a.object:
		out.properties = b.properties
	case !b.object:
		out.properties = a.properties
	default:
		out.properties = joinProperties(a.properties, b.properties)
	}
	out.settle()
	return out
}

// joinProperties keeps a's order; what only b has comes behind. Only what both require stays required.
func joinProperties(a, b []property) []property {
	out := slices.Clone(a)
	for i := range out {
		out[i].required = false
	}
	index := make(map[string]int, len(a))
	for i, p := range a {
		index[p.name] = i
	}
	var added []property
	for _, p := range b {
		at, both := index[p.name]
		if !both {
			p.required = false
			added = append(added, p)
			continue
		}
		out[at] = property{name: p.name, required: a[at].required && p.required, shape: join(a[at].shape, p.shape)}
	}
	return append(out, added...)
}

// settle turns an object into a map where its names are data.
func (s *shape) settle() {
	if !s.object {
		return
	}
	if !s.asMap && !namesAreData(s.properties) {
		return
	}
	s.asMap = true
	for _, p := range s.properties {
		s.values = join(s.values, p.shape)
	}
	s.properties = nil
}
