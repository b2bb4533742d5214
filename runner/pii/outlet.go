package pii

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// Masker replaces personal data in texts and in JSON. *Tokenizer and *Outlet are Maskers.
type Masker interface {
	Mask(text string) string
	MaskJSON(raw []byte) []byte
}

var _, _ Masker = (*Tokenizer)(nil), (*Outlet)(nil)

// OutletSettings change what an outlet finds, and how long it remembers it.
type OutletSettings struct {
	// Fields are names of members. Their values, and the items of lists in them, are of the type, or never personal data if it is "". Case,
	// and the characters "_", "-", "." and space do not count.
	Fields map[string]Type
	// Detector finds more in texts. It may be nil.
	Detector Detector
	// WithoutDetector lets texts leave with what else is found in them if the detector fails. Otherwise a note takes their place.
	WithoutDetector bool
	// Retention is how long values are kept after they were last masked or restored, give or take a week. 0 means for ever.
	Retention time.Duration
}

// Outlet is the way by which text and JSON leave for the model, and by which its tokens come back. A vault keeps the values. It is safe for
// concurrent use.
//
// Masking never fails. A value that cannot be kept, because the vault is full, unreadable or without its key, is replaced by a token without a
// number, such as [EMAIL], which cannot be restored; [Outlet.Trouble] returns the reason. The outlet's own tokens stay, so masking a text again
// does not change it. Other texts that look like tokens are replaced by [LITERAL_1] and so on, and restored.
//
// The names, companies, addresses and phone numbers that fields held are found in every text, word for word, as long as the vault has them.
// [Outlet.Learn] adds more.
type Outlet struct {
	*outletState
	inside   detect.Signs // see For
	restored *Restored    // see With
	peek     *Tokenizer   // see Peek; nil: new values go to the vault
	added    *addition    // what all texts together have added; nil: each text counts for itself
}

// outletState is what an outlet shares with those that For returns.
type outletState struct {
	open     func() (*Vault, error)
	settings OutletSettings
	fields   map[string]hint
	lost     atomic.Bool // something has left in place of values that could not be kept

	mu       sync.Mutex
	vault    *Vault
	openErr  error
	retry    time.Time // when open is called again after an error
	cleaned  int       // the day on which values were last forgotten
	troubles []error

	detectorErr error // of the detector, until detectAgain; mu guards both
	detectAgain time.Time

	learning  sync.Mutex
	names     *learned        // that has what is in pending; nil until it is first needed
	pending   []*entry        // learned, but not yet in the vault
	isPending map[string]bool // keys of pending
	written   time.Time
	keepErr   error // of the last write, until keepAgain
	keepAgain time.Time
}

const (
	// openAgain is the time after which a vault that could not be opened, or a detector that failed, is tried again.
	openAgain = 10 * time.Second
	// learnPause is the least time between two writes of learned values alone.
	learnPause = time.Second
	// maxPasses bounds how often a text is masked: once to find new values, once with their tokens, and again with names that were learned then.
	maxPasses = 5
)

// NewOutlet returns an outlet. It calls open when it first needs the vault. If open returns an error, it is called again after a while.
func NewOutlet(open func() (*Vault, error), s OutletSettings) *Outlet {
	return &Outlet{outletState: &outletState{open: open, settings: s, fields: settingsOf(s.Fields), isPending: map[string]bool{}}}
}

// For returns the same outlet for results of a tool, whose name tells what objects without a container are: list_contacts returns people.
func (o *Outlet) For(tool string) *Outlet {
	return &Outlet{outletState: o.outletState, inside: detect.Signs(0).Inside(tool), peek: o.peek}
}

// With returns the same outlet for what answers a call: it also replaces the values that were restored in its arguments, even a word that would
// otherwise be no name.
func (o *Outlet) With(values *Restored) *Outlet {
	return &Outlet{outletState: o.outletState, inside: o.inside, restored: values, peek: o.peek, added: o.added}
}

// Peek returns the same outlet for texts that are kept where no model sees them. Values that the vault does not have are not added to it: they
// get tokens of [NewPrivate], which count for the returned outlet alone.
func (o *Outlet) Peek() *Outlet {
	return &Outlet{outletState: o.outletState, inside: o.inside, restored: o.restored, peek: NewPrivate()}
}

