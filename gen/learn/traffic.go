package learn

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

const (
	// maxTools bounds the tools whose shapes are kept.
	maxTools = 2000
	// maxPlaces bounds the places in the replies of one tool. Further ones take any value.
	maxPlaces = 1500
	// maxJudged bounds the names of one tool whose judgement is kept in memory.
	maxJudged = 2000
)

// Tool is the key of a tool: the server's name in the configuration, and the server's own name of the tool.
type Tool struct{ Server, Name string }

// Observation is one reply of a call that succeeded.
type Observation struct {
	Tool Tool
	// Digest is the digest of the tool's definition. Replies seen with another digest are dropped.
	Digest string
	// Reply is the part of the answer that the script got. Only a part of a large value is read.
	Reply Reply
	// Words returns the words of the tool's definition; see [Words]. It is called once for each tool.
	Words func() map[string]bool
	// IsData reports names that are data, such as secrets and personal data, whatever they look like. It is called for a name that is
	// about to be kept. Nil: none is.
	IsData func(name string) bool
}

// Traffic keeps the shapes of replies of many tools, as the calls of runs bring them. It keeps no value, and no name of a member but
// those whose words are common in names or of the tool's definition, and that were seen again: see docs/reference/mcpgen.md. It is safe for concurrent
// use. JSON encodes it.
type Traffic struct {
	mu    sync.Mutex
	key   []byte // of digests
	tools map[Tool]*seen
}

// seen is what is known about the replies of one tool.
type seen struct {
	Server  string `json:"server"`
	Name    string `json:"tool"`
	Digest  string `json:"digest"`
	Replies int    `json:"replies"`
	// Text counts the replies that were JSON in a text.
	Text  int    `json:"text,omitempty"`
	Place *place `json:"shape"`

	saved   float64 // work that earlier replies have left over, in replies
	object  uint64
	room    int
	counted bool
	words   map[string]bool
	judged  map[string]bool // names
}

type trafficFile struct {
	Version int     `json:"version"`
	Key     []byte  `json:"key"`
	Tools   []*seen `json:"tools"`
}

// TrafficVersion is the version of the form that Traffic is encoded in.
const TrafficVersion = 2

// NewTraffic returns an empty Traffic.
func NewTraffic() *Traffic {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // it never fails
	return &Traffic{key: key, tools: map[Tool]*seen{}}
}

// MarshalJSON implements [json.Marshaler].
func (t *Traffic) MarshalJSON() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.encode(t.sorted())
}

// Encode returns a Traffic with what is kept about some tools only, in the form of MarshalJSON. Without tools, the result still makes other
// processes digest names in the same way; see Merge.
func (t *Traffic) Encode(tools ...Tool) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.encode(tools)
}

