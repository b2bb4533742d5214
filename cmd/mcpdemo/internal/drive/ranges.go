package drive

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// area is a rectangle of cells, counted from 0 with both ends included. Row 0
// is the heading.
type area struct{ firstColumn, firstRow, lastColumn, lastRow int }

// a1 matches a range in A1 notation: A1, A1:F100 or A:C.
var a1 = regexp.MustCompile(`^([A-Z]{1,2})(\d{0,7})(?::([A-Z]{1,2})(\d{0,7}))?$`)

// parseRange reads A1 notation within the whole sheet. Ends beyond the sheet
// are cut to it; a start beyond its columns is an error.
func parseRange(text string, whole area) (area, error) {
	parts := a1.FindStringSubmatch(strings.ToUpper(text))
	if parts == nil {
		return area{}, fmt.Errorf("range %q is not in A1 notation; write for example B7, A1:F100 or A:C", text)
	}
	if parts[3] == "" { // one cell, or one column
		parts[3], parts[4] = parts[1], parts[2]
	}
	result := area{columnNumber(parts[1]), rowNumber(parts[2], 0), columnNumber(parts[3]), rowNumber(parts[4], whole.lastRow)}
	switch {
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

// columnNumber reads B as 1 and AA as 26.
func columnNumber(letters string) int {
	column := 0
	for _, letter := range letters {
		column = column*26 + int(letter-'A') + 1
	}
	return column - 1
}

// rowNumber reads 7 as 6; without a number the row is rest.
func rowNumber(digits string, rest int) int {
	if n, err := strconv.Atoi(digits); err == nil {
		return max(0, n-1)
	}
	return rest
}
