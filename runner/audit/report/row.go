package report

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// row is a row of the record with its content. Body is nil if retention has removed the content.
type row struct {
	Index     int64
	Time      time.Time
	Kind      audit.Kind
	Run       string
	Who       audit.Who
	Body      json.RawMessage
	Forgotten bool
}

func decode(s store.Row) (*row, error) {
	r := &row{Index: s.Index, Time: s.Time, Kind: audit.Kind(s.Kind), Run: s.Run, Forgotten: s.Content == nil}
	if s.Content == nil {
		return r, nil
	}
	if err := json.Unmarshal(s.Content, &r); err != nil {
		return nil, unreadable(r, err)
	}
	return r, nil
}

// body returns the content of a row that has one.
func body[T any](r *row) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(r.Body, v); err != nil {
		return nil, unreadable(r, err)
	}
	return v, nil
}

func unreadable(r *row, err error) error {
	return fmt.Errorf("row %d of the record (%.20q) cannot be read: %w; mcprun audit verify says whether somebody changed it", r.Index, r.Kind, err)
}
