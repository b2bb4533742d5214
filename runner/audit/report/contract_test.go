package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/store"
)

// TestContractKnownAnswer checks the digest that the published vectors give for a record with one extension.
func TestContractKnownAnswer(t *testing.T) {
	tool, session := "export", "55555555-5555-5555-5555-555555555555"
	record := &contractRecord{
		EventID: "99999999-9999-9999-9999-999999999999", EventType: "tool_call", OccurredAt: "2026-06-06T12:00:00.000Z", Outcome: "deferred",
		PrincipalID: "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa", ToolName: &tool,
	}
	record.Extensions.Caller = contractCaller{Purpose: "reconcile June invoices", Session: &session}
	body, err := canonical(record)
	if err != nil {
		t.Fatal(err)
	}
	// human_actor_id is a field that the known record leaves out.
	known := strings.Replace(string(body), `"human_actor_id":null,`, "", 1)
	if got, want := contractDigest([]byte(known)), "d494769c1ae442ea88dd190068747abf63c0568a3b856f85791b1a50a99d48b4"; got != want {
		t.Errorf("digest of %s\n= %s, want %s", known, got, want)
	}
}

// TestContractString checks the rules of §2.3.
func TestContractString(t *testing.T) {
	for in, want := range map[string]string{
		"cafe\u0301 audit ": "caf\u00e9 audit", "line1\nline2": `line1\nline2`, "a\u0085b": `a\u0085b`, "\u00a0x": `\u00a0x`, "<&>\u2028": `<&>\u2028`, "\U0001f512": "\U0001f512", "\xff": `\xff`,
	} {
		if got := contractString(in); got != want {
			t.Errorf("contractString(%q) = %q, want %q", in, got, want)
		}
	}
	for _, long := range []string{strings.Repeat("x", 9000), strings.Repeat("\U0001f512", 5000), "x" + strings.Repeat("\U0001f512", 5000)} {
		got := contractString(long)
		if n := len([]rune(got)); n > contractText || strings.Contains(got, "\ufffd") || !strings.HasSuffix(got, "…") {
			t.Errorf("contractString() of a long text has %d characters and ends in %q", n, got[len(got)-6:])
		}
	}
}

// rows is a record that can only be read as a whole.
type rows struct {
	store.Record
	list []store.Row
}

func (r *rows) Rows(_ context.Context, _ store.Range, each func(store.Row) error) error {
	for _, row := range r.list {
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func TestContract(t *testing.T) {
	rec := &rows{}
	who := audit.Who{User: "ann", Customer: "acme", Session: "s1"}
	add := func(run string, kind audit.Kind, body any) {
		content, err := json.Marshal(map[string]any{"who": who, "body": body})
		if err != nil {
			t.Fatal(err)
		}
		rec.list = append(rec.list, store.Row{Index: int64(len(rec.list)), Time: time.Date(2026, 11, 30, 12, 0, len(rec.list), 5e6, time.UTC), Kind: string(kind), Run: run, Content: content})
	}
	program := audit.Program{Action: "execute_code", Name: "a.ts", Code: "c0de", Risk: "high"}
	add("a", audit.KindRun, audit.RunStart{Program: program})
	add("a", audit.KindCall, audit.CallStart{Call: 1, Tool: "crm\n__get", Effect: "allow"})
	add("a", audit.KindCallEnd, audit.CallEnd{Call: 1, Tool: "crm\n__get", Outcome: "tool"})
	add("a", audit.KindCallEnd, audit.CallEnd{Call: 2, Tool: "crm__delete", Outcome: "denied", Effect: "ask", By: "ann"})
	add("a", audit.KindCallEnd, audit.CallEnd{Call: 3, Tool: "crm__get", Outcome: "ok", Effect: "allow", Cached: true})
	add("a", audit.KindConnection, egress.Event{Host: "example.com", Port: 443})
	add("a", audit.KindRunEnd, audit.RunEnd{Program: program, Sandbox: "docker"})
	add("b", audit.KindRunEnd, audit.RunEnd{Program: program, Sandbox: "none", ExitCode: 126})
	add("c", audit.KindRunEnd, audit.RunEnd{Program: program, Sandbox: "none", ExitCode: 125})
	add("direct", audit.KindRun, audit.RunStart{Program: audit.Program{Action: "call_tool"}})
	add("direct", audit.KindRunEnd, audit.RunEnd{Program: audit.Program{Action: "call_tool"}, Sandbox: "none", ExitCode: 126})
	add("earlier", audit.KindCallEnd, audit.CallEnd{Call: 1, Tool: "crm__get", Outcome: "ok"})
	add("earlier", audit.KindRunEnd, audit.RunEnd{Program: program, Sandbox: "docker"})
	add("began earlier", audit.KindRunEnd, audit.RunEnd{Program: audit.Program{Action: "call_tool"}, Sandbox: "none", ExitCode: 126, Calls: 1})
	add("refused", audit.KindRunEnd, audit.RunEnd{Program: audit.Program{Action: "call_tool", Name: "crm__send"}, Sandbox: "none", ExitCode: 126})

	var out bytes.Buffer
	if err := Contract(t.Context(), rec, time.Time{}, time.Time{}, &out); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Manifest map[string]string `json:"attestation_manifest"`
		Records  []map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if doc.Manifest["canonical_form_version"] != contractForm || doc.Manifest["chain_algorithm"] != "sha-256" || doc.Manifest["verification_procedure_ref"] == "" || doc.Manifest["storage_mechanism"] == "" {
		t.Errorf("manifest = %v", doc.Manifest)
	}
	want := []string{
		"row-0 code_execution <nil> allowed true", `row-1 tool_call crm\n__get allowed false`, "row-3 tool_call crm__delete denied true",
		"row-4 tool_call crm__get allowed false", "row-5 network_connection example.com:443 denied true", "row-7 code_execution <nil> denied true", "row-8 code_execution <nil> error true",
		"row-14 tool_call crm__send denied false",
	}
	var previous any
	for i, r := range doc.Records {
		caller := r["extensions"].(map[string]any)["caller-governance"].(map[string]any)
		line := strings.TrimSpace(fmt.Sprintln(r["event_id"], r["event_type"], r["tool_name"], r["outcome"], caller["flagged"]))
		if i >= len(want) || line != want[i] {
			t.Errorf("record %d = %s, want %v", i, line, want[min(i, len(want)-1)])
		}
		purpose := "execute_code a.ts sha256:c0de"
		if r["event_id"] == "row-14" {
			purpose = "call_tool crm__send"
		}
		if r["principal_id"] != "acme" || caller["session_id"] != "s1" || caller["purpose_declared"] != purpose {
			t.Errorf("record %d: principal %v, session %v, purpose %v", i, r["principal_id"], caller["session_id"], caller["purpose_declared"])
		}
		// An independent verification (§2.6): a map is marshalled with sorted keys.
		if r["previous_hash"] != previous {
			t.Errorf("record %d: previous hash %v, want %v", i, r["previous_hash"], previous)
		}
		previous = r["event_hash"]
		delete(r, "event_hash")
		var body bytes.Buffer
		enc := json.NewEncoder(&body)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
		if got := contractDigest(bytes.TrimSpace(body.Bytes())); got != previous {
			t.Errorf("record %d: hash %v, want %s", i, previous, got)
		}
	}
	if len(doc.Records) != len(want) {
		t.Errorf("%d records, want %d", len(doc.Records), len(want))
	}
}
