// Package workflow runs scripts that take long, wait, and survive the death of their process.
//
// A workflow is durable work (package durable) that runs a script in parts. Each part runs the script from its beginning; what it has
// done before is answered from its journal (package journal): its calls, its steps (workflow.step) and what it has waited for. If the script
// only waits, for a time, for a value that somebody sends, or for a person's answer, the part ends, and so does its sandbox. The work then
// waits without a process of its own, and the next part runs the script with what has come.
//
// What is kept of a workflow is sealed with a key that is derived from a secret: its program, its input, what was sent to it, its journal and its
// result.
package workflow

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// Kind is the kind of the durable work.
	Kind = "workflow.v1"
	// kindProgram is the kind of the document with what a workflow runs, and kindJournal that of its journal.
	kindProgram = "workflow"
	kindJournal = "workflow-journal"
	// kindMessage and kindEnd are places of what is sealed.
	kindMessage = "workflow-message"
	kindEnd     = "workflow-end"
	// kindStop is the kind of the document that says why it has stopped.
	kindStop = "workflow-stop"
	sealing  = "mcprun workflows 1"
	// wake is the topic on which the work receives everything but that it is resumed after it has stopped. That topic begins with resume, and has
	// the number of the part that stopped, so that the part is tried again once, however often somebody resumes it.
	wake, resume = "wake", "resume "
	// maxParts bounds the parts of a workflow, which are kept until it is forgotten.
	maxParts = 10_000
	// maxMessage bounds a value that is sent to a workflow, in bytes.
	maxMessage = 1 << 20
	// defaultSuspend is how long a script sleeps without being suspended.
	defaultSuspend = 5 * time.Second
	// endTime is how long calls that were sent may take when the process ends.
	endTime = 3 * time.Second
	// startTime is more than a start takes.
	startTime = time.Minute
	// keepTime is how long workflows that have ended are kept.
	keepTime = 30 * 24 * time.Hour
)

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Options are those of New. Durable, State and Secret are required.
type Options struct {
	// Durable does the work. It must not be launched yet. All processes of its group must run workflows in the same way: each continues those of the
	// others. See [Group].
	Durable *durable.Engine
	State   store.Store
	// Secret seals what is kept; at least 16 bytes.
	Secret []byte
	// Run runs a part. An error means that the script did not start. Nil: this process runs no workflows.
	Run func(ctx context.Context, p *Part) (*runner.Result, error)
	// Digest returns the digest of a program's code and of what it imports. Nil: changes of files are not noticed.
	Digest func(ctx context.Context, p *Program) (string, error)
	// Ready sets what is not kept of a program. Nil: nothing is missing.
	Ready func(p *Program) error
	// Suspend is how long a script sleeps without being suspended. Zero: 5 seconds.
	Suspend time.Duration
}

// Engine runs workflows. It is safe for concurrent use.
type Engine struct {
	o      Options
	sealer *seal.Sealer

	ending   chan struct{}   // closed by Close
	ended    context.Context // ends some time after that
	end      context.CancelFunc
	mu       sync.Mutex
	isClosed bool
	running  sync.WaitGroup
}

// New returns an engine.
func New(o Options) (*Engine, error) {
	sealer, err := seal.New(o.Secret, nil, sealing)
	if err != nil {
		return nil, err
	}
	o.Suspend = cmp.Or(o.Suspend, defaultSuspend)
	e := &Engine{o: o, sealer: sealer, ending: make(chan struct{})}
	e.ended, e.end = context.WithCancel(context.Background())
	return e, nil
}

// Launch begins to run workflows, also those of processes of the group that have ended. It forgets those that have ended 30 days ago.
func (e *Engine) Launch(ctx context.Context) error {
	if err := e.Register(ctx); err != nil {
		return err
	}
	return e.o.Durable.Launch(ctx)
}

