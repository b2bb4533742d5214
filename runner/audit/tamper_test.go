package audit_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// tamperRows are the rows of the database that is edited: several pages of a verification.
const tamperRows = 1300

// place is where Verify must find an edit: at a row, or in a range from first to last that has it.
type place struct{ first, row, last int64 }

func at(row int64) place { return place{row, row, row} }

// from is a place of which more rows are missing.
func from(row int64) place { return place{row, row, tamperRows} }

// tampers are ways to edit the database at row i.
var tampers = map[string]func(e *editor, i int64) place{
	"content": func(e *editor, i int64) place {
		e.set("content", i, e.flip(e.content(i)))
		return at(i)
	},
	"hash": func(e *editor, i int64) place {
		hashes := e.blob("hashes", i)
		e.set("hashes", i, e.flip(hashes))
		return place{i + 1 - 1<<(e.flipped/tlog.HashSize), i, i} // the rows below the node
	},
	"content and leaf": func(e *editor, i int64) place {
		i = min(i, tamperRows/4*4-1) // its parent is in the tree
		content := e.editable(i)
		leaf := tlog.RecordHash(content)
		e.set("content", i, content)
		e.set("hashes", i, append(leaf[:], e.blob("hashes", i)[tlog.HashSize:]...))
		return place{i &^ 1, i, i | 1}
	},
	"content removed": func(e *editor, i int64) place { e.set("content", i, nil); return at(i) },
	"kind":            func(e *editor, i int64) place { e.set("kind", i, "approval"); return at(i) },
	"run":             func(e *editor, i int64) place { e.set("run", i, ""); return at(i) },
	"time": func(e *editor, i int64) place {
		e.exec("UPDATE record_rows SET at = at - 1 WHERE idx = ?", i)
		return at(i)
	},
	"time as text": func(e *editor, i int64) place {
		e.exec("UPDATE record_rows SET at = 'soon' WHERE idx BETWEEN ? AND ?", i, i+5)
		return at(i)
	},
	"time as text, and content": func(e *editor, i int64) place {
		j := e.other(i)
		e.exec("UPDATE record_rows SET at = 'soon' WHERE idx = ?", j)
		e.set("content", i, e.flip(e.content(i)))
		return at(min(i, j))
	},
	"table of heads": func(e *editor, _ int64) place { e.exec("DROP TABLE record_heads"); return at(-1) },
	"table of codes": func(e *editor, _ int64) place { e.exec("DROP TABLE record_codes"); return at(0) },
	"contents exchanged": func(e *editor, i int64) place {
		j := e.other(i)
		a, b := e.content(i), e.content(j)
		e.set("content", i, b)
		e.set("content", j, a)
		return at(min(i, j))
	},
	"rows exchanged": func(e *editor, i int64) place {
		j := e.other(i)
		e.exec("UPDATE record_rows SET idx = -1 WHERE idx = ?", i)
		e.exec("UPDATE record_rows SET idx = ? WHERE idx = ?", i, j)
		e.exec("UPDATE record_rows SET idx = ? WHERE idx = -1", j)
		return at(min(i, j))
	},
	"removed": func(e *editor, i int64) place {
		e.exec("DELETE FROM record_rows WHERE idx BETWEEN ? AND ?", i, i+e.rand.Int64N(5))
		return from(i)
	},
	"removed and numbered": func(e *editor, i int64) place {
		n := 1 + e.rand.Int64N(5)
		e.exec("DELETE FROM record_rows WHERE idx >= ? AND idx < ?", i, i+n)
		e.move(i, -n)
		return from(i)
	},
	"cut off": func(e *editor, i int64) place {
		e.exec("DELETE FROM record_rows WHERE idx >= ?", i)
		return from(i)
	},
	"cut off with heads": func(e *editor, i int64) place {
		e.exec("DELETE FROM record_rows WHERE idx >= ?", i)
		e.exec("DELETE FROM record_heads WHERE size > ?", i)
		return from(i)
	},
	"inserted": func(e *editor, i int64) place {
		e.move(i, 1)
		e.exec("INSERT INTO record_rows SELECT ?, at, kind, run, hashes, content FROM record_rows WHERE idx = ?", i, e.other(i))
		return at(i)
	},
	"appended": func(e *editor, i int64) place {
		e.exec("INSERT INTO record_rows SELECT ?, at, kind, run, hashes, content FROM record_rows WHERE idx = ?", tamperRows, i)
		return at(tamperRows)
	},
	"head": func(e *editor, i int64) place {
		var number int64
		var text []byte
		e.check(e.db.QueryRow("SELECT number, text FROM record_heads ORDER BY number LIMIT 1 OFFSET ?", i%3).Scan(&number, &text))
		e.exec("UPDATE record_heads SET text = ? WHERE number = ?", e.flip(text), number)
		return at(-1)
	},
	"code": func(e *editor, _ int64) place {
		e.exec("UPDATE record_codes SET code = ?", e.flip([]byte("console.log(1)")))
		return at(0)
	},
}

