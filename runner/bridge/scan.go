package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how deep frames may be nested, the frame's own object included.
const maxDepth = 512

// scanner walks over JSON once, without building values, and says whether it may be looked at any closer. It is here
// because encoding/json accepts duplicate members, repairs invalid UTF-8 and half surrogate pairs, and nests as deep
// as it is told to: whoever judges such a value judges something else than what is sent on.
type scanner struct {
	data  []byte
	pos   int
	depth int
	// strict refuses duplicate members and half surrogate pairs. What upstreams say is not ours to refuse for these.
	strict bool
}

// member is one member of an object; value is a slice of the scanned data.
type member struct {
	name  string
	value []byte
}

// scanObject checks that data is one JSON object by the guest's rules and returns its members.
func scanObject(data []byte) ([]member, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	s := &scanner{data: data, strict: true}
	s.space()
	if s.peek() != '{' {
		return nil, errors.New("not a JSON object")
	}
	members := make([]member, 0, 4)
	err := s.object(func(name string, value []byte) {
		members = append(members, member{name, value})
	})
	if err != nil {
		return nil, err
	}
	return members, s.end()
}

// checkValue checks that a value to be sent is JSON, UTF-8 and not nested too deep to be put into a frame.
func checkValue(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	s := &scanner{data: data, depth: 1}
	s.space()
	if err := s.value(); err != nil {
		return err
	}
	return s.end()
}

func (s *scanner) end() error {
	s.space()
	if s.pos != len(s.data) {
		return s.syntax("something after the value")
	}
	return nil
}

func (s *scanner) syntax(what string) error {
	return fmt.Errorf("not JSON at byte %d: %s", s.pos, what)
}

// peek returns the next byte, zero at the end. Zero is no token, so that the two need not be told apart.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '{':
		return s.object(nil)
	case c == '[':
		return s.array()
	case c == '"':
		return s.str()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.syntax("no value")
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.syntax("no value")
	}
	s.pos += len(word)
	return nil
}

// enter goes one level down. The recursion is bounded by it.
func (s *scanner) enter() error {
	if s.depth++; s.depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	s.pos++
	s.space()
	return nil
}

func (s *scanner) array() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := s.value(); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ']':
			s.pos++
			return nil
		case ',':
			s.pos++
			s.space()
		default:
			return s.syntax("no comma or bracket after an element")
		}
	}
}

// object scans an object and hands its members to each, if there is one.
func (s *scanner) object(each func(name string, value []byte)) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	var seen names
	for {
		name, err := s.key(&seen)
		if err != nil {
			return err
		}
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		if each != nil {
			each(string(name), s.data[start:s.pos])
		}
		s.space()
		switch s.peek() {
		case '}':
			s.pos++
			return nil
		case ',':
			s.pos++
			s.space()
		default:
			return s.syntax("no comma or brace after a member")
		}
	}
}

// key scans a member's name and the colon after it.
func (s *scanner) key(seen *names) ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.syntax("no member name")
	}
	start := s.pos
	if err := s.str(); err != nil {
		return nil, err
	}
	name := s.data[start+1 : s.pos-1]
	if s.strict {
		if bytes.IndexByte(name, '\\') >= 0 {
			var decoded string
			if err := json.Unmarshal(s.data[start:s.pos], &decoded); err != nil {
				return nil, s.syntax("bad member name")
			}
			name = []byte(decoded)
		}
		if !seen.add(name) {
			return nil, fmt.Errorf("member %.100q twice in one object", name)
		}
	}
	s.space()
	if s.peek() != ':' {
		return nil, s.syntax("no colon after a member name")
	}
	s.pos++
	s.space()
	return name, nil
}

// names is a set of the member names of one object. Most objects are small, and a list does for them.
type names struct {
	list [][]byte
	set  map[string]struct{}
}

func (n *names) add(name []byte) bool {
	if n.set != nil {
		if _, ok := n.set[string(name)]; ok {
			return false
		}
		n.set[string(name)] = struct{}{}
		return true
	}
	for _, other := range n.list {
		if bytes.Equal(other, name) {
			return false
		}
	}
	n.list = append(n.list, name)
	if len(n.list) > 16 {
		n.set = make(map[string]struct{}, 2*len(n.list))
		for _, other := range n.list {
			n.set[string(other)] = struct{}{}
		}
		n.list = nil
	}
	return true
}
