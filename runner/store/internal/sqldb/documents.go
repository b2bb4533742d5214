package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Document implements [store.Documents].
func (d *DB) Document(ctx context.Context, k store.Key) (*store.Document, error) {
	doc, when := &store.Document{Key: k}, int64(0)
	err := d.backend.Read().QueryRowContext(ctx, "SELECT value, version, updated FROM documents WHERE customer = ? AND kind = ? AND name = ?", k.Customer, k.Kind, k.Name).
		Scan(&doc.Value, &doc.Version, &when)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s %.100q: %w", k.Kind, k.Name, store.ErrNotFound)
	}
	if err != nil {
		return nil, d.failed("read "+k.Kind, err)
	}
	doc.Updated = at(when)
	return doc, nil
}

// SetDocument implements [store.Documents].
func (d *DB) SetDocument(ctx context.Context, doc *store.Document) (version int64, err error) {
	err = d.backend.Write(ctx, false, func(q Querier) error { return set(ctx, q, doc) })
	if err != nil {
		return 0, d.failed("write "+doc.Kind, err)
	}
	return doc.Version + 1, nil
}

// SetDocuments implements [store.Documents].
func (d *DB) SetDocuments(ctx context.Context, all []store.Document) error {
	if len(all) == 0 {
		return nil
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b store.Document) int { // two transactions must not wait for each other
		return cmp.Or(cmp.Compare(a.Customer, b.Customer), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	err := d.backend.Write(ctx, false, func(q Querier) error {
		for i := range all {
			if err := set(ctx, q, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return d.failed("write "+all[0].Kind, err)
}

// set sets a document in a transaction.
func set(ctx context.Context, q Querier, doc *store.Document) error {
	query, args := "INSERT INTO documents (value, version, updated, customer, kind, name) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", []any{filled(doc.Value), int64(1), micros(time.Now()), doc.Customer, doc.Kind, doc.Name}
	if doc.Version > 0 {
		query = "UPDATE documents SET value = ?, version = ?, updated = ? WHERE customer = ? AND kind = ? AND name = ? AND version = ?"
		args[1] = doc.Version + 1
		args = append(args, doc.Version)
	}
	res, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return fmt.Errorf("%s %.100q: %w", doc.Kind, doc.Name, store.ErrConflict)
	}
	return err
}

// DeleteDocument implements [store.Documents].
func (d *DB) DeleteDocument(ctx context.Context, k store.Key) error {
	return d.exec(ctx, "delete "+k.Kind, "DELETE FROM documents WHERE customer = ? AND kind = ? AND name = ?", k.Customer, k.Kind, k.Name)
}

// ListDocuments implements [store.Documents].
func (d *DB) ListDocuments(ctx context.Context, customer, kind string) ([]store.Document, error) {
	var all []store.Document
	err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		doc, when := store.Document{Key: store.Key{Customer: customer, Kind: kind}}, int64(0)
		if err := scan(&doc.Name, &doc.Value, &doc.Version, &when); err != nil {
			return err
		}
		doc.Updated = at(when)
		all = append(all, doc)
		return nil
	}, "SELECT name, value, version, updated FROM documents WHERE customer = ? AND kind = ? ORDER BY name", customer, kind)
	return all, d.failed("list each "+kind, err)
}

// exec runs one statement in a transaction of its own.
func (d *DB) exec(ctx context.Context, what, query string, args ...any) error {
	return d.failed(what, d.backend.Write(ctx, false, func(q Querier) error {
		_, err := q.ExecContext(ctx, query, args...)
		return err
	}))
}

// filled returns an empty value instead of nil, which would be NULL.
func filled(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
