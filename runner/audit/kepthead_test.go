package audit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// TestKeptHead changes the record as somebody can who can write the database, and not the folder with the key: all hashes are computed
// again, and the heads in the store are removed.
func TestKeptHead(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*written)
		damage      audit.Damage
		first, last int64
		want        string // in the warning
	}{
		"edited":  {func(w *written) { w.edit(1) }, audit.Forked, 0, 19, "covers 20 rows, and the database has other rows"},
		"removed": {func(w *written) { w.rows = slices.Delete(w.rows, 5, 7); w.number(true) }, audit.CutOff, 18, 19, "covers 20 rows, and the database does not have all of them"},
		"removed, and as many added": {func(w *written) {
			w.rows = slices.Delete(w.rows, 5, 7)
			w.rows = append(w.rows, w.rows[3:5]...)
			w.number(true)
		}, audit.Forked, 0, 19, "other rows"},
		"cut off":            {func(w *written) { w.rows = w.rows[:12] }, audit.CutOff, 12, 19, "does not have all of them"},
		"everything removed": {func(w *written) { w.rows = nil }, audit.CutOff, 0, 19, "does not have all of them"},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t)
			c.change(w)
			w.rehash()
			w.heads, w.published = nil, nil
			opt := w.options(t)
			wants := func() {
				t.Helper()
				v, err := audit.Verify(t.Context(), w.memory, opt)
				if err != nil || v.Finding == nil || v.Finding.Damage != c.damage || v.Finding.First != c.first || v.Finding.Last != c.last || !strings.Contains(v.Finding.Explanation, "beside the key") {
					t.Errorf("Verify() = %+v, %+v, %v, want %s %d to %d", v, v.Finding, err, c.damage, c.first, c.last)
				}
			}
			wants()
			synctest.Test(t, func(t *testing.T) {
				var warned []error
				l := open(t, w.memory, audit.Options{Key: w.key, HeadFile: w.headFile, Warn: func(err error) { warned = append(warned, err) }})
				for n := range 3 {
					intent, _ := call(n)
					if err := l.Append(t.Context(), intent); err != nil {
						t.Fatal(err)
					}
					time.Sleep(2 * time.Second)
					synctest.Wait()
				}
				if err := l.Close(); err != nil {
					t.Errorf("Close() = %v, want nothing, as it was said", err)
				}
				if len(warned) != 1 || !errors.Is(warned[0], audit.ErrChanged) || !strings.Contains(warned[0].Error(), c.want) || !strings.Contains(warned[0].Error(), w.headFile) {
					t.Errorf("warnings %v, want one with %q", warned, c.want)
				}
			})
			if now := w.options(t); len(w.heads) != 0 || !bytes.Equal(now.Kept, opt.Kept) {
				t.Errorf("%d heads were signed over the changed record, and %s is kept", len(w.heads), now.Kept)
			}
			if c.first == 0 && c.damage == audit.Forked {
				wants()
			}
			if err := os.Remove(w.headFile); err != nil { // as after a backup was restored
				t.Fatal(err)
			}
			intent, _ := call(9)
			l := w.log(t)
			if err := errors.Join(l.Append(t.Context(), intent), l.Close()); err != nil || len(w.heads) != 1 {
				t.Errorf("%v, %d heads in the store, want one", err, len(w.heads))
			}
			if v, err := audit.Verify(t.Context(), w.memory, w.options(t)); err != nil || v.Finding != nil || v.Kept != int64(len(w.rows)) {
				t.Errorf("Verify() = %+v, %v, want that the new head is kept", v, err)
			}
		})
	}
}

func TestCloseSaysThatRecordWasChanged(t *testing.T) {
	w := write(t)
	w.edit(1)
	w.rehash()
	intent, _ := call(1)
	for range 2 { // each process says it
		l := w.log(t)
		if err := l.Append(t.Context(), intent); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); !errors.Is(err, audit.ErrChanged) {
			t.Errorf("Close() = %v, want ErrChanged", err)
		}
	}
}

// TestProcessesShareKeptHead adds rows in several processes of two machines, each of which has a file.
func TestProcessesShareKeptHead(t *testing.T) {
	key, verifier := createKey(t, "test")
	m := &memory{}
	dir := t.TempDir()
	var all sync.WaitGroup
	for process := range 8 {
		all.Go(func() {
			for n := range 5 {
				l := open(t, m, audit.Options{Key: key, HeadFile: filepath.Join(dir, string(rune('a'+process%2)))})
				for range 1 + (process+n)%4 {
					intent, _ := call(n)
					if err := l.Append(t.Context(), intent); err != nil {
						t.Error(err)
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var newest int64
	for _, machine := range []string{"a", "b"} {
		kept, err := os.ReadFile(filepath.Join(dir, machine))
		if err != nil {
			t.Fatal(err)
		}
		v, err := audit.Verify(t.Context(), m, audit.VerifyOptions{Keys: []note.Verifier{verifier}, Kept: kept})
		if err != nil || v.Finding != nil || v.Kept == 0 {
			t.Fatalf("Verify() = %+v, %v, want an intact record", v, err)
		}
		newest = max(newest, v.Kept)
	}
	if newest != int64(len(m.rows)) {
		t.Errorf("the newest head that is kept covers %d rows of %d", newest, len(m.rows))
	}
}

func TestDamagedHeadFile(t *testing.T) {
	w := write(t)
	if err := os.WriteFile(w.headFile, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	intent, _ := call(1)
	l := w.log(t)
	if err := errors.Join(l.Append(t.Context(), intent), l.Close()); err == nil || !strings.Contains(err.Error(), w.headFile+" is damaged") || len(w.heads) != 3 {
		t.Errorf("Close() = %v, and %d heads, want that the file is damaged", err, len(w.heads))
	}
	if v, err := audit.Verify(t.Context(), w.memory, w.options(t)); err != nil || v.Finding == nil || !strings.Contains(v.Finding.String(), "the head that is kept beside the key is not valid") {
		t.Errorf("Verify() = %+v, %v", v, err)
	}
}

// TestHeadsOfAnotherRecord publishes heads of two records, as one run with another state does.
func TestHeadsOfAnotherRecord(t *testing.T) {
	w := write(t)
	other := &written{memory: &memory{}, headFile: filepath.Join(t.TempDir(), "other.head")}
	other.key, _ = createKey(t, "other")
	intent, _ := call(1)
	l := other.log(t)
	if err := errors.Join(l.Append(t.Context(), intent), l.Close()); err != nil {
		t.Fatal(err)
	}
	w.published = slices.Concat(other.published, w.published)
	v, err := audit.Verify(t.Context(), w.memory, w.options(t))
	if err != nil || v.Finding != nil || v.Published != 20 || v.Heads != 7 || len(v.Others) != 1 || v.Others["mcprun/other"] != 1 {
		t.Errorf("Verify() = %+v, %+v, %v, want an intact record and a head of another", v, v.Finding, err)
	}
	opt := w.options(t)
	opt.Keys = nil
	if _, err := audit.Verify(t.Context(), w.memory, opt); err == nil || !strings.Contains(err.Error(), "are of 2 records") {
		t.Errorf("Verify() = %v without a key, want that the heads are of 2 records", err)
	}
	w.memory.heads = append(w.memory.heads, store.Head{Size: 1, Text: other.heads[0].Text})
	if v, err := audit.Verify(t.Context(), w.memory, w.options(t)); err != nil || v.Finding == nil || v.Finding.Damage != audit.BadHead {
		t.Errorf("Verify() = %+v, %v, want that a head of another record in the store is found", v, err)
	}
}
