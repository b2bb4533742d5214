package learn

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Proposal is the shape of one tool's output, as its replies show it.
type Proposal struct {
	Tool Tool
	// Digest is that of the tool's definition.
	Digest string
	// Replies is the number of replies.
	Replies int
	// Text is true if some were JSON in a text.
	Text bool

	place *place
	key   []byte
}

// sorted returns the tools in a stable order. The lock is held.
func (t *Traffic) sorted() []Tool {
	keys := make([]Tool, 0, len(t.tools))
	for key := range t.tools {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b Tool) int { return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name)) })
	return keys
}

// Proposals returns what is known, sorted by tool. The Traffic must not be used any more.
func (t *Traffic) Proposals() []Proposal {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Proposal
	for _, key := range t.sorted() {
		k := t.tools[key]
		out = append(out, Proposal{Tool: key, Digest: k.Digest, Replies: k.Replies, Text: k.Text > 0, place: k.Place, key: t.key})
	}
	return out
}

// Schema returns the JSON Schema of the replies, merged with a schema that was learned before, which may be nil. Names in that schema are
// no secret, so they count even if traffic has not seen them often enough. Names that traffic does not know stay as they are.
func (p *Proposal) Schema(before json.RawMessage) (json.RawMessage, error) {
	if before == nil {
		return json.Marshal(p.place.shape(nil, p.key))
	}
	known, err := readShape(before)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p.place.shape(known, p.key))
}

// shape returns the shape of a place, joined with a known one, which may be nil.
func (p *place) shape(known *shape, key []byte) *shape {
	if p == nil {
		return known
	}
	if known == nil {
		known = &shape{}
	}
	out := &shape{types: p.Types | known.types, asMap: known.asMap, values: known.values}
	if out.types&isAny != 0 {
		return &shape{types: isAny}
	}
	out.items = p.Items.shape(known.items, key)
	if out.types&isObject != 0 {
		p.members(out, known, key)
	}
	return out
}

func (p *place) members(out, known *shape, key []byte) {
	if p.Types&isObject == 0 {
		out.properties = known.properties
		return
	}
	for _, one := range known.properties {
		p.accept(one.name, key)
	}
	for _, one := range known.properties {
		if at := p.member(one.name); at >= 0 {
			one.required = one.required && !p.Members[at].Optional && p.Objects > 0
			one.shape = p.Members[at].Place.shape(one.shape, key)
		} else if p.Rest == nil && p.Objects > 0 {
			one.required = false
		}
		out.properties = append(out.properties, one)
	}
	for _, one := range p.Members {
		if !slices.ContainsFunc(known.properties, func(of property) bool { return of.name == one.Name }) {
			required := !one.Optional && p.Objects > 0 && known.types&isObject == 0
			out.properties = append(out.properties, property{name: one.Name, required: required, shape: one.Place.shape(nil, key)})
		}
	}
	named := len(out.properties) > 0
	switch {
	case p.Rest != nil && (known.asMap || known.values != nil || !named || len(known.properties) == 0 && p.RestReplies > 1):
		out.values = join(out.values, p.Rest.shape(nil, key))
	case p.Objects == 0 && len(known.properties) == 0: // what comes after the part that was read is not known
		out.values = &shape{types: isAny}
	}
	if out.asMap = out.asMap || out.values != nil && !named; out.asMap {
		out.mapIfData()
	}
}