// Register is Launch for a durable engine that does other work too: the caller launches it, and closes it after [Engine.Stop].
func (e *Engine) Register(ctx context.Context) error {
	if err := e.forget(ctx); err != nil {
		return err
	}
	e.o.Durable.Register(Kind, e.work)
	return nil
}

// Close stops this process' parts, which go on in another one, and closes the durable engine. Calls that were sent have three seconds to end.
func (e *Engine) Close(ctx context.Context) error {
	e.Stop()
	over, cancel := context.WithCancel(ctx)
	cancel() // the steps in progress wait for the end of the engine
	return e.o.Durable.Close(over)
}

// Stop stops this process' parts. Calls that were sent have three seconds to end.
func (e *Engine) Stop() {
	e.mu.Lock()
	if !e.isClosed {
		e.isClosed = true
		close(e.ending)
	}
	e.mu.Unlock()
	stop := time.AfterFunc(endTime, e.end)
	defer stop.Stop()
	e.running.Wait()
	e.end()
}

// NewID returns a random id, for those who must know it before the workflow starts.
func NewID() string { return "wf-" + strings.ToLower(rand.Text()[:10]) }

// Start starts a workflow and returns its id. The error wraps durable.ErrExists if there is one with the id.
func (e *Engine) Start(ctx context.Context, p *Program, s Start) (string, error) {
	s.ID = cmp.Or(s.ID, NewID())
	if !validID.MatchString(s.ID) {
		return "", fmt.Errorf("%q names no workflow: use up to 64 letters, digits and . _ -, a letter or a digit first", ident.Clip(s.ID, 100))
	}
	if _, err := e.o.Durable.Get(ctx, s.ID); !errors.Is(err, store.ErrNotFound) {
		return "", cmp.Or(err, fmt.Errorf("%w: %s", durable.ErrExists, s.ID))
	}
	digest, err := e.digest(ctx, p)
	if err != nil {
		return "", err
	}
	key := store.Key{Customer: s.Customer, Kind: kindProgram, Name: s.ID}
	sealed, err := e.seal(key, &kept{Program: *p, Digest: digest, Input: s.Input, Settings: s.Settings})
	if err != nil {
		return "", err
	}
	doc := &store.Document{Key: key, Value: sealed}
	if old, err := e.o.State.Document(ctx, key); err == nil && time.Since(old.Updated) > startTime {
		doc.Version = old.Version // its process died before the work was there
	}
	if _, err := e.o.State.SetDocument(ctx, doc); errors.Is(err, store.ErrConflict) {
		return "", fmt.Errorf("%w: %s", durable.ErrExists, s.ID)
	} else if err != nil {
		return "", err
	}
	id, err := e.o.Durable.Start(ctx, Kind, json.RawMessage("{}"), durable.Start{ID: s.ID, Customer: s.Customer})
	if err != nil && !errors.Is(err, durable.ErrExists) {
		return "", errors.Join(err, e.o.State.DeleteDocument(ctx, key))
	}
	return id, err
}

func (e *Engine) digest(ctx context.Context, p *Program) (string, error) {
	if e.o.Digest == nil {
		return "", nil
	}
	return e.o.Digest(ctx, p)
}

// seal encrypts a value, as JSON, so that it can only be read under this key.
func (e *Engine) seal(key store.Key, v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return e.sealer.Seal(plain, seal.At(key)), nil
}

func (e *Engine) unseal(key store.Key, sealed []byte, v any) error {
	plain, err := e.sealer.Open(sealed, seal.At(key))
	if err != nil {
		return fmt.Errorf("read the workflow %s: %w", key.Name, err)
	}
	return json.Unmarshal(plain, v)
}

// program returns what was kept of a workflow.
func (e *Engine) program(ctx context.Context, customer, id string) (*kept, error) {
	key := store.Key{Customer: customer, Kind: kindProgram, Name: id}
	doc, err := e.o.State.Document(ctx, key)
	if err != nil {
		return nil, err
	}
	k := &kept{}
	return k, e.unseal(key, doc.Value, k)
}

