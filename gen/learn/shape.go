// Package learn infers an output schema for a tool from its replies, for servers that declare none. Start with [Infer];
// [Merge] joins schemas that were inferred at different times.
//
// A schema contains the names of properties and the types of values, but never a value, because replies may contain
// personal data. A property is required if every reply has it. If the names of properties look like data themselves (ids,
// addresses, dates), they are left out and the object is a map.
package learn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// MaxReply is the size limit of one reply, in bytes.
	MaxReply = 16 << 20
	// maxDepth bounds the nesting of a schema. Deeper values may be anything.
	maxDepth = 16
	// maxProperties bounds the properties of an object. With more, it is a map.
	maxProperties = 200
)

// types is a set of types of values.
type types uint8

const (
	isNull types = 1 << iota
	isBool
	isInt
	isFloat
	isText
	isList
	isObject
	isAny // any value
)

// shape describes the values at one place of a reply.
type shape struct {
	// types are the types that were seen. With isAny the other fields are meaningless.
	types types
	items *shape // nil if all lists were empty
	// asMap is true if the names of properties are data; values then describes all properties. It is nil for empty objects. With
	// properties, values describes all others.
	asMap  bool
	values *shape
	// properties are in the order in which they first appeared.
	properties []property
}

type property struct {
	name     string
	required bool
	shape    *shape
}

// Infer returns the JSON Schema of at least one reply. isData reports names of properties that the schema must not contain, besides those
// that look like data. It may be nil.
func Infer(replies []Reply, isData func(name string) bool) (json.RawMessage, error) {
	return inferFrom(replies, isData, nil)
}

// InferUnseen is Infer for replies that nobody has looked at: of names it keeps only those made of common words of data, or of words of
// the tool's definition, in objects that look like records, as a [Traffic] does. Other members are values of the rest.
func InferUnseen(replies []Reply, isData func(name string) bool, words map[string]bool) (json.RawMessage, error) {
	return inferFrom(replies, isData, func(word string) bool { return words[word] })
}

func inferFrom(replies []Reply, isData func(name string) bool, known func(word string) bool) (json.RawMessage, error) {
	if len(replies) == 0 {
		return nil, errors.New("no reply to learn from")
	}
	var out *shape
	for i, reply := range replies {
		if len(reply.Value) > MaxReply {
			return nil, fmt.Errorf("reply %d has %d bytes; the limit is %d", i+1, len(reply.Value), MaxReply)
		}
		r := &reader{dec: json.NewDecoder(bytes.NewReader(reply.Value)), isData: isData, known: known, masked: reply.Masked}
		r.dec.UseNumber()
		one, err := r.read(0)
		if err == nil {
			if _, end := r.dec.Token(); !errors.Is(end, io.EOF) {
				err = errors.New("more than one JSON value")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reply %d: %w", i+1, err)
		}
		out = join(out, one)
	}
	return json.Marshal(out)
}

// Merge returns a schema that accepts every value that a or b accepts. Both must come from [Infer] or Merge.
func Merge(a, b json.RawMessage) (json.RawMessage, error) {
	x, err := readShape(a)
	if err != nil {
		return nil, err
	}
	y, err := readShape(b)
	if err != nil {
		return nil, err
	}
	return json.Marshal(join(x, y))
}

// reader reads one reply.
type reader struct {
	dec    *json.Decoder
	isData func(name string) bool
	known  func(word string) bool // if nil, all names count as known
	masked bool
}

// read reads one value. It keeps the order of properties.
func (r *reader) read(depth int) (*shape, error) {
	if depth >= maxDepth {
		var skipped json.RawMessage // the decoder has a depth limit
		return &shape{types: isAny}, r.dec.Decode(&skipped)
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	s := &shape{}
	switch v := token.(type) {
	case nil:
		s.types = isNull
	case bool:
		s.types = isBool
	case string:
		s.types = isText
		if r.masked && maskedAny(v) {
			s.types = isAny
		}
	case json.Number:
		s.types = isInt
		if strings.ContainsAny(v.String(), ".eE") {
			s.types = isFloat
		}
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
	s.types = isList
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
	s.types = isObject
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
	if r.known != nil {
		r.leaveOut(s)
	}
	s.mapIfData()
	_, err := r.dec.Token()
	return err
}

// leaveOut moves members with unknown names to values, and makes the object a map if it is not a record.
func (r *reader) leaveOut(s *shape) {
	var t tally
	var known []property
	for _, p := range s.properties {
		ok := isKnown(p.name, r.known)
		if ok {
			known = append(known, p)
		} else {
			s.values = join(s.values, p.shape)
		}
		t.add(ok, p.shape.types)
	}
	s.properties = known
	s.asMap = s.asMap || s.values != nil && (len(known) == 0 || !t.isRecord())
}

// join returns a shape that accepts every value that a or b accepts. It may reuse both. Nil accepts nothing.
func join(a, b *shape) *shape {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := &shape{types: a.types | b.types}
	if out.types&isAny != 0 {
		return &shape{types: isAny}
	}
	out.items, out.asMap, out.values = join(a.items, b.items), a.asMap || b.asMap, join(a.values, b.values)
	switch {
	case a.types&isObject == 0:
		out.properties = b.properties
	case b.types&isObject == 0:
		out.properties = a.properties
	default:
		out.properties = joinProperties(a.properties, b.properties)
		out.joinOthers(a, b)
	}
	out.mapIfData()
	return out
}

// joinProperties returns the properties of a, in their order, and then those only b has. A property stays required if both
// require it.
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

// joinOthers adds to the properties that only a or b has what the other one says of all others.
func (s *shape) joinOthers(a, b *shape) {
	if a.values == nil && b.values == nil {
		return
	}
	has := func(of []property, name string) bool {
		return slices.ContainsFunc(of, func(p property) bool { return p.name == name })
	}
	for i, p := range s.properties {
		if !has(a.properties, p.name) && a.values != nil {
			s.properties[i].shape = join(p.shape, a.values)
		}
		if !has(b.properties, p.name) && b.values != nil {
			s.properties[i].shape = join(p.shape, b.values)
		}
	}
}

// mapIfData turns an object into a map if the names of its properties are data.
func (s *shape) mapIfData() {
	if s.types&isObject == 0 || !s.asMap && !namesAreData(s.properties) {
		return
	}
	s.asMap = true
	for _, p := range s.properties {
		s.values = join(s.values, p.shape)
	}
	s.properties = nil
}
