package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

const (
	maskRuns    = 15
	maskRecords = 5_000
	maskNames   = 1_000 // learned by the outlet
)

// masking measures how fast personal data is found in JSON and replaced, beside decoding the same JSON.
func (b *bench) masking(context.Context) error {
	const decode, mask, outlet = "read JSON of records with encoding/json", "mask personal data in the same JSON", "the same through an outlet that knows the values and 1,000 names"
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
	o, remove, err := knowingOutlet(raw)
	if err != nil {
		return err
	}
	defer remove()
	leaving, err := sample(0, maskRuns, rate, func(int) error {
		masked = o.MaskJSON(raw)
		return o.Trouble()
	})
	if err != nil {
		return err
	}
	if !strings.Contains(string(masked), "[EMAIL_") || strings.Contains(string(masked), "person.1@") {
		return fmt.Errorf("the outlet did not mask an address")
	}
	b.table.add(decode, "MB/s", "", decoding)
	b.table.add(mask, "MB/s", decode, masking)
	b.table.add(outlet, "MB/s", decode, leaving)
	return nil
}

// knowingOutlet returns an outlet whose vault holds the values of a JSON text, and names.
func knowingOutlet(raw []byte) (o *pii.Outlet, remove func(), err error) {
	dir, err := os.MkdirTemp("", "bench-vault-")
	if err != nil {
		return nil, nil, err
	}
	state, err := sqlite.Open(context.Background(), filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	o = pii.NewOutlet(func() (*pii.Vault, error) {
		return pii.OpenVault(context.Background(), state, "", bytes.Repeat([]byte{1}, 32), "")
	}, pii.OutletSettings{})
	var names []string
	for i := range maskNames {
		names = append(names, fmt.Sprintf(`{"fullName":"Ann%c%c Miller%c"}`, 'a'+i%26, 'a'+i/26%26, 'a'+i/676))
	}
	o.Learn([]byte("[" + strings.Join(names, ",") + "]"))
	o.MaskJSON(raw)
	return o, func() { _ = errors.Join(state.Close(), os.RemoveAll(dir)) }, o.Trouble()
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
