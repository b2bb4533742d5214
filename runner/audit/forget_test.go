package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// forge adds a row of kind forget as somebody does who can only write the database.
func (w *written) forge(t *testing.T, body audit.Forget) {
	t.Helper()
	l := open(t, w.memory, audit.Options{})
	if err := errors.Join(l.Append(t.Context(), audit.Entry{Kind: audit.KindForget, Body: body}), l.Close()); err != nil {
		t.Fatal(err)
	}
}

// root returns the hash of the tree of the first n rows.
func (w *written) root(t *testing.T, n int64) tlog.Hash {
	t.Helper()
	hash, err := tlog.TreeHash(n, tlog.HashReaderFunc(w.read))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// statement returns what the holder of a key signs about removed contents.
func statement(t *testing.T, signer note.Signer, before int64, root tlog.Hash) string {
	t.Helper()
	text, err := note.Sign(&note.Note{Text: fmt.Sprintf("contents removed\n%s\n%d\n%s\n", signer.Name(), before, root)}, signer)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stranger returns the key of somebody else, with the name of the test's record.
func stranger(t *testing.T) note.Signer {
	t.Helper()
	secret, _, err := note.GenerateKey(zeros{}, "mcprun/test")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// lastForget returns what the last row says that retention removed.
func (w *written) lastForget(t *testing.T) (body audit.Forget) {
	t.Helper()
	row, err := audit.Decode(w.rows[len(w.rows)-1])
	if err == nil {
		err = json.Unmarshal(row.Body, &body)
	}
	if err != nil || row.Kind != audit.KindForget {
		t.Fatalf("the last row is %+v, %v, want one of kind forget", row, err)
	}
	return body
}

// TestForgedForget erases contents with a row of kind forget that the operator's key has not signed for these rows. Somebody who can write
// the database needs no key for the hashes, and mcprun signs the head over the row later.
func TestForgedForget(t *testing.T) {
	for name, c := range map[string]struct {
		body func(*written) audit.Forget
		want string
	}{
		"not signed": {func(*written) audit.Forget { return audit.Forget{Before: 12} }, "nobody has signed it"},
		"signed by another key": {func(w *written) audit.Forget {
			return audit.Forget{Before: 12, Signed: statement(t, stranger(t), 12, w.root(t, 12))}
		}, "it is signed by the key mcprun/test+"},
		"a head in its place": {func(w *written) audit.Forget { return audit.Forget{Before: 12, Signed: string(w.heads[1].Text)} }, "it is not a checkpoint"},
		"of another record of the same key": {func(w *written) audit.Forget {
			other := write(t)
			other.key = w.key
			l := other.log(t)
			if _, err := l.Forget(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			return other.lastForget(t)
		}, "it was signed for 20 other rows"},
		"for fewer rows": {func(w *written) audit.Forget {
			l := w.log(t)
			for before := w.rows[3].Time.Add(time.Microsecond); len(w.rows) == 20; before = before.Add(time.Microsecond) {
				if _, err := l.Forget(t.Context(), before); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			body := w.lastForget(t)
			body.Before += 2
			return body
		}, "and was signed for"},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t)
			body := c.body(w)
			w.forge(t, body)
			forged := int64(len(w.rows) - 1)
			opt := audit.VerifyOptions{Keys: []note.Verifier{w.verifier}, Heads: w.published}
			v, err := audit.Verify(t.Context(), w.memory, opt)
			if err != nil || v.Finding == nil || v.Finding.Damage != audit.Inserted || v.Finding.First != forged || !strings.Contains(v.Finding.Explanation, c.want) {
				t.Fatalf("Verify() = %+v, %v, want that row %d was inserted: %s", v, err, forged, c.want)
			}
			if l := w.log(t); name != "for fewer rows" {
				if _, err := l.Forget(t.Context(), time.Time{}); err != nil || w.rows[0].Content == nil {
					t.Errorf("Forget() removes what a forged row covers, %v", err)
				}
			}
			first := slices.IndexFunc(w.rows, func(r store.Row) bool { return r.Content != nil })
			if _, err := w.Forget(t.Context(), body.Before); err != nil {
				t.Fatal(err)
			}
			intent, _ := call(5)
			l := w.log(t)
			if err := errors.Join(l.Append(t.Context(), intent), l.Close()); err != nil { // it signs the forged row
				t.Fatal(err)
			}
			opt.Heads = w.published
			v, err = audit.Verify(t.Context(), w.memory, opt)
			if err != nil || v.Finding == nil || v.Finding.Damage != audit.Removed || v.Finding.First != int64(first) || !strings.Contains(v.Finding.Explanation, c.want) || !strings.Contains(v.Finding.Explanation, fmt.Sprintf("row %d", forged)) {
				t.Errorf("Verify() = %+v, %v, want that the content of row %d was removed, and row %d: %s", v, err, first, forged, c.want)
			}
		})
	}
}

// TestForgetBelievesContents changes what Forget looks at in the database.
func TestForgetBelievesContents(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*written)
		want   string // in the error; "": it removes nothing
	}{
		"times in the columns": {func(w *written) {
			for i := range w.rows {
				w.rows[i].Time = time.Unix(0, 0)
			}
		}, ""},
		"times in the contents": {func(w *written) { w.age() }, "do not have the hashes of the tree"},
		"times and hashes":      {func(w *written) { w.age(); w.rehash(); w.heads = nil }, "covers 20 rows, and the database has other rows"},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t)
			before := w.rows[19].Time.Add(-24 * time.Hour)
			c.change(w)
			l := w.log(t)
			removed, err := l.Forget(t.Context(), before)
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, audit.ErrChanged) || !strings.Contains(err.Error(), c.want)) || removed != 0 || len(w.rows) != 20 {
				t.Errorf("Forget() = %d, %v; %d rows, want no more than 20, and an error with %q", removed, err, len(w.rows), c.want)
			}
		})
	}
}

// age makes all contents a century older.
func (w *written) age() {
	for i := range w.rows {
		w.rows[i].Content = bytes.Replace(w.rows[i].Content, []byte(`"time":"20`), []byte(`"time":"19`), 1)
	}
}

// TestForgetAtOnce removes contents in several processes at the same time.
func TestForgetAtOnce(t *testing.T) {
	s := openSQLite(t)
	key, verifier := createKey(t, "test")
	logs := make([]*audit.Log, 6)
	for i := range logs {
		logs[i] = open(t, s, audit.Options{Key: key, HeadFile: filepath.Join(filepath.Dir(s.Place()), "test.head")})
	}
	const days = 20
	begin := time.Now().Truncate(time.Second).Add(-days * 24 * time.Hour)
	for n := range 10 * days {
		_, end := call(n)
		end.Time = begin.Add(time.Duration(n) * 24 * time.Hour / 10)
		logs[0].Later(end)
	}
	if err := logs[0].Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, l := range logs {
		all.Go(func() {
			for day := range days / 2 {
				if _, err := l.Forget(t.Context(), begin.Add(time.Duration(day)*24*time.Hour)); err != nil {
					t.Error(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	v, err := audit.Verify(t.Context(), s, audit.VerifyOptions{Keys: []note.Verifier{verifier}})
	if err != nil || v.Finding != nil || v.Forgotten != 10*(days/2-1) {
		t.Errorf("Verify() = %+v, %v, want an intact record without %d contents", v, err, 10*(days/2-1))
	}
}
