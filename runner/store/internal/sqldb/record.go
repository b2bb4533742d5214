package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
)

// maxTuples bounds the rows of one insert. Both databases bound the arguments of a statement.
const maxTuples = 64

// Extend implements [store.Record]. It begins with the size that it remembers, because reading it takes as long as writing a row. If another
// process has added rows, the insert fails, and is tried again with the real size.
func (d *DB) Extend(ctx context.Context, next func(size int64, hashes tlog.HashReader) (store.Addition, error)) error {
	extend := func(q Querier, size int64) (after int64, refused, err error) {
		add, err := next(size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) { return hashes(ctx, q, indexes) }))
		if err != nil {
			return 0, err, err
		}
		return size + int64(len(add.Rows)), nil, insert(ctx, q, size, &add)
	}
	var after int64
	var refused error
	if size := d.size.Load(); size >= 0 {
		err := d.backend.Write(ctx, true, func(q Querier) (err error) {
			after, refused, err = extend(q, size)
			return err
		})
		if err == nil {
			d.size.Store(after)
			return nil
		}
		d.size.CompareAndSwap(size, -1)
	}
	err := d.backend.Write(ctx, true, func(q Querier) error {
		size, err := recordSize(ctx, q)
		if err == nil {
			after, refused, err = extend(q, size)
		}
		return err
	})
	switch {
	case err == nil:
		d.size.Store(after)
	case refused != nil:
		return refused
	}
	return d.failed("write the record", err)
}

// insert adds rows behind the first size rows, each with the hashes that it adds to the tree: its own, and those of the subtrees that it
// completes, from the bottom up.
func insert(ctx context.Context, q Querier, size int64, add *store.Addition) error {
	rest := add.Hashes
	for part := range slices.Chunk(add.Rows, maxTuples) {
		args := make([]any, 0, 6*len(part))
		for _, r := range part {
			n := int(tlog.StoredHashCount(size+1) - tlog.StoredHashCount(size))
			if r.Index != size || n > len(rest) {
				return fmt.Errorf("row %d with %d hashes was added in the place of row %d", r.Index, len(rest), size)
			}
			own := make([]byte, 0, n*tlog.HashSize)
			for _, h := range rest[:n] {
				own = append(own, h[:]...)
			}
			size, rest = size+1, rest[n:]
			args = append(args, r.Index, micros(r.Time), r.Kind, r.Run, own, r.Content)
		}
		if _, err := q.ExecContext(ctx, "INSERT INTO record_rows (idx, at, kind, run, hashes, content) VALUES "+tuples(len(part), 6), args...); err != nil {
			return err
		}
	}
	return nil
}

func recordSize(ctx context.Context, q Querier) (size int64, err error) {
	var last sql.NullInt64
	err = q.QueryRowContext(ctx, "SELECT max(idx) FROM record_rows").Scan(&last)
	if last.Valid {
		size = last.Int64 + 1
	}
	return size, err
}

// Size implements [store.Record].
func (d *DB) Size(ctx context.Context) (int64, error) {
	size, err := recordSize(ctx, d.backend.Read())
	return size, d.failed("read the size of the record", err)
}

// Hashes implements [store.Record].
func (d *DB) Hashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	found, err := hashes(ctx, d.backend.Read(), indexes)
	return found, d.failed("read hashes of the record", err)
}

func hashes(ctx context.Context, q Querier, indexes []int64) ([]tlog.Hash, error) {
	rows := map[int64][]byte{} // the hashes of rows
	place := func(index int64) (row int64, level int) {
		level, n := tlog.SplitStoredHashIndex(index)
		return (n+1)<<level - 1, level
	}
	var wanted []any
	for _, index := range indexes {
		if row, _ := place(index); rows[row] == nil {
			rows[row], wanted = []byte{}, append(wanted, row)
		}
	}
	for part := range slices.Chunk(wanted, maxTuples) {
		err := list(ctx, q, func(scan func(...any) error) error {
			var row int64
			var own []byte
			err := scan(&row, &own)
			rows[row] = own
			return err
		}, "SELECT idx, hashes FROM record_rows WHERE idx IN "+marks(len(part)), part...)
		if err != nil {
			return nil, err
		}
	}
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		row, level := place(index)
		if own := rows[row]; len(own) < (level+1)*tlog.HashSize {
			return nil, fmt.Errorf("hash %d of row %d: %w", level, row, store.ErrNotFound)
		}
		out[i] = tlog.Hash(rows[row][level*tlog.HashSize:])
	}
	return out, nil
}

// rare is the condition of the index of kinds. Calls are most of the rows, and are not in it, so that they cost less to write.
const rare = "kind NOT IN ('call', 'call.end')"

// outOfOrder is by how much the times of rows may be out of order, because clocks of machines differ and rows wait for others.
const outOfOrder = time.Hour

// around returns a row before which no time is later than t, more or less: it searches for it, since an index would cost each row a write.
func around(ctx context.Context, q Querier, t time.Time) (index int64, err error) {
	size, err := recordSize(ctx, q)
	if err != nil {
		return 0, err
	}
	return int64(sort.Search(int(size), func(i int) bool {
		var when int64
		if e := q.QueryRowContext(ctx, "SELECT at FROM record_rows WHERE idx >= ? ORDER BY idx LIMIT 1", i).Scan(&when); e != nil {
			err = e
		}
		return when >= micros(t)
	})), err
}

