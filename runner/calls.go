package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/record"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// maxInFlight is how many calls of one guest the bridge accepts at a time.
const maxInFlight = 256

// maxWarnings bounds the warnings of one run.
const maxWarnings = 100

// calls is the state that the calls of one run share. It is safe for concurrent use.
type calls struct {
	r       *Runner
	set     CallSettings
	elicit  upstream.ElicitFunc
	watch   func(Event)
	usage   *usage
	modules func(ctx context.Context, specifier, from string) (id, code string, err error) // nil: the script cannot import while it runs
	answers map[string]func(context.Context, json.RawMessage) (json.RawMessage, error)

	store    *workspace.Store // nil: there is no workspace for large results
	id       string           // of the run; begins the names of files
	recorder *record.Writer   // nil: nothing is recorded
	player   *record.Player   // nil: calls are made
	turns    *turns           // with player: puts calls into the script's order
	clock    *clock.Clock     // of the run; nil until its script has started
	starts   sync.Map         // servers whose start has held the clock
	over     <-chan struct{}  // closed when the run times out or is interrupted; nil: never
	slots    chan struct{}
	memory   *semaphore.Weighted // see ownMemory
	checks   chan struct{}       // one element for each result that is checked while the script goes on
	work     sync.WaitGroup      // checks that go on after the script has the result

	unknown atomic.Int32 // calls of unknown tools

	kept      atomic.Bool // a result, or a part of one, was replaced by a handle
	askedHost atomic.Bool // the script called a method of the host other than import

	watching sync.Mutex // held while watch runs

	mu       sync.Mutex
	next     int                      // number of the last call that the bridge did not number
	gates    map[string]chan struct{} // by server
	dryCalls map[int]bool             // calls that a dry run skipped
	listed   int                      // bytes of their arguments
	warned   map[string]bool
	texts    map[string]bool // tools that returned JSON as text
	warnings []string
}

// newCalls prepares the calls of a run. Its errors are those of starting or reading a recording.
func (r *Runner) newCalls(id string, s *Script, prepared *script.Prepared, store *workspace.Store) (*calls, error) {
	set := s.Calls.withDefaults()
	c := &calls{
		r: r, set: set, elicit: s.Elicit, watch: s.Watch, answers: s.Answers, usage: &usage{count: s.Capture}, store: store, id: id,
		slots: make(chan struct{}, set.Parallel), checks: make(chan struct{}, maxChecks), gates: map[string]chan struct{}{}, dryCalls: map[int]bool{}, warned: map[string]bool{}, texts: map[string]bool{},
	}
	if prepared != nil {
		c.modules = prepared.Import
	}
	mask := r.mask()
	var err error
	if set.Replay != nil {
		if c.player, err = record.Read(set.Replay, set.ReplayLoose, mask); err != nil {
			return nil, err
		}
		c.turns = newTurns()
	}
	if set.Record != nil {
		if c.recorder, err = record.NewWriter(set.Record, mask); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// atOnce returns how many calls the bridge passes on at once: all that a guest may have in flight, since they queue here, and a
// call that waits for a slow server must not hold back calls to another. Where results may be as large as a frame there are
// fewer: each is in memory until the guest has read it.
func (c *calls) atOnce() int {
	if c.set.MaxResult < 0 && c.player == nil {
		return max(defaultParallel, min(c.set.Parallel, maxInFlight))
	}
	return maxInFlight
}

// mask removes the values of variables and personal data from a recording.
func (r *Runner) mask() record.Mask {
	m := record.Mask{JSON: pii.New().MaskJSON}
	if up, ok := r.opt.Upstreams.(concealer); ok {
		m.Text = up.Conceal
	}
	return m
}

// number returns the number of a call.
func (c *calls) number(seq int) int {
	if seq > 0 {
		return seq
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.next
}

// tell passes an event to the watcher.
func (c *calls) tell(e Event) {
	if c.watch == nil {
		return
	}
	c.watching.Lock()
	defer c.watching.Unlock()
	c.watch(e)
}

// warn adds a warning about a call, once for each tool and text.
func (c *calls) warn(req *request, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
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
	c.r.log.Warn(text, "call", req.Seq)
	c.tell(Event{Kind: EventWarning, Call: req.Seq, Tool: req.Tool, Message: text})
}

// finish waits for the checks that still run and returns the warnings in the order in which they came.
func (c *calls) finish() []string {
	c.work.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.warnings)
}

// ended reports whether the run has timed out or was interrupted.
func (c *calls) ended() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}
