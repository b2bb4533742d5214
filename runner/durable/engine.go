package durable

import (
	"context"
	"crypto/rand"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/dbos-inc/dbos-transact-golang/dbos/internals"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Store is what an Engine needs of a [store.Store].
type Store interface {
	store.Leases
	store.Documents
}

// Options are those of [Open].
type Options struct {
	// State is the database: the path of an SQLite file, or a URL postgres://….
	State string
	// Store keeps the leases of executors and the times of schedules. All processes that share State must share it.
	Store Store
	// Lease is how long others wait before they take over the work of a process that has stopped. Zero: 15 seconds.
	Lease time.Duration
	// Missed is told the times at which a schedule should have started its work, and no process was there to do it. At most 1000 times
	// are listed, the last ones. Nil: they are logged.
	Missed func(schedule string, times []time.Time)
	// Group names those engines on the database that do the same work in the same way: only they take over each other's work, and admit each
	// other's work from queues. Lower-case letters, digits and hyphens; empty is a group too. Schedules are followed once over all groups.
	Group string
	// Logger gets what the engine does in the background. Nil: nobody.
	Logger *slog.Logger

	maxPages int // limits an SQLite file, for tests
}

// Engine runs durable work. Its methods are safe for concurrent use.
type Engine struct {
	root     dbos.Context
	store    Store
	executor *executor
	missed   func(string, []time.Time)
	log      *slog.Logger
	bell     bell // rings when work has changed here
	ended    context.Context
	end      context.CancelFunc
	loops    sync.WaitGroup

	placing sync.Mutex                // guards the following two
	places  map[string]map[string]int // positions of work, by queue
	placed  map[string]time.Time      // when they were read

	mu       sync.Mutex
	launched bool
	closing  bool
	steps    sync.WaitGroup   // steps in progress; new ones only if not closing
	kinds    map[string]*kind // does not change once launched
	queues   map[string]*admission
	running  map[string]*Work
	over     map[string]*Work     // whose function has returned, until the database has the outcome
	dropped  map[string]bool      // ids of work that must not begin, because Start has given up
	absent   map[string]time.Time // groups without a process, and since when
}

// Open connects to the database, and makes its tables. The engine runs no work before [Engine.Launch]; without it, work can be listed,
// answered, cancelled, and started in queues.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Lease == 0 {
		o.Lease = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	gob.RegisterName("mcprun/durable.failure", &failure{}) // the library keeps errors in this form
	name := strings.TrimPrefix(o.Group+separator+strings.ToLower(rand.Text()), separator)
	root, err := connect(ctx, &o, name)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		root: root, store: o.Store, missed: o.Missed, log: o.Logger,
		executor: &executor{name: name, leases: o.Store, lasts: o.Lease},
		kinds:    map[string]*kind{}, queues: map[string]*admission{}, running: map[string]*Work{}, over: map[string]*Work{}, dropped: map[string]bool{},
		absent: map[string]time.Time{},
		places: map[string]map[string]int{}, placed: map[string]time.Time{},
	}
	dbos.ListenQueues(root, "") // to none; without a name, it would look into those of all groups
	e.ended, e.end = context.WithCancel(context.WithoutCancel(ctx))
	return e, nil
}

// Func does the work of a kind. It runs again from the start when the work continues in another process; see the package comment. If it
// returns an error, the work has failed.
type Func func(w *Work, input json.RawMessage) (json.RawMessage, error)

// kind is a kind of work; the library knows it as an instance, by its name.
type kind struct {
	name   string
	fn     Func
	engine *Engine
}

// ConfigName implements dbos.ConfiguredInstance.
func (k *kind) ConfigName() string { return k.name }

// Register says which function does the work of a kind. It must be called before Launch, once for each kind.
func (e *Engine) Register(name string, fn Func) {
	k := &kind{name: name, fn: fn, engine: e}
	e.kinds[name] = k
	// A restart of mcprun is no fault of the work: waiting for a person can take many.
	dbos.RegisterWorkflow(e.root, k.run, dbos.WithInstance(k), dbos.WithWorkflowName(name), dbos.WithMaxRecoveryAttempts(1000))
}