// Mask replaces the personal data in text. JSON in it is treated as JSON.
func (o *Outlet) Mask(text string) string {
	return o.mask(text, false, func(m *masker, top *span) { m.text(top, hint{}) })
}

// MaskJSON replaces the personal data in a JSON value, which stays valid JSON. What is not JSON is masked as text.
func (o *Outlet) MaskJSON(raw []byte) []byte {
	if !json.Valid(raw) {
		return []byte(o.Mask(string(raw)))
	}
	return []byte(o.mask(string(raw), false, (*masker).json))
}

// MaskForeign is MaskJSON for what a server sent. A server has no tokens, so a text in it that looks like one, even like one of the outlet's
// own, is replaced by [LITERAL_1] and so on: the value of another server's token does not go to this one if the text is sent back.
func (o *Outlet) MaskForeign(raw []byte) []byte {
	if !json.Valid(raw) {
		return []byte(o.mask(string(raw), true, func(m *masker, top *span) { m.text(top, hint{}) }))
	}
	return []byte(o.mask(string(raw), true, (*masker).json))
}

func (o *Outlet) mask(text string, foreign bool, mask func(*masker, *span)) string {
	if text == "" {
		return text
	}
	v, names, err := o.ready()
	newMasker := func() *masker {
		return &masker{fields: newFields(o.fields), learned: names, restored: o.restored, own: !foreign}
	}
	detected := o.detect(text, newMasker, mask)
	added := o.added
	if added == nil {
		added = &addition{}
	}
	for n := 1; ; n++ {
		p := pass{v: v, peek: o.peek, foreign: foreign, byKey: map[string]*entry{}}
		m := newMasker()
		m.token, m.lookalike, m.detected = p.token, p.lookalike, detected
		d, top := newDocument(text)
		top.signs = o.inside
		mask(m, top)
		switch {
		case len(p.new) == 0:
			if len(p.stale) > 0 && o.peek == nil {
				_ = o.keep(v, nil, p.stale) // the values have their tokens whether or not the day is written
			}
			return d.apply()
		case v == nil && n == 1:
			names.learn(p.new) // so that a name is found before the field that holds it, too
			continue
		case n == maxPasses && err == nil:
			err = errors.New("the names in a text led to further names again and again; some have no number")
			fallthrough
		case v == nil, err != nil:
			o.lost.Store(true)
			o.report(err)
			return d.apply()
		}
		fit := added.fitting(v, p.new)
		if err = o.keep(v, fit, p.stale); err == nil && len(fit) < len(p.new) {
			err = fmt.Errorf("an output has more than %d new values, or more than a vault that is half full takes of one; the others have no number", RunValues)
		}
		names = v.learned()
	}
}

// shownPart divides RunValues and RunBytes where a vault is half full. A model reads some thousand words of an output, so its values have numbers
// then, and a large table that nobody reads does not fill the vault.
const shownPart = 10

// addition is what an output has added to a vault.
type addition struct{ values, bytes int }

// fitting returns the first of new entries that may be added, and counts them.
func (a *addition) fitting(v *Vault, entries []*entry) []*entry {
	values, bytes := RunValues, RunBytes
	if v.isHalfFull() {
		values, bytes = values/shownPart, bytes/shownPart
	}
	for i, e := range entries {
		if a.values >= values || a.bytes+e.size() > bytes {
			return entries[:i]
		}
		a.values++
		a.bytes += e.size()
	}
	return entries
}

// Learn remembers the names, companies and addresses that fields of a structured result hold, so that they are found in later texts. They
// are written to the vault, unless it is half full, with the next value that is masked, or by themselves once a second; Flush writes the rest.
// While there is no vault, the outlet alone remembers them.
func (o *Outlet) Learn(raw []byte) {
	if !json.Valid(raw) {
		return
	}
	v, names, err := o.ready()
	o.report(err)
	var found []*entry
	var stale []string
	_, top := newDocument(string(raw))
	top.signs = o.inside
	top.held(newFields(o.fields), func(typ Type, text string) {
		e := &entry{Type: typ, Value: []byte(text), Field: true}
		token, isStale := v.held(e)
		switch {
		case isStale:
			stale = append(stale, token)
		case token == "" && names.add(typ, text):
			found = append(found, e)
		}
	})
	if len(stale) > 0 {
		_ = o.keep(v, nil, stale) // the values have their tokens whether or not the day is written
	}
	if len(found) == 0 || v != nil && v.isHalfFull() {
		return
	}
	o.learning.Lock()
	for _, e := range found {
		if key := e.key(); !o.isPending[key] && len(o.pending) < RunValues {
			o.isPending[key] = true
			o.pending = append(o.pending, e)
		}
	}
	due := time.Since(o.written) >= learnPause
	o.learning.Unlock()
	if due {
		_ = o.Flush()
	}
}

