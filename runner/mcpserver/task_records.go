package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runner/store"
)

// State is where tasks are kept, such as a [store.Store]. A task is a document of the kind "task", its result one of the kind "task-result".
// A lease for each process shows which tasks still run.
type State interface {
	store.Documents
	store.Leases
}

const (
	kindTask       = "task"
	kindTaskResult = "task-result"
	frontPrefix    = "tasks/"
	// frontLease is how long a process counts as alive after it last said so.
	frontLease = 30 * time.Second
	// stateTime bounds one use of the state.
	stateTime = 10 * time.Second
	// maxKept bounds the tasks of a customer in the state, and tidyTime is the pause between two removals of expired ones.
	maxKept  = 1000
	tidyTime = 5 * time.Minute
)

// errUnknownOutcome is the error of a task whose process is gone.
var errUnknownOutcome = &jsonrpc.Error{
	Code:    jsonrpc.CodeInternalError,
	Message: "its outcome is unknown: the process that ran it ended before the result was kept. Nothing is repeated; find out what took effect before making the call again",
}

// front is this process, as others see it in the state.
type front struct {
	id    string
	state State         // nil: tasks are kept in memory
	stop  chan struct{} // closed by close
	once  sync.Once

	mu      sync.Mutex
	renewed time.Time // of the lease; zero before there is one
	work    sync.WaitGroup
}

func newFront(state State) *front {
	return &front{id: rand.Text(), state: state, stop: make(chan struct{})}
}

// hold takes the process's lease, and renews it until close.
func (f *front) hold(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	began := !f.renewed.IsZero()
	if time.Since(f.renewed) < frontLease/2 {
		return nil
	}
	held, err := f.state.Lease(ctx, frontPrefix+f.id, f.id, frontLease)
	if err == nil && !held {
		err = errors.New("another process has this one's lease")
	}
	if err != nil {
		return fmt.Errorf("take the lease of tasks: %w", err)
	}
	f.renewed = time.Now()
	if !began {
		f.work.Go(f.renew)
	}
	return nil
}

func (f *front) renew() {
	tick := time.NewTicker(frontLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), stateTime)
		if held, err := f.state.Lease(ctx, frontPrefix+f.id, f.id, frontLease); err == nil && held {
			f.mu.Lock()
			f.renewed = time.Now()
			f.mu.Unlock()
		}
		cancel()
	}
}

// close gives the lease up.
func (f *front) close() {
	f.once.Do(func() { close(f.stop) })
	f.work.Wait()
	if !f.renewed.IsZero() {
		ctx, cancel := context.WithTimeout(context.Background(), stateTime)
		defer cancel()
		_ = f.state.Release(ctx, frontPrefix+f.id, f.id) // otherwise it expires
	}
}

// runs reports whether a process is alive.
func (f *front) runs(ctx context.Context, id string) (bool, error) {
	leases, err := f.state.Leases(ctx, frontPrefix+id)
	return slices.ContainsFunc(leases, func(l store.Lease) bool { return l.Name == frontPrefix+id && !l.Expired }), err
}

// taskRecords keeps the tasks of a customer in the state, where they outlive the process.
type taskRecords struct {
	front    *front
	customer string

	mu    sync.Mutex
	tidy  time.Time // when expired tasks were last removed
	count int       // tasks that are kept, about
}

func (rs *taskRecords) key(kind, id string) store.Key {
	return store.Key{Customer: rs.customer, Kind: kind, Name: id}
}

// bounded returns the context for a use of the state, which the end of a request or of the server does not end.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stateTime)
}

// add keeps a new task.
func (rs *taskRecords) add(ctx context.Context, id string, r *taskRecord) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := rs.front.hold(ctx); err != nil {
		return err
	}
	if err := rs.tidyUp(ctx); err != nil {
		return err
	}
	return rs.set(ctx, id, r, 0)
}

func (rs *taskRecords) set(ctx context.Context, id string, r *taskRecord, version int64) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = rs.front.state.SetDocument(ctx, &store.Document{Key: rs.key(kindTask, id), Value: value, Version: version})
	return err
}

// tidyUp removes expired tasks from time to time, and reports an error if too many are left.
func (rs *taskRecords) tidyUp(ctx context.Context) error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if time.Since(rs.tidy) > tidyTime {
		all, err := rs.front.state.ListDocuments(ctx, rs.customer, kindTask)
		if err != nil {
			return err
		}
		rs.count = 0
		for _, d := range all {
			var r taskRecord
			if json.Unmarshal(d.Value, &r) == nil && time.Now().Before(r.Expires) {
				rs.count++
			} else if err := rs.remove(ctx, d.Name); err != nil {
				return err
			}
		}
		rs.tidy = time.Now()
	}
	if rs.count >= maxKept {
		return fmt.Errorf("%d tasks of the customer are kept already", rs.count)
	}
	rs.count++
	return nil
}

func (rs *taskRecords) remove(ctx context.Context, id string) error {
	return errors.Join(rs.front.state.DeleteDocument(ctx, rs.key(kindTaskResult, id)), rs.front.state.DeleteDocument(ctx, rs.key(kindTask, id)))
}

// end keeps the outcome of a task. If another process took this one for dead, what it has said remains.
func (rs *taskRecords) end(ctx context.Context, id string, r *taskRecord) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if r.Result != nil {
		if _, err := rs.front.state.SetDocument(ctx, &store.Document{Key: rs.key(kindTaskResult, id), Value: r.Result}); err != nil {
			return err
		}
	}
	return rs.set(ctx, id, r, 1)
}

// get returns a task, or errNoTask. A task whose process is gone has failed, which is kept.
func (rs *taskRecords) get(ctx context.Context, id string) (*taskRecord, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for range 3 {
		r, err := rs.read(ctx, id)
		if err != nil || r.final() {
			return r, err
		}
		alive, err := rs.front.runs(ctx, r.Front)
		if err != nil || alive {
			return r, err
		}
		r.Status, r.Error, r.Message, r.Updated = taskFailed, errUnknownOutcome, errUnknownOutcome.Message, time.Now()
		if err = rs.set(ctx, id, r, 1); err == nil || !errors.Is(err, store.ErrConflict) {
			return r, err
		}
	}
	return nil, store.ErrConflict
}

func (rs *taskRecords) read(ctx context.Context, id string) (*taskRecord, error) {
	d, err := rs.front.state.Document(ctx, rs.key(kindTask, id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, errNoTask
	}
	if err != nil {
		return nil, err
	}
	r := &taskRecord{}
	if err := json.Unmarshal(d.Value, r); err != nil {
		return nil, fmt.Errorf("task %s: %w", id, err)
	}
	if time.Now().After(r.Expires) {
		return nil, errNoTask
	}
	if r.Status == taskCompleted {
		res, err := rs.front.state.Document(ctx, rs.key(kindTaskResult, id))
		if err != nil {
			return nil, fmt.Errorf("the result of task %s: %w", id, err)
		}
		r.Result = res.Value
	}
	return r, nil
}
