package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/record"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// maxInFlight is the maximum number of calls that the bridge accepts from one guest at a time.
const maxInFlight = 256

// maxWarnings bounds the warnings of one run.
const maxWarnings = 100

// maxChecks bounds the results that are checked at a time while the script goes on.
const maxChecks = 4

// ErrRunTimeout is the cause with which the context of a run ends when its time is up.
var ErrRunTimeout = errors.New("the run timed out")

// Run describes a run to its calls.
type Run struct {
	ID           string // prefix of the names of files
	Script, Code string // the script's name and text, for whoever approves its calls; empty without one
	// Source returns the text of another file of the script, for whoever approves its calls. The name is as in the place of a call, and
	// hostile. If nil, no other file is shown.
	Source   func(name string) (string, bool)
	Settings Settings
	Store    *workspace.Store // for large results; nil: scripts get them whole
	// Elicit answers elicitations of servers. Nil: each is declined.
	Elicit upstream.ElicitFunc
	// Watch is called with the events of the run, one at a time. May be nil.
	Watch func(Event)
	// Answers are the methods that the script may call on the host besides those of this package.
	Answers map[string]func(context.Context, json.RawMessage) (json.RawMessage, error)
	// Methods are further ones, which may call tools and ask a person in the name of the script.
	Methods map[string]Method
	// Import bundles a module that the running script imports by a computed path. Nil: it cannot import any.
	Import func(ctx context.Context, specifier, from string) (id, code string, err error)
	// Suspend ends the run with [ErrSuspended], as Settings.Suspend says. Nil: it is never suspended.
	Suspend func()
	// CountTokens asks for the tokens in Summary.
	CountTokens bool
	// Audit is the id of the run in the record. Empty: ID.
	Audit string
	// Direct says that there is no script. The policy counts such a call as part of the conversation, if there is one.
	Direct bool
}

// Calls makes the calls of one run. It is safe for concurrent use.
type Calls struct {
	chain   *Chain
	run     Run
	set     Settings    // with defaults
	subject *policy.Run // what the policy knows about the run
	usage   *usage
	rows    record.Mask // for the record

	details  *detailer       // nil: nothing is kept
	recorder *record.Writer  // nil: nothing is recorded
	player   *record.Player  // nil: calls are made
	turns    *turns          // with player: puts calls into the script's order
	clock    *clock.Clock    // of the run; nil until its script has started
	starts   sync.Map        // servers whose start has held the clock
	over     <-chan struct{} // closed when the run times out or is interrupted
	slots    chan struct{}
	memory   *semaphore.Weighted // see ownMemory
	checks   chan struct{}       // one element for each result that is checked while the script goes on
	work     sync.WaitGroup      // checks that go on after the script has the result

	steps   steps
	unknown atomic.Int32 // calls of unknown tools
	unsent  atomic.Int64 // calls whose end alone is in the record
	audited atomic.Int64 // bytes of arguments in the record

	kept      atomic.Bool // a result, or a part of one, was replaced by a handle
	askedHost atomic.Bool // the script called one of Run.Answers
	restored  atomic.Bool // arguments of a call had tokens
	nulls     atomic.Bool // see Summary
	undefined atomic.Bool
	uncached  atomic.Bool // the cache cannot be used

	watching sync.Mutex // held while Run.Watch runs

	mu       sync.Mutex
	next     int                      // number of the last call that the bridge did not number
	gates    map[string]chan struct{} // by server
	dryCalls map[int]bool             // calls that a dry run skipped
	listed   int                      // bytes of their arguments
	warned   map[string]bool
	advised  map[string]bool
	parsed   map[string]bool // tools that returned JSON as text, which the script got as a value
	texts    map[string]bool // tools without an output schema that returned text other than JSON
	warnings []string
}

