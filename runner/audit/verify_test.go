package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// createKey returns a key and its verifier.
func createKey(t testing.TB, name string) (*audit.Key, note.Verifier) {
	t.Helper()
	key, err := audit.CreateKey(filepath.Join(t.TempDir(), "key"), name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(key.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	return key, v
}

// written is a record of 20 rows, with heads over 6, 12 and 20, which were published.
type written struct {
	*memory
	key       *audit.Key
	verifier  note.Verifier
	published []byte
	headFile  string
}

func write(t testing.TB) *written {
	t.Helper()
	w := &written{memory: &memory{}, headFile: filepath.Join(t.TempDir(), "test.head")}
	w.key, w.verifier = createKey(t, "test")
	for part := range 3 {
		l := w.log(t)
		code, err := l.Code(t.Context(), fmt.Sprintf("console.log(%d)", part))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append(t.Context(), audit.Entry{Kind: audit.KindRun, Run: "run1", Body: audit.RunStart{Program: audit.Program{Code: audit.Text(code)}}}); err != nil {
			t.Fatal(err)
		}
		for n := range []int{2, 2, 3}[part] {
			intent, end := call(n)
			l.Later(intent)
			l.Later(end)
		}
		l.Later(audit.Entry{Kind: audit.KindRunEnd, Run: "run1", Body: audit.RunEnd{Output: "done"}})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.rows) != 20 || len(w.heads) != 3 {
		t.Fatalf("%d rows and %d heads, want 20 and 3", len(w.rows), len(w.heads))
	}
	return w
}

// log opens the record's log.
func (w *written) log(t testing.TB) *audit.Log {
	return open(t, w.memory, audit.Options{Key: w.key, HeadFile: w.headFile, Publish: func(_ context.Context, head []byte) error {
		w.published = append(append(w.published, head...), '\n')
		return nil
	}})
}

// options returns what the record is compared with.
func (w *written) options(t testing.TB) audit.VerifyOptions {
	t.Helper()
	kept, err := os.ReadFile(w.headFile)
	if err != nil {
		t.Fatal(err)
	}
	return audit.VerifyOptions{Keys: []note.Verifier{w.verifier}, Heads: w.published, Kept: kept}
}

// edit changes a row's content, and nothing else.
func (w *written) edit(i int) {
	w.rows[i].Content = bytes.Replace(w.rows[i].Content, []byte(`"user":null`), []byte(`"user":"eve"`), 1)
}

// rehash computes all hashes again.
func (w *written) rehash() {
	w.hashes = nil
	for i, r := range w.rows {
		added, err := tlog.StoredHashes(int64(i), r.Content, tlog.HashReaderFunc(w.read))
		if err != nil {
			panic(err)
		}
		w.hashes = append(w.hashes, added...)
	}
}

// number gives the rows consecutive indexes, also in their contents if asked.
func (w *written) number(contents bool) {
	for i := range w.rows {
		if contents {
			w.rows[i].Content = bytes.Replace(w.rows[i].Content, fmt.Appendf(nil, `"index":%d,`, w.rows[i].Index), fmt.Appendf(nil, `"index":%d,`, i), 1)
		}
		w.rows[i].Index = int64(i)
	}
}

func (w *written) swap(i, j int) {
	w.rows[i], w.rows[j] = w.rows[j], w.rows[i]
	w.rows[i].Index, w.rows[j].Index = int64(i), int64(j)
}

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name        string
		change      func(*written)
		damage      audit.Damage
		first, last int64
		explanation string
	}{
		{"nothing", func(*written) {}, "", 0, 0, ""},
		{"edited content", func(w *written) { w.edit(7) }, audit.Edited, 7, 7, "its content does not have the hash"},
		{"content that is no JSON", func(w *written) { w.rows[7].Content = []byte("{") }, audit.Edited, 7, 7, "its content does not have the hash"},
		{"edited content and hash", func(w *written) {
			w.edit(7)
			w.hashes[tlog.StoredHashIndex(0, 7)] = tlog.RecordHash(w.rows[7].Content)
		}, audit.Edited, 6, 7, "the hash over the rows 6 to 7"},
		{"hashes up to a larger subtree", func(w *written) {
			original := w.hashes[tlog.StoredHashIndex(3, 1)]
			w.edit(9)
			w.rehash()
			w.hashes[tlog.StoredHashIndex(3, 1)] = original
			w.heads, w.published = nil, nil
		}, audit.Edited, 8, 15, "the hash over the rows 8 to 15"},
		{"edited, all hashes again", func(w *written) { w.edit(7); w.rehash() }, audit.Forked, 6, 11, "was signed over 12 other rows"},
		{"edited, all hashes again, heads removed", func(w *written) { w.edit(7); w.rehash(); w.heads = nil }, audit.Forked, 6, 11, "published head 2"},
		{"edited in the first part", func(w *written) { w.edit(1); w.rehash() }, audit.Forked, 0, 5, "6 other rows"},
		{"only a leaf's hash", func(w *written) { w.hashes[tlog.StoredHashIndex(0, 3)] = tlog.Hash{} }, audit.Edited, 3, 3, ""},
		{"only an inner hash", func(w *written) { w.hashes[tlog.StoredHashIndex(2, 1)] = tlog.Hash{} }, audit.Edited, 6, 7, "over the rows 4 to 7"},
		{"removed", func(w *written) { w.rows = slices.Delete(w.rows, 5, 7) }, audit.Removed, 5, 6, "no row with this index"},
		{"removed and numbered", func(w *written) { w.rows = slices.Delete(w.rows, 5, 7); w.number(false) }, audit.Removed, 5, 6, "in its place is the row that was number 7"},
		{"removed, all hashes again", func(w *written) { w.rows = slices.Delete(w.rows, 5, 7); w.number(false); w.rehash() }, audit.Removed, 5, 6, "number 7"},
		{"removed, numbered in the contents", func(w *written) { w.rows = slices.Delete(w.rows, 5, 7); w.number(true) }, audit.Edited, 5, 5, "the hash"},
		{"removed without a trace in the store", func(w *written) { w.rows = slices.Delete(w.rows, 5, 7); w.number(true); w.rehash() }, audit.Forked, 0, 5, "other rows"},
		{"the first removed", func(w *written) { w.rows = w.rows[1:] }, audit.Removed, 0, 0, ""},
		{"swapped neighbours", func(w *written) { w.swap(8, 9) }, audit.Reordered, 8, 8, "it has the content of row 9, and row 9 has its own"},
		{"swapped", func(w *written) { w.swap(3, 15) }, audit.Reordered, 3, 3, "row 15"},
		{"swapped, all hashes again", func(w *written) { w.swap(3, 15); w.rehash() }, audit.Reordered, 3, 3, "row 15"},
		{"moved behind", func(w *written) {
			row := w.rows[3]
			w.rows = slices.Insert(slices.Delete(w.rows, 3, 4), 10, row)
			w.number(false)
		}, audit.Reordered, 3, 3, "row 10"},
		{"inserted", func(w *written) {
			row := w.rows[4]
			row.Content = bytes.Replace(row.Content, []byte("tickets"), []byte("payroll"), 1)
			w.rows = slices.Insert(w.rows, 4, row)
			w.number(false)
		}, audit.Inserted, 4, 4, "row 5 has the one that does"},
		{"inserted copy", func(w *written) { w.rows = slices.Insert(w.rows, 8, w.rows[2]); w.number(false) }, audit.Inserted, 8, 8, ""},
		{"the same index twice", func(w *written) { w.rows = slices.Insert(w.rows, 4, w.rows[4]) }, audit.Inserted, 4, 4, "several rows"},
		{"appended without hashes", func(w *written) { row := w.rows[19]; row.Index = 20; w.rows = append(w.rows, row) }, audit.Edited, 20, 20, "no hash"},
		{"copied over another", func(w *written) { w.rows[9].Content = w.rows[3].Content }, audit.Edited, 9, 9, "it has the content of row 3"},
		{"cut off", func(w *written) { w.rows = w.rows[:14]; w.heads = nil; w.published = nil }, audit.CutOff, 14, 14, "the tree has a hash"},
		{"cut off with hashes", func(w *written) { w.rows = w.rows[:14]; w.rehash() }, audit.CutOff, 14, 19, "covers 20 rows, and there are 14"},
		{"cut off with hashes and heads", func(w *written) { w.rows = w.rows[:14]; w.rehash(); w.heads = w.heads[:2] }, audit.CutOff, 14, 19, "published head 3 covers 20 rows"},
		{"everything removed", func(w *written) { w.rows, w.hashes, w.heads = nil, nil, nil }, audit.CutOff, 0, 19, "published head 3"},
		{"hashes removed", func(w *written) { w.hashes = w.hashes[:tlog.StoredHashIndex(0, 13)] }, audit.Edited, 13, 13, "the tree has no hash of it"},
		{"column time", func(w *written) { w.rows[6].Time = w.rows[6].Time.Add(-time.Hour) }, audit.Edited, 6, 6, "its column time"},
		{"column kind", func(w *written) { w.rows[6].Kind = "call.end" }, audit.Edited, 6, 6, `its column kind has "call.end", and its content "run"`},
		{"column run", func(w *written) { w.rows[6].Run = "run2" }, audit.Edited, 6, 6, "its column run"},
		{"code", func(w *written) { w.editCode("console.log(1)") }, audit.Edited, 6, 6, "its code does not have the SHA-256"},
		{"code removed", func(w *written) { w.editCode("") }, audit.Removed, 6, 6, "is missing"},
		{"code and a later row", func(w *written) { w.editCode(""); w.edit(9) }, audit.Removed, 6, 6, "is missing"},
		{"code and an earlier row", func(w *written) { w.editCode(""); w.edit(4) }, audit.Edited, 4, 4, "hash"},
		{"content removed", func(w *written) { w.rows[5].Content = nil }, audit.Removed, 5, 5, "no later row"},
		{"signature", func(w *written) { flip(w.heads[1].Text) }, audit.BadHead, -1, -1, "in the store is not valid"},
		{"signature and row", func(w *written) { flip(w.heads[1].Text); w.edit(15) }, audit.Edited, 15, 15, "hash"},
		{"size of a head", func(w *written) { w.heads[1].Size = 13 }, audit.BadHead, -1, -1, "covers 13 rows, and it covers 12"},
		{"published head of another key", func(w *written) { w.published = headOf("mcprun/test", 12) }, audit.BadHead, -1, -1, "published head 1 is not valid: it is signed by the key mcprun/test+"},
		{"published head of a fork", func(w *written) { w.fork(t, false) }, audit.Forked, 12, 19, "published head 4"},
		{"published head of a longer fork", func(w *written) { w.fork(t, true) }, audit.CutOff, 20, 20, "covers 21 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := write(t)
			c.change(w)
			v, err := audit.Verify(t.Context(), w.memory, audit.VerifyOptions{Keys: []note.Verifier{w.verifier}, Heads: w.published})
			if err != nil {
				t.Fatal(err)
			}
			if c.damage == "" {
				if v.Finding != nil || v.Rows != 20 || v.Signed != 20 || v.Published != 20 || v.Heads != 6 {
					t.Fatalf("Verify() = %+v, %+v, want 20 rows and 6 heads", v, v.Finding)
				}
				return
			}
			f := v.Finding
			if f == nil || f.Damage != c.damage || f.First != c.first || f.Last != c.last || !strings.Contains(f.Explanation, c.explanation) {
				t.Fatalf("Verify() found %+v, want %s %d to %d: %s", f, c.damage, c.first, c.last, c.explanation)
			}
			if i := slices.IndexFunc(w.rows, func(r store.Row) bool { return r.Index == c.first }); i >= 0 {
				if r := w.rows[i]; !f.Time.Equal(r.Time) || string(f.Kind) != r.Kind || f.Run != r.Run {
					t.Errorf("the finding is of a row %s %s %s, want %+v", f.Time, f.Kind, f.Run, r)
				}
			} else if f.Kind != "" {
				t.Errorf("the finding is of kind %s, and there is no such row", f.Kind)
			}
		})
	}
}

