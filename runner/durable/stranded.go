package durable

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// A mark is a lease that nobody renews. It is taken when a group is seen to have no process, and expires when that has lasted too long.
const (
	marks     = "absent/"
	markOwner = "all"
)

// EndStranded ends work of a kind with which no process can go on: its group had none for the given time, which counts from the first call
// that saw that, in any process. This process must have seen it for a fifth of the time, because after a pause all may be starting. The work
// is Failed then, with the text that reason returns, or Cancelled if that is empty. It returns what it ended.
func (e *Engine) EndStranded(ctx context.Context, kind string, after time.Duration, reason func(*Status) string) ([]Status, error) {
	versions, err := dbos.GetWorkflowAggregates(e.with(ctx), dbos.GetWorkflowAggregatesInput{
		GroupByApplicationVersion: true, SelectCount: true, Status: openState, Name: []string{kind},
	})
	if err != nil {
		return nil, explain("listing the groups", err)
	}
	leases, err := e.store.Leases(ctx, "")
	if err != nil {
		return nil, err
	}
	alive, marked := map[string]bool{groupOf(e.executor.name): true}, map[string]bool{} // marked: whether it has expired
	for _, l := range leases {
		if name, ok := strings.CutPrefix(l.Name, executors); ok && !l.Expired {
			alive[groupOf(name)] = true
		} else if group, ok := strings.CutPrefix(l.Name, marks); ok {
			marked[group] = l.Expired
		}
	}
	var ended []Status
	var errs []error
	for _, row := range versions {
		version := row.Group["application_version"]
		if version == nil {
			continue
		}
		group, ok := ofVersion(*version)
		if !ok || alive[group] {
			continue
		}
		long := e.missing(group) >= after/5
		expired, known := marked[group]
		var err error
		switch {
		case !known:
			if _, err = e.store.Lease(ctx, marks+group, markOwner, after); err == nil {
				e.log.Warn("work waits for a process that is started as the one that began it, and ends if none comes", "group", group, "count", *row.Count, "after", after)
			}
		case expired && long:
			var some []Status
			some, err = e.endAll(ctx, kind, *version, reason)
			ended = append(ended, some...)
			if err == nil {
				err = e.present(ctx, group)
			}
		}
		errs = append(errs, err)
	}
	e.found(alive)
	for group := range marked {
		if alive[group] {
			errs = append(errs, e.present(ctx, group))
		}
	}
	return ended, errors.Join(errs...)
}

// missing returns for how long this process has seen no process of a group.
func (e *Engine) missing(group string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.absent[group].IsZero() {
		e.absent[group] = time.Now()
	}
	return time.Since(e.absent[group])
}

// found notes which groups have a process.
func (e *Engine) found(alive map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.absent, func(group string, _ time.Time) bool { return alive[group] })
}

// present removes the mark of a group: it has a process, or no work.
func (e *Engine) present(ctx context.Context, group string) error {
	return e.store.Release(ctx, marks+group, markOwner)
}

// endAll ends the work of a kind that a version of the library's application has left.
func (e *Engine) endAll(ctx context.Context, kind, version string, reason func(*Status) string) (ended []Status, err error) {
	for {
		rows, err := e.rows(ctx, dbos.WithFilterName(kind), dbos.WithFilterAppVersion(version), dbos.WithFilterStatus(openState...), dbos.WithFilterLimit(500))
		if err != nil || len(rows) == 0 {
			return ended, err
		}
		for _, row := range rows {
			s := status(row)
			if text := reason(&s); text != "" {
				// Before it ends, so that nobody takes it for cancelled by a client.
				if err := dbos.SetWorkflowAttributes(e.with(ctx), s.ID, map[string]any{attributeFailed: text}); err != nil {
					return ended, explain("ending "+s.ID, err)
				}
			}
			if err := e.Cancel(ctx, s.ID); err != nil {
				return ended, err
			}
			ended = append(ended, s)
		}
	}
}
