package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// Work is one execution of a piece of work. Steps of it must follow one another; only Emit may be called by several goroutines.
type Work struct {
	ID       string
	Kind     string
	Customer string
	Queue    string // which admitted it; empty: none

	e               *Engine
	root            dbos.Context // ends with the engine, or at the work's timeout
	ctx             dbos.Context // and when the work is cancelled
	cancel          context.CancelCauseFunc
	emits           sync.Mutex
	began, returned time.Time

	owner string // the token of this execution: the database takes results only from the last one
	epoch int    // of the executor's lease, when the token was last compared
	fault error  // why this execution cannot go on: it is not the work that failed
}

// Context is cancelled when the work is, and when the engine is closed.
func (w *Work) Context() context.Context { return w.ctx }

// run executes work of the kind.
func (k *kind) run(ctx dbos.Context, input json.RawMessage) (json.RawMessage, error) {
	w, err := k.engine.begin(ctx, k)
	if err != nil {
		return nil, err
	}
	defer k.engine.finish(w)
	out, err := k.fn(w, input)
	switch {
	case w.root.Err() != nil: // the library must see it as an interruption
		return nil, w.root.Err()
	case w.fault != nil:
		w.again()
		return nil, w.fault
	case errors.Is(err, ErrElsewhere):
		w.fault = err
		select { // this process may be the next to take it
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		case <-time.After(k.engine.executor.lasts / 3):
		}
		w.again()
		return nil, err
	case err != nil:
		return nil, failed(err)
	case len(out) > 0 && !json.Valid(out):
		return nil, failed(fmt.Errorf("the result of %s is no JSON", k.name))
	}
	return out, nil
}

