package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
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

// maxAttempts bounds how often Extend begins a transaction.
const maxAttempts = 4

// Extend implements [store.Record]. If the backend wants that, it begins with the size that it remembers, because reading it takes as long as
// writing a row. If another process has added rows, the insert fails, and is tried again with the real size. If the end of a transaction is
// unknown, because the connection broke, the next one looks for the rows first: it waits for the end of that one, since both extend the record.
func (d *DB) Extend(ctx context.Context, next func(size int64, hashes tlog.HashReader) (store.Addition, error)) error {
	var tried store.Addition // in a transaction whose end is unknown
	var after int64
	var refused error
	extend := func(q Querier, size int64) (err error) {
		if size < 0 {
			if size, err = recordSize(ctx, q); err != nil {
				return err
			}
			if there, err := contains(ctx, q, &tried); there || err != nil {
				after = size
				return err
			}
		}
		add, err := next(size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) { return hashes(ctx, q, indexes) }))
		refused = err
		if err == nil {
			err = insert(ctx, q, size, &add)
		}
		if err == nil {
			tried, after = add, size+int64(len(add.Rows))
		}
		return err
	}
	size := int64(-1)
	if d.backend.Remembers() {
		size = d.size.Load()
	}
	for attempt := 1; ; attempt++ {
		refused = nil
		err := d.backend.Write(ctx, true, func(q Querier) error { return extend(q, size) })
		if err == nil {
			d.size.Store(after)
			return nil
		}
		d.size.Store(-1)
		again := size >= 0 || len(tried.Rows) > 0
		if size = -1; again && attempt < maxAttempts && ctx.Err() == nil {
			continue
		}
		if refused != nil {
			return refused
		}
		return d.failed("write the record", err)
	}
}

// contains reports whether the record has the rows of an addition.
func contains(ctx context.Context, q Querier, add *store.Addition) (bool, error) {
	if len(add.Rows) == 0 {
		return false, nil
	}
	found, err := hashes(ctx, q, []int64{tlog.StoredHashIndex(0, add.Rows[0].Index)})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && found[0] == add.Hashes[0], err
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
	add("idx >= ? AND idx < ?")
	query := "SELECT idx, at, kind, run, content FROM record_rows WHERE " + strings.Join(where, " AND ") + " ORDER BY idx"
	if r.NewestFirst {
		query += " DESC"
	}
	for from, to, left := r.After, int64(math.MaxInt64), cmp.Or(r.Limit, math.MaxInt); left > 0; {
		n := min(left, pageRows)
		page, failed := d.page(ctx, query+fmt.Sprintf(" LIMIT %d", n), append(args, from, to))
		for _, row := range page {
			if err := each(row); err != nil {
				return err
			}
		}
		if failed != nil {
			return d.failed("read the record", failed)
		}
		if len(page) < n {
			return nil
		}
		left -= n
		if last := page[n-1].Index; r.NewestFirst {
			to = last
		} else {
			from = last + 1
		}
	}
	return nil
}

// pageRows bounds the rows that are read at once. No connection is held while a caller looks at them, who may need one.
const pageRows = 200

// page returns the rows of a query, or those before one that cannot be read.
func (d *DB) page(ctx context.Context, query string, args []any) (page []store.Row, err error) {
	err = list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		row := store.Row{Index: -1}
		var when int64
		if err := scan(&row.Index, &when, &row.Kind, &row.Run, &row.Content); err != nil {
			if row.Index >= 0 { // it comes first
				err = &store.DamagedError{Index: row.Index, Err: err}
			}
			return err
		}
		row.Time = at(when)
		page = append(page, row)
		return nil
	}, query, args...)
	return page, err
}

// digests matches what may be the digest of a code.
var digests = regexp.MustCompile(`[0-9a-f]{64}`)

// forgetRows bounds the rows of a transaction of Forget, so that others can write meanwhile.
const forgetRows = 500

// Forget implements [store.Record]. A code that was set when the record had more than before rows stays: a row that refers to it may be about
// to be written.
func (d *DB) Forget(ctx context.Context, before int64) (removed int64, err error) {
	removed, err = d.forgetContents(ctx, before)
	if err == nil {
		err = d.forgetCodes(ctx, before)
	}
	return removed, d.failed("remove contents of the record", err)
}

func (d *DB) forgetContents(ctx context.Context, before int64) (removed int64, err error) {
	var first sql.NullInt64
	if err := d.backend.Read().QueryRowContext(ctx, "SELECT min(idx) FROM record_rows WHERE content IS NOT NULL").Scan(&first); err != nil || !first.Valid {
		return 0, err
	}
	for from := first.Int64; from < before && err == nil; from += forgetRows {
		err = d.backend.Write(ctx, false, func(q Querier) error {
			res, err := q.ExecContext(ctx, "UPDATE record_rows SET content = NULL WHERE idx >= ? AND idx < ? AND content IS NOT NULL", from, min(from+forgetRows, before))
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			removed += n
			return err
		})
	}
	return removed, err
}

// forgetCodes removes the codes that no content refers to. It reads the contents outside of transactions: a row that is added meanwhile
// refers to a code that was set meanwhile.
func (d *DB) forgetCodes(ctx context.Context, before int64) error {
	unused := map[string]bool{}
	err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var digest string
		err := scan(&digest)
		unused[digest] = true
		return err
	}, "SELECT digest FROM record_codes WHERE since < ?", before)
	if err != nil || len(unused) == 0 {
		return err
	}
	err = list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var content []byte
		err := scan(&content)
		for _, digest := range digests.FindAll(content, -1) {
			delete(unused, string(digest))
		}
		return err
	}, "SELECT content FROM record_rows WHERE content IS NOT NULL")
	if err != nil {
		return err
	}
	return d.backend.Write(ctx, false, func(q Querier) error {
		for digest := range unused {
			if _, err := q.ExecContext(ctx, "DELETE FROM record_codes WHERE digest = ? AND since < ?", digest, before); err != nil {
				return err
			}
		}
		return nil
	})
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
	var all []store.Head
	err := list(ctx, d.backend.Read(), func(scan func(...any) error) error {
		var h store.Head
		var when int64
		err := scan(&h.Size, &when, &h.Text)
		h.Time = at(when)
		all = append(all, h)
		return err
	}, "SELECT size, at, text FROM record_heads ORDER BY number")
	if err != nil {
		return d.failed("read the heads of the record", err)
	}
	for _, h := range all {
		if err := each(h); err != nil {
			return err
		}
	}
	return nil
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
