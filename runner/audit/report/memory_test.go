package report_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// memory is a record in memory. Its methods that tests do not need are missing.
type memory struct {
	store.Record
	rows  []store.Row
	codes map[string]string
}

// add adds a row.
func (m *memory) add(t testing.TB, e audit.Entry) {
	t.Helper()
	var run any
	if e.Run != "" {
		run = e.Run
	}
	n := int64(len(m.rows))
	content, err := json.Marshal(map[string]any{"index": n, "time": e.Time.UTC(), "kind": e.Kind, "run": run, "who": e.Who, "body": e.Body})
	if err != nil {
		t.Fatal(err)
	}
	m.rows = append(m.rows, store.Row{Index: n, Time: e.Time.UTC(), Kind: string(e.Kind), Run: e.Run, Content: content})
}

func (m *memory) Rows(_ context.Context, r store.Range, each func(store.Row) error) error {
	rows := slices.Clone(m.rows)
	if r.NewestFirst {
		slices.Reverse(rows)
	}
	n := 0
	for _, row := range rows {
		if row.Index < r.After || !r.From.IsZero() && row.Time.Before(r.From) || !r.To.IsZero() && !row.Time.Before(r.To) || r.Run != "" && row.Run != r.Run ||
			len(r.Kinds) > 0 && !slices.Contains(r.Kinds, row.Kind) {
			continue
		}
		if n++; r.Limit > 0 && n > r.Limit {
			return nil
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Code(_ context.Context, digest string) ([]byte, error) {
	if code, ok := m.codes[digest]; ok {
		return []byte(code), nil
	}
	return nil, store.ErrNotFound
}

// noon is when the planted records begin.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// run adds a run that began at a time and ended.
func (m *memory) run(t testing.TB, id string, at time.Time, who audit.Who, end audit.RunEnd) {
	t.Helper()
	if end.Violations == nil {
		end.Violations = []string{}
	}
	if end.Files == nil {
		end.Files = []string{}
	}
	if end.Sandbox != "none" {
		m.add(t, audit.Entry{Kind: audit.KindRun, Time: at, Run: id, Who: who, Body: audit.RunStart{Program: end.Program, Sandbox: audit.Text(end.Sandbox)}})
	}
	m.add(t, audit.Entry{Kind: audit.KindRunEnd, Time: at.Add(time.Duration(end.DurationMS * float64(time.Millisecond))), Run: id, Who: who, Body: end})
}

func ptr[T any](v T) *T { return &v }