// work runs a workflow.
func (e *Engine) work(w *durable.Work, _ json.RawMessage) (json.RawMessage, error) {
	k, err := e.program(w.Context(), w.Customer, w.ID)
	if errors.Is(err, seal.ErrForeign) || e.o.Run == nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrElsewhere, err)
	}
	if err != nil {
		return nil, err
	}
	next := &Part{ID: w.ID, Customer: w.Customer, Input: k.Input, Settings: k.Settings, Ending: e.ending, suspend: e.o.Suspend}
	var messages []journal.Message
	received := 0
	for n := 1; n <= maxParts; n++ {
		next.Number = n
		part := func(ctx context.Context) ([]byte, error) { return e.part(ctx, *next, k, messages) }
		sealed, err := durable.Step(w, fmt.Sprintf("part %d", n), part)
		if err != nil {
			return nil, err
		}
		var ended end
		if err := e.unseal(endKey(w.Customer, w.ID), sealed, &ended); err != nil {
			return nil, err
		}
		if ended.Outcome != nil {
			return json.Marshal(sealed)
		}
		if ended.Stopped { // its messages are delivered again
			if _, err := durable.Receive[json.RawMessage](w, fmt.Sprint(resume, n), 0); err != nil {
				return nil, err
			}
			continue
		}
		if messages, err = e.await(w, &ended, received); err != nil {
			return nil, err
		}
		received, next.approved = received+len(messages), ended.Approved
	}
	return nil, fmt.Errorf("the workflow has waited %d times, which is too often", maxParts)
}

func endKey(customer, id string) store.Key {
	return store.Key{Customer: customer, Kind: kindEnd, Name: id}
}

func journalKey(customer, id string) store.Key {
	return store.Key{Customer: customer, Kind: kindJournal, Name: id}
}

// part runs a part, and returns how it ended, sealed. Messages have come since the part before.
func (e *Engine) part(ctx context.Context, p Part, k *kept, messages []journal.Message) ([]byte, error) {
	e.mu.Lock()
	if e.isClosed {
		e.mu.Unlock()
		return interrupted(ctx)
	}
	e.running.Add(1)
	e.mu.Unlock()
	running, stop := context.WithCancel(ctx)
	over := context.AfterFunc(e.ended, stop)
	ended, err := e.run(running, p, k, messages)
	over()
	stop()
	e.running.Done()
	select {
	case <-e.ending:
		if err != nil || ended.Outcome == nil {
			return interrupted(ctx)
		}
	default:
	}
	if ctx.Err() != nil || errors.Is(err, journal.ErrTakenOver) {
		return interrupted(ctx)
	}
	if err != nil {
		_ = e.stop(ctx, &p, &Stop{Part: p.Number, ExitCode: exit.Of(err, exit.Runner), Reason: exit.Hinted(err).Error()}) // else people are not told why
		ended = &end{Stopped: true}
	}
	return e.seal(endKey(p.Customer, p.ID), ended)
}

