package integration

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// newDemo creates a project with the repository's own .mcp.json and fresh data, and its tree.
func newDemo(t testing.TB) *project {
	t.Helper()
	p := newProject(t, nil)
	config, err := os.ReadFile(filepath.Join(root, ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	p.write(".mcp.json", string(config))
	p.env = []string{"MCPGEN_DEMO=" + binary("mcpdemo"), "MCPGEN_DEMO_DATA=" + p.path("data")}
	p.sync()
	return p
}

// example is the path of one of the repository's examples.
func example(name string, where place) string {
	return filepath.Join(root, "examples", name+where.ext())
}

func TestExamples(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newDemo(t)
			t.Run("copy-transcript", func(t *testing.T) { copyTranscript(t, p, where) })
			t.Run("filter-sheet", func(t *testing.T) { filterSheet(t, p, where) })
			t.Run("top-orders", func(t *testing.T) { topOrders(t, p, where) })
			t.Run("basic", func(t *testing.T) { basic(t, p, where) })
			t.Run("control-flow", func(t *testing.T) { controlFlow(t, p, where) })
			t.Run("state", func(t *testing.T) { state(t, p, where) })
			t.Run("use-skill", func(t *testing.T) { useSkill(t, p, where) })
			t.Run("files", func(t *testing.T) { files(t, p, where) })
			t.Run("fill-form", func(t *testing.T) { fillForm(t, p, where) })
			t.Run("workflow", func(t *testing.T) { copyInSteps(t, p, where) })
			t.Run("streaming", func(t *testing.T) { // as a person runs it
				out := p.runIn(t, "mcprun", "--sandbox", where.sandbox, "-v", example("filter-sheet", where)).want(t, 0)
				if strings.Count(out.stdout, "\n") != 5 || !strings.Contains(out.stderr, "drive__get_sheet") || !strings.Contains(out.stderr, "% saved") {
					t.Errorf("stdout, want 5, \"drive__get_sheet\" in it and %q in it:\n%s\nstderr:\n%s", "% saved", clip(out.stdout), clip(out.stderr))
				}
			})
		})
	}
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		needCompilers(t)
		p := newDemo(t)
		found, err := filepath.Glob(filepath.Join(root, "examples", "*.[tp][sy]"))
		if err != nil || len(found) < 20 {
			t.Fatalf("examples: %q, %v, want len(found) at least 20 and no error", found, err)
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.ReplaceAll(filepath.Base(path), "-", "_")
			p.write(name, string(text))
			if strings.HasPrefix(name, "largest.") {
				p.write("skills/"+name, string(text))
			}
		}
		p.checkTypes(t)
	})
}

