package learn

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// sampleValues and sampleBytes bound the work on one reply, in values and in bytes read: about 10 µs. A quarter of it is saved, and so
	// is what a small reply leaves over. Every sampleEvery-th reply may use what was saved, up to sampleSaved times as much as others.
	sampleValues = 56
	sampleBytes  = 3 << 10
	sampleEvery  = 16
	sampleSaved  = 16
	// After knownReplies replies of a tool, only every knownEvery-th is looked at.
	knownReplies = 100
	knownEvery   = 4
	// The first firstItems items of a list are looked at, and of the others those whose index is a power of two.
	firstItems = 4
)

// node is one value of a reply, without the value.
type node struct {
	kind byte // that of a token in JSON, f for a number that is no integer, or 0 for a value that is too deep
	name string
	// cut reports that the list or object may have further items or members.
	cut         bool
	first, next int32 // the first child and the next sibling, as indexes; 0: none
}

// sample is the beginning of a reply as a tree. The root has index 0.
type sample struct {
	nodes []node
	most  int
	size  int // of the part that is read, if it is not all of the reply; else -1
	dec   *jsontext.Decoder
	in    *bytes.Buffer
}

var samples = sync.Pool{New: func() any {
	s := &sample{in: &bytes.Buffer{}}
	s.dec = jsontext.NewDecoder(s.in)
	return s
}}

// take reads at most the given number of values, and at most size bytes, of a reply. It reports false if it could not read anything.
// The caller returns s to samples.
func take(raw json.RawMessage, values, size int) (s *sample, ok bool) {
	s = samples.Get().(*sample)
	s.nodes, s.most, s.size = s.nodes[:0], values, -1
	if len(raw) > size {
		raw, s.size = raw[:size:size], size
	}
	*s.in = *bytes.NewBuffer(raw)
	s.dec.Reset(s.in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, complete := s.read("", 0)
	return s, complete || len(s.nodes) > 0
}

func (s *sample) free() {
	*s.in = bytes.Buffer{}
	clear(s.nodes)
	samples.Put(s)
}

// read reads a value. It reports false when there is no more to read.
func (s *sample) read(name string, depth int) (at int32, ok bool) {
	at = int32(len(s.nodes))
	kind := byte(s.dec.PeekKind())
	switch kind {
	case '{', '[':
		if depth >= maxDepth {
			s.nodes = append(s.nodes, node{name: name})
			return at, s.dec.SkipValue() == nil
		}
		if _, err := s.dec.ReadToken(); err != nil {
			return -1, false
		}
		s.nodes = append(s.nodes, node{kind: kind, name: name})
		if kind == '{' {
			ok = s.members(at, depth)
		} else {
			ok = s.items(at, depth)
		}
		s.nodes[at].cut = s.nodes[at].cut || !ok
		return at, ok
	case 'n', 't', 'f', '"', '0':
		raw, err := s.dec.ReadValue()
		if err != nil || s.dec.InputOffset() == int64(s.size) { // a number may go on
			return -1, false
		}
		switch {
		case kind == 'f':
			kind = 't'
		case kind == '0' && bytes.ContainsAny(raw, ".eE"):
			kind = 'f'
		}
		s.nodes = append(s.nodes, node{kind: kind, name: name})
		return at, true
	}
	return -1, false
}

// link makes a value the next child of its parent.
func (s *sample) link(parent int32, last *int32, at int32) {
	if at < 0 {
		return
	}
	if *last == 0 {
		s.nodes[parent].first = at
	} else {
		s.nodes[*last].next = at
	}
	*last = at
}

func (s *sample) members(parent int32, depth int) bool {
	var last int32
	for {
		switch s.dec.PeekKind() {
		case '}':
			_, err := s.dec.ReadToken()
			return err == nil
		case '"':
		default:
			return false
		}
		if len(s.nodes) >= s.most {
			return false
		}
		raw, err := s.dec.ReadValue()
		if err != nil {
			return false
		}
		name := string(raw[1 : len(raw)-1])
		if bytes.IndexByte(raw, '\\') >= 0 {
			name = "\\" // a name with an escape is data
		}
		at, ok := s.read(name, depth+1)
		s.link(parent, &last, at)
		if !ok {
			return false
		}
	}
}

func (s *sample) items(parent int32, depth int) bool {
	var last int32
	for i := 0; ; i++ {
		switch s.dec.PeekKind() {
		case ']':
			_, err := s.dec.ReadToken()
			return err == nil
		case 0:
			return false
		}
		if i >= firstItems && i&(i-1) != 0 {
			if s.dec.SkipValue() != nil {
				return false
			}
			continue
		}
		if len(s.nodes) >= s.most {
			return false
		}
		at, ok := s.read("", depth+1)
		s.link(parent, &last, at)
		if !ok {
			return false
		}
	}
}
