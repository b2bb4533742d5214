package durable

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/dbos-inc/dbos-transact-golang/dbos/internals"

	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	executors     = "executor/" // the leases of executors begin with it
	separator     = "."         // between the group of an executor and its random name
	recoveryLease = "durable/recovery"
)

// executor is this process, as others see it: a name, and a lease that says that it is alive.
type executor struct {
	name   string
	leases store.Leases
	lasts  time.Duration

	mu    sync.Mutex
	until time.Time // when the lease ends, at the earliest
	epoch int       // counts the times at which the lease may have ended before it was renewed
}

// groupOf returns the group of an executor.
func groupOf(name string) string {
	group, _, ok := strings.Cut(name, separator)
	if !ok {
		return ""
	}
	return group
}

// Name is the random name of this process among those that share the database.
func (e *Engine) Name() string { return e.executor.name }

// Group is that of its options.
func (e *Engine) Group() string { return groupOf(e.executor.name) }

// Alive reports whether the process with a name has a lease. One that was killed still has it, until it expires.
func (e *Engine) Alive(ctx context.Context, name string) (bool, error) {
	leases, err := e.store.Leases(ctx, executors+name)
	return slices.ContainsFunc(leases, func(l store.Lease) bool { return l.Name == executors+name && !l.Expired }), err
}

// renew takes the lease or renews it.
func (x *executor) renew(ctx context.Context) error {
	began := time.Now()
	held, err := x.leases.Lease(ctx, executors+x.name, x.name, x.lasts)
	if err != nil {
		return fmt.Errorf("renewing the lease of this process: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !held {
		x.until = time.Time{}
		return ErrTakenOver
	}
	if !before(time.Now(), x.until) {
		x.epoch++
	}
	x.until = began.Add(x.lasts)
	return nil
}

// valid reports whether the lease is certainly held, and since which epoch.
func (x *executor) valid() (epoch int, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.epoch, before(time.Now(), x.until)
}

// before compares the monotonic times and the wall clock's: the first does not run while a machine sleeps, the second can be set back.
func before(a, b time.Time) bool { return a.Before(b) && a.Round(0).Before(b.Round(0)) }

// takeOver makes the work of dead executors run again, in this process or in another that is alive.
func (e *Engine) takeOver(ctx context.Context) error {
	dead, err := e.dead(ctx)
	if err != nil || len(dead) == 0 {
		return err
	}
	held, err := e.store.Lease(ctx, recoveryLease, e.executor.name, e.executor.lasts)
	if err != nil || !held {
		return err
	}
	defer e.store.Release(context.WithoutCancel(ctx), recoveryLease, e.executor.name)
	for _, name := range dead {
		// With its lease, so that it cannot renew it meanwhile: either it is alive, or it will find its work gone.
		held, err := e.store.Lease(ctx, executors+name, e.executor.name, e.executor.lasts)
		if err != nil {
			return err
		}
		if !held {
			continue
		}
		handles, err := e.with(ctx).(internals.Runtime).RecoverPendingWorkflows([]string{name})
		if err != nil {
			return explain("taking over the work of "+name, err)
		}
		if len(handles) > 0 {
			e.log.Info("took over work of a process that ended", "executor", name, "count", len(handles))
		}
		if err := e.store.Release(ctx, executors+name, e.executor.name); err != nil {
			return err
		}
	}
	return nil
}

// dead returns the executors of this group that have unfinished work, or a lease that expired, and are not alive. An executor takes its lease before it
// runs anything: the work must be listed before the leases.
func (e *Engine) dead(ctx context.Context) ([]string, error) {
	rows, err := dbos.GetWorkflowAggregates(e.with(ctx), dbos.GetWorkflowAggregatesInput{
		GroupByExecutorID: true, SelectCount: true, Status: []dbos.WorkflowStatusType{dbos.WorkflowStatusPending},
	})
	if err != nil {
		return nil, explain("listing the executors", err)
	}
	leases, err := e.store.Leases(ctx, executors)
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{e.executor.name: true}
	var dead []string
	for _, lease := range leases {
		name := strings.TrimPrefix(lease.Name, executors)
		if groupOf(name) != groupOf(e.executor.name) {
			continue
		}
		if alive[name] = alive[name] || !lease.Expired; !alive[name] {
			dead = append(dead, name)
			alive[name] = true // is listed
		}
	}
	for _, row := range rows {
		if name := row.Group["executor_id"]; name != nil && !alive[*name] && groupOf(*name) == groupOf(e.executor.name) {
			dead = append(dead, *name)
		}
	}
	return dead, nil
}
