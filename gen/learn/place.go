package learn

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// typeOf returns the type of a node.
func typeOf(kind byte) types {
	switch kind {
	case 'n':
		return isNull
	case 't':
		return isBool
	case '0':
		return isInt
	case 'f':
		return isFloat
	case '"':
		return isText
	case '[':
		return isList
	case '{':
		return isObject
	}
	return isAny
}

const (
	// maxPending bounds the pending names of one object. With more, the object is a map.
	maxPending = 64
	// A name is pending for at most pendingReplies replies.
	pendingReplies = 32
	// maxLost bounds the names of one object that were not seen again. With more, the object is a map.
	maxLost = 64
	// A name is kept once it was in objectsOfName objects.
	objectsOfName = 2
)

// place describes the values seen at one place in a tool's replies. Unlike a shape, it is written to disk before it is known which names
// are data. So it holds only the digest of a name until that name has been seen often enough.
type place struct {
	Types types  `json:"t,omitempty"`
	Items *place `json:"i,omitempty"`
	// Objects is the number of objects that were seen completely.
	Objects int      `json:"n,omitempty"`
	Members []member `json:"m,omitempty"`
	// Pending are names that have not been seen often enough, by their digests.
	Pending map[string]*pending `json:"p,omitempty"`
	// Rest describes the values of members whose names are not kept. RestReplies counts the replies with such members, and RestLast is the
	// number of the last one.
	Rest        *place `json:"r,omitempty"`
	RestReplies int    `json:"rn,omitempty"`
	RestLast    int    `json:"rl,omitempty"`
	// Lost is the number of names that were not seen again in time.
	Lost int `json:"l,omitempty"`
	// Map is true if all names are data.
	Map bool `json:"map,omitempty"`
}

type member struct {
	Name     string `json:"k"`
	Optional bool   `json:"o,omitempty"`
	Place    *place `json:"v"`

	seen uint64 // the object that had it last
}

type pending struct {
	Objects  int    `json:"n"`
	Replies  int    `json:"rn"`
	Last     int    `json:"rl"` // the reply that had it last
	Optional bool   `json:"o,omitempty"`
	Place    *place `json:"v"`

	seen uint64
}

// merging adds a sample to a place.
type merging struct {
	*sample
	key     []byte
	isKnown func(name string) bool
	isData  func(name string) bool
	reply   int // its number
	object  uint64
	room    *int // for further places
}

func (m *merging) newPlace() *place {
	*m.room--
	return &place{}
}

func (m *merging) add(p *place, at int32) {
	n := &m.nodes[at]
	p.Types |= typeOf(n.kind)
	if *m.room <= 0 {
		p.Types |= isAny
	}
	if p.Types&isAny != 0 {
		return
	}
	switch n.kind {
	case '[':
		for c := n.first; c != 0; c = m.nodes[c].next {
			if p.Items == nil {
				p.Items = m.newPlace()
			}
			m.add(p.Items, c)
		}
	case '{':
		m.addObject(p, n)
	}
}

func (m *merging) addObject(p *place, n *node) {
	m.object++
	object := m.object
	record := m.isRecord(n)
	for c := n.first; c != 0; c = m.nodes[c].next {
		m.addMember(p, c, record, object)
	}
	if n.cut {
		return
	}
	for i := range p.Members {
		p.Members[i].Optional = p.Members[i].Optional || p.Members[i].seen != object
	}
	for _, w := range p.Pending {
		w.Optional = w.Optional || w.seen != object
	}
	p.Objects++
	m.tidy(p)
}

func (m *merging) isRecord(n *node) bool {
	var t tally
	for c := n.first; c != 0; c = m.nodes[c].next {
		child := &m.nodes[c]
		t.add(m.isKnown(child.name), typeOf(child.kind))
	}
	return t.isRecord()
}

// tally counts the members of an object.
type tally struct {
	all, known int
	kinds      [256]uint16 // of values, by their types
}

func (t *tally) add(known bool, kind types) {
	t.all++
	if known {
		t.known++
	}
	if kind == isFloat {
		kind = isInt
	}
	t.kinds[kind]++
}

// isRecord reports whether known names in an object are names of members. In a map they are words that people or things are called by:
// most of its names are not known, or nearly all if its values are of several kinds.
func (t *tally) isRecord() bool {
	most := 0
	for kind, n := range t.kinds {
		if types(kind) != isNull {
			most = max(most, int(n))
		}
	}
	mixed := t.all >= 4 && most*3 <= t.all*2
	return t.known*2 >= t.all || mixed && t.known*4 >= t.all
}

func (m *merging) addMember(p *place, at int32, record bool, object uint64) {
	name := m.nodes[at].name
	if i := p.member(name); i >= 0 {
		p.Members[i].seen = object
		m.add(p.Members[i].Place, at)
		return
	}
	if p.Map || !record || !m.isKnown(name) {
		m.addRest(p, at)
		return
	}
	m.addPending(p, name, at, object)
}

func (m *merging) addRest(p *place, at int32) {
	if p.Rest == nil {
		p.Rest = m.newPlace()
	}
	if p.RestLast != m.reply {
		p.RestLast = m.reply
		p.RestReplies++
	}
	m.add(p.Rest, at)
}

