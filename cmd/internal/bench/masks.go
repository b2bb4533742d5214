package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii"
)

const (
	maskRuns    = 15
	maskRecords = 5_000
)

// masks measures how fast personal data is found in JSON and replaced, beside reading the same JSON into values.
func (b *bench) masks(context.Context) error {
	raw := records(maskRecords)
	const read, mask = "read JSON of records with encoding/json", "mask personal data in the same JSON"
	var reading, masking []float64
	rate := func(took time.Duration) float64 { return float64(len(raw)) / 1e6 / took.Seconds() }
	for range maskRuns {
		start := time.Now()
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		reading = append(reading, rate(time.Since(start)))
		start = time.Now()
		masked := pii.New(nil).MaskJSON(raw)
		masking = append(masking, rate(time.Since(start)))
		if !strings.Contains(string(masked), fmt.Sprintf("[EMAIL_%d]", maskRecords)) {
			return fmt.Errorf("an address was not found")
		}
	}
	b.table.add(read, "MB/s", "", reading)
	b.table.add(mask, "MB/s", read, masking)
	return nil
}

// records are what a tool of a customer database answers.
func records(n int) []byte {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"id":"003Qy%08dXYZAB","name":"Person %d","email":"person.%d@example.com","phone":"+1 212-555-%04d","amount":%d.25,`+
			`"active":true,"createdAt":"2026-01-%02dT10:%02d:00.000Z","url":"https://crm.example.com/contacts/%d?tab=notes","tags":["customer","emea"],`+
			`"notes":"Spoke about the renewal on 2026-01-15.\nThey want %d seats; see document 550e8400-e29b-41d4-a716-%012d, then follow up."}`,
			i, i, i, i%10000, i*7, i%28+1, i%60, i, i%90, i))
	}
	return []byte(`{"records":[` + strings.Join(out, ",") + `]}`)
}