// stop keeps why a workflow has stopped.
func (e *Engine) stop(ctx context.Context, p *Part, s *Stop) error {
	doc := &store.Document{Key: store.Key{Customer: p.Customer, Kind: kindStop, Name: p.ID}}
	if old, err := e.o.State.Document(ctx, doc.Key); err == nil {
		doc.Version = old.Version
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var err error
	if doc.Value, err = e.seal(doc.Key, s); err == nil {
		_, err = e.o.State.SetDocument(ctx, doc)
	}
	return err
}

// interrupted waits until the engine, or the work, is interrupted. Then nothing is kept of the part.
func interrupted(ctx context.Context) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// run runs a part.
func (e *Engine) run(ctx context.Context, p Part, k *kept, messages []journal.Message) (*end, error) {
	program := k.Program
	p.Program = &program
	if e.o.Ready != nil {
		if err := e.o.Ready(p.Program); err != nil {
			return nil, err
		}
	}
	digest, err := e.digest(ctx, p.Program)
	if err != nil {
		return nil, err
	}
	if digest != k.Digest {
		return nil, &ChangedError{ID: p.ID, Name: program.Name}
	}
	if p.Journal, err = journal.Open(ctx, e.o.State, journalKey(p.Customer, p.ID), e.o.Secret); err != nil {
		return nil, err
	}
	for _, m := range messages {
		if err := p.Journal.Deliver(ctx, m); err != nil {
			return nil, err
		}
	}
	res, err := e.o.Run(ctx, &p)
	if _, wrong := errors.AsType[*script.Error](err); wrong { // the code with which the workflow was started
		return &end{Outcome: &Outcome{ExitCode: exit.Of(err, exit.Runner), Cause: runner.CauseError, Message: exit.Hinted(err).Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	if res.Cause == runner.CauseSuspended {
		return &end{Waits: res.Waits, Approved: res.Start != nil && res.Start.By != ""}, nil
	}
	if res.Cause != runner.CauseExit && res.Cause != runner.CauseError {
		return nil, &partError{res}
	}
	out := &Outcome{ExitCode: res.ExitCode, Cause: res.Cause, Message: res.Message, Result: res.Value}
	if res.Error != nil {
		out.Message = strings.TrimSuffix(res.Error.Name+": "+res.Error.Message+"; "+res.Message, "; ")
	}
	if out.ExitCode != 0 {
		made, err := journal.Read(ctx, e.o.State, journalKey(p.Customer, p.ID), e.o.Secret)
		if err != nil {
			return nil, err
		}
		out.Unknown = len(made.Unknown) > 0
	}
	return &end{Outcome: out}, nil
}

// partError says that a part was ended by something else than its script.
type partError struct{ *runner.Result }

func (e *partError) Error() string { return cmp.Or(e.Message, "its run ended: "+string(e.Cause)) }

// ExitCode is that of the run.
func (e *partError) ExitCode() int { return e.Result.ExitCode }

// await waits until a part can go on, and returns what has come for it. received is how much had come before.
func (e *Engine) await(w *durable.Work, ended *end, received int) (messages []journal.Message, err error) {
	var until time.Time
	topics := map[string]bool{}
	for _, s := range ended.Waits {
		if topics[s.Topic] = true; !s.Until.IsZero() && (until.IsZero() || s.Until.Before(until)) {
			until = s.Until
		}
	}
	for {
		timeout := time.Duration(0) // none
		if !until.IsZero() {
			timeout = max(time.Until(until), time.Millisecond)
		}
		sealed, err := durable.Receive[[]byte](w, wake, timeout)
		if errors.Is(err, durable.ErrTimeout) {
			return messages, nil
		}
		if err != nil {
			return nil, err
		}
		var m journal.Message
		if err := e.unseal(store.Key{Customer: w.Customer, Kind: kindMessage, Name: w.ID}, sealed, &m); err != nil {
			return nil, err
		}
		m.Number = received + len(messages) + 1
		messages = append(messages, m)
		if topics[m.Topic] {
			return messages, nil
		}
	}
}

// forget removes what is kept of workflows that have ended long ago.
func (e *Engine) forget(ctx context.Context) error {
	all, err := e.o.Durable.List(ctx, durable.Filter{Kind: Kind})
	if err != nil {
		return err
	}
	before := time.Now().Add(-keepTime)
	for _, s := range slices.Backward(all) {
		if !s.State.Ended() || s.Ended.After(before) {
			continue
		}
		err := journal.Delete(ctx, e.o.State, journalKey(s.Customer, s.ID))
		for _, kind := range []string{kindStop, kindProgram} {
			err = errors.Join(err, e.o.State.DeleteDocument(ctx, store.Key{Customer: s.Customer, Kind: kind, Name: s.ID}))
		}
		if err != nil {
			return err
		}
	}
	_, err = e.o.Durable.Forget(ctx, before, Kind)
	return err
}
