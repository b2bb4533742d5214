package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// Queue admits work, over all processes. Customers have their turns in a random order, each with its work by priority and age.
type Queue struct {
	Name string
	// Concurrency is how much of its work may run at the same time.
	Concurrency int
	// PerCustomer is how much of one customer may. Zero: Concurrency.
	PerCustomer int
	// Each says that these two bound the work in each process, not in all together.
	Each bool
	// Rate is how much may start in RatePeriod. Zero: no limit.
	Rate       int
	RatePeriod time.Duration
	// Bound is how much may wait. Zero: no limit.
	Bound int
}

// Intervals at which processes look for work in a queue. The database knows which of them holds, for all processes.
const (
	busyInterval = 30 * time.Millisecond
	idleInterval = time.Second
)

// admission is a queue of this process.
type admission struct {
	Queue
	handle dbos.Queue
	hurry  sync.Mutex    // held while the interval is changed
	busy   bool          // the interval is busyInterval, if no other process has changed it
	mean   time.Duration // of the time that its work took lately; zero: nothing known
}

// AddQueue makes a queue, or changes the limits of one that exists; those of the last call hold in all processes. A process takes work only
// from queues that it has added.
func (e *Engine) AddQueue(ctx context.Context, q Queue) error {
	if q.PerCustomer == 0 {
		q.PerCustomer = q.Concurrency
	}
	if q.Concurrency < 1 || q.PerCustomer < 1 || q.PerCustomer > q.Concurrency || q.Rate < 0 || q.Rate > 0 && q.RatePeriod < time.Millisecond {
		return fmt.Errorf("queue %s: Concurrency must be at least 1, PerCustomer at most that, and a Rate needs a RatePeriod", q.Name)
	}
	options := []dbos.QueueOption{dbos.WithQueueBasePollingInterval(idleInterval), dbos.WithQueueOnConflict(dbos.QueueConflictAlwaysUpdate)}
	if q.Each {
		options = append(options, dbos.WithWorkerConcurrency(q.Concurrency), dbos.WithPartitionWorkerConcurrency(q.PerCustomer))
	} else {
		options = append(options, dbos.WithGlobalConcurrency(q.Concurrency), dbos.WithPartitionConcurrency(q.PerCustomer))
	}
	if q.Rate > 0 {
		options = append(options, dbos.WithRateLimiter(&dbos.RateLimiter{Limit: q.Rate, Period: q.RatePeriod}))
	}
	handle, err := dbos.RegisterQueue(e.with(ctx), q.Name, options...)
	if err != nil {
		return explain("making the queue "+q.Name, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queues[q.Name] = &admission{Queue: q, handle: handle}
	dbos.ListenQueues(e.root, slices.Collect(maps.Keys(e.queues))...)
	return nil
}

// Crowded reports whether work waits in a queue, as this process last saw it, within a second. It asks nobody.
func (e *Engine) Crowded(queue string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queues[queue] != nil && e.queues[queue].busy
}

// startQueued puts work into a queue, if there is room.
func (e *Engine) startQueued(ctx context.Context, kind string, input json.RawMessage, s Start) error {
	e.mu.Lock()
	q := e.queues[s.Queue]
	e.mu.Unlock()
	if q == nil {
		return fmt.Errorf("no queue has the name %q", s.Queue)
	}
	if q.Bound > 0 {
		waiting, err := e.waitingIn(ctx, q.Name)
		if err != nil {
			return err
		}
		if n := waiting[q.Name]; n >= q.Bound {
			return &BusyError{Queue: q.Name, Waiting: n, RetryAfter: e.retryAfter(q)}
		}
	}
	options := []dbos.EnqueueOption{
		dbos.WithEnqueueWorkflowID(s.ID), dbos.WithEnqueueWorkflowIDReusePolicy(dbos.WorkflowIDReusePolicyReject),
		dbos.WithEnqueueConfigName(kind), dbos.WithEnqueueAuthenticatedUser(s.Customer),
		dbos.WithEnqueueQueuePartitionKey("customer " + s.Customer), dbos.WithEnqueuePriority(s.Priority),
	}
	if s.Timeout > 0 {
		options = append(options, dbos.WithEnqueueTimeout(s.Timeout))
	}
	if _, err := dbos.Enqueue[json.RawMessage](e.root, s.Queue, kind, input, options...); err != nil {
		return err
	}
	return e.hurry(e.ended, q, true)
}

// retryAfter estimates when the next place becomes free.
func (e *Engine) retryAfter(q *admission) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	after := q.mean / time.Duration(q.Concurrency)
	if q.Rate > 0 {
		after = max(after, q.RatePeriod/time.Duration(q.Rate))
	}
	return min(max(after, time.Second), time.Minute).Round(time.Second)
}

// waitingIn returns how much work waits in each of some queues.
func (e *Engine) waitingIn(ctx context.Context, queues ...string) (map[string]int, error) {
	rows, err := dbos.GetWorkflowAggregates(e.with(ctx), dbos.GetWorkflowAggregatesInput{
		GroupByQueueName: true, SelectCount: true, Status: []dbos.WorkflowStatusType{dbos.WorkflowStatusEnqueued}, QueueName: queues,
	})
	waiting := map[string]int{}
	for _, row := range rows {
		waiting[*row.Group["queue_name"]] = int(*row.Count)
	}
	return waiting, explain("counting the work in queues", err)
}

// adjust makes processes look often into queues in which work waits, and seldom into others.
func (e *Engine) adjust(ctx context.Context) error {
	e.mu.Lock()
	queues := map[string]*admission{}
	names := []string{}
	for name, q := range e.queues {
		queues[name] = q
		names = append(names, name)
	}
	e.mu.Unlock()
	if len(names) == 0 {
		return nil
	}
	waiting, err := e.waitingIn(ctx, names...)
	if err != nil {
		return err
	}
	for name, q := range queues {
		if err := e.hurry(ctx, q, waiting[name] > 0); err != nil {
			return err
		}
	}
	return nil
}

// hurry sets the interval of a queue.
func (e *Engine) hurry(ctx context.Context, q *admission, busy bool) error {
	q.hurry.Lock()
	defer q.hurry.Unlock()
	e.mu.Lock()
	changed := q.busy != busy
	q.busy = busy
	e.mu.Unlock()
	if !changed {
		return nil
	}
	interval := idleInterval
	if busy {
		interval = busyInterval
	}
	return explain("adjusting the queue "+q.Name, q.handle.SetPollingInterval(e.with(ctx), interval))
}
