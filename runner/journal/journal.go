// Package journal keeps what the calls of a run returned, so that the run can be started again from its beginning after its process died:
// the script runs again, but no call is made twice.
//
// A call that changes something is announced before it is sent ([Call.Intend]), and how it ended is kept before the script knows
// ([Call.Finish]). When the run is continued, a call that has ended gets its outcome from the journal. One that was announced and has no
// outcome is unknown ([call.UnknownError]): it may have been made, and is not made again. One that is not in the journal is made.
//
// # Which call is which
//
// A script may make its calls in another order than before, because some end sooner. So a call is found by its tool, its arguments and
// the number of equal calls before it. A script that is not deterministic makes calls that the journal does not have, such as one with the
// time in its arguments; it may mean one that was already sent. Therefore a new call that changes something waits until every call of the same
// tool that was sent before has been asked for again, and is refused as unknown if that does not happen; see [Call.Alone].
//
// # Who continues
//
// [Open] begins an execution. Executions that began before can write nothing from then on: their next announcement is [ErrTakenOver]. So a process
// that was stopped for long, and goes on after another has continued its run, sends nothing that is not in the journal of the other.
package journal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// sealing is the purpose of the key that seals journals.
	sealing = "mcprun journal 2"
	// maxInline is the size of the largest result, in bytes, that is in the log of the run. Larger ones are in logs of their own, which are
	// read when they are needed.
	maxInline = 16 << 10
	// largeKind is added to the kind of a journal's log for those of large results.
	largeKind = "-result"
	// maxSpared bounds the results, in bytes, of calls that can be made again. Further ones are made again.
	maxSpared = 256 << 20
	// maxUnsent bounds the outcomes of calls that were not sent. Further ones are decided again.
	maxUnsent = 10_000
	// patience is how long a new call waits for those that were sent before.
	patience = 10 * time.Second
	// outcomeTime bounds the time to keep an outcome, in a run that may have ended.
	outcomeTime = 30 * time.Second
)

// ErrTakenOver says that another process continues the run.
var ErrTakenOver = errors.New("another process has taken the run over")

// OutsideError says that a run did something that is not a call, and so is not continued.
type OutsideError struct{ What []string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("the run %s before its process ended, and is not repeated", strings.Join(e.What, ", and "))
}

// Hint implements the interface of errors with a remedy.
func (e *OutsideError) Hint() string {
	return "look at what it has done, and start it again yourself if that does no harm"
}

// Outcome is how a call ended, as the stage of the chain that keeps it sees it: a result, or an error.
type Outcome struct {
	Value      []byte  `json:"value,omitempty"`
	As         call.As `json:"as,omitempty"`
	Structured bool    `json:"structured,omitempty"`
	// ToolError says that the result, which the script wants whole, reports a failure of the tool.
	ToolError bool        `json:"toolError,omitempty"`
	Error     *call.Error `json:"error,omitempty"`
	// Unknown says that the error is a [call.UnknownError].
	Unknown bool `json:"unknown,omitempty"`
	// Sent says that a server may have acted on the call. Drift is how its tool had changed.
	Sent  bool   `json:"sent,omitempty"`
	Drift string `json:"drift,omitempty"`
	// Large says that the outcome itself is in a log of its own, with about this many bytes.
	Large int `json:"large,omitempty"`
	// At is when a step ended, and Message the number of the [Message] that ended it; zero: none did. Calls have neither.
	At      time.Time `json:"at,omitzero"`
	Message int       `json:"message,omitempty"`
}

// line is a line of the log. It has one of Begins, Outside, Message, Step, Intent and Outcome.
type line struct {
	By      string `json:"by"` // the execution
	Begins  bool   `json:"begins,omitempty"`
	Outside string `json:"outside,omitempty"`
	// Each line may have names of [Journal.Receive], and the first line of a call has those of [Call.Count].
	Received []string `json:"received,omitempty"`
	Counted  []string `json:"counted,omitempty"`
	Message  *Message `json:"message,omitempty"`
	Call     *id      `json:"call,omitempty"` // or a step
	Tool     string   `json:"tool,omitempty"`
	In       string   `json:"in,omitempty"` // the path of the step that made the call
	Step     *Step    `json:"step,omitempty"`
	Intent   bool     `json:"intent,omitempty"`
	Outcome  *Outcome `json:"outcome,omitempty"`
}

// id finds a call again.
type id struct {
	Digest [sha256.Size]byte `json:"digest"` // of the tool and the arguments
	Number int               `json:"number"` // of equal calls before it
}

// entry is what the journal has of a call, or of a step.
type entry struct {
	tool, in string
	sent     bool  // it was announced
	step     *Step // as it began; nil: it is a call
	outcome  *Outcome
}

// place is where calls are made: a tool, in a step or outside of steps.
type place struct{ tool, in string }

