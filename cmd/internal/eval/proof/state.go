package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver of the servers' databases
)

// state is all data of the demo servers: each file, each folder (its key ends in a slash), and the contents of their databases:
// tables and the like by name, and rows by their table and key. A row has its columns, a file its content, and a document or
// sheet of the drive the properties in the JSON file beside it. Columns without a value and empty lists are left out.
type state map[string]map[string]string

// made lists the properties that servers set themselves on each new item. No caller can set them.
var made = map[string][]string{
	"crm":   {"Id", "CreatedDate", "LastModifiedDate"},
	"drive": {"id", "owner", "created_at", "updated_at", "words", "rows"},
}

// stateOf reads the data in a folder.
func stateOf(ctx context.Context, data string) (state, error) {
	s := state{}
	err := filepath.WalkDir(data, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(data, file)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(rel)
		if entry.IsDir() {
			s[key+"/"] = map[string]string{}
			return nil
		}
		switch filepath.Ext(file) {
		case ".sqlite":
			return s.database(ctx, path.Dir(key), file)
		case ".sqlite-wal", ".sqlite-shm":
			return nil // parts of a database
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s[key] = map[string]string{"content": string(text)}
		if strings.HasPrefix(key, "drive/") && path.Ext(key) == ".json" {
			s[key], err = properties(text)
		}
		return err
	})
	return s, err
}

// properties returns the members of a JSON object as compact JSON.
func properties(text []byte) (map[string]string, error) {
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, value := range members {
		compact, err := encode(value)
		if err != nil {
			return nil, err
		}
		if text := string(compact); text != "null" && text != "[]" {
			out[name] = text
		}
	}
	return out, nil
}

// database adds the contents of a database, below prefix. Rows of tables without a primary key are numbered.
func (s state) database(ctx context.Context, prefix, file string) (err error) {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	schema, err := query(ctx, db, "SELECT m.type, m.name, m.tbl_name, m.sql, (SELECT group_concat(name) FROM pragma_table_info(m.name) WHERE pk > 0) AS keys FROM sqlite_master m")
	if err != nil {
		return err
	}
	for _, t := range schema {
		s[prefix+"/sqlite_master/"+t["name"]] = t
		if t["type"] != "table" {
			continue
		}
		rows, err := query(ctx, db, fmt.Sprintf("SELECT * FROM %q", t["name"]))
		if err != nil {
			return err
		}
		for i, row := range rows {
			key := prefix + "/" + t["name"]
			if t["keys"] == "" {
				key += fmt.Sprintf("/row %d", i+1)
			} else {
				for column := range strings.SplitSeq(t["keys"], ",") {
					key += "/" + row[column]
				}
			}
			s[key] = row
		}
	}
	return nil
}

// query returns rows as text, without the columns that are NULL.
func query(ctx context.Context, db *sql.DB, statement string) ([]map[string]string, error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []map[string]string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return nil, err
		}
		row := map[string]string{}
		for i, column := range columns {
			if value := *values[i].(*any); value != nil {
				row[column] = fmt.Sprint(value)
			}
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// differences lists what is different in now: "KEY PROPERTY" for changes, "- KEY" for missing items, and "+ KEY PROPERTY" for
// each property of a new item that its server does not set itself, or "+ KEY" for an item without any.
func (s state) differences(now state) []string {
	var out []string
	for key, item := range now {
		before, known := s[key]
		if !known {
			out = append(out, added(key, item)...)
			continue
		}
		for name, value := range item {
			if old, ok := before[name]; !ok || old != value {
				out = append(out, key+" "+name)
			}
		}
		for name := range before {
			if _, ok := item[name]; !ok {
				out = append(out, key+" "+name)
			}
		}
	}
	for key := range s {
		if now[key] == nil {
			out = append(out, "- "+key)
		}
	}
	slices.Sort(out)
	return out
}

// added lists a new item.
func added(key string, item map[string]string) []string {
	server, _, _ := strings.Cut(key, "/")
	var out []string
	for name := range item {
		if !slices.Contains(made[server], name) {
			out = append(out, "+ "+key+" "+name)
		}
	}
	if len(out) == 0 {
		out = append(out, "+ "+key)
	}
	return out
}

// delta holds the differences that a task makes to the data, as patterns of [path.Match], each with the number of differences
// that it stands for. The values are left to the task's check.
type delta map[string]int

// newItems is a delta of n new items with these properties.
func newItems(n int, key string, properties ...string) delta {
	d := delta{}
	for _, name := range properties {
		d["+ "+key+" "+name] = n
	}
	return d
}

// newFile is a delta of a new file of the filesystem server.
func newFile(name string) delta { return newItems(1, "filesystem/"+name, "content") }

// newDocument is a delta of a new document in the drive.
func newDocument(id string) delta {
	return delta{"+ drive/documents/" + id + ".md content": 1, "+ drive/documents/" + id + ".json title": 1}
}

// newSheet is a delta of a new sheet in the drive.
func newSheet(id string) delta {
	return delta{"+ drive/sheets/" + id + ".csv content": 1, "+ drive/sheets/" + id + ".json title": 1, "+ drive/sheets/" + id + ".json columns": 1}
}

// check returns an error if the differences are not exactly these.
func (c delta) check(differences []string) error {
	left := maps.Clone(c)
	for _, d := range differences {
		i := slices.IndexFunc(slices.Sorted(maps.Keys(left)), func(pattern string) bool {
			ok, err := path.Match(pattern, d)
			return ok && err == nil && left[pattern] > 0
		})
		if i < 0 {
			return fmt.Errorf("nobody asked for this change: %s", d)
		}
		left[slices.Sorted(maps.Keys(left))[i]]--
	}
	for _, pattern := range slices.Sorted(maps.Keys(left)) {
		if left[pattern] > 0 {
			return fmt.Errorf("%d changes are missing: %s", left[pattern], pattern)
		}
	}
	return nil
}
