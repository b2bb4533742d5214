package report

import (
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

type row = audit.Row

func decode(s store.Row) (*row, error) {
	r, err := audit.Decode(s)
	return &r, err
}

// body returns the content of a row that has one.
func body[T any](r *row) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(r.Body, v); err != nil {
		return nil, fmt.Errorf("row %d of the record is damaged (%w): run mcprun audit verify", r.Index, err)
	}
	return v, nil
}
