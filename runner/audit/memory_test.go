package audit_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
)

// memory is a store.Record whose contents a test can change.
type memory struct {
	mu     sync.Mutex
	rows   []store.Row
	hashes []tlog.Hash
	heads  []store.Head
	codes  map[string][]byte

	extended int          // transactions
	fail     func() error // of Extend, before it commits. May be nil.
}

func (m *memory) Extend(_ context.Context, next func(int64, tlog.HashReader) (store.Addition, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	add, err := next(int64(len(m.rows)), tlog.HashReaderFunc(m.read))
	if err == nil && m.fail != nil {
		err = m.fail()
	}
	if err != nil {
		return err
	}
	m.rows, m.hashes = append(m.rows, add.Rows...), append(m.hashes, add.Hashes...)
	m.extended++
	return nil
}

func (m *memory) read(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, i := range indexes {
		if i >= int64(len(m.hashes)) {
			return nil, fmt.Errorf("hash %d: %w", i, store.ErrNotFound)
		}
		hashes = append(hashes, m.hashes[i])
	}
	return hashes, nil
}

// kept returns the rows, and in how many transactions they came.
func (m *memory) kept() (rows []store.Row, transactions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows), m.extended
}

func (m *memory) Size(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := int64(-1)
	for _, r := range m.rows {
		last = max(last, r.Index)
	}
	return last + 1, nil
}

func (m *memory) Rows(_ context.Context, r store.Range, each func(store.Row) error) error {
	m.mu.Lock()
	rows := slices.Clone(m.rows)
	m.mu.Unlock()
	slices.SortStableFunc(rows, func(a, b store.Row) int { return cmp.Compare(a.Index, b.Index) })
	if r.NewestFirst {
		slices.Reverse(rows)
	}
	n := 0
	for _, row := range rows {
		if row.Index < r.After || row.Time.Before(r.From) || !r.To.IsZero() && !row.Time.Before(r.To) || r.Run != "" && row.Run != r.Run || r.Kinds != nil && !slices.Contains(r.Kinds, row.Kind) {
			continue
		}
		if n++; r.Limit > 0 && n > r.Limit {
			break
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Hashes(_ context.Context, indexes []int64) ([]tlog.Hash, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(indexes)
}

func (m *memory) Forget(_ context.Context, before int64) (removed int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.rows {
		if m.rows[i].Index < before && m.rows[i].Content != nil {
			m.rows[i].Content = nil
			removed++
		}
	}
	return removed, nil
}

func (m *memory) SetHead(_ context.Context, h store.Head) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heads = append(m.heads, h)
	return nil
}

func (m *memory) Heads(_ context.Context, each func(store.Head) error) error {
	m.mu.Lock()
	heads := slices.Clone(m.heads)
	m.mu.Unlock()
	for _, h := range heads {
		if err := each(h); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) NewestHead(context.Context) (store.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.heads) == 0 {
		return store.Head{}, store.ErrNotFound
	}
	return m.heads[len(m.heads)-1], nil
}

func (m *memory) SetCode(_ context.Context, digest string, code []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.codes == nil {
		m.codes = map[string][]byte{}
	}
	m.codes[digest] = code
	return nil
}

func (m *memory) Code(_ context.Context, digest string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	code, ok := m.codes[digest]
	if !ok {
		return nil, store.ErrNotFound
	}
	return code, nil
}
