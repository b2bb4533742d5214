package pii

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/internal/rawjson"
)

// rows is what an object or a list of JSON knows of a table whose rows are lists: [["name", "email"], ["Jane", …]], or
// {"columns": ["name", "email"], "rows": [["Jane", …]]}.
type rows struct {
	member  string // of an object: the name of the last one, as JSON writes it
	columns []hint // of the items of lists in it

	isList   bool
	item     int      // the place in a list
	cells    []hint   // of its items
	isHeader bool     // its items may be the names of columns
	names    []string // its items, if they may be
}

// list returns what a list in it knows.
func (r *rows) list() rows {
	if r.isList {
		return rows{isList: true, cells: r.columns, isHeader: r.item == 0 && r.columns == nil}
	}
	switch strings.ToLower(r.member) {
	case "columns", "column_names", "columnnames", "headers", "header", "fields":
		return rows{isList: true, isHeader: true}
	}
	return rows{isList: true, columns: r.columns}
}

// add takes a string of a list.
func (r *rows) add(raw string) {
	if r.isHeader && r.item == len(r.names) && r.item < detect.MaxColumns {
		r.names = append(r.names, rawjson.Unescape(raw, nil))
	}
}

// end takes a list that has ended.
func (r *rows) end(list *rows, f *fields) {
	if list.isHeader && len(list.names) == list.item+1 {
		if columns := f.columns(list.names); columns != nil {
			r.columns = columns
		}
	}
}

// hint returns the hint of the next item, or that of the member if the columns say nothing.
func (r *rows) hint(h hint) hint {
	if r.isList && r.item < len(r.cells) && !h.set {
		return r.cells[r.item]
	}
	return h
}

// columns returns the hints of the columns with these names, or nil without any.
func (f *fields) columns(names []string) []hint {
	types := detect.Columns(names)
	hints, found := make([]hint, len(names)), types != nil
	for i, name := range names {
		if types != nil {
			hints[i].typ = types[i]
		}
		if set, ok := f.settings[detect.PlainName(name)]; ok {
			hints[i], found = set, true
		}
	}
	if !found {
		return nil
	}
	return hints
}
