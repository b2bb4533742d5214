package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// anyServer has the generation that is added to that of each server.
const anyServer = ""

const generationOf = "SELECT CAST(coalesce(sum(generation), 0) AS bigint) AS generation FROM cached_servers WHERE server IN (?, ?)"

// CachedResult implements [store.CachedResults].
func (d *DB) CachedResult(ctx context.Context, customer, server, name string, now time.Time) (*store.CachedResult, int64, error) {
	r := &store.CachedResult{Customer: customer, Server: server, Name: name}
	var generation int64
	var created, expires sql.NullInt64
	err := d.backend.Read().QueryRowContext(ctx, "SELECT one.generation, r.value, r.created, r.expires FROM ("+generationOf+") one"+
		" LEFT JOIN cached_results r ON r.customer = ? AND r.name = ? AND r.server = ? AND r.expires > ?", server, anyServer, customer, name, server, micros(now)).
		Scan(&generation, &r.Value, &created, &expires)
	if err != nil || !created.Valid {
		return nil, generation, d.failed("read a cached result", err)
	}
	r.Created, r.Expires = at(created.Int64), at(expires.Int64)
	return r, generation, nil
}

// errChanged ends the transaction of a result that is not kept.
var errChanged = errors.New("the server has another generation")

// SetCachedResult implements [store.CachedResults].
func (d *DB) SetCachedResult(ctx context.Context, r *store.CachedResult, generation, room int64) error {
	err := d.backend.Write(ctx, false, func(q Querier) error {
		for _, server := range []string{anyServer, r.Server} { // locks both rows, so that no change comes between
			if err := changeServer(ctx, q, server, 0); err != nil {
				return err
			}
		}
		var now int64
		if err := q.QueryRowContext(ctx, generationOf, r.Server, anyServer).Scan(&now); err != nil {
			return err
		}
		if now != generation {
			return errChanged
		}
		if _, err := q.ExecContext(ctx, "DELETE FROM cached_results WHERE expires <= ?", micros(r.Created)); err != nil {
			return err
		}
		_, err := q.ExecContext(ctx, "INSERT INTO cached_results (customer, name, server, value, bytes, created, expires, used, hits) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)"+
			" ON CONFLICT (customer, name) DO UPDATE SET server = excluded.server, value = excluded.value, bytes = excluded.bytes, created = excluded.created,"+
			" expires = excluded.expires, used = excluded.used",
			r.Customer, r.Name, r.Server, filled(r.Value), int64(len(r.Value))+store.CachedCost, micros(r.Created), micros(r.Expires), micros(r.Created))
		if err != nil {
			return err
		}
		return evict(ctx, q, r.Customer, room)
	})
	if errors.Is(err, errChanged) {
		return nil
	}
	return d.failed("keep a cached result", err)
}

// evict removes the results of a customer that were not used for longest until the others cost at most room.
func evict(ctx context.Context, q Querier, customer string, room int64) error {
	var bytes int64
	if err := q.QueryRowContext(ctx, "SELECT CAST(coalesce(sum(bytes), 0) AS bigint) FROM cached_results WHERE customer = ?", customer).Scan(&bytes); err != nil || bytes <= room {
		return err
	}
	_, err := q.ExecContext(ctx, "DELETE FROM cached_results WHERE customer = ? AND name IN (SELECT name FROM"+
		" (SELECT name, sum(bytes) OVER (ORDER BY used DESC, name DESC) AS newer FROM cached_results WHERE customer = ?) r WHERE newer > ?)", customer, customer, room)
	return err
}

// changeServer adds to the generation of a server, and locks its row.
func changeServer(ctx context.Context, q Querier, server string, more int64) error {
	_, err := q.ExecContext(ctx, "INSERT INTO cached_servers (server, generation) VALUES (?, ?) ON CONFLICT (server) DO UPDATE SET generation = cached_servers.generation + ?", server, more, more)
	return err
}

// UseCachedResults implements [store.CachedResults].
func (d *DB) UseCachedResults(ctx context.Context, customer string, hits map[string]int64, now time.Time) error {
	return d.failed("count the hits of cached results", d.backend.Write(ctx, false, func(q Querier) error {
		for _, name := range slices.Sorted(maps.Keys(hits)) { // two transactions must not wait for each other
			if _, err := q.ExecContext(ctx, "UPDATE cached_results SET hits = hits + ?, used = ? WHERE customer = ? AND name = ?", hits[name], micros(now), customer, name); err != nil {
				return err
			}
		}
		return nil
	}))
}

// ChangeServer implements [store.CachedResults].
func (d *DB) ChangeServer(ctx context.Context, server string) error {
	return d.failed("remove the cached results of a server", d.backend.Write(ctx, false, func(q Querier) error {
		if err := changeServer(ctx, q, server, 1); err != nil {
			return err
		}
		_, err := q.ExecContext(ctx, "DELETE FROM cached_results WHERE server = ?", server)
		return err
	}))
}

// DeleteCachedResults implements [store.CachedResults].
func (d *DB) DeleteCachedResults(ctx context.Context, p store.CachedPart) (removed int64, err error) {
	err = d.backend.Write(ctx, false, func(q Querier) error {
		if err := changeServer(ctx, q, anyServer, 1); err != nil {
			return err
		}
		query, args := "DELETE FROM cached_results WHERE (? = '' OR server = ?)", []any{p.Server, p.Server}
		if p.Customer != nil {
			query, args = query+" AND customer = ?", append(args, *p.Customer)
		}
		if !p.Expired.IsZero() {
			query, args = query+" AND expires <= ?", append(args, micros(p.Expired))
		}
		res, err := q.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		removed, err = res.RowsAffected()
		return err
	})
	return removed, d.failed("remove cached results", err)
}

// CachedUses implements [store.CachedResults].
func (d *DB) CachedUses(ctx context.Context) (all []store.CachedUse, err error) {
	err = list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var u store.CachedUse
		err := scan(&u.Customer, &u.Server, &u.Results, &u.Bytes, &u.Hits)
		all = append(all, u)
		return err
	}, "SELECT customer, server, count(*), CAST(sum(bytes) AS bigint), CAST(sum(hits) AS bigint) FROM cached_results GROUP BY customer, server ORDER BY customer, server")
	return all, d.failed("count the cached results", err)
}
