package drive

import (
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

type sheets struct{ *store }

func addSheets(s *tool.Server, st *store) {
	d := sheets{st}
	tool.Add(s, tool.Spec{Name: "list_sheets", Title: "List sheets", Effect: tool.Reads,
		Description: "List sheets with their ids, titles, columns and number of rows, without the rows. Filter by a text or a label; long lists come in pages."}, d.list)
	tool.Add(s, tool.Spec{Name: "get_sheet", Title: "Get sheet", Effect: tool.Reads,
		Description: "Get the rows of a sheet, or of a range of it, as objects, arrays or CSV. A large sheet has 10,000 rows and more: call this from code and filter there, or give a range."}, d.get)
	tool.Add(s, tool.Spec{Name: "create_sheet", Title: "Create sheet", Effect: tool.Creates,
		Description: "Create a sheet with typed columns and optionally rows, and get its id. Every cell is checked against its column's type; null makes an empty cell."}, d.create)
	tool.Add(s, tool.Spec{Name: "append_rows", Title: "Append rows", Effect: tool.Creates,
		Description: "Add rows at the end of a sheet, given as objects with the headings as keys. Either all rows are added or, when one cell is wrong, none."}, d.append)
}

func (m *meta) sheet() sheetInfo {
	return sheetInfo{m.ID, m.Title, m.Owner, m.Labels, m.CreatedAt, m.UpdatedAt, m.Columns, m.Rows}
}

func (d sheets) list(_ context.Context, in listInput) (listSheetsOutput, error) {
	page, next, err := d.store.list(in)
	out := listSheetsOutput{Sheets: []sheetInfo{}, NextCursor: next}
	for _, m := range page {
		out.Sheets = append(out.Sheets, m.sheet())
	}
	return out, err
}

func (d sheets) get(_ context.Context, in getSheetInput) (getSheetOutput, error) {
	m, text, err := d.store.get(in.SheetID)
	if err != nil {
		return getSheetOutput{}, err
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 || len(rows[0]) != len(m.Columns) {
		return getSheetOutput{}, fmt.Errorf("sheet %q is damaged: its rows do not fit its columns", m.ID)
	}
	box := area{lastColumn: len(m.Columns) - 1, lastRow: len(rows) - 1}
	if in.Range != nil {
		if box, err = parseRange(*in.Range, box); err != nil {
			return getSheetOutput{}, err
		}
	}
	// Row 0 is the heading, which names the columns and is no row of data.
	rows = rows[max(1, box.firstRow) : box.lastRow+1]
	for i := range rows {
		rows[i] = rows[i][box.firstColumn : box.lastColumn+1]
	}
	columns := m.Columns[box.firstColumn : box.lastColumn+1]
	out := getSheetOutput{SheetID: m.ID, Title: m.Title, Columns: columns, RowCount: len(rows)}
	switch in.Format {
	case "csv":
		out.CSV, err = asCSV(columns, rows)
	case "values":
		out.Values = make([][]tool.Scalar, len(rows))
		for i, row := range rows {
			for j, text := range row {
				out.Values[i] = append(out.Values[i], columns[j].decode(text))
			}
		}
	default:
		out.Records = make([]map[string]tool.Scalar, len(rows))
		for i, row := range rows {
			out.Records[i] = make(map[string]tool.Scalar, len(row))
			for j, text := range row {
				out.Records[i][columns[j].Name] = columns[j].decode(text)
			}
		}
	}
	return out, err
}

// asCSV returns a heading and rows as CSV; without columns there is no heading.
func asCSV(columns []Column, rows [][]string) (string, error) {
	var heading []string
	for _, c := range columns {
		heading = append(heading, c.Name)
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	if heading != nil {
		rows = append([][]string{heading}, rows...)
	}
	err := w.WriteAll(rows)
	return b.String(), err
}

func (d sheets) create(_ context.Context, in createSheetInput) (sheetInfo, error) {
	seen := map[string]bool{}
	for _, c := range in.Columns {
		if seen[c.Name] {
			return sheetInfo{}, fmt.Errorf("two columns are called %q", c.Name)
		}
		seen[c.Name] = true
	}
	var rows [][]string
	for i, cells := range in.Rows {
		if len(cells) != len(in.Columns) {
			return sheetInfo{}, fmt.Errorf("row %d has %d cells for %d columns", i+1, len(cells), len(in.Columns))
		}
		row, err := encode(in.Columns, func(j int) tool.Scalar { return cells[j] })
		if err != nil {
			return sheetInfo{}, fmt.Errorf("row %d: %w", i+1, err)
		}
		rows = append(rows, row)
	}
	text, err := asCSV(in.Columns, rows)
	if err != nil {
		return sheetInfo{}, err
	}
	m, err := d.store.create(meta{Title: in.Title, Labels: in.Labels, Columns: in.Columns, Rows: len(rows)}, text)
	return m.sheet(), err
}

func (d sheets) append(_ context.Context, in appendRowsInput) (sheetInfo, error) {
	m, err := d.store.update(in.SheetID, func(m *meta, content *string) error {
		var rows [][]string
		for i, record := range in.Records {
			for name := range record {
				if !slices.ContainsFunc(m.Columns, func(c Column) bool { return c.Name == name }) {
					return fmt.Errorf("record %d: the sheet has no column %q", i+1, name)
				}
			}
			row, err := encode(m.Columns, func(j int) tool.Scalar { return record[m.Columns[j].Name] })
			if err != nil {
				return fmt.Errorf("record %d: %w", i+1, err)
			}
			rows = append(rows, row)
		}
		text, err := asCSV(nil, rows)
		*content += text
		m.Rows += len(rows)
		return err
	})
	return m.sheet(), err
}

// encode turns a row's values, one for each column, into the texts of its cells.
func encode(columns []Column, value func(column int) tool.Scalar) (row []string, err error) {
	row = make([]string, len(columns))
	for i := range columns {
		if row[i], err = columns[i].encode(value(i)); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// decode turns a cell's text into its value. A text that does not fit its
// column stays a text: people edit such files by hand.
func (c *Column) decode(text string) tool.Scalar {
	if text == "" {
		return nil
	}
	switch c.Type {
	case "number":
		if n, err := strconv.ParseFloat(text, 64); err == nil && n-n == 0 { // finite
			return n
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	}
	return text
}

// encode turns a value into a cell's text, if the column takes it.
func (c *Column) encode(value tool.Scalar) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case float64:
		if c.Type == "number" {
			return strconv.FormatFloat(v, 'f', -1, 64), nil
		}
	case bool:
		if c.Type == "boolean" {
			return strconv.FormatBool(v), nil
		}
	case string:
		if c.Type == "string" {
			return v, nil
		}
		if _, err := time.Parse(time.DateOnly, v); c.Type == "date" && err == nil {
			return v, nil
		}
	}
	return "", fmt.Errorf("column %q takes a %s, not %.60q", c.Name, c.Type, fmt.Sprint(value))
}
