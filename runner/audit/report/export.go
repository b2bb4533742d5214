package report

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// JSONL writes the rows of a period as they are, one a line, the first row first: each is the text that is hashed. A row whose content retention
// has removed is written without who and body, and with "removed": true.
func JSONL(ctx context.Context, rec store.Record, from, to time.Time, w io.Writer) error {
	out := bufio.NewWriter(w)
	err := rec.Rows(ctx, store.Range{From: from, To: to}, func(r store.Row) error {
		line := r.Content
		if line == nil {
			var err error
			if line, err = json.Marshal(map[string]any{"index": r.Index, "time": r.Time.UTC(), "kind": r.Kind, "run": r.Run, "removed": true}); err != nil {
				return err
			}
		}
		_, _ = out.Write(line) // Flush returns the error
		return out.WriteByte('\n')
	})
	if err != nil {
		return err
	}
	return out.Flush()
}
