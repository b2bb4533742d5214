package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
)

// forecast is a reply of weather__get_forecast.
type forecast struct {
	City struct{ Name string }
	Days []struct {
		Date string
		High float64
		Wind float64 `json:"wind_speed"`
	}
}

func (f forecast) highs() string {
	var out []string
	for _, d := range f.Days {
		out = append(out, fmt.Sprint(d.High))
	}
	return strings.Join(out, " ")
}

// climate is a reply of weather__get_climate for one month.
type climate struct {
	City   struct{ Name string }
	Months []struct{ Mean, Precipitation float64 }
}

// sheet is a reply of drive__get_sheet as CSV.
type sheet struct {
	Title   string
	Columns []column
	CSV     string
}

// column is a column of a sheet.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// table reads CSV without its heading.
func table(text string) ([][]string, error) {
	list, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("not a table: %w", err)
	}
	return list[1:], nil
}

// orders returns the first n rows of the sheet of orders from the drive's own file: Order ID, Date, Customer, Region,
// Status, Product, Quantity, Unit Price, Amount, Sales Rep, Note.
func (j *judge) orders(n int) ([][]string, error) {
	text, err := os.ReadFile(j.before.file("drive", "sheets/orders-2026.csv"))
	if err != nil {
		return nil, err
	}
	list, err := table(string(text))
	if err != nil || len(list) < n {
		return nil, fmt.Errorf("the sheet has %d of %d rows: %w", len(list), n, err)
	}
	return list[:n], nil
}

// cents reads an amount with two decimal places.
func cents(amount string) (n int) {
	for _, r := range amount {
		if r >= '0' && r <= '9' {
			n = n*10 + int(r-'0')
		}
	}
	return n
}

func euros(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// hasFile compares a file of the filesystem server with want.
func (j *judge) hasFile(name, want string) error {
	text, err := os.ReadFile(j.after.file("filesystem", name))
	if err == nil && string(text) != want {
		err = fmt.Errorf("the file %s has %.300q, want %.300q", name, text, want)
	}
	return err
}

// hasDocument compares the only document with a title with want.
func (j *judge) hasDocument(title, want string) error {
	type info struct {
		ID    string `json:"document_id"`
		Title string `json:"title"`
	}
	list, err := ask[struct{ Documents []info }](j.ctx, j.after, "drive__list_documents", object{"query": title})
	if err != nil {
		return err
	}
	if len(list.Documents) != 1 || list.Documents[0].Title != title {
		return fmt.Errorf("the documents called %q are %v", title, list.Documents)
	}
	doc, err := ask[struct{ Content string }](j.ctx, j.after, "drive__get_document", object{"document_id": list.Documents[0].ID})
	if err == nil && doc.Content != want {
		err = fmt.Errorf("the document %q has %.300q, want %.300q", title, doc.Content, want)
	}
	return err
}

// hasSheet compares a sheet, as CSV, with want.
func (j *judge) hasSheet(id, want string) error {
	out, err := ask[sheet](j.ctx, j.after, "drive__get_sheet", object{"sheet_id": id, "format": "csv"})
	if err == nil && out.CSV != want {
		err = fmt.Errorf("the sheet %s differs:\n%.400s\nwant:\n%.400s", id, out.CSV, want)
	}
	return err
}

// hasNewSheet compares a new sheet with its title, its columns and, as CSV, its cells.
func (j *judge) hasNewSheet(id, title string, columns []column, want string) error {
	out, err := ask[sheet](j.ctx, j.after, "drive__get_sheet", object{"sheet_id": id, "format": "csv"})
	if err != nil {
		return err
	}
	if out.Title != title || !slices.Equal(out.Columns, columns) {
		return fmt.Errorf("the sheet %s is called %q with the columns %v, want %q with %v", id, out.Title, out.Columns, title, columns)
	}
	return j.hasSheet(id, want)
}

// cell formats a value as a cell of CSV.
func cell(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// asCSV formats rows.
func asCSV(rows ...[]string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.WriteAll(rows) // a strings.Builder returns no error
	return b.String()
}