// editCode changes a code, or removes it.
func (w *written) editCode(code string) {
	row := struct{ Body struct{ Code string } }{}
	if err := json.Unmarshal(w.rows[6].Content, &row); err != nil {
		panic(err)
	}
	if code == "" {
		delete(w.codes, row.Body.Code)
	} else {
		w.codes[row.Body.Code] = []byte("console.log(666)")
	}
}

// flip changes a character of the signature.
func flip(head []byte) {
	head[len(head)-10] ^= 1
}

// headOf returns a head signed by a stranger who uses the name of a record.
func headOf(name string, size int64) []byte {
	secret, _, err := note.GenerateKey(zeros{}, name)
	if err != nil {
		panic(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		panic(err)
	}
	head, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", name, size, tlog.Hash{})}, signer)
	if err != nil {
		panic(err)
	}
	return head
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// fork publishes a head of a copy of the record that had other rows from row 15 on. The store keeps only the first.
func (w *written) fork(t *testing.T, longer bool) {
	other := &written{memory: &memory{rows: slices.Clone(w.rows), hashes: slices.Clone(w.hashes)}, key: w.key}
	if !longer {
		other.rows = other.rows[:19]
		other.rehash()
	}
	l := other.log(t)
	intent, _ := call(77)
	if err := errors.Join(l.Append(t.Context(), intent), l.Close()); err != nil {
		t.Fatal(err)
	}
	w.published = append(w.published, other.published...)
}

func TestVerifyForgotten(t *testing.T) {
	w := write(t)
	l := w.log(t)
	removed, err := l.Forget(t.Context(), w.rows[11].Time) // rows of a batch may have the same time
	if err != nil {
		t.Fatal(err)
	}
	intent, _ := call(9)
	if err := errors.Join(l.Append(t.Context(), intent), l.Close()); err != nil {
		t.Fatal(err)
	}
	opt := audit.VerifyOptions{Keys: []note.Verifier{w.verifier}, Heads: w.published}
	v, err := audit.Verify(t.Context(), w.memory, opt)
	if err != nil || v.Finding != nil || v.Rows != 22 || v.Forgotten != removed || removed < 6 || removed > 11 {
		t.Fatalf("Verify() = %+v, %v, want 22 rows of which %d are forgotten", v, err, removed)
	}
	row, err := audit.Decode(w.rows[0])
	if err != nil || !row.Forgotten || row.Kind != audit.KindRun || row.Body != nil {
		t.Errorf("Decode() = %+v, %v, want a forgotten row", row, err)
	}
	content := w.rows[14].Content
	w.rows[14].Content = nil
	if v, err = audit.Verify(t.Context(), w.memory, opt); err != nil || v.Finding == nil || v.Finding.Damage != audit.Removed || v.Finding.First != 14 {
		t.Errorf("Verify() = %+v, %v, want that the content of row 14 was removed", v.Finding, err)
	}
	l = w.log(t)
	if _, err := l.Forget(t.Context(), time.Now().Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "row 14 has no content, and no row of kind") || len(w.rows) != 22 {
		t.Errorf("Forget() = %v; %d rows, want that it does not cover what somebody else removed", err, len(w.rows))
	}
	w.rows[14].Content = content

	// A second time, nothing is left to forget, and no row says so.
	l = w.log(t)
	if removed, err := l.Forget(t.Context(), w.rows[11].Time); err != nil || removed != 0 || len(w.rows) != 22 {
		t.Errorf("Forget() = %d, %v; %d rows, want 22", removed, err, len(w.rows))
	}
	if removed, err := l.Forget(t.Context(), time.Now().Add(time.Hour)); err != nil || len(w.rows) != 23 || w.rows[22].Content == nil {
		t.Errorf("Forget() = %d, %v; %d rows, want 23, of which the last stays", removed, err, len(w.rows))
	}
	if v, err = audit.Verify(t.Context(), w.memory, opt); err != nil || v.Finding != nil || v.Forgotten != 22 {
		t.Errorf("Verify() = %+v, %v, want 22 forgotten rows", v, err)
	}
}

func TestVerifyMalformedHeads(t *testing.T) {
	w := write(t)
	for _, heads := range []string{"abc", string(w.published) + "mcprun/test\n21\n", "a\n\nb\n\nc"} {
		if _, err := audit.Verify(t.Context(), w.memory, audit.VerifyOptions{Heads: []byte(heads)}); err == nil || !strings.Contains(err.Error(), "has no signature after a blank line") {
			t.Errorf("Verify() with the heads %q = %v", heads, err)
		}
	}
	windows := strings.ReplaceAll(string(w.published), "\n", "\r\n")
	v, err := audit.Verify(t.Context(), w.memory, audit.VerifyOptions{Heads: []byte(windows), Keys: []note.Verifier{w.verifier}})
	if err != nil || v.Finding != nil || v.Published != 20 {
		t.Errorf("Verify() = %+v, %v, want that lines may end in CR LF", v, err)
	}
	for _, body := range []string{"mcprun/test\n", "mcprun/test\n01\n" + tlog.Hash{}.String() + "\n", "mcprun/test\n1\nxx\n", "mcprun/test\n-1\n" + tlog.Hash{}.String() + "\n"} {
		v, err := audit.Verify(t.Context(), w.memory, audit.VerifyOptions{Heads: []byte(body + "\n— mcprun/test x08go/ZJkuBS\n")})
		if err != nil || v.Finding == nil || v.Finding.Damage != audit.BadHead {
			t.Errorf("Verify() with the head %q = %+v, %v", body, v, err)
		}
	}
}
