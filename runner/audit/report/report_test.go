package report_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/audit/report"
	"github.com/mcpgen/mcpgen/runner/egress"
)

// planted returns the ten runs of a report whose figures are known: 6 of low risk, 2 medium, 1 high, 1 critical; 1 with a violation, 2 failed;
// from 100 to 1,000 ms; 50 tokens each. The violation is one of the failures.
func planted(t testing.TB) *memory {
	m := &memory{codes: map[string]string{"c0de": "console.log(1)\n"}}
	for i, risk := range []audit.Text{"low", "low", "low", "low", "low", "low", "medium", "medium", "high", "critical"} {
		end := audit.RunEnd{
			Program: audit.Program{Action: "execute_code", Name: audit.Text(fmt.Sprintf("job%d.ts", i)), Language: "typescript", Code: "c0de", Risk: risk},
			Sandbox: "docker", Cause: "exit", Success: true, DurationMS: float64(100 * (i + 1)), TokensUsed: ptr(50), Approved: true, AutoApproved: true,
		}
		switch i {
		case 2:
			end.Success, end.Cause, end.ExitCode, end.Error = false, "error", 1, "Error: no"
		case 9:
			end.Success, end.Cause, end.ExitCode, end.Sandbox, end.Approved, end.AutoApproved = false, "failed", 126, "none", false, false
			end.Violations, end.Error = []string{"uses eval"}, "refused: uses eval"
		}
		customer := []audit.Text{"acme", "beta"}[i%2]
		m.run(t, fmt.Sprintf("r%d", i), noon.Add(time.Duration(i)*time.Minute), audit.Who{User: "ann", Customer: customer, Session: "s-" + customer}, end)
	}
	return m
}

