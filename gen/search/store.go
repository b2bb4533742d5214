package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// store is the full-text index: which tools have which terms. It holds numbers of terms in place of their texts, so that
// nothing that a server or a query says is ever in a statement.
type store struct {
	db     *sql.DB
	search *sql.Stmt
}

func newStore(docs []doc, v *vocabulary) (_ *store, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would be a memory of its own
	s := &store{db: db}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	// Two tables: what the name, the title and the group say is short, and common words are searched for in it alone.
	for _, table := range []string{"names", "texts"} {
		if _, err := db.Exec(`CREATE VIRTUAL TABLE ` + table + ` USING fts5(terms, content='', tokenize="ascii", detail=none)`); err != nil {
			return nil, err
		}
	}
	if err := s.fill(docs, v); err != nil {
		return nil, err
	}
	s.search, err = db.Prepare(`SELECT rowid FROM names WHERE names MATCH ?1 UNION ALL SELECT rowid FROM texts WHERE texts MATCH ?2 LIMIT ?3`)
	return s, err
}

func (s *store) fill(docs []doc, v *vocabulary) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for table, lists := range map[string][][]int32{"names": v.heads, "texts": v.bodies} {
		insert, err := tx.Prepare(`INSERT INTO ` + table + `(rowid, terms) VALUES (?, ?)`)
		if err != nil {
			return err
		}
		for i, list := range lists {
			if _, err = insert.Exec(i, line(docs[i].serverIndex, list)); err != nil {
				break
			}
		}
		if err = errors.Join(err, insert.Close()); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// line is what the index has of a tool.
func line(server int32, terms []int32) string {
	var out strings.Builder
	out.WriteString(serverToken(server))
	for _, t := range terms {
		out.WriteByte(' ')
		out.WriteString(termToken(t))
	}
	return out.String()
}

// The tokens of the index.
func termToken(id int32) string   { return "t" + strconv.FormatInt(int64(id), 36) }
func serverToken(id int32) string { return "s" + strconv.FormatInt(int64(id), 36) }

// lookup is what to look for in the index.
type lookup struct {
	// names are terms to be found in names, titles and groups, texts such as may be anywhere.
	names, texts []int32
	// servers are those whose tools are looked for; empty: all.
	servers []int32
}

// candidates are tools that have any of the terms, at most limit of them, those by name first; in the order of the catalog.
func (s *store) candidates(ctx context.Context, l lookup, limit int) ([]int32, error) {
	// An interrupted query could cost the connection, and with it the index; one takes milliseconds.
	rows, err := s.search.QueryContext(context.WithoutCancel(ctx), match(l.names, l.servers), match(l.texts, l.servers), limit)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []int32
	for rows.Next() {
		var id int32
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		out = append(out, id)
	}
	slices.Sort(out)
	return slices.Compact(out), rows.Err()
}

// match is an FTS5 expression: any of the terms, and any of the servers if there are some.
func match(terms, servers []int32) string {
	if len(terms) == 0 {
		return "none" // no token is called so
	}
	out := anyOf(terms, termToken)
	if len(servers) > 0 {
		out += " AND " + anyOf(servers, serverToken)
	}
	return out
}

func anyOf(ids []int32, token func(int32) string) string {
	var out strings.Builder
	for i, id := range ids {
		out.WriteString([]string{"(", " OR "}[min(i, 1)])
		out.WriteString(token(id))
	}
	return out.String() + ")"
}

// Close frees the memory.
func (s *store) Close() error { return s.db.Close() }
