package drive

import (
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

func (d *drive) addSheets(s *tool.Server) {
	tool.Add(s, tool.Spec{Name: "list_sheets", Title: "List sheets", Effect: tool.Reads,
		Description: "List sheets with their ids, titles, columns and number of rows, without the rows. Filter by a text or a label; long lists come in pages."}, d.listSheets)
	tool.Add(s, tool.Spec{Name: "get_sheet", Title: "Get sheet", Effect: tool.Reads,
		Description: "Get the rows of a sheet, or of a range of it, as objects, arrays or CSV. A large sheet has 10,000 rows and more: call this from code and filter there, or give a range."}, d.getSheet)
	tool.Add(s, tool.Spec{Name: "create_sheet", Title: "Create sheet", Effect: tool.Creates,
		Description: "Create a sheet with typed columns and optionally rows, and get its id. Every cell is checked against its column's type; null makes an empty cell."}, d.createSheet)
	tool.Add(s, tool.Spec{Name: "append_rows", Title: "Append rows", Effect: tool.Creates,
		Description: "Add rows at the end of a sheet, given as objects with the headings as keys. Either all rows are added or, when one cell is wrong, none."}, d.appendRows)
}

func (m *meta) sheet() sheetInfo {
	return sheetInfo{m.ID, m.Title, m.Owner, m.Labels, m.CreatedAt, m.UpdatedAt, m.Columns, m.Rows}
}

func (d *drive) listSheets(_ context.Context, in listInput) (listSheetsOutput, error) {
	page, next, err := d.sheets.list(in)
	out := listSheetsOutput{Sheets: []sheetInfo{}, NextCursor: next}
	for _, m := range page {
		out.Sheets = append(out.Sheets, m.sheet())
	}
	return out, err
}

func (d *drive) getSheet(_ context.Context, in getSheetInput) (getSheetOutput, error) {
	m, err := d.sheets.meta(in.SheetID)
	if err != nil {
		return getSheetOutput{}, err
	}
	text, err := d.sheets.content(m.ID)
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
	columns := m.Columns[box.firstColumn : box.lastColumn+1]
	out := getSheetOutput{SheetID: m.ID, Title: m.Title, Columns: columns, RowCount: len(rows)}
	if in.Format == "csv" {
		out.CSV, err = asCSV(columns, rows, box)
		return out, err
	}
	if in.Format == "records" {
		out.Records = make([]map[string]tool.Scalar, 0, len(rows))
	} else {
		out.Values = make([][]tool.Scalar, 0, len(rows))
	}
	for _, row := range rows {
		cells := make([]tool.Scalar, len(columns))
		for i, text := range row[box.firstColumn : box.lastColumn+1] {
			cells[i] = columns[i].decode(text)
		}
		if in.Format == "values" {
			out.Values = append(out.Values, cells)
			continue
		}
		record := make(map[string]tool.Scalar, len(columns))
		for i, c := range columns {
			record[c.Name] = cells[i]
		}
		out.Records = append(out.Records, record)
	}
	return out, nil
}

func asCSV(columns []Column, rows [][]string, box area) (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	heading := make([]string, len(columns))
	for i, c := range columns {
		heading[i] = c.Name
	}
	_ = w.Write(heading) // the builder never fails; Error below has the rest
	for _, row := range rows {
		_ = w.Write(row[box.firstColumn : box.lastColumn+1])
	}
	w.Flush()
	return b.String(), w.Error()
}

func (d *drive) createSheet(_ context.Context, in createSheetInput) (sheetInfo, error) {
	seen := map[string]bool{}
	for _, c := range in.Columns {
		if seen[c.Name] {
			return sheetInfo{}, fmt.Errorf("two columns are called %q", c.Name)
		}
		seen[c.Name] = true
	}
	rows := make([][]string, 0, len(in.Rows))
	for i, cells := range in.Rows {
		if len(cells) != len(in.Columns) {
			return sheetInfo{}, fmt.Errorf("row %d has %d cells for %d columns", i+1, len(cells), len(in.Columns))
		}
		row := make([]string, len(cells))
		for j, cell := range cells {
			var err error
			if row[j], err = in.Columns[j].encode(cell); err != nil {
				return sheetInfo{}, fmt.Errorf("row %d: %w", i+1, err)
			}
		}
		rows = append(rows, row)
	}
	text, err := asCSV(in.Columns, rows, area{lastColumn: len(in.Columns) - 1})
	if err != nil {
		return sheetInfo{}, err
	}
	d.sheets.mu.Lock()
	defer d.sheets.mu.Unlock()
	now := d.now().UTC()
	m := meta{ID: d.sheets.newID(in.Title), Title: in.Title, Owner: owner, Labels: orEmpty(in.Labels),
		CreatedAt: now, UpdatedAt: now, Columns: in.Columns, Rows: len(rows)}
	return m.sheet(), d.sheets.save(m, text)
}

func (d *drive) appendRows(_ context.Context, in appendRowsInput) (sheetInfo, error) {
	d.sheets.mu.Lock()
	defer d.sheets.mu.Unlock()
	m, err := d.sheets.meta(in.SheetID)
	if err != nil {
		return sheetInfo{}, err
	}
	text, err := d.sheets.content(m.ID)
	if err != nil {
		return sheetInfo{}, err
	}
	var b strings.Builder
	b.WriteString(text)
	w := csv.NewWriter(&b)
	for i, record := range in.Records {
		row := make([]string, len(m.Columns))
		left := maps.Clone(record)
		for j, c := range m.Columns {
			if row[j], err = c.encode(record[c.Name]); err != nil {
				return sheetInfo{}, fmt.Errorf("record %d: %w", i+1, err)
			}
			delete(left, c.Name)
		}
		if len(left) > 0 {
			return sheetInfo{}, fmt.Errorf("record %d: the sheet has no column %q", i+1, slices.Sorted(maps.Keys(left))[0])
		}
		_ = w.Write(row) // the builder never fails
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return sheetInfo{}, err
	}
	m.Rows, m.UpdatedAt = m.Rows+len(in.Records), d.now().UTC()
	return m.sheet(), d.sheets.save(m, b.String())
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
