package recommend_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/recommend"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// run is a run in the record.
type run struct {
	customer, action, sandbox string
	calls                     map[string]string // outcomes by tool
	modules                   []string
}

// recordOf returns a store with a record of runs.
func recordOf(t testing.TB, runs []run) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	log, err := audit.Open(s, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range runs {
		id, who := fmt.Sprintf("run-%d", i), audit.Who{Customer: audit.Text(r.customer)}
		n := 0
		for tool, outcome := range r.calls {
			n++
			log.Later(audit.Entry{Kind: audit.KindCallEnd, Run: id, Who: who, Body: audit.CallEnd{Call: n, Tool: tool, Outcome: outcome}})
		}
		end := audit.RunEnd{Program: audit.Program{Action: r.action}, Sandbox: r.sandbox}
		for _, name := range r.modules {
			end.Modules = append(end.Modules, audit.Module{Name: name})
		}
		log.Later(audit.Entry{Kind: audit.KindRunEnd, Run: id, Who: who, Body: end})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

func times(n int, r run) []run { return slices.Repeat([]run{r}, n) }

// TestWith counts only the customer's own scripts, and of these only calls that succeeded.
func TestWith(t *testing.T) {
	script := func(customer string, outcome string, tools ...string) run {
		r := run{customer: customer, action: "execute_code", sandbox: "embedded", calls: map[string]string{}}
		for _, tool := range tools {
			r.calls[tool] = outcome
		}
		return r
	}
	skilled := script("acme", "ok", "drive__get_sheet")
	skilled.modules = []string{"skills/save-sheet/scripts/main.ts", "lib/skills/other/x.ts", "skills/save-sheet/scripts/more.ts", "/skills/../x"}
	refused := script("acme", "ok", "drive__get_sheet", "refused__tool")
	refused.sandbox = "none"
	direct := script("acme", "ok", "drive__get_sheet", "direct__tool")
	direct.action = "call_tool"
	rec := recordOf(t, slices.Concat(
		times(recommend.MaxRuns, script("acme", "ok", "drive__get_sheet", "old__tool")), // too long ago
		times(30, script("acme", "ok", "other__tool", "unrelated__tool")),
		times(8, script("acme", "ok", "drive__get_sheet", "crm__update_record")),
		times(2, script("acme", "ok", "drive__get_sheet", "twice__tool")),
		times(4, script("acme", "tool", "drive__get_sheet", "failing__tool")),
		times(3, skilled), times(3, refused), times(3, direct),
		times(3, script("acme", "ok", "drive__get_sheet", "gone__tool")),
		times(9, script("beta", "ok", "drive__get_sheet", "secret__tool")),
		times(9, script("", "ok", "drive__get_sheet", "plain__tool")),
	))
	known := func(tool string) bool { return tool != "gone__tool" }
	for _, tt := range []struct {
		customer, tool string
		want           []string
	}{
		{"acme", "drive__get_sheet", []string{"crm__update_record (in 8 of 16 runs)", "skills/save-sheet (in 3 of 16 runs)"}},
		{"acme", "skills/save-sheet", []string{"drive__get_sheet (in 3 of 3 runs)"}},
		{"acme", "failing__tool", nil},
		{"beta", "drive__get_sheet", []string{"secret__tool (in 9 of 9 runs)"}},
		{"", "drive__get_sheet", []string{"plain__tool (in 9 of 9 runs)"}},
		{"nobody", "drive__get_sheet", nil},
	} {
		h, err := recommend.Read(t.Context(), rec, tt.customer)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range h.With(tt.tool, known) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("With(%q) of %q = %q, want %q", tt.tool, tt.customer, got, tt.want)
		}
	}
}

// BenchmarkRead reads a record of runs of many customers.
func BenchmarkRead(b *testing.B) {
	r := run{action: "execute_code", sandbox: "embedded", calls: map[string]string{}}
	for i := range 20 {
		r.calls[fmt.Sprintf("server__tool_%d", i)] = "ok"
	}
	var runs []run
	for i := range 500 {
		r.customer = fmt.Sprintf("c%d", i%10)
		runs = append(runs, r)
	}
	rec := recordOf(b, runs)
	for b.Loop() {
		if _, err := recommend.Read(b.Context(), rec, "c3"); err != nil {
			b.Fatal(err)
		}
	}
}
