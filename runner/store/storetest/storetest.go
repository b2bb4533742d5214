// Package storetest is the suite that each store passes.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Test runs the suite. open opens the same database each time; it is a new one for each call of database.
func Test(t *testing.T, database func(t *testing.T) (open func() store.Store)) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, open func() store.Store)
	}{
		{"Extend", testExtend}, {"ManyWriters", testManyWriters}, {"Rows", testRows}, {"Forget", testForget}, {"Heads", testHeads},
		{"Documents", testDocuments}, {"Logs", testLogs}, {"NumberedLines", testNumberedLines}, {"Leases", testLeases}, {"CachedResults", testCachedResults}, {"CachedTogether", testCachedTogether},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, database(t)) })
	}
}

// Content returns the content of a test's row.
func Content(index int64) []byte { return fmt.Appendf(nil, `{"index":%d}`, index) }

// Append adds a row whose content is that of Content. It hashes as package audit does.
func Append(ctx context.Context, s store.Record, row store.Row) (index int64, err error) {
	err = s.Extend(ctx, func(size int64, hashes tlog.HashReader) (add store.Addition, err error) {
		index, row.Index, row.Content = size, size, Content(size)
		if row.Time.IsZero() {
			row.Time = time.Now()
		}
		add.Rows = []store.Row{row}
		add.Hashes, err = tlog.StoredHashes(size, row.Content, hashes)
		return add, err
	})
	return index, err
}

// Check checks that the record has no gap, that each row has its content, and that the tree is that of the rows. It returns their number.
func Check(t testing.TB, s store.Record) int64 {
	t.Helper()
	size, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var own []tlog.Hash
	next := int64(0)
	err = s.Rows(t.Context(), store.Range{}, func(r store.Row) error {
		if r.Index != next || !bytes.Equal(r.Content, Content(next)) {
			t.Errorf("row %d has the content %s, want row %d with %s", r.Index, r.Content, next, Content(next))
		}
		hashes, err := tlog.StoredHashes(next, Content(next), tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
			var out []tlog.Hash
			for _, i := range indexes {
				out = append(out, own[i])
			}
			return out, nil
		}))
		own = append(own, hashes...)
		next++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if next != size {
		t.Errorf("Rows() has %d rows, want Size() = %d", next, size)
	}
	indexes := make([]int64, len(own))
	for i := range indexes {
		indexes[i] = int64(i)
	}
	if got, err := s.Hashes(t.Context(), indexes); err != nil || !slices.Equal(got, own) {
		t.Errorf("Hashes() of all %d indexes: error %v, equal %t; want those of the rows", len(indexes), err, slices.Equal(got, own))
	}
	return size
}

func mustAppend(t *testing.T, s store.Record, n int, row store.Row) {
	t.Helper()
	for range n {
		if _, err := Append(t.Context(), s, row); err != nil {
			t.Fatal(err)
		}
	}
}

func testExtend(t *testing.T, open func() store.Store) {
	a, b := open(), open()
	if size := Check(t, a); size != 0 {
		t.Fatalf("Size() of a new record = %d, want 0", size)
	}
	mustAppend(t, a, 3, store.Row{Kind: "call"})
	mustAppend(t, b, 70, store.Row{Kind: "call"})
	mustAppend(t, a, 2, store.Row{Kind: "call"}) // it remembers another size
	refused := errors.New("no")
	if err := a.Extend(t.Context(), func(int64, tlog.HashReader) (store.Addition, error) { return store.Addition{}, refused }); !errors.Is(err, refused) {
		t.Errorf("Extend() = %v, want the error of next", err)
	}
	many := func(size int64, hashes tlog.HashReader) (add store.Addition, err error) {
		var new []tlog.Hash
		reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
			old, out := tlog.StoredHashCount(size), []tlog.Hash{}
			for _, i := range indexes {
				if i >= old {
					out = append(out, new[i-old])
					continue
				}
				one, err := hashes.ReadHashes([]int64{i})
				if err != nil {
					return nil, err
				}
				out = append(out, one...)
			}
			return out, nil
		})
		for i := size; i < size+200; i++ {
			add.Rows = append(add.Rows, store.Row{Index: i, Time: time.Now(), Kind: "call", Content: Content(i)})
			own, err := tlog.StoredHashes(i, Content(i), reader)
			if err != nil {
				return add, err
			}
			new = append(new, own...)
		}
		add.Hashes = new
		return add, nil
	}
	if err := b.Extend(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	if size := Check(t, a); size != 275 {
		t.Errorf("Size() = %d, want 275", size)
	}
	if _, err := a.Hashes(t.Context(), []int64{tlog.StoredHashCount(275)}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Hashes() of an index that does not exist = %v, want ErrNotFound", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Append(ended, a, store.Row{Kind: "call"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Extend() with a context that has ended = %v, want its error", err)
	}
	Check(t, b)
}

