package report

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// CSV writes the report as one table with a value in each line: the part of the report, the row, the column, and the value. Times are in
// milliseconds.
func (r *Report) CSV(w io.Writer) error {
	out := newCSV(w)
	out.line("part", "row", "column", "value")
	out.line("report", "", "from", timeOrEmpty(r.From))
	out.line("report", "", "to", timeOrEmpty(r.To))
	out.line("report", "", "made", raw(r.Made))
	out.line("report", "", "record", r.Record)
	for _, f := range r.Figures() {
		out.line("totals", "", f.Name, raw(f.Value))
	}
	for _, t := range r.Tables() {
		for _, row := range t.Rows {
			for i, cell := range row[1:] {
				out.line(t.Title, raw(row[0]), t.Head[i+1], raw(cell))
			}
		}
	}
	return out.end()
}

func timeOrEmpty(t *time.Time) string {
	if t == nil {
		return ""
	}
	return raw(*t)
}

// RunsCSV writes the selected runs, one a line, in the order of [Each]. Unknown values are empty, and control characters are written as \n, \t
// and so on.
func RunsCSV(ctx context.Context, rec store.Record, f Filter, w io.Writer) error {
	out := newCSV(w)
	fields := fieldsOf(reflect.TypeFor[Run]())
	head := make([]string, len(fields))
	for i, f := range fields {
		head[i] = f.name
	}
	out.line(head...)
	err := Each(ctx, rec, f, func(r *Run) error {
		line := make([]string, len(fields))
		for i, f := range fields {
			line[i] = cellOf(reflect.ValueOf(r).Elem().FieldByIndex(f.index))
		}
		out.line(line...)
		return out.err
	})
	return cmp.Or(err, out.end())
}

// field is a column of runs: a field by its name in JSON.
type field struct {
	name  string
	index []int
}

func fieldsOf(t reflect.Type) (fields []field) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("json"); name != "" {
			fields = append(fields, field{name, f.Index})
		}
	}
	return fields
}

func cellOf(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case json.RawMessage:
		return string(x)
	case []string:
		return strings.Join(x, "; ")
	case []Module:
		names := make([]string, len(x))
		for i, m := range x {
			names[i] = m.Name + " " + m.Digest
		}
		return strings.Join(names, "; ")
	case audit.Text:
		return string(x)
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	return raw(v.Interface())
}

// csvWriter writes lines that no spreadsheet reads as formulas.
type csvWriter struct {
	*csv.Writer
	err error
}

func newCSV(w io.Writer) *csvWriter { return &csvWriter{Writer: csv.NewWriter(w)} }

func (c *csvWriter) line(cells ...string) {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = safeCell(cell)
	}
	if err := c.Write(safe); err != nil && c.err == nil {
		c.err = err
	}
}

func (c *csvWriter) end() error {
	c.Flush()
	if c.err != nil {
		return c.err
	}
	return c.Error()
}

// safeCell escapes control characters, so that a run is one line, and puts an apostrophe before what a spreadsheet would calculate:
// https://owasp.org/www-community/attacks/CSV_Injection.
func safeCell(cell string) string {
	cell = ident.Escape(cell, "")
	if start := strings.TrimLeft(cell, " \u00a0\u3000"); start != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(start)[0]) {
		return "'" + cell
	}
	return cell
}
