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
	"github.com/dbos-inc/dbos-transact-golang/dbos/internals"
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
	// Bound is how much of one customer's work may wait. Zero: no limit. Over all customers, eight times as much may, and one of each in any
	// case.
	Bound int
}

// customers is how often a queue holds the bound of one customer.
const customers = 8

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

// startQueued puts work into a queue, if there is room. Others may count and put work there only before or after that.
func (e *Engine) startQueued(ctx context.Context, kind string, input json.RawMessage, s Start) error {
	e.mu.Lock()
	q := e.queues[s.Queue]
	e.mu.Unlock()
	if q == nil {
		return fmt.Errorf("no queue has the name %q", s.Queue)
	}
	tx, err := e.database().Pool().BeginTx(ctx, internals.TxOptions{}) // SQLite locks the file
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if q.Bound > 0 {
		if err := e.checkRoom(ctx, tx, q, kind, s.Customer); err != nil {
			return err
		}
	}
	options := []dbos.EnqueueOption{
		dbos.WithEnqueueWorkflowID(s.ID), dbos.WithEnqueueWorkflowIDReusePolicy(dbos.WorkflowIDReusePolicyReject),
		dbos.WithEnqueueConfigName(kind), dbos.WithEnqueueAuthenticatedUser(s.Customer),
		dbos.WithEnqueueQueuePartitionKey("customer " + s.Customer), dbos.WithEnqueuePriority(s.Priority), dbos.WithEnqueueTransaction(tx),
	}
	if s.Timeout > 0 {
		options = append(options, dbos.WithEnqueueTimeout(s.Timeout))
	}
	if _, err := dbos.Enqueue[json.RawMessage](e.root, s.Queue, kind, input, options...); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return e.hurry(e.ended, q, true)
}

// checkRoom returns a *BusyError if a queue has no room for further work of a customer. Work of the kind that runs without a queue counts in how
// long that lasts.
func (e *Engine) checkRoom(ctx context.Context, tx internals.Tx, q *admission, kind, customer string) error {
	db := e.database()
	prefix, now := db.Dialect().SchemaPrefix(db.Schema()), db.Dialect().NowMsSQL()
	if db.Dialect().Name() == "postgres" {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", prefix+q.Name); err != nil {
			return err
		}
	}
	version := e.root.GetApplicationVersion()
	rows, err := tx.Query(ctx, db.RenderSQL(`
		SELECT CASE WHEN customer = $1 THEN 1 ELSE 0 END, status, COUNT(*), CAST(AVG(%s - began) AS DOUBLE PRECISION)
		FROM (
			SELECT COALESCE(authenticated_user, '') AS customer, status, created_at AS began FROM %sworkflow_status
			WHERE queue_name = $2 AND status = 'ENQUEUED' AND application_version = $3
			UNION ALL
			SELECT COALESCE(authenticated_user, ''), status, COALESCE(started_at_epoch_ms, created_at) FROM %sworkflow_status
			WHERE name = $4 AND status = 'PENDING' AND application_version = $5
		) AS work
		GROUP BY 1, 2`, now, prefix, prefix), customer, q.Name, version, kind, version)
	if err != nil {
		return err
	}
	defer rows.Close()
	var own, all crowd
	for rows.Next() {
		var isOwn, n int
		var status string
		var age float64 // in milliseconds
		if err := rows.Scan(&isOwn, &status, &n, &age); err != nil {
			return err
		}
		all.add(status, n, age)
		if isOwn == 1 {
			own.add(status, n, age)
		}
	}
	switch {
	case rows.Err() != nil:
		return rows.Err()
	case own.waiting >= q.Bound:
		return &BusyError{Queue: q.Name, Waiting: own.waiting, RetryAfter: e.retryAfter(q, own, all)}
	case own.waiting > 0 && all.waiting >= customers*q.Bound:
		return &BusyError{Queue: q.Name, Waiting: all.waiting, RetryAfter: e.retryAfter(q, all, all)}
	}
	return nil
}

// crowd is work of a queue.
type crowd struct {
	waiting, running int
	age              time.Duration // of all that runs
}

func (c *crowd) add(status string, n int, age float64) {
	if status == string(dbos.WorkflowStatusEnqueued) {
		c.waiting += n
		return
	}
	c.running += n
	c.age += time.Duration(n) * time.Duration(age*float64(time.Millisecond))
}

// retryAfter estimates when the next of a crowd leaves the queue: when one of those that run has ended, or one of all if none does. Each takes
// as long as others took lately, or once more as long as it has run.
func (e *Engine) retryAfter(q *admission, of, all crowd) time.Duration {
	if of.running == 0 {
		of = all
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	after := q.mean
	if n := time.Duration(of.running); n > 0 {
		after = max(after, of.age/n) / n
	}
	if q.Rate > 0 {
		after = max(after, q.RatePeriod/time.Duration(q.Rate))
	}
	return min(max((after+time.Second-1).Truncate(time.Second), time.Second), time.Minute)
}

// database is the library's, for what it does not offer itself.
func (e *Engine) database() internals.SystemDatabase { return e.root.(internals.Runtime).SystemDB() }

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
