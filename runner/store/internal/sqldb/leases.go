package sqldb

import (
	"context"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Lease implements [store.Leases].
func (d *DB) Lease(ctx context.Context, name, owner string, lasts time.Duration) (held bool, err error) {
	now := d.backend.Now()
	err = d.backend.Write(ctx, false, func(q Querier) error {
		res, err := q.ExecContext(ctx, "INSERT INTO leases (name, owner, until) VALUES (?, ?, "+now+" + ?) ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"+
			" WHERE leases.owner = excluded.owner OR leases.until <= "+now, name, owner, lasts.Microseconds())
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		held = n > 0
		return err
	})
	return held, d.failed("take a lease", err)
}

// Leases implements [store.Leases].
func (d *DB) Leases(ctx context.Context, prefix string) ([]store.Lease, error) {
	var all []store.Lease
	err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var l store.Lease
		if err := scan(&l.Name, &l.Owner, &l.Expired); err != nil {
			return err
		}
		if strings.HasPrefix(l.Name, prefix) {
			all = append(all, l)
		}
		return nil
	}, "SELECT name, owner, until <= "+d.backend.Now()+" FROM leases ORDER BY name")
	return all, d.failed("list leases", err)
}

// Release implements [store.Leases].
func (d *DB) Release(ctx context.Context, name, owner string) error {
	return d.exec(ctx, "release a lease", "DELETE FROM leases WHERE name = ? AND owner = ?", name, owner)
}
