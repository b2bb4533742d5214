package form

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/store"
)

// kind is the kind of documents that keep forms.
const kind = "form"

// State is how far a kept form is.
type State string

// The states.
const (
	// Open: it waits for values, or to be submitted.
	Open State = "open"
	// Sending: its call was begun. If the process ends now, it is unknown whether the call was made.
	Sending State = "sending"
	// Unknown: its call failed in a way that leaves open whether the tool did its work.
	Unknown State = "unknown"
	// Submitted: the tool has taken it.
	Submitted State = "submitted"
)

// Record is a form with values that is kept.
type Record struct {
	ID      string            `json:"id"`
	Form    string            `json:"form"`
	State   State             `json:"state"`
	Created time.Time         `json:"created"`
	Updated time.Time         `json:"updated"`
	By      string            `json:"by,omitempty"` // who filled it in: a user of the system, or a run
	Values  json.RawMessage   `json:"values"`
	From    map[string]string `json:"from"`
	// Problems and Missing are those of the values.
	Problems []Problem `json:"problems"`
	Missing  []string  `json:"missing"`
	// Tool and Arguments are what was sent, Result what the tool returned, and Error why the last call failed.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	// Sender is the request of a script that sent it, in a run with a journal; see [RequestID].
	Sender string `json:"sender,omitempty"`

	version int64
}

// NotFoundError says that no form is kept under an id.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("no form %.100q is kept", e.ID) }

// Hint says what to do.
func (*NotFoundError) Hint() string { return "mcprun form list lists the kept ones" }

// Kept keeps forms in the state of a project: open ones until they are submitted, and submitted ones as a record. Each is sealed with a key
// derived from the user's secret. It is safe for concurrent use, by several processes too.
type Kept struct {
	// State opens the state of the project. Secret returns the user's secret.
	State  store.Opener
	Secret func() ([]byte, error)
	// Customer is whose forms they are. Empty: the project's.
	Customer string

	memory *memory
}

// memory holds forms that are forgotten with the process.
type memory struct {
	mu      sync.Mutex
	records map[string]Record
}

// InMemory returns a Kept that keeps nothing beyond this process, for a replay, in which nothing is submitted.
func InMemory() *Kept { return &Kept{memory: &memory{records: map[string]Record{}}} }

// open returns the state, and what seals documents in it.
func (k *Kept) open(ctx context.Context) (store.Store, *seal.Sealer, error) {
	secret, err := k.Secret()
	if err != nil {
		return nil, nil, err
	}
	sealer, err := seal.New(secret, nil, "mcprun forms 1")
	if err != nil {
		return nil, nil, err
	}
	s, err := k.State(ctx)
	return s, sealer, err
}

// NewID returns an id for a form that begins.
func NewID() string { return "form-" + strings.ToLower(rand.Text()[:10]) }

// RequestID returns the id of the form that a request begins, in a run that may be continued from its beginning. place is that of the run, and
// number counts equal requests there.
func RequestID(place string, request []byte, number int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %s", place, number, request))
	return "form-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// Save keeps a form. The error wraps [store.ErrConflict] if somebody else has changed it since it was loaded.
func (k *Kept) Save(ctx context.Context, r *Record) error {
	if m := k.memory; m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.records[r.ID] = *r
		return nil
	}
	s, sealer, err := k.open(ctx)
	if err != nil {
		return err
	}
	r.Updated = time.Now().UTC()
	if r.Created.IsZero() {
		r.Created = r.Updated
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	key := store.Key{Customer: k.Customer, Kind: kind, Name: r.ID}
	version, err := s.SetDocument(ctx, &store.Document{Key: key, Value: sealer.Seal(text, seal.At(key)), Version: r.version})
	if err != nil {
		return fmt.Errorf("keep the form: %w", err)
	}
	r.version = version
	return nil
}

// Load returns a kept form, or a [*NotFoundError].
func (k *Kept) Load(ctx context.Context, id string) (*Record, error) {
	if m := k.memory; m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		r, ok := m.records[id]
		if !ok {
			return nil, &NotFoundError{id}
		}
		return &r, nil
	}
	s, sealer, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	doc, err := s.Document(ctx, store.Key{Customer: k.Customer, Kind: kind, Name: id})
	if errors.Is(err, store.ErrNotFound) {
		return nil, &NotFoundError{id}
	}
	if err != nil {
		return nil, err
	}
	return read(doc, sealer)
}

func read(doc *store.Document, sealer *seal.Sealer) (*Record, error) {
	text, err := sealer.Open(doc.Value, seal.At(doc.Key))
	if err != nil {
		return nil, fmt.Errorf("the kept form %.100q: %w", doc.Name, err)
	}
	r := &Record{version: doc.Version}
	return r, json.Unmarshal(text, r)
}

// List returns the kept forms, the newest first.
func (k *Kept) List(ctx context.Context) ([]Record, error) {
	s, sealer, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	docs, err := s.ListDocuments(ctx, k.Customer, kind)
	if err != nil {
		return nil, err
	}
	out := []Record{}
	for i := range docs {
		r, err := read(&docs[i], sealer)
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Record) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// Remove removes kept forms. If one of them does not exist, nothing is removed, and the error is a [*NotFoundError].
func (k *Kept) Remove(ctx context.Context, ids ...string) error {
	s, err := k.State(ctx)
	if err != nil {
		return err
	}
	key := func(id string) store.Key { return store.Key{Customer: k.Customer, Kind: kind, Name: id} }
	for _, id := range ids {
		if _, err := s.Document(ctx, key(id)); errors.Is(err, store.ErrNotFound) {
			return &NotFoundError{id}
		} else if err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := s.DeleteDocument(ctx, key(id)); err != nil {
			return fmt.Errorf("remove the form %s: %w", id, err)
		}
	}
	return nil
}

// Sweep removes the forms that have not changed since a time, and returns how many there were.
func (k *Kept) Sweep(ctx context.Context, before time.Time) (int, error) {
	s, err := k.State(ctx)
	if err != nil {
		return 0, err
	}
	n, _, err := Sweep(ctx, s, k.Customer, before, false)
	return n, err
}

// Sweep removes the forms of a customer that have not changed since a time, and returns how many there were, and the bytes that they took. If dry
// is set, it removes nothing. The empty customer is the project.
func Sweep(ctx context.Context, s store.Documents, customer string, before time.Time, dry bool) (n int, bytes int64, err error) {
	docs, err := s.ListDocuments(ctx, customer, kind)
	for i := range docs {
		if err != nil || !docs[i].Updated.Before(before) {
			continue
		}
		if !dry {
			err = s.DeleteDocument(ctx, docs[i].Key)
		}
		n, bytes = n+1, bytes+int64(len(docs[i].Value))
	}
	return n, bytes, err
}

// Filling returns the values of a kept form. restore is as in [Form.Fill].
func (f *Form) Filling(r *Record, restore func(json.RawMessage) (json.RawMessage, error)) (*Filling, error) {
	x := f.empty(restore)
	maps.Copy(x.from, r.From)
	return x, x.Set(r.Values, "")
}

// Take takes the values of a filling.
func (r *Record) Take(x *Filling) {
	r.Form, r.Values, r.From, r.Problems, r.Missing = x.form.Name, x.Values(), x.From(), x.Problems, x.Missing
	if r.State == "" {
		r.State = Open
	}
}
