// Package cache keeps results of calls in the state, so that an equal call need not be sent. It knows neither servers nor policies: its
// caller decides which calls may be answered, and judges each of them as if it were sent.
//
// # Which calls are equal
//
// The name of a result is a keyed hash (HMAC-SHA-256) of everything that decides an answer: see [Call]. So nothing of a call can be
// read from the database, and credentials can be a part of it.
//
// # What is trusted
//
// Results are sealed for their place and times, because they hold personal data, and whoever can write to the database must not be able to answer
// calls. What does not open is as good as missing. Removed results can be put back by them, until they expire.
package cache

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// sealing and naming are the purposes of the keys.
	sealing = "mcprun cache 1"
	naming  = "mcprun cache names 1"
	// MaxResult is the size of the largest result that is kept, in bytes.
	MaxResult = 1 << 20
	// DefaultSize is the default of Options.Size.
	DefaultSize = 64 << 20
)

// Options configure a Cache.
type Options struct {
	// State keeps the results.
	State store.Opener
	// Secret returns the user's secret, of at least 16 bytes. It is called at most once, when it is first needed.
	Secret func() ([]byte, error)
	// Size bounds what the results of one customer take, in bytes. Zero: DefaultSize.
	Size int64
	// TTL returns how long results of a tool are kept, by its id. Zero: they are not. Nil: none are.
	TTL func(tool string) time.Duration
	// Now is the time. Nil: [time.Now].
	Now func() time.Time
}

// Cache keeps results. It is safe for concurrent use, and so are several of them with one state.
type Cache struct {
	opt  Options
	keys func() (*keys, error)

	mu      sync.Mutex
	flights map[Key]chan struct{}
	hits    map[string]map[string]int64 // that the state does not know yet, by customer and name
}

// keys are derived from the secret.
type keys struct {
	sealer *seal.Sealer
	names  []byte
}