// Flush writes to the vault what was learned. Trouble returns its error, too.
func (o *Outlet) Flush() error {
	o.learning.Lock()
	n := len(o.pending)
	o.learning.Unlock()
	if n == 0 {
		return nil
	}
	v, _, err := o.ready()
	if err == nil {
		err = o.keep(v, nil, nil)
	}
	o.report(err)
	return err
}

// keep writes new values, and what was learned, to the vault. After an error it does not try again for a while, because each attempt may wait
// for the database.
func (o *outletState) keep(v *Vault, entries []*entry, stale []string) error {
	o.learning.Lock()
	defer o.learning.Unlock()
	if o.keepErr != nil && time.Now().Before(o.keepAgain) {
		return o.keepErr
	}
	o.written = time.Now()
	err := v.keep(append(entries, o.pending...), stale)
	if _, full := errors.AsType[*FullError](err); err == nil || full {
		o.pending, o.keepErr = nil, nil
		clear(o.isPending)
		return err
	}
	o.keepErr, o.keepAgain = err, time.Now().Add(openAgain)
	return err
}

// FindToken returns the first token in a text that stands for a value, or "". It needs the vault only if there is something like a token.
func (o *Outlet) FindToken(text string) string {
	var v *Vault
	for start, end := nextToken(text, 0); start >= 0; start, end = nextToken(text, end) {
		if v == nil {
			var err error
			if v, _, err = o.ready(); err != nil {
				return ""
			}
		}
		v.mu.Lock()
		e, ok := v.ledger.byToken[text[start:end]]
		v.mu.Unlock()
		if ok && e.As != asItself {
			return e.Token
		}
	}
	return ""
}

// Restore replaces the tokens in a JSON value by what they stand for, as [Vault.RestoreJSON] does, but a token that stands for nothing is an
// *UnknownTokenError. Once a value could not be kept, so is what took its place: tokens without a number, and the note of a detector.
func (o *Outlet) Restore(raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	out, _, err := o.restore(string(raw), true, restorer{})
	return []byte(out), err
}

// RestoreText replaces the tokens in a text by what they stand for, as [Vault.Restore] does, with the errors of Restore.
func (o *Outlet) RestoreText(text string) (string, error) {
	out, _, err := o.restore(text, isContainer(text), restorer{})
	return out, err
}

// ArgumentOptions say how arguments of a call are restored.
type ArgumentOptions struct {
	// NumbersAsText makes a string of a number.
	NumbersAsText bool
	// FromTokens says that the caller is a script that has tokens in place of values, so it may have changed them to lower case.
	FromTokens bool
	// Of are the only tokens that stand for something. Nil: all of the vault.
	Of []string
}

// RestoreArguments is Restore for the arguments of a call. It also returns what stood for tokens, for [Outlet.With]. A token that was changed on its
// way, such as %5BEMAIL_1%5D, is an error, too.
func (o *Outlet) RestoreArguments(raw []byte, opt ArgumentOptions) ([]byte, *Restored, error) {
	if !json.Valid(raw) {
		return nil, nil, errNotJSON
	}
	r := restorer{numbersAsText: opt.NumbersAsText, of: opt.Of, changed: []*regexp.Regexp{encodedToken}}
	if opt.FromTokens {
		r.changed = append(r.changed, loweredToken)
	}
	out, used, err := o.restore(string(raw), true, r)
	return []byte(out), used, err
}