// NewCalls returns the calls of a run, which is over when ctx ends. It fails if a recording cannot be started or read, and with the error of
// [journal.Journal.Continues].
func (ch *Chain) NewCalls(ctx context.Context, run Run) (*Calls, error) {
	set := run.Settings.withDefaults()
	rows := ch.RecordMask(&set)
	c := &Calls{
		rows: rows, chain: ch, run: run, set: set, subject: set.Known, usage: &usage{count: run.CountTokens, began: time.Now()}, over: ctx.Done(),
		slots: make(chan struct{}, set.Parallel), checks: make(chan struct{}, maxChecks), gates: map[string]chan struct{}{}, dryCalls: map[int]bool{}, warned: map[string]bool{}, advised: map[string]bool{}, parsed: map[string]bool{}, texts: map[string]bool{},
	}
	if c.subject == nil {
		c.subject = &policy.Run{}
	}
	c.subject.Subject, c.subject.Conversation = set.Subject, set.Conversation
	if run.Direct && set.Conversation != nil {
		c.subject = set.Conversation
	}
	if err := set.Journal.Continues(); err != nil {
		return nil, err
	}
	if err := c.subject.Continue(c.journalOf().Past()); err != nil {
		return nil, err
	}
	c.journalOf().Receive(c.subject.Taint()...) // of the conversation, or of what the run can read
	mask := ch.Mask(set.Tokens)
	var err error
	if set.Replay != nil {
		if c.player, err = record.Read(set.Replay, set.ReplayLoose, mask); err != nil {
			return nil, err
		}
		c.turns = newTurns()
	}
	if set.Details {
		c.details = &detailer{mask: mask, script: run.Script, lines: strings.Split(run.Code, "\n")}
	}
	if set.Record != nil {
		if c.recorder, err = record.NewWriter(set.Record, mask); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Begin says that the script starts now. The clock, which ends the run, is held while a server starts for the first time and while a
// person is asked.
func (c *Calls) Begin(clock *clock.Clock) {
	c.clock = clock
	c.usage.began = time.Now()
	c.tell(Event{Kind: EventReady})
}

// KeepNothing makes scripts get large results whole. Call it before Handler and Answerer.
func (c *Calls) KeepNothing() { c.run.Store = nil }

// AtOnce returns how many calls the bridge passes on at once: all that a guest may have in flight, since they queue here, and a
// call that waits for a slow server must not hold back calls to another. Where results may be as large as a frame there are
// fewer: each is in memory until the guest has read it.
func (c *Calls) AtOnce() int {
	if c.set.MaxResult < 0 && c.player == nil {
		return max(defaultParallel, min(c.set.Parallel, maxInFlight))
	}
	return maxInFlight
}

// concealer removes the values of the configuration's variables from a text. *upstream.Pool implements it.
type concealer interface{ Conceal(text string) string }

// Mask removes the values of the configuration's variables and, unless tokens is nil, personal data.
func (ch *Chain) Mask(tokens pii.Masker) record.Mask {
	m := record.Mask{}
	if tokens != nil {
		m.JSON = tokens.MaskJSON
	}
	if up, ok := ch.upstreams.(concealer); ok {
		m.Text = up.Conceal
	}
	return m
}

// Mask masks a value with the same tokens as questions about the calls.
func (c *Calls) Mask(value json.RawMessage) json.RawMessage {
	m := c.chain.Mask(c.set.Tokens)
	return m.Value(value)
}

// HadTokens reports whether arguments of a call had tokens that were restored.
func (c *Calls) HadTokens() bool { return c.restored.Load() }

// number returns the number of a call.
func (c *Calls) number(seq int) int {
	if seq > 0 {
		return seq
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.next
}

// tell passes an event to the watcher.
func (c *Calls) tell(e Event) {
	if c.run.Watch == nil {
		return
	}
	p := c.set.Personal
	if e.Kind != EventWaiting { // whose message has only the host's words
		e.Message, e.Progress.Message = p.Mask(e.Message), p.MaskForeign(e.Progress.Message)
	}
	if _, _, known := c.chain.catalog.Lookup(e.Tool); !known { // the script's text
		e.Tool = p.Mask(e.Tool)
	}
	c.watching.Lock()
	defer c.watching.Unlock()
	c.run.Watch(e)
}

// warn adds a warning about a call, once for each tool and text.
func (c *Calls) warn(req *request, format string, args ...any) {
	text := c.set.Personal.Mask(fmt.Sprintf(format, args...))
	if req.Tool != "" {
		text = req.Tool + ": " + text
	}
	c.mu.Lock()
	known := c.warned[text] || len(c.warnings) >= maxWarnings
	if !known {
		c.warned[text] = true
		c.warnings = append(c.warnings, text)
	}
	c.mu.Unlock()
	if known {
		return
	}
	c.chain.log.Warn(text, "call", req.Seq)
	c.tell(Event{Kind: EventWarning, Call: req.Seq, Tool: req.Tool, Message: text})
}

// Warn adds a warning about the run, once for each text.
func (c *Calls) Warn(format string, args ...any) { c.warn(&request{}, format, args...) }

// Failed returns the calls that have failed so far, those that were cancelled left out.
func (c *Calls) Failed() []CallRecord {
	c.usage.mu.Lock()
	defer c.usage.mu.Unlock()
	var out []CallRecord
	for _, rec := range c.usage.calls {
		if rec.Outcome != OutcomeOK && rec.Outcome != OutcomeDry && rec.Outcome != string(call.KindCancelled) {
			out = append(out, rec)
		}
	}
	return out
}

// advise tells whoever operates mcprun what to do about a call, once for each text. It goes to the watcher and the log. It is not a
// warning, because models read warnings, and they must not change who decides about calls.
func (c *Calls) advise(req *request, format string, args ...any) {
	text := c.set.Personal.Mask(fmt.Sprintf(format, args...))
	c.mu.Lock()
	known := c.advised[text] || len(c.advised) >= maxWarnings
	if !known {
		c.advised[text] = true
	}
	c.mu.Unlock()
	if !known {
		c.chain.log.Info(text, "call", req.Seq)
		c.tell(Event{Kind: EventAdvice, Call: req.Seq, Tool: req.Tool, Message: text})
	}
}

// Advise tells whoever operates mcprun what to do about the run, once for each text. It is not a warning.
func (c *Calls) Advise(format string, args ...any) { c.advise(&request{}, format, args...) }

// ended reports whether the run has timed out or was interrupted.
func (c *Calls) ended() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}
