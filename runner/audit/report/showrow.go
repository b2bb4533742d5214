package report

import (
	"bytes"
	"context"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// EventDetail is one row, with what the record keeps beside it.
type EventDetail struct {
	Event
	// Diff is a unified diff of the texts before and after a change, with tokens for personal data. Empty: the row is about something else, or
	// the record has neither text.
	Diff string `json:"diff"`
}

// ShowRow returns a row by its index, or a *[NotFoundError].
func ShowRow(ctx context.Context, rec store.Record, index int64) (*EventDetail, error) {
	var d *EventDetail
	err := rec.Rows(ctx, store.Range{After: index, Limit: 1}, func(s store.Row) error {
		r, err := decode(s)
		if err != nil || r.Index != index {
			return err
		}
		d = &EventDetail{Event: newEvent(r)}
		if _, _, err := d.read(r, map[callKey]bool{}); err != nil || r.Forgotten || r.Kind != audit.KindChange {
			return err
		}
		c, err := body[audit.Change](r)
		if err == nil {
			d.Diff, err = changed(ctx, rec, c)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, &NotFoundError{Row: fmt.Sprint(index)}
	}
	return d, addStarts(ctx, rec, []*Event{&d.Event})
}

// changed returns the diff of a change.
func changed(ctx context.Context, rec store.Record, c *audit.Change) (string, error) {
	from, err := codeOf(ctx, rec, string(c.FromText))
	if err != nil {
		return "", err
	}
	to, err := codeOf(ctx, rec, string(c.ToText))
	if err != nil {
		return "", err
	}
	_, hunks, _ := bytes.Cut(diff.Diff(c.What+" "+short(c.From), []byte(from), c.What+" "+short(c.To), []byte(to)), []byte("\n")) // the first line repeats the names
	return string(hunks), nil
}