// Rows implements [store.Record].
func (d *DB) Rows(ctx context.Context, r store.Range, each func(store.Row) error) error {
	var where []string
	var args []any
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if !r.From.IsZero() {
		first, err := around(ctx, d.backend.Read(), r.From.Add(-outOfOrder))
		if err != nil {
			return d.failed("read the record", err)
		}
		r.After = max(r.After, first)
		add("at >= ?", micros(r.From))
	}
	if !r.To.IsZero() {
		last, err := around(ctx, d.backend.Read(), r.To.Add(outOfOrder))
		if err != nil {
			return d.failed("read the record", err)
		}
		add("at < ? AND idx < ?", micros(r.To), last)
	}
	add("idx >= ?", r.After)
	if r.Run != "" {
		add("run = ? AND run <> ''", r.Run) // the second part is the condition of the index
	}
	if len(r.Kinds) > 0 {
		kinds := make([]any, len(r.Kinds))
		for i, kind := range r.Kinds {
			kinds[i] = kind
		}
		add("kind IN "+marks(len(kinds)), kinds...)
		if !slices.ContainsFunc(r.Kinds, func(kind string) bool { return kind == "call" || kind == "call.end" }) {
			add(rare)
		}
	}
	query := "SELECT idx, at, kind, run, content FROM record_rows WHERE " + strings.Join(where, " AND ") + " ORDER BY idx"
	if r.NewestFirst {
		query += " DESC"
	}
	if r.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", r.Limit)
	}
	var ended error
	err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var row store.Row
		var when int64
		if err := scan(&row.Index, &when, &row.Kind, &row.Run, &row.Content); err != nil {
			return err
		}
		row.Time = at(when)
		ended = each(row)
		return ended
	}, query, args...)
	if ended != nil {
		return ended
	}
	return d.failed("read the record", err)
}

// digests matches what may be the digest of a code.
var digests = regexp.MustCompile(`[0-9a-f]{64}`)

// Forget implements [store.Record].
func (d *DB) Forget(ctx context.Context, before int64) (removed int64, err error) {
	err = d.backend.Write(ctx, true, func(q Querier) error {
		res, err := q.ExecContext(ctx, "UPDATE record_rows SET content = NULL WHERE idx < ? AND content IS NOT NULL", before)
		if err != nil {
			return err
		}
		if removed, err = res.RowsAffected(); err != nil || removed == 0 {
			return err
		}
		used := map[string]bool{}
		err = list(ctx, q, func(scan func(...any) error) error {
			var content []byte
			if err := scan(&content); err != nil {
				return err
			}
			for _, digest := range digests.FindAll(content, -1) {
				used[string(digest)] = true
			}
			return nil
		}, "SELECT content FROM record_rows WHERE content IS NOT NULL")
		if err != nil {
			return err
		}
		var unused []string
		err = list(ctx, q, func(scan func(...any) error) error {
			var digest string
			if err := scan(&digest); err != nil {
				return err
			}
			if !used[digest] {
				unused = append(unused, digest)
			}
			return nil
		}, "SELECT digest FROM record_codes WHERE since < ?", before)
		for _, digest := range unused {
			if _, failed := q.ExecContext(ctx, "DELETE FROM record_codes WHERE digest = ?", digest); failed != nil {
				return errors.Join(err, failed)
			}
		}
		return err
	})
	return removed, d.failed("remove contents of the record", err)
}

// SetHead implements [store.Record].
func (d *DB) SetHead(ctx context.Context, h store.Head) error {
	err := d.backend.Write(ctx, false, func(q Querier) error {
		_, err := q.ExecContext(ctx, "INSERT INTO record_heads (size, at, text) VALUES (?, ?, ?)", h.Size, micros(h.Time), h.Text)
		return err
	})
	return d.failed("keep the head of the record", err)
}

// Heads implements [store.Record].
func (d *DB) Heads(ctx context.Context, each func(store.Head) error) error {
	var ended error
	err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var h store.Head
		var when int64
		if err := scan(&h.Size, &when, &h.Text); err != nil {
			return err
		}
		h.Time = at(when)
		ended = each(h)
		return ended
	}, "SELECT size, at, text FROM record_heads ORDER BY number")
	if ended != nil {
		return ended
	}
	return d.failed("read the heads of the record", err)
}

// NewestHead implements [store.Record].
func (d *DB) NewestHead(ctx context.Context) (h store.Head, err error) {
	var when int64
	err = d.backend.Read().QueryRowContext(ctx, "SELECT size, at, text FROM record_heads ORDER BY number DESC LIMIT 1").Scan(&h.Size, &when, &h.Text)
	if errors.Is(err, sql.ErrNoRows) {
		return h, fmt.Errorf("a signed head of the record: %w", store.ErrNotFound)
	}
	h.Time = at(when)
	return h, d.failed("read the newest head of the record", err)
}

// SetCode implements [store.Record].
func (d *DB) SetCode(ctx context.Context, digest string, code []byte) error {
	err := d.backend.Write(ctx, false, func(q Querier) error {
		size, err := recordSize(ctx, q)
		if err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, "INSERT INTO record_codes (digest, code, since) VALUES (?, ?, ?) ON CONFLICT (digest) DO UPDATE SET since = excluded.since", digest, code, size)
		return err
	})
	return d.failed("keep the code of a script", err)
}

// Code implements [store.Record].
func (d *DB) Code(ctx context.Context, digest string) (code []byte, err error) {
	err = d.backend.Read().QueryRowContext(ctx, "SELECT code FROM record_codes WHERE digest = ?", digest).Scan(&code)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("the code with the digest %.64q: %w", digest, store.ErrNotFound)
	}
	return code, d.failed("read the code of a script", err)
}
