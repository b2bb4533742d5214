package journal

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Sweep deletes the journals of a kind, of all customers, that nobody will need: nothing was added to them since a time, and their runs, which have
// the names of the journals, are not known. It returns how many. If such a run is going on nevertheless, its next announcement is
// [ErrTakenOver].
func Sweep(ctx context.Context, logs store.Logs, kind string, since time.Time, known func(ctx context.Context, run string) (bool, error)) (n int, err error) {
	customers, err := logs.LogCustomers(ctx)
	if err != nil {
		return 0, err
	}
	for _, customer := range customers {
		newest := map[string]store.Key{} // by run: its log, or the one of a large result if only such are left
		for _, kind := range []string{kind + largeKind, kind} {
			names, err := logs.ListLogs(ctx, customer, kind)
			if err != nil {
				return n, err
			}
			for _, name := range names {
				run, _, _ := strings.Cut(name, "/")
				newest[run] = store.Key{Customer: customer, Kind: kind, Name: name}
			}
		}
		for run, log := range newest {
			old, err := unused(ctx, logs, log, since)
			if err != nil {
				return n, err
			}
			if !old {
				continue
			}
			needed, err := known(ctx, run)
			if err == nil && !needed {
				err = Delete(ctx, logs, store.Key{Customer: customer, Kind: kind, Name: run})
				n++
			}
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// unused reports whether a log has no line since a time.
func unused(ctx context.Context, logs store.Logs, log store.Key, since time.Time) (bool, error) {
	used := errors.New("used")
	err := logs.Lines(ctx, log, 0, func(l store.Line) error {
		if l.Time.Before(since) {
			return nil
		}
		return used
	})
	if errors.Is(err, used) {
		return false, nil
	}
	return err == nil, err
}