// encode is Encode. The caller holds the mutex.
func (t *Traffic) encode(tools []Tool) ([]byte, error) {
	out := trafficFile{Version: TrafficVersion, Key: t.key, Tools: []*seen{}}
	for _, key := range tools {
		if one := t.tools[key]; one != nil {
			out.Tools = append(out.Tools, one)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements [json.Unmarshaler]. What another version wrote is dropped: it is seen again.
func (t *Traffic) UnmarshalJSON(raw []byte) error {
	var in trafficFile
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	fresh := NewTraffic()
	if in.Version == TrafficVersion && len(in.Key) > 0 {
		fresh.key = in.Key
		for _, one := range in.Tools {
			if one == nil || !one.Place.isWhole() {
				return errors.New("a shape is missing")
			}
			fresh.tools[Tool{one.Server, one.Name}] = one
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.key, t.tools = fresh.key, fresh.tools
	return nil
}

// Observe adds a reply. It keeps nothing of a reply that is not valid JSON, and returns an error.
func (t *Traffic) Observe(o *Observation) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.tools[o.Tool]
	switch {
	case known != nil && known.Digest == o.Digest:
	case known == nil && len(t.tools) >= maxTools:
		return nil
	default:
		known = &seen{Server: o.Tool.Server, Name: o.Tool.Name, Digest: o.Digest, Place: &place{}}
	}
	if known.Replies >= knownReplies && known.Replies%knownEvery != knownEvery-1 {
		known.Replies++
		return nil
	}
	spend := 0.75
	if known.Replies%sampleEvery == sampleEvery-1 {
		spend += known.saved
	}
	s, ok := take(o.Reply.Value, int(sampleValues*spend), int(sampleBytes*spend))
	defer s.free()
	if !ok {
		return fmt.Errorf("learn from a reply of %q: %w", o.Tool.Name, errors.New("not valid JSON"))
	}
	used := max(float64(len(s.nodes))/sampleValues, float64(s.dec.InputOffset())/sampleBytes)
	known.saved = min(max(known.saved+1-used, 0), sampleSaved)
	t.tools[o.Tool] = known
	known.add(t.key, s, o)
	return nil
}

func (k *seen) add(key []byte, s *sample, o *Observation) {
	k.Replies++
	if o.Reply.Text {
		k.Text++
	}
	if k.words == nil {
		k.words, k.judged = map[string]bool{}, map[string]bool{}
		if o.Words != nil {
			k.words = o.Words()
		}
	}
	if !k.counted {
		k.counted, k.room = true, maxPlaces-k.Place.count()
	}
	m := &merging{sample: s, key: key, reply: k.Replies, object: k.object, room: &k.room, isKnown: k.isKnown, isData: func(name string) bool { return o.IsData != nil && o.IsData(name) }}
	m.add(k.Place, 0)
	k.object = m.object
}

func (k *seen) isKnown(name string) bool {
	known, ok := k.judged[name]
	if !ok {
		known = isKnown(name, func(word string) bool { return k.words[word] })
		if len(k.judged) < maxJudged {
			k.judged[name] = known
		}
	}
	return known
}

// Merge adds what another process has kept, which is used up. Names that were seen once are dropped unless both come from one encoding. Where both have counted the same replies, they count once: the larger
// number counts.
func (t *Traffic) Merge(other *Traffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	other.mu.Lock()
	defer other.mu.Unlock()
	same := string(t.key) == string(other.key)
	for key, theirs := range other.tools {
		mine := t.tools[key]
		switch {
		case mine == nil && len(t.tools) < maxTools, mine != nil && mine.Digest != theirs.Digest && theirs.Replies > mine.Replies:
			if !same {
				theirs.Place.forget()
			}
			t.tools[key] = theirs
		case mine != nil && mine.Digest == theirs.Digest:
			digests := t.key
			if !same {
				digests = nil
				theirs.Place.forget()
			}
			mine.Place = joinPlaces(mine.Place, theirs.Place, digests)
			mine.Replies, mine.Text, mine.counted = max(mine.Replies, theirs.Replies), max(mine.Text, theirs.Text), false
		}
	}
}

// Tools returns the tools about which something is kept.
func (t *Traffic) Tools() []Tool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sorted()
}

// Has reports whether something is kept about a tool.
func (t *Traffic) Has(tool Tool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tools[tool] != nil
}

// Forget drops everything that is kept about a tool.
func (t *Traffic) Forget(tool Tool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tools, tool)
}

// isWhole reports whether no required part is missing.
func (p *place) isWhole() bool {
	if p == nil || p.Items != nil && !p.Items.isWhole() || p.Rest != nil && !p.Rest.isWhole() {
		return false
	}
	for _, one := range p.Members {
		if !one.Place.isWhole() {
			return false
		}
	}
	for _, w := range p.Pending {
		if w == nil || !w.Place.isWhole() {
			return false
		}
	}
	return true
}

// forget drops pending names.
func (p *place) forget() {
	if p == nil {
		return
	}
	p.Pending = nil
	p.Items.forget()
	p.Rest.forget()
	for i := range p.Members {
		p.Members[i].Place.forget()
	}
}