// Journal is the journal of one run, for one execution. It is safe for concurrent use.
type Journal struct {
	logs store.Logs
	key  store.Key
	seal *seal.Sealer
	by   string // this execution

	writing sync.Mutex // held while a line is added
	last    int64      // the last line that this execution knows
	lost    bool       // another execution has begun, or the log was deleted

	mu       sync.Mutex
	entries  map[id]*entry
	asked    map[[sha256.Size]byte]int // calls of this execution
	waiting  map[place]int             // calls that former executions have sent, and this one has not asked for yet
	inbox    []Message                 // values that were sent to the run and that no step has taken
	loose    []string                  // the paths of steps that have finished and are [Step.Loose]
	received int                       // the number of the last one that came
	settled  chan struct{}             // closed when one of waiting becomes zero
	hasty    bool                      // a call has waited for them in vain
	before   []string                  // what former executions did outside
	outside  map[string]bool           // what was noted
	servers  map[string]bool           // whose data the run has received; false: no line has it yet
	counted  map[string]int            // calls of former executions, by what they count for
	spared   int64                     // bytes of results of calls that can be made again
	unsent   int                       // outcomes of calls that were not sent
}

// Open begins an execution of the run whose log has this key, and reads what former ones have kept. They can keep nothing from now on.
// What is kept is sealed for its log, because results hold personal data, with a key that is derived from a secret of at least 16 bytes.
func Open(ctx context.Context, logs store.Logs, key store.Key, secret []byte) (*Journal, error) {
	sealer, err := seal.New(secret, nil, sealing)
	if err != nil {
		return nil, fmt.Errorf("open the journal of %s: %w", key.Name, err)
	}
	j := &Journal{
		logs: logs, key: key, seal: sealer, by: rand.Text(),
		entries: map[id]*entry{}, asked: map[[sha256.Size]byte]int{}, waiting: map[place]int{}, settled: make(chan struct{}), outside: map[string]bool{}, servers: map[string]bool{}, counted: map[string]int{},
	}
	begins, err := j.sealed(key, &line{By: j.by, Begins: true})
	if err == nil {
		if j.last, err = logs.AppendLine(ctx, key, begins); err == nil {
			err = j.read(ctx)
			j.expect()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the journal of %s: %w", key.Name, err)
	}
	return j, nil
}

// Name is the name of its log, which each execution of the run has.
func (j *Journal) Name() string { return j.key.Name }

// read reads the lines before this execution's.
func (j *Journal) read(ctx context.Context) error {
	by := ""
	err := j.lines(ctx, 0, j.last-1, func(l *line) {
		if l.Begins {
			by = l.By
		}
		if l.By != by { // that execution had been taken over, and did not act on it
			return
		}
		if l.Outside != "" {
			j.outside[l.Outside], j.before = true, append(j.before, l.Outside)
		}
		for _, server := range l.Received {
			j.servers[server] = true
		}
		for _, name := range l.Counted {
			j.counted[name]++
		}
		if l.Message != nil {
			j.receive(l.Message)
		}
		if l.Call == nil {
			return
		}
		e := j.entries[*l.Call]
		if e == nil {
			e = &entry{tool: l.Tool, in: l.In}
			j.entries[*l.Call] = e
		}
		e.sent = e.sent || l.Intent
		if l.Step != nil {
			e.step = l.Step
		}
		if l.Outcome != nil {
			e.outcome = l.Outcome
			j.take(l.Outcome.Message)
		}
	})
	j.before = slices.Compact(slices.Sorted(slices.Values(j.before)))
	return err
}

// expect notes which calls that were sent this execution should ask for. Those of a step that has finished are not among them: it does not run
// again.
func (j *Journal) expect() {
	finished := map[string]bool{}
	for at, e := range j.entries {
		if e.step != nil && e.outcome != nil {
			path := e.step.path(at.Number)
			if finished[path] = true; e.step.Loose {
				j.loose = append(j.loose, path)
			}
		}
	}
	for _, e := range j.entries {
		if e.sent && !finished[e.in] {
			j.waiting[place{e.tool, e.in}]++
		}
	}
}

// lines calls each with the lines after one and up to another.
func (j *Journal) lines(ctx context.Context, after, last int64, each func(*line)) error {
	enough := errors.New("enough")
	err := j.logs.Lines(ctx, j.key, after, func(l store.Line) error {
		if l.Number > last {
			return enough
		}
		var decoded line
		if err := j.unseal(j.key, l.Value, &decoded); err != nil {
			return fmt.Errorf("line %d: %w", l.Number, err)
		}
		each(&decoded)
		return nil
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// sealed returns a value as JSON that is sealed for a log. Errors of tools in it keep their text, without escapes for HTML.
func (j *Journal) sealed(log store.Key, v any) ([]byte, error) {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return j.seal.Seal(plain.Bytes(), seal.At(log)), nil
}

func (j *Journal) unseal(log store.Key, sealed []byte, v any) error {
	plain, err := j.seal.Open(sealed, seal.At(log))
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}

// add adds a line, and makes sure that no other execution had begun before.
func (j *Journal) add(ctx context.Context, l *line) error {
	l.By, l.Received = j.by, j.unkept()
	sealed, err := j.sealed(j.key, l)
	if err != nil {
		return err
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.lost {
		return ErrTakenOver
	}
	number, err := j.logs.AppendLine(ctx, j.key, sealed)
	if err != nil {
		return err
	}
	if number <= j.last { // it was deleted, so that calls that were made are not in it any more
		j.lost = true
		return ErrTakenOver
	}
	if number != j.last+1 { // there are lines of others, or one of ours whose append had returned an error
		if err := j.lines(ctx, j.last, number, func(l *line) { j.lost = j.lost || l.Begins && l.By != j.by }); err != nil {
			return err
		}
		if j.lost {
			return ErrTakenOver
		}
	}
	j.last = number
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, server := range l.Received {
		j.servers[server] = true
	}
	return nil
}

// Contents is what a journal has of a run.
type Contents struct {
	// Steps are in the order in which they began.
	Steps []Kept
	// Sent counts the calls that were sent, and change something, by tool.
	Sent map[string]int
	// Unknown are those of them without an answer, by tool and step. While an execution goes on, they may be in progress.
	Unknown []Unknown
}

// Unknown is a call that may have been made.
type Unknown struct {
	Tool string `json:"tool"`
	Step string `json:"step,omitempty"` // the path of the step that made it; empty: none did
}

func (u Unknown) String() string {
	if u.Step == "" {
		return u.Tool
	}
	return fmt.Sprintf("%s in %s", u.Tool, u.Step)
}

// Read returns what executions of a run have kept. It begins no execution.
func Read(ctx context.Context, logs store.Logs, key store.Key, secret []byte) (*Contents, error) {
	sealer, err := seal.New(secret, nil, sealing)
	j := &Journal{logs: logs, key: key, seal: sealer, last: math.MaxInt64, entries: map[id]*entry{}, outside: map[string]bool{}, servers: map[string]bool{}, counted: map[string]int{}}
	if err == nil {
		err = j.read(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of %s: %w", key.Name, err)
	}
	c := &Contents{Steps: j.steps(), Sent: map[string]int{}}
	for _, e := range j.entries {
		if !e.sent {
			continue
		}
		if c.Sent[e.tool]++; e.outcome == nil || e.outcome.Unknown {
			c.Unknown = append(c.Unknown, Unknown{e.tool, strings.TrimSuffix(e.in, "#0")})
		}
	}
	slices.SortFunc(c.Unknown, func(a, b Unknown) int { return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Step, b.Step)) })
	return c, nil
}

// Continues returns an *OutsideError if a former execution did something that cannot be repeated: the run must not be started then.
func (j *Journal) Continues() error {
	if j == nil || len(j.before) == 0 {
		return nil
	}
	return &OutsideError{What: j.before}
}

// Outside notes that the run is about to do something that is not a call and cannot be repeated, in words that go on from "the run", such as
// "used the network". It is kept once. After an error, it must not be done. A nil Journal notes nothing.
func (j *Journal) Outside(ctx context.Context, what string) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	known := j.outside[what]
	j.mu.Unlock()
	if known {
		return nil
	}
	if err := j.add(ctx, &line{Outside: what}); err != nil {
		return fmt.Errorf("note in the journal that the run %s: %w", what, err)
	}
	j.mu.Lock()
	j.outside[what] = true
	j.mu.Unlock()
	return nil
}

// Receive notes that the run is about to receive data of servers, by their names. The next line that is added keeps that: without one, nothing
// is kept that may have come of the data. A nil Journal notes nothing.
func (j *Journal) Receive(servers ...string) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, server := range servers {
		if _, known := j.servers[server]; !known {
			j.servers[server] = false
		}
	}
}

// unkept returns the servers of Receive that no line has.
func (j *Journal) unkept() (servers []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for server, kept := range j.servers {
		if !kept {
			servers = append(servers, server)
		}
	}
	return servers
}

// Past returns the servers of [Journal.Receive], and how many calls of former executions counted for each name of [Call.Count]. A nil Journal has
// neither.
func (j *Journal) Past() (received []string, counted map[string]int) {
	if j == nil {
		return nil, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Sorted(maps.Keys(j.servers)), maps.Clone(j.counted)
}

// Delete deletes a journal.
func Delete(ctx context.Context, logs store.Logs, key store.Key) error {
	names, err := logs.ListLogs(ctx, key.Customer, key.Kind+largeKind)
	errs := []error{err}
	for _, name := range names {
		if strings.HasPrefix(name, key.Name+"/") {
			errs = append(errs, logs.DeleteLog(ctx, store.Key{Customer: key.Customer, Kind: key.Kind + largeKind, Name: name}))
		}
	}
	return errors.Join(append(errs, logs.DeleteLog(ctx, key))...)
}