// Launch begins to run work: that which is started here, that of queues, and that of processes that have ended.
func (e *Engine) Launch(ctx context.Context) error {
	if err := e.executor.renew(ctx); err != nil {
		return err
	}
	if err := e.present(ctx, groupOf(e.executor.name)); err != nil {
		return err
	}
	// Before the library first looks for work; it does that once a second.
	if err := e.takeOver(ctx); err != nil {
		return err
	}
	if err := dbos.Launch(e.root); err != nil {
		return explain("starting the engine for durable work", err)
	}
	e.mu.Lock()
	e.launched = true
	e.mu.Unlock()
	e.loops.Go(func() { e.every(e.executor.lasts/3, e.keepAlive) })
	e.loops.Go(func() { e.every(time.Second, e.look) })
	return nil
}

// every calls do until the engine is closed, and logs its errors when they change.
func (e *Engine) every(interval time.Duration, do func(context.Context) error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last := ""
	for {
		select {
		case <-e.ended.Done():
			return
		case <-ticker.C:
		}
		text := ""
		if err := do(e.ended); err != nil && e.ended.Err() == nil {
			text = err.Error()
		}
		if text != last && text != "" {
			e.log.Warn("durable work", "error", text)
		}
		last = text
	}
}

// keepAlive renews the lease and looks for executors that did not.
func (e *Engine) keepAlive(ctx context.Context) error {
	return errors.Join(e.executor.renew(ctx), e.takeOver(ctx))
}

// look notices work that another process cancelled, outcomes that the database did not take, and queues that fill or empty.
func (e *Engine) look(ctx context.Context) error {
	return errors.Join(e.notice(ctx), e.confirm(ctx), e.adjust(ctx))
}