func (m *merging) addPending(p *place, name string, at int32, object uint64) {
	digest := digestOf(m.key, name)
	w := p.Pending[digest]
	if w == nil {
		w = &pending{Optional: p.Objects > 0, Place: m.newPlace()}
		if p.Pending == nil {
			p.Pending = map[string]*pending{}
		}
		p.Pending[digest] = w
	}
	if w.seen == object { // the name is there twice
		return
	}
	w.seen = object
	w.Objects++
	if w.Last != m.reply {
		w.Last = m.reply
		w.Replies++
	}
	m.add(w.Place, at)
	if w.Objects >= objectsOfName && !m.isData(name) {
		delete(p.Pending, digest)
		p.Members = append(p.Members, member{Name: name, Optional: w.Optional, Place: w.Place, seen: object})
	}
}

// tidy drops names that were not seen again in time.
func (m *merging) tidy(p *place) {
	for digest, w := range p.Pending {
		if m.reply-w.Last > pendingReplies || len(p.Pending) > maxPending && w.Last != m.reply {
			p.lose(digest)
		}
	}
	if len(p.Pending) > maxPending || p.Lost > maxLost || len(p.Members) > maxProperties {
		p.becomeMap(m.reply)
	}
}

// lose moves a pending name to the names that are not kept.
func (p *place) lose(digest string) {
	w := p.Pending[digest]
	delete(p.Pending, digest)
	p.Rest = joinPlaces(p.Rest, w.Place, nil)
	p.RestReplies, p.RestLast = p.RestReplies+w.Replies, max(p.RestLast, w.Last)
	p.Lost++
}

func (p *place) becomeMap(reply int) {
	p.Map = true
	for digest := range p.Pending {
		p.lose(digest)
	}
	for _, one := range p.Members {
		p.Rest = joinPlaces(p.Rest, one.Place, nil)
	}
	p.Members, p.RestReplies, p.RestLast = nil, max(p.RestReplies, 2), reply
}

func (p *place) member(name string) int {
	for i := range p.Members {
		if p.Members[i].Name == name {
			return i
		}
	}
	return -1
}

// digestOf returns the digest that is kept in place of a name that may be data. The key is in the same file, so the digest keeps no secret
// from the file's owner. But the file does not contain the name, and the digest is dropped after some replies.
func digestOf(key []byte, name string) string {
	sum := sha256.Sum256(append(slices.Clip(key), name...))
	return hex.EncodeToString(sum[:5])
}

// joinPlaces merges what two processes know about a place. It may reuse both. A name that only one knows is optional if the other has
// seen an object. key is the key of the digests; if it is nil, names of one are not compared with digests of the other.
func joinPlaces(a, b *place, key []byte) *place {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	objectsA, objectsB := a.Objects, b.Objects
	a.Types |= b.Types
	a.Items = joinPlaces(a.Items, b.Items, key)
	if key != nil {
		a.reveal(b, key)
		b.reveal(a, key)
	}
	for i := range a.Members {
		mine := &a.Members[i]
		if at := b.member(mine.Name); at >= 0 {
			mine.Optional = mine.Optional || b.Members[at].Optional
			mine.Place = joinPlaces(mine.Place, b.Members[at].Place, key)
		} else {
			mine.Optional = mine.Optional || objectsB > 0
		}
	}
	for _, theirs := range b.Members {
		if a.member(theirs.Name) < 0 {
			theirs.Optional = theirs.Optional || objectsA > 0
			a.Members = append(a.Members, theirs)
		}
	}
	for digest, w := range a.Pending {
		w.Optional = w.Optional || objectsB > 0 && b.Pending[digest] == nil
	}
	for digest, theirs := range b.Pending {
		mine := a.Pending[digest]
		if mine == nil {
			theirs.Optional = theirs.Optional || objectsA > 0
			if a.Pending == nil {
				a.Pending = map[string]*pending{}
			}
			a.Pending[digest] = theirs
			continue
		}
		mine.Objects, mine.Replies, mine.Last = max(mine.Objects, theirs.Objects), max(mine.Replies, theirs.Replies), max(mine.Last, theirs.Last)
		mine.Optional = mine.Optional || theirs.Optional
		mine.Place = joinPlaces(mine.Place, theirs.Place, key)
	}
	a.Rest = joinPlaces(a.Rest, b.Rest, key)
	a.RestReplies, a.RestLast = max(a.RestReplies, b.RestReplies), max(a.RestLast, b.RestLast)
	a.Objects, a.Lost = max(a.Objects, b.Objects), max(a.Lost, b.Lost)
	if a.Map = a.Map || b.Map; a.Map {
		a.becomeMap(a.RestLast)
	}
	return a
}

// reveal turns the pending names of p that other knows into members.
func (p *place) reveal(other *place, key []byte) {
	for i := range other.Members {
		p.accept(other.Members[i].Name, key)
	}
}

// accept turns a pending name into a member.
func (p *place) accept(name string, key []byte) {
	if len(p.Pending) == 0 {
		return
	}
	digest := digestOf(key, name)
	if w := p.Pending[digest]; w != nil {
		delete(p.Pending, digest)
		p.Members = append(p.Members, member{Name: name, Optional: w.Optional, Place: w.Place})
	}
}

// count returns the number of places from p on.
func (p *place) count() int {
	if p == nil {
		return 0
	}
	n := 1 + p.Items.count() + p.Rest.count()
	for _, one := range p.Members {
		n += one.Place.count()
	}
	for _, one := range p.Pending {
		n += one.Place.count()
	}
	return n
}
