package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Row is a row of the record.
type Row struct {
	Index int64
	Time  time.Time // in UTC, with microseconds
	Kind  Kind
	Run   string // empty: none
	Who   Who
	Body  json.RawMessage // see the constants of Kind
	// Forgotten says that the content was removed: Who and Body are empty.
	Forgotten bool `json:"-"`
}

// Decode decodes a row of the store. It does not verify it; see [Verify].
func Decode(r store.Row) (Row, error) {
	row := Row{Index: r.Index, Time: r.Time, Kind: Kind(r.Kind), Run: r.Run}
	if r.Content == nil {
		row.Forgotten = true
		return row, nil
	}
	if err := json.Unmarshal(r.Content, &row); err != nil {
		return Row{}, fmt.Errorf("row %d of the record is damaged (%w): run mcprun audit verify", r.Index, err)
	}
	return row, nil
}

// Unknown returns those of a run's rows that are intents without an end: what they did, if anything, is unknown. An action that still runs
// is among them.
func Unknown(rows []Row) ([]Row, error) {
	type action struct {
		run  string
		call int
	}
	open := map[action]int{} // the place in rows
	var unknown []Row
	for i, row := range rows {
		a := action{run: row.Run}
		switch row.Kind {
		case KindCall, KindCallEnd:
			var body struct{ Call int }
			if row.Forgotten {
				continue
			}
			if err := json.Unmarshal(row.Body, &body); err != nil {
				return nil, fmt.Errorf("row %d of the record: %w", row.Index, err)
			}
			a.call = body.Call
		case KindRun, KindRunEnd:
		default:
			continue
		}
		if row.Kind == KindRun || row.Kind == KindCall {
			open[a] = i
		} else {
			delete(open, a)
		}
	}
	for _, i := range slices.Sorted(maps.Values(open)) {
		unknown = append(unknown, rows[i])
	}
	return unknown, nil
}