// notice cancels work here that another process cancelled.
func (e *Engine) notice(ctx context.Context) error {
	e.mu.Lock()
	ids := make([]string, 0, len(e.running))
	for id := range e.running {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	rows, err := e.rows(ctx, dbos.WithFilterWorkflowIDs(ids...), dbos.WithFilterStatus(dbos.WorkflowStatusCancelled))
	for _, row := range rows {
		e.stop(row.ID)
	}
	return err
}

// confirm makes work run again whose outcome is not in the database seconds after its function returned, because there was no room.
func (e *Engine) confirm(ctx context.Context) error {
	e.mu.Lock()
	var ids []string
	for id, w := range e.over {
		if time.Since(w.returned) > 2*time.Second {
			ids = append(ids, id)
		}
	}
	e.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	rows, err := e.rows(ctx, dbos.WithFilterWorkflowIDs(ids...), dbos.WithFilterStatus(dbos.WorkflowStatusPending), dbos.WithFilterExecutorIDs(e.executor.name))
	if err != nil {
		return err
	}
	for _, row := range rows {
		e.mu.Lock()
		w := e.over[row.ID]
		e.mu.Unlock()
		if err := w.resume(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		delete(e.over, id)
	}
	return nil
}

// Close ends the engine. Steps in progress may finish until ctx is done; then their contexts are cancelled, and calls among them will be
// unknown. Work that has not ended continues in another process, or in the next one.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closing {
		e.mu.Unlock()
		return nil
	}
	e.closing = true
	e.mu.Unlock()
	idle := make(chan struct{})
	go func() { e.steps.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	e.end()
	e.loops.Wait()
	err := dbos.Shutdown(e.root, 10*time.Second)
	// Not before: the lease says that nobody else may run its work. Connections may have broken since they were used.
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for {
		failed := e.store.Release(release, executors+e.executor.name, e.executor.name)
		if failed == nil {
			return err
		}
		select {
		case <-release.Done():
			return errors.Join(err, failed)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// enter begins a step, unless the engine is closing.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closing {
		e.steps.Add(1)
	}
	return !e.closing
}

// Start describes work to start.
type Start struct {
	// ID names the work among all of the database. Empty: a random one.
	ID string
	// Customer is whose work it is; empty: the project's.
	Customer string
	// Queue is where the work waits for its turn; see [Queue]. Empty: it starts at once, in this process.
	Queue string
	// Priority orders the work of a customer in a queue: lower numbers first.
	Priority uint
	// Timeout cancels the work when it has run for so long, without the time in the queue. Zero: never.
	Timeout time.Duration
}

// Start starts work and returns its id. The error is ErrExists if there is work with the id, or a *BusyError if the queue is full. When it
// returns without an error, the work survives the death of the process; after another error it does not run, also if the database got it.
func (e *Engine) Start(ctx context.Context, kind string, input json.RawMessage, s Start) (id string, err error) {
	if s.ID == "" {
		s.ID = strings.ToLower(rand.Text())
	}
	if strings.Contains(s.ID, "::") || len(s.ID) > 200 {
		return "", fmt.Errorf("%.40q is no id of work: it has \"::\", or more than 200 bytes", s.ID)
	}
	start := e.startHere
	if s.Queue != "" {
		start = e.startQueued
	}
	// The library waits for a database that does not answer, whatever the context says.
	result := make(chan error, 1)
	go func() { result <- start(ctx, kind, input, s) }()
	select {
	case err = <-result:
	case <-ctx.Done():
		if e.drop(s.ID, result) {
			err = fmt.Errorf("%w: %w", store.ErrUnreachable, ctx.Err())
		}
	}
	if err != nil {
		return "", explain("starting "+kind+" "+s.ID, err)
	}
	return s.ID, nil
}

// drop makes sure that work does not run whose start has not come to a result yet. It returns false if the work runs here already.
func (e *Engine) drop(id string, result <-chan error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running[id] != nil {
		return false
	}
	e.dropped[id] = true
	go func() {
		<-result // whatever it is, the database may have the work
		for err := e.Cancel(e.ended, id); err != nil && !errors.Is(err, store.ErrNotFound) && e.ended.Err() == nil; err = e.Cancel(e.ended, id) {
			select {
			case <-e.ended.Done():
			case <-time.After(time.Second):
			}
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.dropped, id)
	}()
	return true
}

func (e *Engine) startHere(ctx context.Context, name string, input json.RawMessage, s Start) error {
	e.mu.Lock()
	k, ok := e.kinds[name], e.launched && !e.closing
	e.mu.Unlock()
	if !ok {
		return ErrClosed
	}
	if k == nil {
		return fmt.Errorf("no kind of work has the name %q", name)
	}
	if s.Priority != 0 {
		return fmt.Errorf("a priority needs a queue")
	}
	root := e.root
	if s.Timeout > 0 {
		root, _ = dbos.WithTimeout(root, s.Timeout) // ends with the work
	}
	_, err := dbos.RunWorkflow(root, k.run, input, dbos.WithRunInstance(k), dbos.WithWorkflowID(s.ID),
		dbos.WithWorkflowIDReusePolicy(dbos.WorkflowIDReusePolicyReject), dbos.WithAuthenticatedUser(s.Customer))
	return err
}

// Send sends a value to work that receives it with [Receive], now or later. The error is ErrEnded if the work has ended.
func (e *Engine) Send(ctx context.Context, id, topic string, value any) error {
	return e.SendOnce(ctx, id, topic, "", value)
}

// SendOnce is Send of a value with a key: the work gets only the first one with the key. The error of others is ErrExists.
func (e *Engine) SendOnce(ctx context.Context, id, topic, key string, value any) error {
	status, err := e.Get(ctx, id)
	if err != nil {
		return err
	}
	if status.State.Ended() {
		return fmt.Errorf("%s: %w", id, ErrEnded)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if key == "" {
		return explain("answering "+id, dbos.Send(e.with(ctx), id, json.RawMessage(raw), topic))
	}
	tx, err := e.database().Pool().BeginTx(ctx, internals.TxOptions{})
	if err != nil {
		return explain("answering "+id, err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	// The library drops another one with the key, and does not say so.
	var before, after int
	err = errors.Join(e.countSent(ctx, tx, id, topic, &before), dbos.Send(e.with(ctx), id, json.RawMessage(raw), topic, dbos.WithIdempotencyKey(key), dbos.WithSendTransaction(tx)),
		e.countSent(ctx, tx, id, topic, &after))
	if err == nil && before == after {
		err = ErrExists
	}
	if err == nil {
		err = tx.Commit(ctx)
	}
	return explain("answering "+id, err)
}

// countSent counts the values of a topic that were sent to work.
func (e *Engine) countSent(ctx context.Context, tx internals.Tx, id, topic string, n *int) error {
	db := e.database()
	query := db.RenderSQL("SELECT COUNT(*) FROM %snotifications WHERE destination_uuid = $1 AND topic = $2", db.Dialect().SchemaPrefix(db.Schema()))
	return tx.QueryRow(ctx, query, id, topic).Scan(n)
}

// Cancel cancels work. If it runs, the context of its step is cancelled, here at once and in other processes within some two seconds; it
// takes no further step. Work that has ended is left as it is.
func (e *Engine) Cancel(ctx context.Context, id string) error {
	if err := dbos.CancelWorkflow(e.with(ctx), id); err != nil {
		return explain("cancelling "+id, err)
	}
	e.stop(id)
	e.bell.ring(id)
	return nil
}

// stop cancels the context of work that runs here.
func (e *Engine) stop(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w := e.running[id]; w != nil {
		w.cancel(ErrCancelled)
	}
}

// Forget deletes work of some kinds that ended before the given time, with its steps and events. No kinds: all of them. It returns how much.
func (e *Engine) Forget(ctx context.Context, before time.Time, kinds ...string) (n int, err error) {
	for {
		rows, err := e.rows(ctx, dbos.WithFilterCompletedBefore(before), dbos.WithFilterName(kinds...), dbos.WithFilterStatus(endStates...), dbos.WithFilterLimit(500))
		if err != nil || len(rows) == 0 {
			return n, err
		}
		ids := make([]string, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		if err := dbos.DeleteWorkflows(e.with(ctx), ids); err != nil {
			return n, explain("deleting old work", err)
		}
		n += len(ids)
	}
}

// with returns the library's context with the end of ctx, but without its values: to the library, they would say that the caller is work.
func (e *Engine) with(ctx context.Context) dbos.Context { return dbos.From(e.root, bare{ctx}) }

type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// owner returns the token of the execution that owns work; empty: none does.
func (e *Engine) owner(ctx context.Context, id string) (string, error) {
	owner, err := e.database().GetWorkflowOwner(ctx, id)
	if err != nil || owner == nil {
		return "", err
	}
	return *owner, nil
}

// rows lists work without what it was given and what came of it.
func (e *Engine) rows(ctx context.Context, options ...dbos.ListWorkflowsOption) ([]dbos.WorkflowStatus, error) {
	options = append([]dbos.ListWorkflowsOption{dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false)}, options...)
	rows, err := dbos.ListWorkflows(e.with(ctx), options...)
	return rows, explain("listing work", err)
}

// bell wakes those who wait for a change of some work in this process.
type bell struct {
	mu   sync.Mutex
	rope map[string]chan struct{}
}

// listen returns a channel that is closed at the next change.
func (b *bell) listen(id string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rope == nil {
		b.rope = map[string]chan struct{}{}
	}
	if b.rope[id] == nil {
		b.rope[id] = make(chan struct{})
	}
	return b.rope[id]
}

func (b *bell) ring(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rope[id] != nil {
		close(b.rope[id])
		delete(b.rope, id)
	}
}
