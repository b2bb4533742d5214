package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// at returns a cache in the state at a path, with a secret.
func at(t *testing.T, path string, secret byte, now func() time.Time) (*cache.Cache, store.Store) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return cache.New(cache.Options{
		State: func(context.Context) (store.Store, error) { return s, nil }, Secret: func() ([]byte, error) { return bytes.Repeat([]byte{secret}, 32), nil },
		Size: 1 << 20, Now: now,
	}), s
}

func keyOf(t *testing.T, c *cache.Cache, k cache.Call) cache.Key {
	t.Helper()
	key, err := c.Key(&k)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestKeys changes each part of a call, and moves the end of one into the next.
func TestKeys(t *testing.T) {
	c, _ := at(t, filepath.Join(t.TempDir(), "state.db"), 7, time.Now)
	seen := map[cache.Key]cache.Call{}
	whole := cache.Call{Customer: "acme", Server: "crm", Identity: []byte("id"), Tool: "crm__get", Definition: "d", Form: "f", Arguments: []byte(`{}`)}
	calls := []cache.Call{whole, {}}
	for _, change := range []func(*cache.Call){
		func(k *cache.Call) { k.Customer = "" }, func(k *cache.Call) { k.Server = "shop" }, func(k *cache.Call) { k.Identity = nil }, func(k *cache.Call) { k.Tool = "crm__list" },
		func(k *cache.Call) { k.Definition = "e" }, func(k *cache.Call) { k.Form = "g" }, func(k *cache.Call) { k.Arguments = []byte(`{"a":1}`) },
		func(k *cache.Call) { k.Definition, k.Form = "", "df" }, func(k *cache.Call) { k.Form, k.Arguments = "f{}", nil },
	} {
		k := whole
		change(&k)
		calls = append(calls, k)
	}
	for _, k := range calls {
		key := keyOf(t, c, k)
		if other, ok := seen[key]; ok {
			t.Errorf("%+v has the key of %+v", k, other)
		}
		if seen[key] = k; key != keyOf(t, c, k) {
			t.Errorf("%+v has two keys", k)
		}
	}
}

// TestRestart keeps results in a file, bounded in size, and opens it again. With another secret nothing is found, and nothing in the file can be read.
func TestRestart(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "state.db"), time.Now()
	clock := func() time.Time { return now }
	c, s := at(t, path, 7, clock)
	value := bytes.Repeat([]byte("Ada Lovelace "), 5000) // 65 kB
	for i := range 40 {
		now = now.Add(time.Second)
		key := keyOf(t, c, cache.Call{Server: "crm", Arguments: fmt.Append(nil, i)})
		_, version, err := c.Get(t.Context(), key)
		if err == nil {
			err = c.Set(t.Context(), key, &cache.Result{Value: value, As: call.AsContent, Structured: true, Took: time.Second, Sent: now}, time.Hour, version)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	uses, err := s.CachedUses(t.Context())
	if err != nil || len(uses) != 1 || uses[0].Bytes > 1<<20 || uses[0].Results < 14 {
		t.Errorf("CachedUses() = %+v, %v, want some 15 results in at most 1 MiB", uses, err)
	}
	files, _ := filepath.Glob(path + "*")
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "Lovelace") {
			t.Errorf("%s: %v, or it holds a result in the clear", file, err)
		}
	}
	again, _ := at(t, path, 7, clock)
	last := cache.Call{Server: "crm", Arguments: []byte("39")}
	r, _, err := again.Get(t.Context(), keyOf(t, again, last))
	if err != nil || r == nil || !bytes.Equal(r.Value, value) || r.As != call.AsContent || !r.Structured || r.Took != time.Second || !r.Sent.Equal(now.Truncate(time.Microsecond)) {
		t.Errorf("Get() after a restart = %v, want the result", err)
	}
	if r, _, err := again.Get(t.Context(), keyOf(t, again, cache.Call{Server: "crm", Arguments: []byte("0")})); r != nil || err != nil {
		t.Errorf("Get() of the oldest = %v, %v, want nil", r, err)
	}
	other, _ := at(t, path, 8, clock)
	if r, _, err := other.Get(t.Context(), keyOf(t, other, last)); r != nil || err != nil {
		t.Errorf("Get() with another secret = %v, %v, want nil", r, err)
	}
}

// TestNoSecret has no key to seal results with.
func TestNoSecret(t *testing.T) {
	missing := errors.New("no key")
	c := cache.New(cache.Options{Secret: func() ([]byte, error) { return nil, missing }})
	if _, err := c.Key(&cache.Call{}); !errors.Is(err, missing) {
		t.Errorf("Key() = %v, want %v", err, missing)
	}
	if c.TTL("crm__get") != 0 {
		t.Error("TTL() without a setting, want 0")
	}
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	state, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer state.Close()
	c := cache.New(cache.Options{
		State:  func(context.Context) (store.Store, error) { return state, nil },
		Secret: func() ([]byte, error) { return []byte("the secret of a user"), nil },
	})
	key, err := c.Key(&cache.Call{Server: "crm", Tool: "crm__get_contact", Arguments: []byte(`{"id":1}`)})
	if err != nil {
		panic(err)
	}
	for range 2 {
		kept, version, err := c.Get(ctx, key)
		if err != nil {
			panic(err)
		}
		if kept != nil {
			fmt.Printf("from the cache: %s\n", kept.Value)
			continue
		}
		sent := c.Now() // the call is sent
		if err := c.Set(ctx, key, &cache.Result{Value: []byte(`{"name":"Ada"}`), Sent: sent}, time.Minute, version); err != nil {
			panic(err)
		}
	}
	// Output: from the cache: {"name":"Ada"}
}
