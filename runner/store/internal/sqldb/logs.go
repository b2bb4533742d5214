package sqldb

import (
	"context"
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

// DeleteLog implements [store.Logs].
func (d *DB) DeleteLog(ctx context.Context, k store.Key) error {
	return d.exec(ctx, "delete "+k.Kind, "DELETE FROM log_lines WHERE customer = ? AND kind = ? AND name = ?", k.Customer, k.Kind, k.Name)
}
