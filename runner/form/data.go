package form

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxData bounds data, in bytes.
const maxData = 16 << 20

// ReadRow returns one record of a file: the JSON object in it, an element of its JSON list, or a row of CSV below a line with the names of
// columns. row counts from 1; 0 means the only one.
func ReadRow(in io.Reader, row int) (json.RawMessage, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxData+1))
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(text) > maxData {
		return nil, fmt.Errorf("it is larger than %d MiB", maxData>>20)
	}
	var rows []json.RawMessage
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		rows = []json.RawMessage{text}
	case bytes.HasPrefix(text, []byte("[")):
		if err := json.Unmarshal(text, &rows); err != nil {
			return nil, fmt.Errorf("it is not a JSON list: %w", err)
		}
	default:
		if rows, err = readCSV(text); err != nil {
			return nil, err
		}
	}
	switch {
	case row == 0 && len(rows) == 1:
		row = 1
	case row == 0 && len(rows) > 1:
		return nil, &rowsError{len(rows)}
	case row < 1 || row > len(rows):
		return nil, fmt.Errorf("it has %d rows", len(rows))
	}
	return rows[row-1], nil
}

// rowsError says that a row must be named.
type rowsError struct{ rows int }

func (e *rowsError) Error() string { return fmt.Sprintf("it has %d rows", e.rows) }

// Hint says what to do.
func (e *rowsError) Hint() string {
	return "name one of them, such as row 1, the first below the names of columns"
}

func readCSV(text []byte) ([]json.RawMessage, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("it is neither JSON nor CSV: %w", err)
	}
	seen := map[string]bool{}
	for _, name := range head {
		if name != "" && seen[name] {
			return nil, fmt.Errorf("two of its columns are called %.100q", name)
		}
		seen[name] = true
	}
	var rows []json.RawMessage
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is neither JSON nor CSV: %w", err)
		}
		out := []byte{'{'}
		for i, cell := range cells {
			if i >= len(head) {
				line, _ := r.FieldPos(0)
				return nil, fmt.Errorf("line %d has more cells than there are columns", line)
			}
			if head[i] == "" {
				continue
			}
			value, err := json.Marshal(cell)
			if err != nil {
				return nil, err
			}
			out = appendMember(out, head[i], value)
		}
		rows = append(rows, append(out, '}'))
	}
}
