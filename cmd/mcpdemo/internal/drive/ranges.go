package drive

import (
	"fmt"
	"strconv"
	"strings"
)

// area is a rectangle of cells, counted from 0 with both ends included. Row 0
// is the heading.
type area struct{ firstColumn, firstRow, lastColumn, lastRow int }

// parseRange reads A1 notation within the whole sheet. Ends beyond the sheet
// are cut to it; a start beyond it is an error.
func parseRange(text string, whole area) (area, error) {
	from, to, isRange := strings.Cut(strings.ToUpper(text), ":")
	if !isRange {
		to = from
	}
	result := whole
	var err error
	if result.firstColumn, result.firstRow, err = parseCell(from, 0); err == nil {
		result.lastColumn, result.lastRow, err = parseCell(to, whole.lastRow)
	}
	switch {
	case err != nil:
		return area{}, fmt.Errorf("range %q: %w", text, err)
	case result.firstColumn > result.lastColumn || result.firstRow > result.lastRow:
		return area{}, fmt.Errorf("range %q ends before it starts", text)
	case result.firstColumn > whole.lastColumn:
		return area{}, fmt.Errorf("range %q starts after the last of %d columns", text, whole.lastColumn+1)
	}
	result.lastColumn = min(result.lastColumn, whole.lastColumn)
	result.lastRow = min(result.lastRow, whole.lastRow)
	// A range below the last row is empty, not an error: paging ends this way.
	result.firstRow = min(result.firstRow, whole.lastRow+1)
	return result, nil
}

// parseCell reads B7 as column 1 and row 6; without a number the row is rest.
func parseCell(text string, rest int) (column, row int, err error) {
	digits := strings.IndexAny(text, "0123456789")
	if digits < 0 {
		digits = len(text)
	}
	for _, letter := range text[:digits] {
		if letter < 'A' || letter > 'Z' || column > 1000 {
			return 0, 0, fmt.Errorf("%q is no cell; write for example B7", text)
		}
		column = column*26 + int(letter-'A') + 1
	}
	if column == 0 {
		return 0, 0, fmt.Errorf("%q is no cell; write for example B7", text)
	}
	if digits == len(text) {
		return column - 1, rest, nil
	}
	row, err = strconv.Atoi(text[digits:])
	if err != nil || row < 1 {
		return 0, 0, fmt.Errorf("%q is no cell; rows count from 1", text)
	}
	return column - 1, row - 1, nil
}
