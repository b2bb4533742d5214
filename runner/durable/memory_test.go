package durable

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// memory is a Store for tests within one process.
type memory struct {
	mu        sync.Mutex
	leases    map[string]memoryLease
	documents map[store.Key]store.Document
}

type memoryLease struct {
	owner string
	until time.Time
}

func newMemory() *memory {
	return &memory{leases: map[string]memoryLease{}, documents: map[store.Key]store.Document{}}
}

func (m *memory) Lease(_ context.Context, name, owner string, lasts time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.leases[name]; ok && l.owner != owner && time.Now().Before(l.until) {
		return false, nil
	}
	m.leases[name] = memoryLease{owner, time.Now().Add(lasts)}
	return true, nil
}

func (m *memory) Leases(_ context.Context, prefix string) (list []store.Lease, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, l := range m.leases {
		if strings.HasPrefix(name, prefix) {
			list = append(list, store.Lease{Name: name, Owner: l.owner, Expired: !time.Now().Before(l.until)})
		}
	}
	slices.SortFunc(list, func(a, b store.Lease) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (m *memory) Release(_ context.Context, name, owner string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leases[name].owner == owner {
		delete(m.leases, name)
	}
	return nil
}

func (m *memory) Document(_ context.Context, k store.Key) (*store.Document, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.documents[k]
	if !ok {
		return nil, store.ErrNotFound
	}
	return &d, nil
}

func (m *memory) SetDocument(_ context.Context, d *store.Document) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.documents[d.Key].Version != d.Version {
		return 0, store.ErrConflict
	}
	set := *d
	set.Version++
	m.documents[d.Key] = set
	return set.Version, nil
}

func (m *memory) DeleteDocument(_ context.Context, k store.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.documents, k)
	return nil
}

func (m *memory) ListDocuments(context.Context, string, string) ([]store.Document, error) {
	return nil, nil
}