func (o *Outlet) restore(text string, asJSON bool, r restorer) (string, *Restored, error) {
	r.strict, r.lost = true, o.lost.Load()
	isChanged := slices.ContainsFunc(r.changed, func(form *regexp.Regexp) bool { return form.MatchString(text) })
	if !mayHaveTokens(text, r.lost) && !isChanged {
		return text, nil, nil
	}
	v, _, err := o.ready()
	if err != nil {
		o.report(err)
		return "", nil, err
	}
	r.v, r.left = v, v.maxRestored
	out, err := r.restore(text, asJSON)
	if err == nil && len(r.stale) > 0 {
		_ = o.keep(v, nil, r.stale)
	}
	return out, r.used, err
}

// Trouble returns why values or texts were replaced by something that cannot be restored since it was last called, or nil.
func (o *Outlet) Trouble() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := errors.Join(o.troubles...)
	o.troubles = nil
	return err
}

// report keeps an error for Trouble, once.
func (o *outletState) report(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && !slices.ContainsFunc(o.troubles, func(e error) bool { return e.Error() == err.Error() }) {
		o.troubles = append(o.troubles, err)
	}
}

// ready returns the vault as it is now, and what is looked for in texts. If the vault cannot be used, that is what was known before.
func (o *outletState) ready() (*Vault, *learned, error) {
	v, err := o.opened()
	var names *learned
	if err == nil {
		v.mu.Lock()
		if err = v.refresh(context.Background()); err == nil {
			names = v.known()
		}
		v.mu.Unlock()
	}
	if err != nil {
		o.failed(err)
	}
	o.learning.Lock()
	defer o.learning.Unlock()
	if err != nil {
		if o.names == nil {
			o.names = &learned{}
		}
		return nil, o.names, err
	}
	if names != o.names {
		names.learn(o.pending)
		o.names = names
	}
	return v, names, nil
}

// failed makes opened return an error for a while, because each attempt may wait for the database.
func (o *outletState) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.vault != nil {
		o.vault, o.openErr, o.retry = nil, err, time.Now().Add(openAgain)
	}
}

// opened returns the vault, after values were forgotten whose time is over.
func (o *outletState) opened() (*Vault, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.vault == nil {
		if time.Now().Before(o.retry) {
			return nil, o.openErr
		}
		if o.vault, o.openErr = o.open(); o.openErr != nil {
			o.vault, o.retry = nil, time.Now().Add(openAgain)
			return nil, o.openErr
		}
	}
	if o.settings.Retention > 0 && o.cleaned != o.vault.today() {
		o.cleaned = o.vault.today()
		if _, err := o.vault.Forget(context.Background(), Forget{All: true, Unused: o.settings.Retention}); err != nil {
			o.troubles = append(o.troubles, err)
		}
	}
	return o.vault, nil
}

// pass looks up the tokens of one text's values, and collects the values that have none yet, or of which the vault does not know yet that a
// field held them.
type pass struct {
	v       *Vault     // nil if it cannot be used
	peek    *Tokenizer // for values that the vault does not have; nil: they are added to it
	foreign bool
	new     []*entry
	byKey   map[string]*entry // new
	stale   []string          // tokens whose use is to be noted
}

func (p *pass) token(typ Type, v value) string { return p.tokenOf(entryOf(typ, v)) }

func (p *pass) tokenOf(e *entry) string {
	key, token := e.key(), bareToken(e.Type)
	if p.v != nil {
		p.v.mu.Lock()
		defer p.v.mu.Unlock()
		if known, ok := p.v.ledger.byToken[p.v.ledger.byValue[key]]; ok {
			if token = known.Token; p.v.isStale(known) {
				p.stale = append(p.stale, token)
			}
			if known.Field || !e.Field || p.peek != nil {
				return token
			}
		}
	}
	if p.peek != nil {
		return p.peek.token(e.Type, value{text: string(e.Value)})
	}
	if was, ok := p.byKey[key]; ok {
		was.Field = was.Field || e.Field
		return token
	}
	p.byKey[key] = e
	p.new = append(p.new, e)
	return token
}

func (p *pass) lookalike(v value) string {
	if p.v == nil && !p.foreign {
		return v.text
	}
	if p.v == nil {
		return p.tokenOf(entryOf(literalType, v))
	}
	p.v.mu.Lock()
	e, issued := p.v.ledger.byToken[v.text]
	itself := issued && e.As == asItself
	own := !p.foreign && (issued || p.v.ledger.isForgotten(v.text))
	p.v.mu.Unlock()
	if own || itself {
		return v.text
	}
	return p.tokenOf(entryOf(literalType, v))
}