// copyTranscript copies 50,000 tokens from the drive to the CRM, of which the model reads one line.
func copyTranscript(t *testing.T, p *project, where place) {
	res := p.runJSON(t, where, 0, "--allow", "crm__update_record", example("copy-transcript", where))
	text, err := os.ReadFile(p.path("data/drive/documents/harbor-pine-discovery-transcript.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return len(line) < 20 })
	if len(lines) < 1000 {
		t.Fatalf("the transcript has %d lines only, want at least 1000", len(lines))
	}
	for _, line := range lines {
		if strings.Contains(res.Stdout+res.Stderr+string(res.Value), line) {
			t.Fatalf("a line of the transcript came out: %q", line)
		}
	}
	if strings.Count(res.Stdout, "\n") != 1 || res.Stderr != "" || len(res.Calls) != 3 {
		t.Errorf(`%d calls, stdout %q, stderr %q, want 1, Stderr "" and 3`, len(res.Calls), clip(res.Stdout), clip(res.Stderr))
	}
	checkTokens(t, res)

	var left struct {
		Record string `json:"record"`
		Words  int    `json:"words"`
	}
	if err := json.Unmarshal(res.Value, &left); err != nil || left.Words != len(strings.Fields(string(text))) {
		t.Errorf("the result %s: %v; the transcript has %d words", res.Value, err, len(strings.Fields(string(text))))
	}
	p.write("ask.ts", `import { getRecord } from "./servers/crm";
const [id] = process.argv.slice(2);
const { record } = await getRecord({ object_type: "SalesMeeting", record_id: id ?? "" });
export const result = record["Notes"];
`)
	asked := p.runJSON(t, place{"embedded", "typescript"}, 0, "ask.ts", "--", left.Record)
	var notes string
	if err := json.Unmarshal(asked.Value, &notes); err != nil || notes != string(text) {
		t.Errorf("the record's notes are not the transcript: %d bytes for %d, %v, want %v and no error", len(notes), len(text), err, string(text))
	}
}

// checkTokens checks that the parts add up, and that bypassing the model saves what the transcript costs on its two ways.
func checkTokens(t *testing.T, res result) {
	t.Helper()
	k := res.Tokens
	if k.Used != k.Script+k.Wrappers+k.Output || k.Direct != k.Definitions+k.Arguments+k.Results || k.Saved != k.Direct-k.Used {
		t.Errorf("the parts do not add up: %+v, want Used %v, Direct %v and Saved %v", k, k.Script+k.Wrappers+k.Output, k.Definitions+k.Arguments+k.Results, k.Direct-k.Used)
	}
	if percent := 100 * float64(k.Saved) / float64(k.Direct); percent-k.SavedPercent > 0.1 || k.SavedPercent-percent > 0.1 {
		t.Errorf("%.2f %% saved, it says %.2f, want percent-k.SavedPercent at most 0.1 and k.SavedPercent-percent at most 0.1", percent, k.SavedPercent)
	}
	if k.Arguments < 45_000 || k.Results < 45_000 || k.Definitions < 3_000 || k.Script < 50 || k.Wrappers < 100 || k.Output < 5 || k.Output > 100 {
		t.Errorf("not plausible: %+v", k)
	}
	if k.Saved < 90_000 || k.SavedPercent < 95 {
		t.Errorf("saved %d tokens, %.1f %%, want at least 90_000 and at least 95", k.Saved, k.SavedPercent)
	}
}

// filterSheet reads 10,000 rows and prints the right five lines.
func filterSheet(t *testing.T, p *project, where place) {
	res := p.runJSON(t, where, 0, example("filter-sheet", where))
	want, pending, rows := largestOrders(t, p)
	if res.Stdout != want {
		t.Errorf("stdout:\n%swant:\n%s", res.Stdout, want)
	}
	var left struct{ Rows, Pending int }
	if err := json.Unmarshal(res.Value, &left); err != nil || left.Rows != rows || left.Pending != pending || rows != 10_000 {
		t.Errorf("the result %s: %v; there are %d rows, %d pending", res.Value, err, rows, pending)
	}
}

// topOrders uses the guest library and variables, and leaves a file.
func topOrders(t *testing.T, p *project, where place) {
	res := p.runJSON(t, where, 0, "--var", "top=2", "--var", "status=pending", example("top-orders", where))
	want, pending, _ := largestOrders(t, p)
	first, _, _ := strings.Cut(want, " ")
	lines := strings.Split(strings.TrimSpace(res.Stdout), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], fmt.Sprintf("%d orders are pending: ", pending)) || !strings.HasPrefix(lines[3], "| "+first+" |") {
		t.Errorf("stdout:\n%s", res.Stdout)
	}
	var left struct {
		Count   int
		Largest string
	}
	if err := json.Unmarshal(res.Value, &left); err != nil || left.Count != pending || left.Largest != first {
		t.Errorf("the result %s: %v, want Count %v, Largest %v and no error", res.Value, err, pending, first)
	}
	var kept []any
	text, err := os.ReadFile(filepath.Join(p.workspace(where), "orders-pending.json"))
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil || len(kept) != pending || !slices.Contains(res.Files, "orders-pending.json") {
		t.Errorf("%d orders are kept of %d, %v; files %q", len(kept), pending, err, res.Files)
	}
}

// basic prints one line for each day of a forecast. Its trace names the line of the call.
func basic(t *testing.T, p *project, where place) {
	page := p.path("trace-" + where.String() + ".html")
	p.runIn(t, "mcprun", "--sandbox", where.sandbox, "--trace="+page, example("basic", where)).want(t, 0)
	shown, err := os.ReadFile(page)
	if line := regexp.MustCompile(`<span class="at">[^<]*</span>`).FindString(string(shown)); err != nil || line != map[string]string{
		"typescript": `<span class="at">line 5</span>`, "python": `<span class="at">line 8</span>`,
	}[where.language] || !strings.Contains(string(shown), "&#34;days&#34;: 3,") {
		t.Errorf("the trace names %q, %v", line, err)
	}
	res := p.runJSON(t, where, 0, example("basic", where))
	if !regexp.MustCompile(`^(2026-07-0[123]: -?[\d.]+ to -?[\d.]+ °C, [a-z_]+\n){3}$`).MatchString(res.Stdout) || len(res.Calls) != 1 {
		t.Errorf("%d calls, stdout:\n%s", len(res.Calls), res.Stdout)
	}
}

// controlFlow goes on after the failure of one city, and repeats a call only if that is harmless.
func controlFlow(t *testing.T, p *project, where place) {
	recording := p.path("calls-" + where.String() + ".jsonl")
	res := p.runJSON(t, where, 0, "--record", recording, example("control-flow", where))
	if !regexp.MustCompile(`^Cairo: dry all week\nOslo: rain on [A-Z][a-z, A-Z]+\nAtlantis: no forecast\n$`).MatchString(res.Stdout) || len(res.Calls) != 3 {
		t.Errorf("%d calls, stdout:\n%s", len(res.Calls), res.Stdout)
	}

	// The same answers, after two failures of the first call.
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	const args = `"tool":"weather__get_forecast","args":{"city":"Cairo","days":7,"start_date":"2026-07-01"}`
	refused := `{"call":1,` + args + `,"ms":1,"error":{"kind":"connection","message":"refused","retryable":true}}` + "\n"
	head, calls, _ := strings.Cut(string(text), "\n")
	renumber := strings.NewReplacer(`{"call":1,`, `{"call":3,`, `{"call":2,`, `{"call":4,`, `{"call":3,`, `{"call":5,`)
	again := p.write("again-"+where.String()+".jsonl", head+"\n"+refused+strings.Replace(refused, ":1,", ":2,", 1)+renumber.Replace(calls))
	retried := p.runJSON(t, where, 0, "--replay", again, example("control-flow", where))
	if retried.Stdout != res.Stdout || len(retried.Calls) != 5 {
		t.Errorf("%d calls, stdout, want %s and 5:\n%s", len(retried.Calls), res.Stdout, retried.Stdout)
	}
}

// copyInSteps creates leads in a workflow, one step each.
func copyInSteps(t *testing.T, p *project, where place) {
	p.env = append(p.env, "XDG_STATE_HOME="+p.path("state"), "MCPGEN_KEYRING=off")
	out := p.runIn(t, "mcprun", "workflow", "run", "--sandbox", where.sandbox, "--workspace", p.workspace(where), "--allow", "crm__create_record", "--input", `names=["Ada","Grace","Mary"]`, example("workflow", where)).want(t, 0)
	if strings.ToLower(out.stdout) != "copied 3 of 3; all are there: true\n" {
		t.Errorf("stdout %q, want 3 leads that are there", out.stdout)
	}
}

// TestWorkflowDocument routes three leads by the example. Each takes another path, and prints a line.
func TestWorkflowDocument(t *testing.T) {
	t.Parallel()
	p := newDemo(t)
	p.env = append(p.env, "XDG_STATE_HOME="+p.path("state"), "MCPGEN_KEYRING=off")
	p.write("lead-routing.workflow.yaml", readExample(t, "lead-routing.workflow.yaml"))
	for lead, want := range map[string]string{
		"00Q5f0000000027": "Wanda Virtanen: hot, a message and a meeting\n", "00Q5f0000000002": "Emil Ahlgren: warm, a mail\n", "00Q5f0000000001": "Saskia Brandt: cold, the campaign\n",
	} {
		out := p.runIn(t, "mcprun", "workflow", "run", "--sandbox", "embedded", "--allow", "crm__update_record", "--input", "lead="+lead, "lead-routing.workflow.yaml").want(t, 0)
		if out.stdout != want {
			t.Errorf("%s: %q, want %q", lead, out.stdout, want)
		}
	}
}

// TestScheduleExample runs the workflow that the example has on a schedule.
func TestScheduleExample(t *testing.T) {
	t.Parallel()
	p := newDemo(t)
	p.env = append(p.env, "XDG_STATE_HOME="+p.path("state"), "MCPGEN_KEYRING=off")
	p.write("lead-routing.workflow.yaml", readExample(t, "lead-routing.workflow.yaml"))
	p.write("mcpgen.yaml", readExample(t, "schedule.mcpgen.yaml"))
	if out := p.runIn(t, "mcprun", "schedule", "run", "route-lead").want(t, 0); out.stdout != "Emil Ahlgren: warm, a mail\n" {
		t.Errorf("stdout %q, want the line of a warm lead", out.stdout)
	}
}

func readExample(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(root, "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// state continues where the previous run stopped, and starts again after the last page.
func state(t *testing.T, p *project, where place) {
	count := func() int {
		text, err := os.ReadFile(filepath.Join(p.workspace(where), "contacts.csv"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(lines)
		return len(slices.Compact(lines))
	}
	for _, want := range []int{20, 40, 60, 72, 20} {
		res := p.runJSON(t, where, 0, example("state", where))
		if !strings.HasPrefix(res.Stdout, fmt.Sprintf("%d of 72 contacts are in contacts.csv\n", want)) || count() != want {
			t.Fatalf("%d contacts, want %d; stdout:\n%s", count(), want, res.Stdout)
		}
	}
}

// useSkill saves a function as a skill, and imports it.
func useSkill(t *testing.T, p *project, where place) {
	p.runIn(t, "mcprun", "skill", "save", "largest", example("largest", where), "-d", "Find the rows with the largest numbers in a field.").want(t, 0)
	res := p.runJSON(t, where, 0, example("use-skill", where))
	var amounts []int
	for line := range strings.Lines(res.Stdout) {
		amount, _, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(amount)
		if err != nil {
			t.Fatalf("stdout:\n%s", res.Stdout)
		}
		amounts = append(amounts, n)
	}
	if len(amounts) != 3 || amounts[0] < amounts[1] || amounts[1] < amounts[2] || amounts[2] == 0 {
		t.Errorf("stdout:\n%s", res.Stdout)
	}
}

// files sums up a CSV file.
func files(t *testing.T, p *project, where place) {
	sales, err := os.ReadFile(filepath.Join(root, "examples", "sales.csv"))
	if err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Base(p.workspace(where))
	p.write(workspace+"/sales.csv", string(sales))
	res := p.runJSON(t, where, 0, example("files", where))
	text, err := os.ReadFile(p.path(workspace + "/revenue.csv"))
	if want := "region,revenue\nNorth,114.00\nSouth,109.50\nWest,213.00\n"; err != nil || !slices.Equal(sortedLines(string(text)), sortedLines(want)) {
		t.Errorf("revenue.csv has\n%s%v, want\n%s; stdout %q", text, err, want, res.Stdout)
	}
}

// fillForm fills the form of the examples in from a script, and from a row.
func fillForm(t *testing.T, p *project, where place) {
	forms := filepath.Join(root, "examples", "forms")
	leads := func() int {
		var out struct{ Total int }
		found := p.runIn(t, "mcprun", "call", "crm__query_records", "object_type=Lead", `filters:=[{"field":"Email","operator":"eq","value":"ann.lee@example.com"}]`).want(t, 0)
		if err := json.Unmarshal([]byte(found.stdout), &out); err != nil {
			t.Fatal(err)
		}
		return out.Total
	}
	p.runIn(t, "mcprun", "form", "check", "--forms", forms).want(t, 0)
	res := p.runJSON(t, where, 0, "--forms", forms, example("fill-form", where))
	want := "Harbor & Sons submitted \nBlue Kettle invalid seen: expected a text of the format date, got string \"soon\"; name is missing\n"
	if res.Stdout != want || leads() != 1 {
		t.Errorf("stdout %q, and %d leads, want %q and 1", res.Stdout, leads(), want)
	}
	p.runIn(t, "mcprun", "form", "fill", "lead", "--forms", forms, "--data", filepath.Join(forms, "leads.csv"), "--row", "1").want(t, 0)
	if out := p.runIn(t, "mcprun", "form", "fill", "lead", "--forms", forms, "--data", filepath.Join(forms, "leads.csv"), "--row", "2").want(t, 3); !strings.Contains(out.stderr, "missing: name") || leads() != 2 {
		t.Errorf("%s, and %d leads, want that the name is missing, and 2", out.stderr, leads())
	}
}

func sortedLines(text string) []string { return slices.Sorted(strings.Lines(text)) }

// largestOrders works out the answer from the drive's own file.
func largestOrders(t *testing.T, p *project) (lines string, pending, rows int) {
	t.Helper()
	f, err := os.Open(p.path("data/drive/sheets/orders-2026.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(all[0], name) }
	status, amount, id, customer := column("Status"), column("Amount"), column("Order ID"), column("Customer")
	orders := slices.DeleteFunc(slices.Clone(all[1:]), func(row []string) bool { return row[status] != "pending" })
	value := func(row []string) float64 {
		f, err := strconv.ParseFloat(row[amount], 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	slices.SortStableFunc(orders, func(a, b []string) int { return cmp.Compare(value(b), value(a)) })
	for _, row := range orders[:5] {
		lines += fmt.Sprintf("%s  %s  %.2f\n", row[id], row[customer], value(row))
	}
	return lines, len(orders), len(all) - 1
}

// TestParallelCalls checks that 20 calls of 100 ms each take less than half of their sum. No other test of this package runs at
// the same time, but other packages may be tested then, so one good run of a few is enough.
func TestParallelCalls(t *testing.T) {
	p := newProject(t, map[string]server{
		"weather": {Command: binary("mcpdemo"), Args: []string{"weather", "--latency", "100ms"}},
	})
	p.sync()
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			where.need(t)
			const tries, most, least = 5, 1000, 100
			var took []float64
			for range tries {
				res := p.runJSON(t, where, 0, example("parallel", where))
				var left struct{ Calls, Milliseconds float64 }
				if err := json.Unmarshal(res.Value, &left); err != nil || left.Calls != 20 || res.CallCount != 21 {
					t.Fatalf("%d calls, the result %s: %v, want Calls 20, 21 and no error", res.CallCount, res.Value, err)
				}
				if left.Milliseconds < least {
					t.Fatalf("20 calls of %d ms took %v ms: they cannot have been made", least, left.Milliseconds)
				}
				took = append(took, left.Milliseconds)
				if left.Milliseconds < most {
					t.Logf("%v ms", took)
					return
				}
			}
			t.Errorf("20 calls of %d ms took %v ms together", least, took)
		})
	}
}