func testManyWriters(t *testing.T, open func() store.Store) {
	const writers, each = 8, 40
	handles := []store.Store{open(), open()}
	indexes := make([][]int64, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for range each {
				index, err := Append(t.Context(), handles[w%2], store.Row{Kind: "call", Run: fmt.Sprint("run-", w)})
				if err != nil {
					t.Errorf("Extend() beside others = %v", err)
					return
				}
				indexes[w] = append(indexes[w], index)
			}
		})
	}
	all.Wait()
	if size := Check(t, handles[0]); size != writers*each {
		t.Errorf("Size() = %d, want %d", size, writers*each)
	}
	for w, want := range indexes {
		var got []int64
		err := handles[1].Rows(t.Context(), store.Range{Run: fmt.Sprint("run-", w)}, func(r store.Row) error {
			got = append(got, r.Index)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Rows() of writer %d = %v, %v, want %v", w, got, err, want)
		}
	}
}

func testRows(t *testing.T, open func() store.Store) {
	s, noon := open(), time.Date(2026, 11, 30, 12, 0, 0, 123_000, time.UTC)
	kinds := []string{"run", "call", "call.end", "run.end"}
	for i := range 20 { // five runs, a day apart
		mustAppend(t, s, 1, store.Row{Time: noon.Add(time.Duration(i/4) * 24 * time.Hour), Kind: kinds[i%4], Run: fmt.Sprint("run-", i/4)})
	}
	for _, c := range []struct {
		name string
		r    store.Range
		want []int64
	}{
		{"one run", store.Range{Run: "run-2"}, []int64{8, 9, 10, 11}},
		{"rare kinds", store.Range{Kinds: []string{"run", "run.end"}, After: 10}, []int64{11, 12, 15, 16, 19}},
		{"all kinds", store.Range{Kinds: kinds, After: 17}, []int64{17, 18, 19}},
		{"the newest of a kind", store.Range{Kinds: []string{"call"}, NewestFirst: true, Limit: 2}, []int64{17, 13}},
		{"from", store.Range{From: noon.Add(4 * 24 * time.Hour)}, []int64{16, 17, 18, 19}},
		{"before", store.Range{To: noon.Add(24 * time.Hour)}, []int64{0, 1, 2, 3}},
		{"a day", store.Range{From: noon.Add(time.Hour), To: noon.Add(25 * time.Hour), Kinds: []string{"call"}}, []int64{5}},
		{"nothing", store.Range{Run: "run-9"}, nil},
		{"the oldest", store.Range{Limit: 3}, []int64{0, 1, 2}},
	} {
		var got []int64
		err := s.Rows(t.Context(), c.r, func(r store.Row) error {
			got = append(got, r.Index)
			if want := noon.Add(time.Duration(r.Index/4) * 24 * time.Hour); !r.Time.Equal(want) || r.Kind != kinds[r.Index%4] || r.Time.Location() != time.UTC {
				t.Errorf("%s: row %d is %v %s, want %v %s", c.name, r.Index, r.Time, r.Kind, want, kinds[r.Index%4])
			}
			return nil
		})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: Rows() = %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	nested := 0
	var read func(store.Row) error // a callback may read, to any depth
	read = func(r store.Row) error {
		nested++
		if _, err := s.Hashes(t.Context(), []int64{0}); err != nil || nested == 12 {
			return err
		}
		return s.Rows(t.Context(), store.Range{Limit: 1}, read)
	}
	if err := s.Rows(t.Context(), store.Range{Limit: 1}, read); err != nil || nested != 12 {
		t.Errorf("Rows() within Rows() = %v at depth %d, want 12", err, nested)
	}
	mustAppend(t, s, 500, store.Row{Kind: "run", Time: noon})
	for _, newest := range []bool{false, true} { // more than are read at once
		var got []int64
		err := s.Rows(t.Context(), store.Range{Kinds: []string{"run"}, After: 20, Limit: 450, NewestFirst: newest}, func(r store.Row) error {
			got = append(got, r.Index)
			return nil
		})
		want := make([]int64, 450)
		for i := range want {
			if want[i] = int64(20 + i); newest {
				want[i] = int64(519 - i)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Rows() of many, newest first %t = %v, %v, want %v", newest, got, err, want)
		}
	}
	enough := errors.New("enough")
	if err := s.Rows(t.Context(), store.Range{}, func(store.Row) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("Rows() = %v, want the error of each", err)
	}
}

func testForget(t *testing.T, open func() store.Store) {
	s := open()
	unused, used := strings.Repeat("a", 64), strings.Repeat("b", 64)
	for _, digest := range []string{unused, used} {
		if err := s.SetCode(t.Context(), digest, []byte("code "+digest[:1])); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, s, 3, store.Row{Kind: "run"})
	err := s.Extend(t.Context(), func(size int64, hashes tlog.HashReader) (add store.Addition, err error) {
		add.Rows = []store.Row{{Index: size, Time: time.Now(), Kind: "run", Content: []byte(`{"code":"` + used + `"}`)}}
		add.Hashes, err = tlog.StoredHashes(size, add.Rows[0].Content, hashes)
		return add, err
	})
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Hashes(t.Context(), []int64{0, 1, 2, 3, 4, 5, 6})
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := s.Forget(t.Context(), 2); err != nil || removed != 2 {
		t.Errorf("Forget(2) = %d, %v, want 2", removed, err)
	}
	if removed, err := s.Forget(t.Context(), 3); err != nil || removed != 1 {
		t.Errorf("Forget(3) = %d, %v, want 1", removed, err)
	}
	err = s.Rows(t.Context(), store.Range{}, func(r store.Row) error {
		if (r.Content == nil) != (r.Index < 3) {
			t.Errorf("row %d has the content %q", r.Index, r.Content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if after, err := s.Hashes(t.Context(), []int64{0, 1, 2, 3, 4, 5, 6}); err != nil || !slices.Equal(after, before) {
		t.Errorf("Hashes() after Forget: %v, want those from before", err)
	}
	if _, err := s.Code(t.Context(), unused); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Code() that nothing refers to = %v, want ErrNotFound", err)
	}
	if code, err := s.Code(t.Context(), used); err != nil || string(code) != "code b" {
		t.Errorf("Code() = %q, %v, want %q", code, err, "code b")
	}
}

func testHeads(t *testing.T, open func() store.Store) {
	a, b := open(), open()
	want := []store.Head{{Size: 5, Time: time.UnixMicro(1).UTC(), Text: []byte("one\n")}, {Size: 3, Time: time.UnixMicro(2).UTC(), Text: []byte("two\n")}}
	for _, h := range want {
		if err := a.SetHead(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	var got []store.Head
	err := b.Heads(t.Context(), func(h store.Head) error {
		got = append(got, h)
		return nil
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Heads() = %v, %v, want %v", got, err, want)
	}
}

func testDocuments(t *testing.T, open func() store.Store) {
	a, b := open(), open()
	k := store.Key{Customer: "acme", Kind: "plan", Name: "p"}
	if _, err := a.Document(t.Context(), k); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Document() = %v, want ErrNotFound", err)
	}
	set := func(s store.Store, value string, version int64) (int64, error) {
		return s.SetDocument(t.Context(), &store.Document{Key: k, Value: []byte(value), Version: version})
	}
	if version, err := set(a, "1", 0); err != nil || version != 1 {
		t.Fatalf("SetDocument() = %d, %v, want version 1", version, err)
	}
	for _, version := range []int64{0, 2} {
		if _, err := set(b, "2", version); !errors.Is(err, store.ErrConflict) {
			t.Errorf("SetDocument() with version %d = %v, want ErrConflict", version, err)
		}
	}
	if version, err := set(b, "2", 1); err != nil || version != 2 {
		t.Fatalf("SetDocument() = %d, %v, want version 2", version, err)
	}
	var won sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := set([]store.Store{a, b}[i%2], fmt.Sprint("w", i), 2); err == nil {
				won.Store(i, true)
			} else if !errors.Is(err, store.ErrConflict) {
				t.Errorf("SetDocument() beside others = %v, want ErrConflict", err)
			}
		})
	}
	all.Wait()
	winners := 0
	won.Range(func(i, _ any) bool {
		winners++
		d, err := a.Document(t.Context(), k)
		if err != nil || string(d.Value) != fmt.Sprint("w", i) || d.Version != 3 || time.Since(d.Updated) > time.Hour {
			t.Errorf("Document() = %+v, %v, want the value of the winner", d, err)
		}
		return true
	})
	if winners != 1 {
		t.Errorf("%d of 8 wrote the same version, want 1", winners)
	}
	for _, other := range []store.Key{{Customer: "acme", Kind: "plan", Name: "P"}, {Customer: "", Kind: "plan", Name: "p"}, {Customer: "acme", Kind: "task", Name: "p"}} {
		if _, err := a.SetDocument(t.Context(), &store.Document{Key: other, Value: nil}); err != nil {
			t.Fatal(err)
		}
	}
	two := func(first, second int64) []store.Document {
		return []store.Document{{Key: store.Key{Kind: "pair", Name: "b"}, Value: []byte("b"), Version: first}, {Key: store.Key{Kind: "pair", Name: "a"}, Value: []byte("a"), Version: second}}
	}
	if err := errors.Join(a.SetDocuments(t.Context(), two(0, 0)), b.SetDocuments(t.Context(), two(1, 1)), a.SetDocuments(t.Context(), nil)); err != nil {
		t.Errorf("SetDocuments() = %v", err)
	}
	for _, wrong := range [][]store.Document{two(1, 2), two(2, 1), two(2, 0)} {
		if err := b.SetDocuments(t.Context(), wrong); !errors.Is(err, store.ErrConflict) {
			t.Errorf("SetDocuments() with a version that is not there = %v, want ErrConflict", err)
		}
	}
	if pair, err := a.ListDocuments(t.Context(), "", "pair"); err != nil || len(pair) != 2 || pair[0].Version != 2 || pair[1].Version != 2 || string(pair[0].Value) != "a" {
		t.Errorf("ListDocuments() after SetDocuments = %+v, %v, want both with version 2", pair, err)
	}
	list, err := b.ListDocuments(t.Context(), "acme", "plan")
	if err != nil || len(list) != 2 || list[0].Name != "P" || list[1].Name != "p" || list[1].Version != 3 {
		t.Errorf("ListDocuments() = %+v, %v, want P and p, by their bytes", list, err)
	}
	for range 2 {
		if err := a.DeleteDocument(t.Context(), k); err != nil {
			t.Errorf("DeleteDocument() = %v", err)
		}
	}
	if _, err := b.Document(t.Context(), k); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Document() after it was deleted = %v, want ErrNotFound", err)
	}
}

func testLogs(t *testing.T, open func() store.Store) {
	handles := []store.Store{open(), open()}
	k := store.Key{Customer: "acme", Kind: "session", Name: "s1"}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 10 {
				if _, err := handles[i%2].AppendLine(t.Context(), k, []byte("line")); err != nil {
					t.Errorf("AppendLine() beside others = %v", err)
				}
			}
		})
	}
	all.Wait()
	if n, err := handles[0].AppendLine(t.Context(), store.Key{Customer: "acme", Kind: "session", Name: "S2"}, []byte("x")); err != nil || n != 1 {
		t.Errorf("AppendLine() to a new log = %d, %v, want 1", n, err)
	}
	next := int64(70)
	err := handles[1].Lines(t.Context(), k, 70, func(l store.Line) error {
		if next++; l.Number != next || string(l.Value) != "line" || time.Since(l.Time) > time.Hour {
			t.Errorf("Lines() has %+v, want line %d", l, next)
		}
		return nil
	})
	if err != nil || next != 80 {
		t.Errorf("Lines() ended at %d, %v, want 80", next, err)
	}
	if names, err := handles[1].ListLogs(t.Context(), "acme", "session"); err != nil || !slices.Equal(names, []string{"S2", "s1"}) {
		t.Errorf("ListLogs() = %v, %v, want S2 and s1", names, err)
	}
	for _, customer := range []string{"", "Zoë", "acme"} {
		if _, err := handles[0].AppendLine(t.Context(), store.Key{Customer: customer, Kind: "other", Name: "o"}, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	customers, err := handles[1].LogCustomers(t.Context())
	slices.Sort(customers)
	if err != nil || !slices.Equal(customers, []string{"", "Zoë", "acme"}) {
		t.Errorf("LogCustomers() = %q, %v, want the project, Zoë and acme", customers, err)
	}
	if err := handles[0].DeleteLog(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if names, err := handles[1].ListLogs(t.Context(), "acme", "session"); err != nil || !slices.Equal(names, []string{"S2"}) {
		t.Errorf("ListLogs() after DeleteLog = %v, %v, want S2", names, err)
	}
}

// testNumberedLines lets several add the next line at once: one of them does, and the others are told.
func testNumberedLines(t *testing.T, open func() store.Store) {
	handles := []store.Store{open(), open()}
	k := store.Key{Customer: "acme", Kind: "vault"}
	for number := int64(1); number <= 20; number++ {
		var added atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				err := handles[i%2].AppendLineAt(t.Context(), k, number, fmt.Append(nil, number))
				switch {
				case err == nil:
					added.Add(1)
				case !errors.Is(err, store.ErrConflict):
					t.Errorf("AppendLineAt(%d) beside others = %v, want ErrConflict", number, err)
				}
			})
		}
		if all.Wait(); added.Load() != 1 {
			t.Fatalf("AppendLineAt(%d) added %d lines, want one", number, added.Load())
		}
	}
	lines := func(want ...int64) {
		t.Helper()
		var got []int64
		err := handles[1].Lines(t.Context(), k, 0, func(l store.Line) error {
			if got = append(got, l.Number); string(l.Value) != fmt.Sprint(l.Number) {
				t.Errorf("line %d has %s", l.Number, l.Value)
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Lines() has %d, %v, want %d", got, err, want)
		}
	}
	for _, number := range []int64{0, 20, 22} {
		if err := handles[0].AppendLineAt(t.Context(), k, number, nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("AppendLineAt(%d) after line 20 = %v, want ErrConflict", number, err)
		}
		if err := handles[0].ReplaceLines(t.Context(), k, number, nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("ReplaceLines(%d) after line 20 = %v, want ErrConflict", number, err)
		}
	}
	if err := handles[0].ReplaceLines(t.Context(), k, 21, []byte("21")); err != nil {
		t.Fatal(err)
	}
	lines(21)
	if err := handles[1].AppendLineAt(t.Context(), k, 22, []byte("22")); err != nil {
		t.Fatal(err)
	}
	lines(21, 22)
	if size, err := handles[0].LogSize(t.Context(), k); err != nil || size != 4 {
		t.Errorf("LogSize() = %d, %v, want 4", size, err)
	}
	if err := handles[0].DeleteLog(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if size, err := handles[0].LogSize(t.Context(), k); err != nil || size != 0 {
		t.Errorf("LogSize() of a deleted log = %d, %v, want 0", size, err)
	}
	if err := handles[1].AppendLineAt(t.Context(), k, 23, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("AppendLineAt(23) to a deleted log = %v, want ErrConflict", err)
	}
}

func testLeases(t *testing.T, open func() store.Store) {
	a, b := open(), open()
	lease := func(s store.Store, owner string, lasts time.Duration) bool {
		t.Helper()
		held, err := s.Lease(t.Context(), "executor/x", owner, lasts)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	if !lease(a, "a", time.Hour) || lease(b, "b", time.Hour) || !lease(a, "a", -time.Second) {
		t.Error("Lease(): want that a takes it, b does not, and a renews it")
	}
	if all, err := b.Leases(t.Context(), "executor/"); err != nil || len(all) != 1 || all[0] != (store.Lease{Name: "executor/x", Owner: "a", Expired: true}) {
		t.Errorf("Leases() = %+v, %v, want an expired one of a", all, err)
	}
	if !lease(b, "b", time.Hour) || lease(a, "a", time.Hour) {
		t.Error("Lease(): want that b takes over what has expired, and a does not get it back")
	}
	if err := a.Release(t.Context(), "executor/x", "a"); err != nil {
		t.Fatal(err)
	}
	if lease(a, "a", time.Hour) {
		t.Error("Release() by another owner gave up the lease, want nothing")
	}
	if err := b.Release(t.Context(), "executor/x", "b"); err != nil {
		t.Fatal(err)
	}
	if all, err := a.Leases(t.Context(), "other/"); err != nil || len(all) != 0 {
		t.Errorf("Leases() of another prefix = %+v, %v, want none", all, err)
	}
	if !lease(a, "a", time.Hour) {
		t.Error("Lease() of what was released: want that a takes it")
	}
}
