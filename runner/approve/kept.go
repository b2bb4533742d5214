package approve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/store"
)

// KeptOptions configure a Kept.
type KeptOptions struct {
	// State opens the state of the project. Secret returns the user's secret; whoever has it can approve. Both are called when they are first
	// needed.
	State  store.Opener
	Secret func() ([]byte, error)
	// Ring, which may be nil, records the approvals that were not used, so that changing the state cannot revive or forge one while the keyring
	// works.
	Ring Keyring
	// Say is called with a line for people, which may have foreign text: something was changed or moved, or cannot be kept. May be nil.
	Say func(line string)
}

// Kept is what outlives the process that asks: approved plans, questions that wait on the page, and answers to them. They are documents in the
// state of a project. Each is sealed for its name with a key derived from the user's secret. So whoever can only change the state can neither read
// nor make one. Its methods are safe for concurrent use, by several processes too.
type Kept struct {
	opt KeptOptions

	mu     sync.Mutex
	key    []byte // for names and for values of plans
	sealer *seal.Sealer
	said   map[string]bool
}

// NewKept returns what the options describe. Nothing is opened yet.
func NewKept(opt KeptOptions) *Kept { return &Kept{opt: opt, said: map[string]bool{}} }

// Keyring holds secrets by name. Get and Delete return fs.ErrNotExist for an unknown name.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, secret string) error
	Delete(name string) error
}

// errForeign says that a document was not sealed under its name with this key.
var errForeign = errors.New("mcprun did not write it, or it was changed since")

// keys derives the keys.
func (k *Kept) keys() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sealer != nil {
		return nil
	}
	secret, err := k.opt.Secret()
	if err != nil {
		return err
	}
	if k.key, err = seal.Derive(secret, nil, "mcprun plans", sha256.Size); err == nil {
		k.sealer, err = seal.New(secret, nil, "mcprun approvals 2")
	}
	return err
}

// open returns the state.
func (k *Kept) open(ctx context.Context) (store.Store, error) {
	s, err := k.opt.State(ctx)
	if err != nil {
		return nil, err
	}
	return s, k.keys()
}

// say tells people something, once.
func (k *Kept) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	k.mu.Lock()
	again := k.said[line]
	k.said[line] = true
	k.mu.Unlock()
	if !again && k.opt.Say != nil {
		k.opt.Say(line)
	}
}

// mac authenticates texts. keys must have been called.
func (k *Kept) mac(parts ...string) string {
	h := hmac.New(sha256.New, k.key)
	h.Write(seal.Place(parts...))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// key of a document. All customers share a list, because the page shows all of them; the sealed value has the customer.
func documentKey(kind, name string) store.Key { return store.Key{Kind: kind, Name: name} }

// read reads a document into v and returns its text and version. The error wraps [store.ErrNotFound], or errForeign, then with a version.
func (k *Kept) read(ctx context.Context, kind, name string, v any) (text string, version int64, err error) {
	s, err := k.open(ctx)
	if err != nil {
		return "", 0, err
	}
	doc, err := s.Document(ctx, documentKey(kind, name))
	if err != nil {
		return "", 0, err
	}
	text, err = k.unseal(doc, v)
	return text, doc.Version, err
}

func (k *Kept) unseal(doc *store.Document, v any) (text string, err error) {
	plain, err := k.sealer.Open(doc.Value, seal.At(doc.Key))
	if err != nil {
		return "", errForeign
	}
	return string(plain), json.Unmarshal(plain, v)
}

// write writes a document in place of a version; 0 makes it. The error wraps [store.ErrConflict] if it has another version.
func (k *Kept) write(ctx context.Context, kind, name, text string, version int64) (int64, error) {
	s, err := k.open(ctx)
	if err != nil {
		return 0, err
	}
	key := documentKey(kind, name)
	return s.SetDocument(ctx, &store.Document{Key: key, Value: k.sealer.Seal([]byte(text), seal.At(key)), Version: version})
}

// vouch makes the keyring's entry for an approval that was not used. Without a keyring that works, the document is all there is.
func (k *Kept) vouch(entry, text string) {
	if k.opt.Ring != nil {
		_ = k.opt.Ring.Set(entry, Digest(text))
	}
}

// vouched checks the keyring's entry for an approval, and reports whether the keyring has it.
func (k *Kept) vouched(entry, text string) (bool, error) {
	if k.opt.Ring == nil {
		return false, nil
	}
	digest, err := k.opt.Ring.Get(entry)
	if errors.Is(err, fs.ErrNotExist) || err == nil && digest != Digest(text) {
		return false, errors.New("the system keyring has no entry for it: it was already used, or another program wrote it")
	}
	return err == nil, nil
}

// spend removes the keyring's entry for an approval, which is used now.
func (k *Kept) spend(entry string) error {
	if err := k.opt.Ring.Delete(entry); err != nil {
		return fmt.Errorf("mark it as used in the system keyring: %w", err)
	}
	return nil
}
