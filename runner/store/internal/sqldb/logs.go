package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// AppendLine implements [store.Logs].
func (d *DB) AppendLine(ctx context.Context, k store.Key, value []byte) (number int64, err error) {
	err = d.backend.Write(ctx, true, func(q Querier) error { // alone, so that numbers have no gaps
		if err := q.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) + 1 FROM log_lines WHERE customer = ? AND kind = ? AND name = ?", k.Customer, k.Kind, k.Name).Scan(&number); err != nil {
			return err
		}
		_, err := q.ExecContext(ctx, "INSERT INTO log_lines (customer, kind, name, number, at, value) VALUES (?, ?, ?, ?, ?, ?)", k.Customer, k.Kind, k.Name, number, micros(time.Now()), filled(value))
		return err
	})
	return number, d.failed("append to "+k.Kind, err)
}

// AppendLineAt implements [store.Logs].
func (d *DB) AppendLineAt(ctx context.Context, k store.Key, number int64, value []byte) error {
	return d.failed("append to "+k.Kind, d.backend.Write(ctx, false, func(q Querier) error { return appendAt(ctx, q, k, number, value) }))
}

// ReplaceLines implements [store.Logs].
func (d *DB) ReplaceLines(ctx context.Context, k store.Key, number int64, value []byte) error {
	return d.failed("replace "+k.Kind, d.backend.Write(ctx, false, func(q Querier) error {
		if err := appendAt(ctx, q, k, number, value); err != nil {
			return err
		}
		_, err := q.ExecContext(ctx, "DELETE FROM log_lines WHERE customer = ? AND kind = ? AND name = ? AND number < ?", k.Customer, k.Kind, k.Name, number)
		return err
	}))
}

func appendAt(ctx context.Context, q Querier, k store.Key, number int64, value []byte) error {
	res, err := q.ExecContext(ctx, "INSERT INTO log_lines (customer, kind, name, number, at, value) SELECT ?, ?, ?, ?, ?, ?"+
		" WHERE (SELECT coalesce(max(number), 0) FROM log_lines WHERE customer = ? AND kind = ? AND name = ?) = ? ON CONFLICT DO NOTHING",
		k.Customer, k.Kind, k.Name, number, micros(time.Now()), filled(value), k.Customer, k.Kind, k.Name, number-1)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return fmt.Errorf("line %d of %s %.100q: %w", number, k.Kind, k.Name, store.ErrConflict)
	}
	return err
}

// Lines implements [store.Logs].
func (d *DB) Lines(ctx context.Context, k store.Key, after int64, each func(store.Line) error) error {
	for {
		var page []store.Line
		err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
			var line store.Line
			var when int64
			err := scan(&line.Number, &when, &line.Value)
			line.Time = at(when)
			page = append(page, line)
			return err
		}, "SELECT number, at, value FROM log_lines WHERE customer = ? AND kind = ? AND name = ? AND number > ? ORDER BY number LIMIT ?", k.Customer, k.Kind, k.Name, after, pageRows)
		if err != nil {
			return d.failed("read "+k.Kind, err)
		}
		for _, line := range page {
			if err := each(line); err != nil {
				return err
			}
			after = line.Number
		}
		if len(page) < pageRows {
			return nil
		}
	}
}

// LogSize implements [store.Logs].
func (d *DB) LogSize(ctx context.Context, k store.Key) (bytes int64, err error) {
	err = d.backend.Read().QueryRowContext(ctx, "SELECT coalesce(sum(length(value)), 0) FROM log_lines WHERE customer = ? AND kind = ? AND name = ?", k.Customer, k.Kind, k.Name).Scan(&bytes)
	return bytes, d.failed("measure "+k.Kind, err)
}

// ListLogs implements [store.Logs].
func (d *DB) ListLogs(ctx context.Context, customer, kind string) ([]string, error) {
	var names []string
	err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	}, "SELECT DISTINCT name FROM log_lines WHERE customer = ? AND kind = ? ORDER BY name", customer, kind)
	return names, d.failed("list each "+kind, err)
}

// LogCustomers implements [store.Logs]. It looks up one customer after the other, since there may be very many lines.
func (d *DB) LogCustomers(ctx context.Context) ([]string, error) {
	var customers []string
	err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var customer string
		err := scan(&customer)
		customers = append(customers, customer)
		return err
	}, "WITH RECURSIVE c (customer) AS (SELECT min(customer) FROM log_lines UNION ALL"+
		" SELECT (SELECT min(customer) FROM log_lines WHERE customer > c.customer) FROM c WHERE customer IS NOT NULL)"+
		" SELECT customer FROM c WHERE customer IS NOT NULL")
	return customers, d.failed("list the customers with logs", err)
}

// DeleteLog implements [store.Logs].
func (d *DB) DeleteLog(ctx context.Context, k store.Key) error {
	return d.exec(ctx, "delete "+k.Kind, "DELETE FROM log_lines WHERE customer = ? AND kind = ? AND name = ?", k.Customer, k.Kind, k.Name)
}
