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

// masking measures how fast personal data is found in JSON and replaced, beside decoding the same JSON.
func (b *bench) masking(context.Context) error {
	const decode, mask = "read JSON of records with encoding/json", "mask personal data in the same JSON"
	raw := records(maskRecords)
	rate := func(took time.Duration) float64 { return float64(len(raw)) / 1e6 / took.Seconds() }
	decoding, err := sample(0, maskRuns, rate, func(int) error {
		var v any
		return json.Unmarshal(raw, &v)
	})
	if err != nil {
		return err
	}
	var masked []byte
	masking, err := sample(0, maskRuns, rate, func(int) error {
		masked = pii.New().MaskJSON(raw)
		return nil
	})
	if err != nil {
		return err
	}
	if !strings.Contains(string(masked), fmt.Sprintf("[EMAIL_%d]", maskRecords)) {
		return fmt.Errorf("an address was not found")
	}
	b.table.add(decode, "MB/s", "", decoding)
	b.table.add(mask, "MB/s", decode, masking)
	return nil
}

// records returns n records as a tool of a customer database would return them.
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
