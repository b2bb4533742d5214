package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

func testCachedResults(t *testing.T, open func() store.Store) {
	a, b := open(), open()
	noon := time.Date(2026, 11, 30, 12, 0, 0, 123_000, time.UTC)
	result := func(customer, server, name string, size int, created time.Time) *store.CachedResult {
		return &store.CachedResult{Customer: customer, Server: server, Name: name, Value: bytes.Repeat([]byte{7}, size), Created: created, Expires: created.Add(time.Minute)}
	}
	generation := func(server string) int64 {
		t.Helper()
		r, g, err := b.CachedResult(t.Context(), "acme", server, "absent", noon)
		if r != nil || err != nil {
			t.Fatalf("CachedResult() of a name that is not there = %v, %v", r, err)
		}
		return g
	}
	keep := func(r *store.CachedResult, generation, room int64) {
		t.Helper()
		if err := a.SetCachedResult(t.Context(), r, generation, room); err != nil {
			t.Fatal(err)
		}
	}
	has := func(customer, server, name string, now time.Time) bool {
		t.Helper()
		r, _, err := b.CachedResult(t.Context(), customer, server, name, now)
		if err != nil {
			t.Fatal(err)
		}
		return r != nil
	}
	const room = 10 * (store.CachedCost + 100)
	keep(result("acme", "crm", "1", 100, noon), generation("crm"), room)
	got, _, err := b.CachedResult(t.Context(), "acme", "crm", "1", noon.Add(59*time.Second))
	if want := result("acme", "crm", "1", 100, noon); err != nil || got == nil || fmt.Sprint(*got) != fmt.Sprint(*want) {
		t.Errorf("CachedResult() = %v, %v, want %v", got, err, want)
	}
	if has("acme", "crm", "1", noon.Add(time.Minute)) || has("", "crm", "1", noon) || has("acme", "drive", "1", noon) {
		t.Error("CachedResult() has a result after its time, of another customer or of another server")
	}
	keep(result("acme", "crm", "1", 50, noon.Add(time.Second)), generation("crm"), room) // replaces
	for i := 2; i <= 10; i++ {
		keep(result("acme", "crm", fmt.Sprint(i), 100, noon.Add(time.Duration(i)*time.Second)), generation("crm"), room)
	}
	if err := b.UseCachedResults(t.Context(), "acme", map[string]int64{"1": 2, "absent": 1}, noon.Add(11*time.Second)); err != nil {
		t.Fatal(err)
	}
	keep(result("acme", "crm", "11", 100, noon.Add(12*time.Second)), generation("crm"), room)
	if !has("acme", "crm", "1", noon) || has("acme", "crm", "2", noon) || !has("acme", "crm", "3", noon) || !has("acme", "crm", "11", noon) {
		t.Error("SetCachedResult() beyond the room: want that the result is removed that was not used for longest, and no other")
	}
	keep(result("", "drive", "1", 100, noon), generation("drive"), room)
	uses, err := b.CachedUses(t.Context())
	if want := []store.CachedUse{{Customer: "", Server: "drive", Results: 1, Bytes: 612, Hits: 0}, {Customer: "acme", Server: "crm", Results: 10, Bytes: 10*612 - 50, Hits: 2}}; err != nil || !slices.Equal(uses, want) {
		t.Errorf("CachedUses() = %v, %v, want %v", uses, err, want)
	}

	old := generation("crm")
	if err := b.ChangeServer(t.Context(), "crm"); err != nil {
		t.Fatal(err)
	}
	keep(result("acme", "crm", "12", 100, noon), old, room)
	if has("acme", "crm", "11", noon) || has("acme", "crm", "12", noon) || !has("", "drive", "1", noon) {
		t.Error("ChangeServer(): want that no result of the server is left or comes from a call before, and others are left alone")
	}
	keep(result("acme", "crm", "13", 100, noon), generation("crm"), room)
	keep(result("acme", "drive", "1", 100, noon), generation("drive"), room)
	before, acme := generation("mail"), "acme"
	if n, err := a.DeleteCachedResults(t.Context(), store.CachedPart{Customer: &acme, Server: "crm"}); n != 1 || err != nil || has("acme", "crm", "13", noon) {
		t.Errorf("DeleteCachedResults() of acme and crm = %d, %v, want 1", n, err)
	}
	keep(result("acme", "mail", "1", 100, noon), before, room)
	if has("acme", "mail", "1", noon) {
		t.Error("a call that was in progress during DeleteCachedResults() has left its result")
	}
	if n, err := b.DeleteCachedResults(t.Context(), store.CachedPart{Customer: &acme, Expired: noon.Add(59 * time.Second)}); n != 0 || err != nil {
		t.Errorf("DeleteCachedResults() of what has expired = %d, %v, want none yet", n, err)
	}
	if n, err := b.DeleteCachedResults(t.Context(), store.CachedPart{Customer: &acme, Expired: noon.Add(time.Minute)}); n != 1 || err != nil {
		t.Errorf("DeleteCachedResults() of what has expired = %d, %v, want 1", n, err)
	}
	keep(result("bolt", "crm", "1", 100, noon.Add(time.Hour)), generation("crm"), room) // removes what has expired
	if uses, err = b.CachedUses(t.Context()); err != nil || len(uses) != 1 || uses[0].Customer != "bolt" {
		t.Errorf("CachedUses() after all others have expired = %v, %v, want bolt", uses, err)
	}
	keep(result("bolt", "crm", "large", 7000, noon.Add(time.Hour)), generation("crm"), room)
	if has("bolt", "crm", "large", noon) {
		t.Error("SetCachedResult() has kept a result that is larger than the room")
	}
	if n, err := a.DeleteCachedResults(t.Context(), store.CachedPart{}); err != nil || n > 1 {
		t.Errorf("DeleteCachedResults() = %d, %v", n, err)
	}
	if uses, err := b.CachedUses(t.Context()); err != nil || len(uses) != 0 {
		t.Errorf("CachedUses() after DeleteCachedResults = %v, %v, want nothing", uses, err)
	}
}

// testCachedTogether changes a server while others keep results of calls from before.
func testCachedTogether(t *testing.T, open func() store.Store) {
	handles := []store.Store{open(), open()}
	now := time.Now()
	for round := range 10 {
		var all sync.WaitGroup
		var changed error
		for i := range 6 {
			s := handles[i%2]
			_, before, err := s.CachedResult(t.Context(), "", "crm", "absent", now)
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				err := s.SetCachedResult(t.Context(), &store.CachedResult{Server: "crm", Name: fmt.Sprint(round, i), Created: now, Expires: now.Add(time.Hour)}, before, 1<<20)
				if err != nil {
					t.Errorf("SetCachedResult() beside others = %v", err)
				}
			})
		}
		all.Go(func() { changed = handles[0].ChangeServer(t.Context(), "crm") })
		if all.Wait(); changed != nil {
			t.Fatal(changed)
		}
		if uses, err := handles[1].CachedUses(t.Context()); err != nil || len(uses) != 0 {
			t.Fatalf("CachedUses() after ChangeServer beside others = %v, %v, want nothing", uses, err)
		}
	}
}
