package pii

import (
	"encoding/json"
	"errors"
	"sync"
)

// Masker replaces personal data in texts and in JSON. *Tokenizer and *Outlet are Maskers.
type Masker interface {
	Mask(text string) string
	MaskJSON(raw []byte) []byte
}

// OutletSettings change what an outlet finds.
type OutletSettings struct {
	// Fields are names of members. Their values, and the items of lists in them, are of the type, or never personal data if it is "". Case,
	// and the characters "_", "-", "." and space do not count.
	Fields map[string]Type
}

// Outlet is the way by which text and JSON leave for the model, and by which its tokens come back. A vault keeps the values. It is safe for
// concurrent use.
//
// Masking never fails. A value that cannot be kept, because the vault is full, unreadable or without its key, is replaced by a token without a
// number, such as [EMAIL], which cannot be restored; Trouble returns the reason. The outlet's own tokens stay, so masking a text again does not
// change it. Other texts that look like tokens are replaced by [LITERAL_1] and so on, and restored.
type Outlet struct {
	open     func() (*Vault, error)
	settings OutletSettings

	mu      sync.Mutex
	vault   *Vault
	trouble error
}

// NewOutlet returns an outlet. It calls open when it first needs the vault, and again later if open returned an error.
func NewOutlet(open func() (*Vault, error), s OutletSettings) *Outlet {
	return &Outlet{open: open, settings: s}
}

// Trouble returns why values were replaced by tokens without numbers since it was last called, or nil.
func (o *Outlet) Trouble() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.trouble
	o.trouble = nil
	return err
}

// report keeps the first error for Trouble.
func (o *Outlet) report(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.trouble == nil {
		o.trouble = err
	}
}

// ready returns the vault as it is now.
func (o *Outlet) ready() (*Vault, error) {
	o.mu.Lock()
	if o.vault == nil {
		v, err := o.open()
		if err != nil {
			o.mu.Unlock()
			return nil, err
		}
		o.vault = v
	}
	v := o.vault
	o.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v, v.refresh()
}

// Mask replaces the personal data in text. A text that is a JSON object or list is treated as JSON.
func (o *Outlet) Mask(text string) string {
	return o.mask(text, func(m *masker, top *span) { m.text(top, "") })
}

// MaskJSON replaces the personal data in a JSON value, which stays valid JSON. What is not JSON is masked as text.
func (o *Outlet) MaskJSON(raw []byte) []byte {
	if !json.Valid(raw) {
		return []byte(o.Mask(string(raw)))
	}
	return []byte(o.mask(string(raw), (*masker).json))
}

// Learn remembers names, companies and addresses that fields of a structured result hold, so that they are found in later texts of the
// workspace.
func (o *Outlet) Learn(raw []byte) {}

// maxPasses bounds how often a text is masked: once to find new values, once with their tokens, once with names that were only then learned.
const maxPasses = 3

func (o *Outlet) mask(text string, mask func(*masker, *span)) string {
	if text == "" {
		return text
	}
	v, err := o.ready()
	if err != nil {
		v = nil
	}
	for n := 1; ; n++ {
		p := pass{v: v, isNew: map[string]bool{}}
		d, top := newDocument(text)
		mask(&masker{fields: fieldHints{}, token: p.token, lookalike: p.lookalike}, top)
		if len(p.new) > 0 && v == nil {
			o.report(err)
		}
		if len(p.new) == 0 || err != nil || n == maxPasses {
			return d.apply()
		}
		if err = v.keep(p.new); err != nil {
			o.report(err)
		}
	}
}

// pass looks up the tokens of one text's values, and collects the values that have none yet.
type pass struct {
	v     *Vault // nil if it cannot be used
	new   []entry
	isNew map[string]bool // keys of new
}

func (p *pass) token(typ Type, v value) string { return p.tokenOf(entryOf(typ, v)) }

func (p *pass) tokenOf(e entry) string {
	key := e.key()
	if p.v != nil {
		p.v.mu.Lock()
		token, ok := p.v.ledger.byValue[key]
		p.v.mu.Unlock()
		if ok {
			return token
		}
	}
	if !p.isNew[key] {
		p.isNew[key] = true
		p.new = append(p.new, e)
	}
	return "[" + string(e.Type) + "]"
}

func (p *pass) lookalike(text string) string {
	if p.v == nil {
		return text
	}
	p.v.mu.Lock()
	_, ok := p.v.ledger.byToken[text]
	p.v.mu.Unlock()
	if ok {
		return text
	}
	return p.tokenOf(entry{Type: literalType, Value: []byte(text)})
}

// keep gives tokens to new values, as far as they fit, and writes them to the file once.
func (v *Vault) keep(entries []entry) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := newChange(v)
	for _, e := range entries {
		if c.tokenOf(e) == "" {
			break
		}
	}
	_, full := errors.AsType[*FullError](c.err)
	if err := c.end(c.err == nil || full); err != nil {
		return err
	}
	return c.err
}

// IsToken reports whether a text is a token that stands for a value.
func (o *Outlet) IsToken(text string) bool {
	v, err := o.ready()
	if err != nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := v.ledger.byToken[text]
	return ok && e.As != asItself
}

// Restore replaces the tokens in a JSON value by what they stand for, as [Vault.RestoreJSON] does. A token that stands for nothing is an
// *UnknownTokenError.
func (o *Outlet) Restore(raw []byte) ([]byte, error) {
	v, err := o.ready()
	if err != nil {
		return nil, err
	}
	return v.RestoreJSON(raw)
}

// RestoreText replaces the tokens in a text, as [Vault.Restore] does. A token that stands for nothing is an *UnknownTokenError.
func (o *Outlet) RestoreText(text string) (string, error) {
	v, err := o.ready()
	if err != nil {
		return "", err
	}
	return v.Restore(text)
}