// editor edits a database with SQL.
type editor struct {
	db      *sql.DB
	rand    *rand.Rand
	check   func(error)
	flipped int
}

func (e *editor) exec(query string, args ...any) {
	_, err := e.db.Exec(query, args...)
	e.check(err)
}

func (e *editor) set(column string, i int64, value any) {
	e.exec("UPDATE record_rows SET "+column+" = ? WHERE idx = ?", value, i)
}

func (e *editor) blob(column string, i int64) (value []byte) {
	e.check(e.db.QueryRow("SELECT "+column+" FROM record_rows WHERE idx = ?", i).Scan(&value))
	return value
}

func (e *editor) content(i int64) []byte { return e.blob("content", i) }

// editable returns a content with an edit that its JSON survives.
func (e *editor) editable(i int64) []byte {
	return bytes.Replace(e.content(i), []byte(`"user":null`), []byte(`"user":"eve"`), 1)
}

// flip changes a bit.
func (e *editor) flip(text []byte) []byte {
	e.flipped = e.rand.IntN(len(text))
	text = bytes.Clone(text)
	text[e.flipped] ^= 1 << e.rand.IntN(7)
	return text
}

// other returns another row.
func (e *editor) other(i int64) int64 { return (i + 1 + e.rand.Int64N(tamperRows-1)) % tamperRows }

// move moves rows.
func (e *editor) move(from, by int64) {
	e.exec("UPDATE record_rows SET idx = -idx - 1 WHERE idx >= ?", from)
	e.exec("UPDATE record_rows SET idx = -idx - 1 + ? WHERE idx < 0", by)
}

// TestTampering edits the database at random, and wants that Verify finds the place.
func TestTampering(t *testing.T) {
	base, verifier, heads := tamperBase(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 31))
	for name, edit := range tampers {
		t.Run(name, func(t *testing.T) {
			for range 12 {
				path := filepath.Join(t.TempDir(), "state.db")
				if err := os.WriteFile(path, base, 0o600); err != nil {
					t.Fatal(err)
				}
				i := r.Int64N(tamperRows)
				want := edited(t, path, r, i, edit)
				v, err := verifyFile(t, path, audit.VerifyOptions{Keys: []note.Verifier{verifier}, Heads: heads})
				if err != nil {
					t.Fatal(err)
				}
				if v.Finding == nil {
					t.Fatalf("seed %d: an edit at row %d is not found", seed, i)
				}
				if f := v.Finding; f.First < want.first || f.First > want.row || f.Last < want.row || f.Last > want.last {
					t.Errorf("seed %d: an edit at row %d is found at %d to %d, want %+v: %s", seed, i, f.First, f.Last, want, f)
				}
			}
		})
	}
}

// edited edits a database.
func edited(t *testing.T, path string, r *rand.Rand, i int64, edit func(*editor, int64) place) (found place) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	e := &editor{db: db, rand: r, check: func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}}
	found = edit(e, i)
	e.check(db.Close())
	return found
}

func verifyFile(t *testing.T, path string, opt audit.VerifyOptions) (*audit.Verification, error) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := audit.Verify(t.Context(), s, opt)
	return v, errors.Join(err, s.Close())
}

// tamperBase returns a database, and what verifies it.
func tamperBase(t *testing.T) (file []byte, verifier note.Verifier, heads []byte) {
	t.Helper()
	key, verifier := createKey(t, "test")
	path := filepath.Join(t.TempDir(), "state.db")
	for part := range 3 {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l := open(t, s, audit.Options{Key: key, Publish: func(_ context.Context, head []byte) error {
			heads = fmt.Appendf(heads, "%s\n", head)
			return nil
		}})
		code, err := l.Code(t.Context(), "console.log(1)")
		if err != nil {
			t.Fatal(err)
		}
		l.Later(audit.Entry{Kind: audit.KindRun, Run: "run1", Body: audit.RunStart{Program: audit.Program{Code: audit.Text(code)}}})
		for n := range []int64{300, 700, 297}[part] {
			_, end := call(int(n))
			l.Later(end)
		}
		if err := errors.Join(l.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	v, err := verifyFile(t, path, audit.VerifyOptions{Keys: []note.Verifier{verifier}, Heads: heads})
	if err != nil || v.Finding != nil || v.Rows != tamperRows || v.Published != tamperRows {
		t.Fatalf("Verify() = %+v, %v, want %d intact rows", v, err, tamperRows)
	}
	file, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file, verifier, heads
}
