package searchtest

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"unicode"

	_ "modernc.org/sqlite" // the driver

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// Substring is the plainest search: the tools with the most words of the question in their names and descriptions, as
// parts of the text, whatever case; those of as many by their ids.
func Substring(c *catalog.Catalog) Find {
	type text struct{ id, text string }
	var texts []text
	for i := range c.Servers {
		for _, t := range c.Servers[i].Tools {
			texts = append(texts, text{t.ID, strings.ToLower(t.Name + "\n" + t.Description)})
		}
	}
	slices.SortFunc(texts, func(a, b text) int { return strings.Compare(a.id, b.id) })
	return func(_ context.Context, question string, limit int) ([]string, error) {
		type found struct {
			id    string
			words int
		}
		wanted := plainWords(question)
		var list []found
		for _, t := range texts {
			n := 0
			for _, w := range wanted {
				if strings.Contains(t.text, w) {
					n++
				}
			}
			if n > 0 {
				list = append(list, found{t.id, n})
			}
		}
		slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(b.words, a.words) })
		out := make([]string, 0, limit)
		for _, f := range list[:min(limit, len(list))] {
			out = append(out, f.id)
		}
		return out, nil
	}
}

// BM25 is SQLite's full-text search as it comes: names and descriptions, its own splitting into words, its own ranking,
// any word of the question. The caller closes it by the second result.
func BM25(c *catalog.Catalog) (Find, func() error, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	find, err := bm25(db, c)
	if err != nil {
		_ = db.Close()
		return nil, nil, err
	}
	return find, db.Close, nil
}

func bm25(db *sql.DB, c *catalog.Catalog) (Find, error) {
	if _, err := db.Exec(`CREATE VIRTUAL TABLE tools USING fts5(id UNINDEXED, name, description)`); err != nil {
		return nil, err
	}
	tx, err := db.Begin()
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	for i := range c.Servers {
		for _, t := range c.Servers[i].Tools {
			if _, err := tx.Exec(`INSERT INTO tools VALUES (?, ?, ?)`, t.ID, t.Name, t.Description); err != nil {
				return nil, err
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	search, err := db.Prepare(`SELECT id FROM tools WHERE tools MATCH ? ORDER BY rank, id LIMIT ?`)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, question string, limit int) (out []string, err error) {
		wanted := plainWords(question)
		for i, w := range wanted {
			wanted[i] = `"` + w + `"`
		}
		rows, err := search.QueryContext(ctx, strings.Join(wanted, " OR "), limit)
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return nil, err
			}
			out = append(out, id)
		}
		return out, rows.Err()
	}, nil
}

// plainWords are letters and digits between anything else, in lower case.
func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