func TestMake(t *testing.T) {
	r, err := report.Make(t.Context(), planted(t), report.Options{Now: noon.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	type figures struct {
		Executions, Low, Medium, High, Critical, WithViolations, HighRisk, Failed, Refused, Unknown, TokensUsed int
		MeanMS                                                                                                  float64
	}
	got := figures{r.Executions, r.ByRisk["low"], r.ByRisk["medium"], r.ByRisk["high"], r.ByRisk["critical"], r.WithViolations, r.HighRisk, r.Failed, r.Refused, r.Unknown, r.TokensUsed, *r.MeanMS}
	if want := (figures{10, 6, 2, 1, 1, 1, 1, 2, 1, 0, 500, 550}); got != want {
		t.Errorf("Make() = %+v, want %+v", got, want)
	}
	var groups []string
	for _, g := range r.Customers {
		groups = append(groups, fmt.Sprint(g.Name, " ", g.Executions, " ", g.Failed))
	}
	if want := []string{"acme 5 1", "beta 5 1"}; !cmp.Equal(groups, want) {
		t.Errorf("customers, executions and failures = %q, want %q", groups, want)
	}
	var notable []string
	for _, n := range r.Notable {
		notable = append(notable, n.Run)
	}
	if want := []string{"r9", "r8", "r2"}; !cmp.Equal(notable, want) || r.NotableCount != 3 {
		t.Errorf("notable runs = %q, %d in all, want %q", notable, r.NotableCount, want)
	}
	if r.ByAction["execute_code"] != 10 {
		t.Errorf("ByAction = %v, want 10 of execute_code", r.ByAction)
	}
	if r.Record != "not checked" {
		t.Errorf("Record = %q, want %q", r.Record, "not checked")
	}
}

// TestMakeJSON checks that what is not known is null, and no list is.
func TestMakeJSON(t *testing.T) {
	r, err := report.Make(t.Context(), &memory{}, report.Options{Verified: func(context.Context) (string, bool, error) { return "verified up to row 3", true, nil }})
	if err != nil {
		t.Fatal(err)
	}
	got := object(t, r)
	for key, value := range map[string]any{"meanMs": nil, "from": nil, "customer": nil, "executions": 0.0, "days": []any{}, "record": "verified up to row 3", "recordChanged": false} {
		if v, ok := got[key]; !ok || !cmp.Equal(v, value) {
			t.Errorf("%s = %v (present: %v), want %v", key, v, ok, value)
		}
	}
	for key, v := range got {
		switch key {
		case "days", "customers", "users", "tools", "approvers", "hosts", "personal", "changes", "notable", "byRisk":
			if v == nil {
				t.Errorf("%s is null", key)
			}
		}
	}
}

func object(t *testing.T, v any) (m map[string]any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMakeOfOneCustomer(t *testing.T) {
	r, err := report.Make(t.Context(), planted(t), report.Options{Filter: report.Filter{Customer: "acme", From: noon, To: noon.Add(4 * time.Minute)}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Executions != 2 || r.TokensUsed != 100 || r.Failed != 1 {
		t.Errorf("executions %d, tokens %d, failed %d, want 2, 100, 1", r.Executions, r.TokensUsed, r.Failed)
	}
}

// busy adds calls, approvals, connections and the rest of what a report counts.
func busy(t testing.TB) *memory {
	m := &memory{codes: map[string]string{}}
	who := audit.Who{User: "ann"}
	add := func(seconds int, run string, kind audit.Kind, body any) {
		m.add(t, audit.Entry{Kind: kind, Time: noon.Add(time.Duration(seconds) * time.Second), Run: run, Who: who, Body: body})
	}
	program := audit.Program{Action: "execute_code", Name: "sync.ts", Code: "c0de", Risk: "low"}
	add(0, "a", audit.KindRun, audit.RunStart{Program: program, Sandbox: "docker"})
	add(1, "a", audit.KindCall, audit.CallStart{Call: 1, Tool: "crm__get", Effect: "allow", Rule: "reads", Arguments: json.RawMessage(`{"id":1}`)})
	add(2, "a", audit.KindCallEnd, audit.CallEnd{Call: 1, Tool: "crm__get", Outcome: "ok", DurationMS: 20, ResultBytes: 9})
	add(3, "a", audit.KindApproval, audit.Approval{Subject: "call", Tool: "crm__delete", Call: 2, Answer: "refused", By: "ann", WaitMS: 3000})
	add(4, "a", audit.KindCallEnd, audit.CallEnd{Call: 2, Tool: "crm__delete", Outcome: "denied", Effect: "ask", Rule: "deletes", By: "ann", Arguments: json.RawMessage(`{"id":2}`)})
	add(5, "a", audit.KindCall, audit.CallStart{Call: 3, Tool: "crm__get", Effect: "allow"})
	add(6, "a", audit.KindConnection, egress.Event{Time: noon, Run: "a", Host: "api.example.com", Port: 443, Protocol: "https", Allowed: true, Sent: 10, Received: 20})
	add(7, "a", audit.KindConnection, egress.Event{Host: "169.254.169.254", Port: 80, Protocol: "http", Check: egress.ByRange, Reason: "link-local"})
	add(8, "a", audit.KindPersonal, audit.Personal{Tokens: map[string]int{"EMAIL": 2}})
	add(9, "a", audit.KindPersonal, audit.Personal{Tokens: map[string]int{"EMAIL": 1, "PHONE": 1}})
	add(10, "a", audit.KindApproval, audit.Approval{Subject: "run", Answer: "approved", By: "ann", WaitMS: 1000})
	add(11, "a", audit.KindApproval, audit.Approval{Subject: "run", Answer: "no answer", WaitMS: 9000})
	add(12, "", audit.KindChange, audit.Change{What: "policy", To: "0123456789abcdef"})
	add(13, "", audit.KindSchedule, audit.Schedule{Schedule: "nightly", Event: "missed", Count: 2, First: noon, Last: noon.Add(time.Hour)})
	add(14, "", audit.KindSchedule, audit.Schedule{Schedule: "nightly", Event: "skipped", Count: 1, First: noon, Last: noon})
	add(100, "a", audit.KindCallEnd, audit.CallEnd{Call: 3, Tool: "crm__get", Outcome: "timeout", DurationMS: 40})
	return m
}

func TestMakeCounts(t *testing.T) {
	r, err := report.Make(t.Context(), busy(t), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Executions != 1 || r.Unknown != 1 || r.Failed != 0 || r.MeanMS != nil {
		t.Errorf("executions %d, unknown %d, failed %d, mean %v, want 1, 1, 0, none", r.Executions, r.Unknown, r.Failed, r.MeanMS)
	}
	var tools []string
	for _, tool := range r.Tools {
		tools = append(tools, fmt.Sprintf("%s %d: %d ok, %d failed, %d refused, %d unknown", tool.Tool, tool.Calls, tool.OK, tool.Failed, tool.Refused, tool.Unknown))
	}
	if want := []string{"crm__get 2: 1 ok, 1 failed, 0 refused, 0 unknown", "crm__delete 1: 0 ok, 0 failed, 1 refused, 0 unknown"}; !cmp.Equal(tools, want) {
		t.Errorf("tools = %q, want %q", tools, want)
	}
	if m := r.Tools[0].MeanMS; m == nil || *m != 30 {
		t.Errorf("mean of crm__get = %v, want 30", m)
	}
	if want := []report.Approver{{By: "ann", Questions: 2, Approved: 1, Refused: 1, MeanMS: 2000, MaxMS: 3000}, {Questions: 1, NoAnswer: 1, MeanMS: 9000, MaxMS: 9000}}; !cmp.Equal(r.Approvers, want) {
		t.Errorf("approvers = %+v, want %+v", r.Approvers, want)
	}
	if want := []report.Host{{Host: "169.254.169.254", Refused: 1, Blocked: 1}, {Host: "api.example.com", Allowed: 1, Sent: 10, Received: 20}}; !cmp.Equal(r.Hosts, want) {
		t.Errorf("hosts = %+v, want %+v", r.Hosts, want)
	}
	if want := map[string]int{"EMAIL": 3, "PHONE": 1}; !cmp.Equal(r.Personal, want) {
		t.Errorf("personal = %v, want %v", r.Personal, want)
	}
	if len(r.Changes) != 1 || r.Changes[0].What != "policy" || r.Changes[0].User != "ann" {
		t.Errorf("changes = %+v, want one of the policy by ann", r.Changes)
	}
}

// TestPeriods checks that what begins in one period and ends in the next counts once, whichever period a report is about.
func TestPeriods(t *testing.T) {
	m := busy(t)
	m.run(t, "long", noon.Add(50*time.Second), audit.Who{User: "bob"}, audit.RunEnd{Sandbox: "docker", Success: true, DurationMS: 20_000})
	m.run(t, "refused", noon.Add(70*time.Second), audit.Who{User: "bob"}, audit.RunEnd{Sandbox: "none", ExitCode: 126})
	middle := noon.Add(time.Minute)
	first, err := report.Make(t.Context(), m, report.Options{Filter: report.Filter{To: middle}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := report.Make(t.Context(), m, report.Options{Filter: report.Filter{From: middle}})
	if err != nil {
		t.Fatal(err)
	}
	if first.Executions != 2 || first.Unknown != 1 || second.Executions != 1 || second.Refused != 1 {
		t.Errorf("first period: %d executions, %d unknown; second: %d, %d refused; want 2, 1, 1, 1", first.Executions, first.Unknown, second.Executions, second.Refused)
	}
	calls := func(r *report.Report) (n int) {
		for _, tool := range r.Tools {
			n += tool.Calls
		}
		return n
	}
	if calls(first) != 2 || calls(second) != 1 {
		t.Errorf("calls = %d and %d, want 2 and 1: the third call ended in the second period", calls(first), calls(second))
	}
}

func TestRemovedContents(t *testing.T) {
	m := planted(t)
	for i := range 4 { // two runs
		m.rows[i].Content = nil
	}
	r, err := report.Make(t.Context(), m, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Executions != 8 || r.Removed != 2 {
		t.Errorf("executions %d, removed %d, want 8 and 2", r.Executions, r.Removed)
	}
}

func TestDamagedRow(t *testing.T) {
	m := planted(t)
	m.rows[3].Content = []byte(`{"body":`)
	_, err := report.Make(t.Context(), m, report.Options{})
	if err == nil || !strings.Contains(err.Error(), "row 3 of the record is damaged") || !strings.Contains(err.Error(), "mcprun audit verify") {
		t.Errorf("Make() of a damaged row: %v, want an error that names row 3 and mcprun audit verify", err)
	}
}

func TestReportCSV(t *testing.T) {
	r, err := report.Make(t.Context(), planted(t), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.CSV(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"totals,,Executions,10\n", "totals,,Mean duration,550\n", "Executions by risk,low,Executions,6\n", "Executions by customer,acme,Tokens,250\n", "Executions to look at,r9,Why,uses eval\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("want %q in the report:\n%s", line, out.String())
		}
	}
}

func TestHTMLIsSafe(t *testing.T) {
	const hostile = `<script>alert(1)</script>"'&`
	m := &memory{}
	m.run(t, hostile, noon, audit.Who{Customer: hostile, User: hostile}, audit.RunEnd{
		Program: audit.Program{Name: hostile, Risk: hostile}, Error: hostile, Violations: []string{hostile}, Sandbox: "none",
	})
	m.add(t, audit.Entry{Kind: audit.KindCallEnd, Time: noon, Run: "x", Body: audit.CallEnd{Call: 1, Tool: hostile, Outcome: "tool"}})
	m.add(t, audit.Entry{Kind: audit.KindConnection, Time: noon, Body: egress.Event{Host: hostile}})
	r, err := report.Make(t.Context(), m, report.Options{Filter: report.Filter{}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.HTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if strings.Contains(page, "<script") || strings.Count(page, "&lt;script&gt;") < 8 {
		t.Errorf("the page has markup from the record:\n%s", page)
	}
	for _, part := range []string{"default-src &#39;none&#39;", "<title", "<desc", "@page", "Calls by tool"} {
		if !strings.Contains(page, part) {
			t.Errorf("want %q in the page", part)
		}
	}
	for _, part := range []string{" src=", "url(", "@import", "<link", "javascript:"} {
		if strings.Contains(page, part) {
			t.Errorf("the page has %q, and it must load nothing", part)
		}
	}
}

// TestHTMLShowsChangedRecord checks that nobody overlooks that the record was changed.
func TestHTMLShowsChangedRecord(t *testing.T) {
	for _, intact := range []bool{true, false} {
		verified := func(context.Context) (string, bool, error) { return "what was found", intact, nil }
		r, err := report.Make(t.Context(), &memory{}, report.Options{Verified: verified})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.HTML(&out); err != nil {
			t.Fatal(err)
		}
		plain, alarm := strings.Contains(out.String(), `<p>Record: what was found.</p>`), strings.Contains(out.String(), `<p class="alarm">Record: what was found.</p>`)
		if plain != intact || alarm == intact {
			t.Errorf("intact %v: the page has the plain line: %v, the one in red: %v", intact, plain, alarm)
		}
	}
}

func TestList(t *testing.T) {
	m := planted(t)
	m.add(t, audit.Entry{Kind: audit.KindRun, Time: noon.Add(time.Hour), Run: "open", Body: audit.RunStart{Program: audit.Program{Action: "execute_code", Risk: "low"}, Sandbox: "docker"}})
	m.add(t, audit.Entry{Kind: audit.KindCall, Time: noon.Add(time.Hour), Run: "open", Body: audit.CallStart{Call: 1, Tool: "crm__get"}})
	tests := map[string]struct {
		filter report.Filter
		want   string
	}{
		"all":        {report.Filter{}, "open r9 r8 r7 r6 r5 r4 r3 r2 r1 r0"},
		"limit":      {report.Filter{Limit: 2}, "open r9"},
		"between":    {report.Filter{From: noon.Add(time.Minute), To: noon.Add(3 * time.Minute)}, "r2 r1"},
		"customer":   {report.Filter{Customer: "beta"}, "r9 r7 r5 r3 r1"},
		"session":    {report.Filter{Session: "s-acme", Limit: 1}, "r8"},
		"user":       {report.Filter{User: "bob"}, ""},
		"risk":       {report.Filter{Risk: "medium"}, "r7 r6"},
		"failed":     {report.Filter{Failed: true}, "open r9 r2"},
		"violations": {report.Filter{Violations: true}, "r9"},
		"tool":       {report.Filter{Tool: "crm__get"}, "open"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runs, err := report.List(t.Context(), m, test.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range runs {
				got = append(got, r.ID)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("List(%+v) = %v, want %s", test.filter, got, test.want)
			}
		})
	}
}

func TestShow(t *testing.T) {
	m := busy(t)
	d, err := report.Show(t.Context(), m, "a")
	if err != nil {
		t.Fatal(err)
	}
	if d.Outcome != report.Unknown || d.Sandbox != "docker" || len(d.Rows) != 13 || len(d.Approvals) != 3 || len(d.Connections) != 2 || d.Personal["EMAIL"] != 3 {
		t.Errorf("Show() = %+v", d)
	}
	var calls []string
	for _, c := range d.Calls {
		calls = append(calls, fmt.Sprintf("%d %s %s %s %s %s %s", c.Call, c.Tool, c.Arguments, c.Effect, c.Rule, c.By, c.Outcome))
	}
	if want := []string{`1 crm__get {"id":1} allow reads  ok`, `2 crm__delete {"id":2} ask deletes ann denied`, `3 crm__get  allow   timeout`}; !cmp.Equal(calls, want) {
		t.Errorf("calls = %q, want %q", calls, want)
	}
	m.rows = m.rows[:len(m.rows)-1]
	if d, err = report.Show(t.Context(), m, "a"); err != nil || d.Calls[2].Outcome != report.Unknown {
		t.Errorf("a call without an end: outcome %q (%v), want unknown", d.Calls[2].Outcome, err)
	}
	// Every field is there, and unknown ones are null.
	got := object(t, d)
	for _, key := range []string{"tokensUsed", "approved", "violations", "model", "success", "customer", "error", "output", "durationMs", "code"} {
		if v, ok := got[key]; !ok || v != nil {
			t.Errorf("%s = %v (present: %v), want null", key, v, ok)
		}
	}
	for _, id := range []string{"nobody", ""} {
		if _, err := report.Show(t.Context(), m, id); !isNotFound(err) {
			t.Errorf("Show(%q): %v, want a NotFoundError", id, err)
		}
	}
}

func isNotFound(err error) bool {
	_, ok := errors.AsType[*report.NotFoundError](err)
	return ok
}

func TestShowCode(t *testing.T) {
	d, err := report.Show(t.Context(), planted(t), "r3")
	if err != nil {
		t.Fatal(err)
	}
	if d.Code != "console.log(1)\n" || d.CodeHash != "c0de" {
		t.Errorf("code %q of hash %q, want that of c0de", d.Code, d.CodeHash)
	}
}

func TestEvents(t *testing.T) {
	tests := map[string]struct {
		kind   audit.Kind
		filter report.Filter
		want   []string
	}{
		"calls":                       {audit.KindCall, report.Filter{}, []string{"crm__get: timeout, allow", "crm__delete: denied, ask, deletes, ann", "crm__get: ok, allow, reads"}},
		"calls before the last ended": {audit.KindCall, report.Filter{To: noon.Add(time.Minute)}, []string{"crm__delete: denied, ask, deletes, ann", "crm__get: ok, allow, reads"}},
		"failed calls":                {audit.KindCall, report.Filter{Failed: true, Tool: "crm__get"}, []string{"crm__get: timeout, allow"}},
		"approvals": {audit.KindApproval, report.Filter{}, []string{
			"run: no answer after 9000 ms", "run: approved by ann after 1000 ms", "call crm__delete: refused by ann after 3000 ms"}},
		"connections": {audit.KindConnection, report.Filter{}, []string{
			"refused http://169.254.169.254:80 by blocked range: link-local", "allowed https://api.example.com:443, 10 bytes sent, 20 received"}},
		"changes": {audit.KindChange, report.Filter{}, []string{"policy changed from none to 0123456789ab"}},
		"schedules": {audit.KindSchedule, report.Filter{}, []string{
			"schedule nightly skipped at " + noon.Format(time.RFC3339), "schedule nightly missed 2 times from " + noon.Format(time.RFC3339) + " to " + noon.Add(time.Hour).Format(time.RFC3339)}},
		"others": {audit.KindChange, report.Filter{User: "bob"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			events, err := report.Events(t.Context(), busy(t), test.kind, test.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				got = append(got, e.Text)
			}
			if !cmp.Equal(got, test.want) {
				t.Errorf("Events(%s) = %q, want %q", test.kind, got, test.want)
			}
		})
	}
}

func TestRunsCSV(t *testing.T) {
	m := planted(t)
	m.run(t, "hostile", noon.Add(time.Hour), audit.Who{User: "=cmd|'/c calc'!A0"}, audit.RunEnd{
		Program: audit.Program{Name: "@SUM(1)", Code: "c0de", Input: json.RawMessage(`{"a":1}`)}, Output: " -1+1\r\nx\x1b[2J", Error: "＝1", Violations: []string{"+1", "b"}, Sandbox: "docker",
	})
	var out bytes.Buffer
	if err := report.RunsCSV(t.Context(), m, report.Filter{Code: true, From: noon.Add(5 * time.Minute)}, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 7 {
		t.Errorf("six runs and a head are %d lines, want 7", n)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, name := range lines[0] {
		got[name] = lines[1][i]
	}
	for name, want := range map[string]string{
		"run": "hostile", "time": "2026-11-30T13:00:00Z", "user": "'=cmd|'/c calc'!A0", "name": "'@SUM(1)", "output": `' -1+1\r\nx\x1b[2J`, "error": "'＝1", "violations": "'+1; b",
		"code": `console.log(1)\n`, "codeHash": "c0de", "input": `{"a":1}`, "model": "", "tokensUsed": "", "success": "false", "durationMs": "0",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
}

func TestJSONL(t *testing.T) {
	m := planted(t)
	m.rows[0].Content = nil
	var out bytes.Buffer
	if err := report.JSONL(t.Context(), m, time.Time{}, noon.Add(time.Minute), &out); err != nil {
		t.Fatal(err)
	}
	want := `{"index":0,"kind":"run","removed":true,"run":"r0","time":"2026-11-30T12:00:00Z"}` + "\n" + string(m.rows[1].Content) + "\n"
	if out.String() != want {
		t.Errorf("JSONL() = %s, want %s", out.String(), want)
	}
}

// hinted is a record of runs whose calls say what their tools do. The run "reads" only reads; "refused" was refused a deletion; "writes" was
// killed after two calls, and what was printed left as it is.
func hinted(t testing.TB) *memory {
	m := &memory{codes: map[string]string{"1": "level: read_only\n", "2": "level: execute_full\n", "11b": "export const one = 1;\n"}}
	who := audit.Who{Customer: "acme"}
	add := func(run string, kind audit.Kind, body any) {
		m.add(t, audit.Entry{Kind: kind, Time: noon, Run: run, Who: who, Body: body})
	}
	program := audit.Program{Action: "execute_code", Name: "s.ts", PII: "off", Machine: audit.Machine{Host: "box", Version: "1"}, Modules: []audit.Module{{Name: "lib.ts", Digest: "11b"}}}
	for _, run := range []string{"reads", "refused", "writes"} {
		add(run, audit.KindRun, audit.RunStart{Program: program, Sandbox: "docker"})
		add(run, audit.KindCall, audit.CallStart{Call: 1, Tool: "crm__get", Hint: "reads", Effect: "allow"})
		add(run, audit.KindCallEnd, audit.CallEnd{Call: 1, Tool: "crm__get", Hint: "reads", Outcome: "ok"})
	}
	add("refused", audit.KindCallEnd, audit.CallEnd{Call: 2, Tool: "crm__delete", Hint: "destructive", Outcome: "denied", Effect: "deny"})
	add("writes", audit.KindCall, audit.CallStart{Call: 2, Tool: "crm__set", Hint: "writes", Effect: "allow", Rule: "sets", Arguments: json.RawMessage(`{"id":1}`)})
	add("writes", audit.KindPersonal, audit.Personal{Tokens: map[string]int{}, Clear: map[string]int{"EMAIL": 2}})
	add("", audit.KindChange, audit.Change{What: "policy", From: "a", To: "b", FromText: "1", ToText: "2"})
	add("", audit.KindAccess, audit.Access{Action: "restore_pii", Names: []string{"[EMAIL_1]"}, Count: 1})
	return m
}

func TestChanges(t *testing.T) {
	m := hinted(t)
	runs, err := report.List(t.Context(), m, report.Filter{Changes: true})
	if err != nil || len(runs) != 1 || runs[0].ID != "writes" || *runs[0].CallCount != 2 || runs[0].PII != "off" || runs[0].Host != "box" {
		t.Errorf("List(Changes) = %+v, %v, want the run writes with two calls", runs, err)
	}
	if runs, err = report.List(t.Context(), m, report.Filter{Changes: true, Tool: "crm__get"}); err != nil || len(runs) != 0 {
		t.Errorf("List(Changes, crm__get) = %+v, %v, want none", runs, err)
	}
	events, err := report.Events(t.Context(), m, audit.KindCall, report.Filter{Changes: true})
	if err != nil || len(events) != 1 || events[0].Call.Tool != "crm__set" || events[0].Call.Hint != "writes" || string(events[0].Call.Arguments) != `{"id":1}` || events[0].Customer != "acme" {
		t.Errorf("Events(Changes) = %+v, %v, want the call of crm__set", events, err)
	}
	r, err := report.Make(t.Context(), m, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, tool := range r.Tools {
		tools = append(tools, fmt.Sprint(tool.Tool, " ", tool.Hint, " ", tool.Calls))
	}
	if want := []string{"crm__get reads 3", "crm__delete destructive 1", "crm__set writes 1"}; !cmp.Equal(tools, want) {
		t.Errorf("the tools are %q, want %q", tools, want)
	}
	if r.Clear["EMAIL"] != 2 || len(r.Personal) != 0 {
		t.Errorf("left in the clear: %v, as tokens: %v", r.Clear, r.Personal)
	}
	d, err := report.Show(t.Context(), m, "writes")
	if err != nil || *d.CallCount != 2 || d.Clear["EMAIL"] != 2 || len(d.Modules) != 1 || d.Modules[0].Code != "export const one = 1;\n" {
		t.Errorf("Show() = %+v, %v", d, err)
	}
}

func TestShowRow(t *testing.T) {
	m := hinted(t)
	for index, want := range map[int64]struct{ text, diff string }{
		0:                      {"execute_code s.ts is about to start", ""},
		2:                      {"crm__get: ok, allow", ""},
		int64(len(m.rows)) - 2: {"policy changed from a to b", "--- policy a\n+++ policy b\n@@ -1,1 +1,1 @@\n-level: read_only\n+level: execute_full\n"},
		int64(len(m.rows)) - 1: {"restore_pii (1): [EMAIL_1]", ""},
	} {
		d, err := report.ShowRow(t.Context(), m, index)
		if err != nil || d.Text != want.text || d.Diff != want.diff {
			t.Errorf("ShowRow(%d) = %+v, %v, want %q", index, d, err, want)
		}
	}
	if _, err := report.ShowRow(t.Context(), m, int64(len(m.rows))); !isNotFound(err) {
		t.Errorf("a row beyond the end: %v, want a NotFoundError", err)
	}
}