// New returns a cache. It opens nothing yet.
func New(opt Options) *Cache {
	if opt.Size == 0 {
		opt.Size = DefaultSize
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Cache{opt: opt, flights: map[Key]chan struct{}{}, hits: map[string]map[string]int64{}, keys: sync.OnceValues(func() (*keys, error) {
		secret, err := opt.Secret()
		if err != nil {
			return nil, err
		}
		k := &keys{}
		if k.sealer, err = seal.New(secret, nil, sealing); err == nil {
			k.names, err = seal.Derive(secret, nil, naming, sha256.Size)
		}
		return k, err
	})}
}

// Now returns the time by which results expire.
func (c *Cache) Now() time.Time { return c.opt.Now() }

// TTL returns how long results of a tool are kept. Zero: they are not.
func (c *Cache) TTL(tool string) time.Duration {
	if c.opt.TTL == nil {
		return 0
	}
	return c.opt.TTL(tool)
}

// Call is what decides the answer to a call.
type Call struct {
	Customer string // on whose behalf it is made; empty: the project's
	Server   string // by its name
	Identity []byte // which server that is, and as whom it is used; see [upstream.Identity]
	Tool     string
	// Definition is the digest of the tool's definition.
	Definition string
	// Form says in which form the caller wants the result, and how it can be asked for more.
	Form string
	// Arguments are in their canonical form.
	Arguments []byte
}

// Key finds the result of a call.
type Key struct{ customer, server, name string }

// Key returns the key of a call.
func (c *Cache) Key(call *Call) (Key, error) {
	k, err := c.keys()
	if err != nil {
		return Key{}, err
	}
	sum := hmac.New(sha256.New, k.names)
	sum.Write(seal.Place(call.Customer, call.Server, string(call.Identity), call.Tool, call.Definition, call.Form, string(call.Arguments)))
	return Key{call.Customer, call.Server, hex.EncodeToString(sum.Sum(nil))}, nil
}

// Result is a result that was kept.
type Result struct {
	Value      []byte        `json:"-"`
	As         call.As       `json:"as,omitempty"`
	Structured bool          `json:"structured,omitempty"`
	Took       time.Duration `json:"took"` // the call
	// Sent is when the call was sent. Its age is counted from then.
	Sent time.Time `json:"-"`
}

// Get returns the result of an equal call, or nil. version is for Set.
func (c *Cache) Get(ctx context.Context, k Key) (r *Result, version int64, err error) {
	keys, err := c.keys()
	if err != nil {
		return nil, 0, err
	}
	st, err := c.opt.State(ctx)
	if err != nil {
		return nil, 0, err
	}
	kept, version, err := st.CachedResult(ctx, k.customer, k.server, k.name, c.opt.Now())
	if err != nil || kept == nil {
		return nil, version, err
	}
	text, err := keys.sealer.Open(kept.Value, place(kept))
	if err != nil { // somebody else has written it, or it was damaged
		return nil, version, nil
	}
	head, value, _ := bytes.Cut(text, []byte("\n"))
	r = &Result{Value: value, Sent: kept.Created}
	if json.Unmarshal(head, r) != nil {
		return nil, version, nil
	}
	return r, version, nil
}

// Hit counts a call that a result has answered.
func (c *Cache) Hit(k Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hits[k.customer] == nil {
		c.hits[k.customer] = map[string]int64{}
	}
	c.hits[k.customer][k.name]++
}

// place binds a result to its place and times.
func place(r *store.CachedResult) []byte {
	return seal.Place("result", r.Customer, r.Server, r.Name, strconv.FormatInt(r.Created.UnixMicro(), 10), strconv.FormatInt(r.Expires.UnixMicro(), 10))
}

// Set keeps a result for some time, counted from when its call was sent. It does not if the server was changed since Get has returned the version, or
// if the result is larger than MaxResult or an eighth of the size.
func (c *Cache) Set(ctx context.Context, k Key, r *Result, ttl time.Duration, version int64) error {
	if len(r.Value) > MaxResult || int64(len(r.Value)) > c.opt.Size/8 || !c.opt.Now().Before(r.Sent.Add(ttl)) {
		return nil
	}
	keys, err := c.keys()
	if err != nil {
		return err
	}
	st, err := c.opt.State(ctx)
	if err != nil {
		return err
	}
	head, err := json.Marshal(r)
	if err != nil {
		return err
	}
	kept := &store.CachedResult{Customer: k.customer, Server: k.server, Name: k.name, Created: r.Sent, Expires: r.Sent.Add(ttl)}
	kept.Value = keys.sealer.Seal(append(append(head, '\n'), r.Value...), place(kept))
	return st.SetCachedResult(ctx, kept, version, c.opt.Size)
}

// Changed removes the results of a server, also those of calls that are in progress, because a call may have changed what it answers.
func (c *Cache) Changed(ctx context.Context, server string) error {
	st, err := c.opt.State(ctx)
	if err != nil {
		return err
	}
	return st.ChangeServer(ctx, server)
}

// Lead lets one of several equal calls be sent. It returns a function for the caller to call when its call has ended, or, if another one is in
// progress in this process, a channel that is closed when that has ended.
func (c *Cache) Lead(k Key) (end func(), other <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if flight, ok := c.flights[k]; ok {
		return nil, flight
	}
	flight := make(chan struct{})
	c.flights[k] = flight
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.flights, k)
		close(flight)
	}, nil
}

// Flush tells the state about hits. Without it, results that are used may be removed before others when there is no room.
func (c *Cache) Flush(ctx context.Context) error {
	c.mu.Lock()
	hits := c.hits
	c.hits = map[string]map[string]int64{}
	c.mu.Unlock()
	if len(hits) == 0 {
		return nil
	}
	st, err := c.opt.State(ctx)
	for customer, names := range hits {
		if err == nil {
			err = st.UseCachedResults(ctx, customer, names, c.opt.Now())
		}
	}
	return err
}

// Use counts calls that a cache may answer.
type Use struct {
	Hits   int `json:"hits"`   // calls that were answered
	Misses int `json:"misses"` // calls that were sent
	// Bytes are those of the results that were not asked for again, and SavedMS is how long their calls had taken.
	Bytes   int64   `json:"bytes"`
	SavedMS float64 `json:"savedMs"`
}

// Some returns what was counted, or nil if that is nothing.
func (u Use) Some() *Use {
	if u == (Use{}) {
		return nil
	}
	return &u
}

// Add adds what others have used.
func (u *Use) Add(o Use) {
	u.Hits += o.Hits
	u.Misses += o.Misses
	u.Bytes += o.Bytes
	u.SavedMS = math.Round(1000*(u.SavedMS+o.SavedMS)) / 1000 // no rounding errors
}