// begin makes an execution the one of its work in this process. It waits for the lease, without which others may run the work too.
func (e *Engine) begin(ctx dbos.Context, k *kind) (*Work, error) {
	w := &Work{Kind: k.name, e: e, root: ctx}
	w.ID, _ = dbos.GetWorkflowID(ctx)
	w.Customer, _ = dbos.GetAuthenticatedUser(ctx)
	w.ctx, w.cancel = dbos.WithCancelCause(ctx)
	err := w.patiently(func() error {
		epoch, ok := e.executor.valid()
		if !ok {
			if err := e.executor.renew(ctx); err != nil {
				return err
			}
			epoch, _ = e.executor.valid()
		}
		owner, err := e.owner(ctx, w.ID)
		if err != nil {
			return err
		}
		// The token is one of this process if the row is this process's.
		rows, err := e.rows(ctx, dbos.WithFilterWorkflowIDs(w.ID), dbos.WithFilterExecutorIDs(e.executor.name), dbos.WithFilterStatus(dbos.WorkflowStatusPending))
		if err != nil {
			return err
		}
		w.owner, w.epoch, w.fault = owner, epoch, nil
		if len(rows) == 0 || owner == "" {
			w.fault = ErrTakenOver
		} else {
			w.Queue, w.began = rows[0].QueueName, time.Now()
		}
		return nil
	})
	if err == nil {
		err = w.fault
	}
	if err != nil {
		w.cancel(err)
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dropped[w.ID] {
		w.cancel(ErrCancelled)
		return nil, failed(ErrCancelled)
	}
	if e.queues[w.Queue] == nil { // the library's own, of what it continues
		w.Queue = ""
	}
	if older := e.running[w.ID]; older != nil {
		older.cancel(ErrTakenOver)
	}
	e.running[w.ID] = w
	return w, nil
}

func (e *Engine) finish(w *Work) {
	w.cancel(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running[w.ID] == w {
		delete(e.running, w.ID)
		w.returned = time.Now()
		e.over[w.ID] = w
	}
	if q := e.queues[w.Queue]; q != nil && w.fault == nil {
		took := time.Since(w.began)
		if q.mean == 0 {
			q.mean = took
		}
		q.mean += (took - q.mean) / 4
	}
	e.bell.ring(w.ID)
}

// patiently repeats what fails because the database does not answer, or another holds the lease, until the work is cancelled.
func (w *Work) patiently(do func() error) error {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := do()
		if err == nil || w.ctx.Err() != nil {
			return w.ended()
		}
		w.e.log.Debug("work waits for the database", "id", w.ID, "error", err)
		select {
		case <-w.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// ended returns why the work must not go on, or nil.
func (w *Work) ended() error {
	switch cause := context.Cause(w.ctx); {
	case w.ctx.Err() == nil:
		return nil
	case errors.Is(cause, ErrCancelled), errors.Is(cause, ErrTakenOver):
		return cause
	case errors.Is(cause, context.DeadlineExceeded):
		return ErrTimeout
	}
	return fmt.Errorf("%w: %w", ErrClosed, context.Canceled)
}

// check returns an error unless this execution still is the one that runs the work. It must be called right before an effect.
func (w *Work) check() error {
	err := w.patiently(func() error {
		epoch, ok := w.e.executor.valid()
		for ; !ok || epoch != w.epoch; epoch, ok = w.e.executor.valid() {
			if !ok {
				if err := w.e.executor.renew(w.ctx); err != nil {
					return err
				}
				continue
			}
			// There was a time without a lease: others may have taken the work.
			owner, err := w.e.owner(w.ctx, w.ID)
			if err != nil {
				return err
			}
			if owner != w.owner {
				w.cancel(ErrTakenOver)
				return nil
			}
			w.epoch = epoch
		}
		return nil
	})
	if errors.Is(err, ErrTakenOver) {
		w.fault = err
	}
	return err
}

// again puts the work back after the database refused a result, for example because the disk is full: it continues where it was.
func (w *Work) again() {
	if errors.Is(w.fault, ErrTakenOver) {
		return
	}
	w.e.log.Warn("work stopped at a step, and will be tried again", "id", w.ID, "error", w.fault)
	w.patiently(func() error { return w.resume(w.ctx) })
}

// resume lets the work run again, unless another execution has it already.
func (w *Work) resume(ctx context.Context) error {
	owner, err := w.e.owner(ctx, w.ID)
	if err != nil || owner != w.owner {
		return err
	}
	_, err = dbos.ResumeWorkflow[json.RawMessage](w.e.with(ctx), w.ID)
	return err
}

// GiveBack puts work that a queue has admitted back into its place there, so that another process can do it. The work must not have done
// anything. Its function should keep the returned error until this process has room for further work of the queue: until then it counts as
// running here.
func (w *Work) GiveBack() error {
	db := w.e.database()
	err := w.patiently(func() error {
		_, err := db.Pool().Exec(w.ctx, db.RenderSQL(`
			UPDATE %sworkflow_status
			SET status = 'ENQUEUED', owner_xid = NULL, started_at_epoch_ms = NULL, recovery_attempts = recovery_attempts - 1, updated_at = %s
			WHERE workflow_uuid = $1 AND status = 'PENDING' AND owner_xid = $2`,
			db.Dialect().SchemaPrefix(db.Schema()), db.Dialect().NowMsSQL()), w.ID, w.owner)
		return err
	})
	if err == nil {
		w.fault = ErrTakenOver
	}
	return cmp.Or(err, w.fault)
}

// outcome is what is kept of a step.
type outcome struct {
	Value   json.RawMessage `json:"value,omitempty"`
	Error   string          `json:"error,omitempty"`
	Unknown bool            `json:"unknown,omitempty"` // an interrupted call
}

// Step runs fn and keeps its result, in JSON, or the text of its error. Once it has finished, it does not run again; a crash before that
// makes it run again. A step that fails has finished too.
func Step[T any](w *Work, name string, fn func(ctx context.Context) (T, error)) (T, error) {
	return decode[T](w.step(name, func(ctx context.Context) outcome { return record(fn(ctx)) }))
}

// Call is a step with an effect outside, such as a call of a tool. That it is about to happen is kept before fn runs. If a crash
// interrupts it, fn does not run again unless it is idempotent; the error is an *UnknownError then, and stays it.
func Call[T any](w *Work, name string, idempotent bool, fn func(ctx context.Context) (T, error)) (T, error) {
	announced := idempotent
	if !idempotent {
		_, err := w.step("before "+name, func(context.Context) outcome { announced = true; return outcome{} })
		if err != nil {
			return *new(T), err
		}
	}
	out, err := w.step(name, func(ctx context.Context) outcome {
		if !announced { // by this execution; so it was by one that was interrupted
			return outcome{Unknown: true}
		}
		return record(fn(ctx))
	})
	if out.Unknown && err == nil {
		return *new(T), &UnknownError{Call: name}
	}
	return decode[T](out, err)
}

func record[T any](value T, err error) outcome {
	raw, encoding := json.Marshal(value)
	switch {
	case err != nil:
		return outcome{Error: err.Error()}
	case encoding != nil:
		return outcome{Error: "the result is no JSON: " + encoding.Error()}
	}
	return outcome{Value: raw}
}

func decode[T any](out outcome, err error) (value T, _ error) {
	switch {
	case err != nil:
		return value, err
	case out.Error != "":
		return value, errors.New(out.Error)
	case len(out.Value) == 0:
		return value, nil
	}
	return value, json.Unmarshal(out.Value, &value)
}

// step runs do once in the life of the work, if its outcome can be kept.
func (w *Work) step(name string, do func(context.Context) outcome) (outcome, error) {
	if w.fault != nil {
		return outcome{}, w.fault
	}
	out, err := dbos.RunAsStep(w.ctx, func(ctx context.Context) (outcome, error) {
		if !w.e.enter() {
			<-w.root.Done()
			return outcome{}, w.ended()
		}
		defer w.e.steps.Done()
		if err := w.check(); err != nil {
			return outcome{}, err
		}
		return do(ctx), nil
	}, dbos.WithStepName(name))
	return out, w.faulty(name, err)
}

// faulty notes an error of the library that says nothing about the work.
func (w *Work) faulty(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case w.ctx.Err() != nil:
		return w.ended()
	case errors.Is(err, dbos.ErrWorkflowCancelled):
		w.cancel(ErrCancelled)
		return ErrCancelled
	case errors.Is(err, dbos.ErrConflictingWorkflowID), errors.Is(err, dbos.ErrNonExistentWorkflow):
		w.fault = ErrTakenOver
	case errors.Is(err, &dbos.Error{Code: dbos.ErrorCodeUnexpectedStep}):
		return fmt.Errorf("%s: this version of %s does other steps than the one that began the work: %w", name, w.Kind, err)
	default:
		w.fault = explain(w.ID+", "+name, err)
	}
	return w.fault
}

// Sleep waits until a time that is kept: after a restart, for the rest.
func (w *Work) Sleep(d time.Duration) error {
	return w.waiting("time", d, func() error {
		_, err := dbos.Sleep(w.ctx, d)
		return w.faulty("sleep", err)
	})
}

// forever is the timeout of those who give none.
const forever = 100 * 365 * 24 * time.Hour

// Receive waits for a value that is sent to the work with [Engine.Send]. Values of a topic are received in the order in which they were
// sent, each once. The error is ErrTimeout if nothing comes in time; a timeout of zero waits forever. With SQLite it notices a value
// within a second.
func Receive[T any](w *Work, topic string, timeout time.Duration) (value T, err error) {
	if timeout == 0 {
		timeout = forever
	}
	err = w.waiting(topic, timeout, func() error {
		var err error
		value, err = dbos.Recv[T](w.ctx, topic, timeout)
		if errors.Is(err, dbos.ErrTimeout) && w.ctx.Err() == nil {
			return ErrTimeout
		}
		return w.faulty("receive "+topic, err)
	})
	return value, err
}

// waiting tells others what the work waits for, while it does.
func (w *Work) waiting(what string, timeout time.Duration, wait func() error) error {
	if w.fault != nil {
		return w.fault
	}
	note := map[string]any{"waiting": what}
	if timeout < forever {
		note["until"] = time.Now().Add(timeout).UnixMilli()
	}
	if err := w.faulty(what, dbos.SetWorkflowAttributes(w.ctx, w.ID, note)); err != nil {
		return err
	}
	w.e.bell.ring(w.ID)
	waited := wait()
	if waited != nil && !errors.Is(waited, ErrTimeout) {
		return waited
	}
	if err := w.faulty(what, dbos.SetWorkflowAttributes(w.ctx, w.ID, nil)); err != nil {
		return err
	}
	return waited
}

// Emit adds an event to those of the work, which others follow with [Engine.Events]. ctx is that of the work, or of the step in progress;
// a step that runs again emits its events again.
func (w *Work) Emit(ctx context.Context, event any) error {
	raw, err := json.Marshal(event)
	if err != nil {
		return err
	}
	w.emits.Lock()
	defer w.emits.Unlock()
	if err := dbos.WriteStream(dbos.From(w.ctx, ctx), "events", json.RawMessage(raw)); err != nil {
		return explain("adding an event of "+w.ID, err)
	}
	w.e.bell.ring(w.ID)
	return nil
}

// Send sends a value to other work, once.
func (w *Work) Send(id, topic string, value any) error {
	if w.fault != nil {
		return w.fault
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.faulty("send to "+id, dbos.Send(w.ctx, id, json.RawMessage(raw), topic))
}
