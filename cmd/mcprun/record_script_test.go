package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// plant FILE: makes a database with a record. On 2 November 2026 it has ten runs whose figures are known, and on the day after one with all that
// a run can have, and one without an end.
func plant(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: plant FILE")
	}
	ts.Check(plantRecord(ts.MkAbs(args[0])))
}

func plantRecord(path string) (err error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	log, err := audit.Open(s, audit.Options{Who: audit.Who{User: "ann"}})
	if err != nil {
		return err
	}
	digest, err := log.Code(ctx, "console.log(await crm.list())\n")
	if err != nil {
		return err
	}
	entries := append(plantedRuns(digest), plantedDay(digest)...)
	return errors.Join(log.Append(ctx, entries...), log.Close())
}

// plantedRuns are 6 runs of low risk, 2 medium, 1 high and 1 critical; 1 with a violation, which is one of the 2 that failed; from 100 to 1,000
// ms; 50 tokens each.
func plantedRuns(digest string) (entries []audit.Entry) {
	at := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	tokens := 50
	for i, risk := range []audit.Text{"low", "low", "low", "low", "low", "low", "medium", "medium", "high", "critical"} {
		id, who := fmt.Sprintf("run-00000000000%d", i), audit.Who{Customer: []audit.Text{"acme", "beta"}[i%2], Session: "s1"}
		end := audit.RunEnd{
			Program: audit.Program{Action: "execute_code", Name: audit.Text(fmt.Sprintf("job%d.ts", i)), Language: "typescript", Code: audit.Text(digest), Risk: risk},
			Sandbox: "docker", Cause: "exit", Success: true, DurationMS: float64(100 * (i + 1)), TokensUsed: &tokens, Approved: true, AutoApproved: true,
			Violations: []string{}, Files: []string{},
		}
		switch i {
		case 2:
			end.Success, end.Cause, end.ExitCode, end.Error = false, "error", 1, "TypeError: x is not a function"
		case 9:
			end.Success, end.Cause, end.ExitCode, end.Error, end.Sandbox, end.Approved, end.AutoApproved = false, "failed", 126, "refused: eval", "none", false, false
			end.Violations = []string{"job9.ts:1: eval"}
		default:
		}
		if end.Sandbox != "none" {
			entries = append(entries, audit.Entry{Kind: audit.KindRun, Time: at, Run: id, Who: who, Body: audit.RunStart{Program: end.Program, Sandbox: "docker"}})
		}
		entries = append(entries, audit.Entry{Kind: audit.KindRunEnd, Time: at.Add(time.Duration(end.DurationMS) * time.Millisecond), Run: id, Who: who, Body: end})
		at = at.Add(time.Minute)
	}
	return entries
}

func plantedDay(digest string) (entries []audit.Entry) {
	at := time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)
	who := audit.Who{Customer: "acme", Session: "s2", Client: "Claude", ClientVersion: "1.2"}
	add := func(run string, kind audit.Kind, body any) {
		entries = append(entries, audit.Entry{Kind: kind, Time: at, Run: run, Who: who, Body: body})
		at = at.Add(time.Second)
	}
	const id = "run-SYNC"
	program := audit.Program{
		Action: "execute_code", Name: "sync.ts", Language: "typescript", Code: audit.Text(digest), Risk: "medium", RiskReason: "writes", Input: json.RawMessage(`{"arguments":["--all"]}`),
	}
	add("", audit.KindChange, audit.Change{What: "policy", From: "aaaaaaaaaaaaaaaa", To: "bbbbbbbbbbbbbbbb"})
	add(id, audit.KindApproval, audit.Approval{Subject: "run", Rule: "policy.risk", Answer: "approved", By: "ann at the terminal", WaitMS: 4200})
	add(id, audit.KindRun, audit.RunStart{Program: program, Sandbox: "docker"})
	add(id, audit.KindCall, audit.CallStart{Call: 1, Tool: "crm__list_contacts", Hint: "reads", Effect: "allow", Rule: "policy.rules[0]", Arguments: json.RawMessage(`{"email":"[EMAIL_1]"}`)})
	add(id, audit.KindCallEnd, audit.CallEnd{Call: 1, Tool: "crm__list_contacts", Hint: "reads", Outcome: "ok", DurationMS: 20, ResultBytes: 300})
	add(id, audit.KindApproval, audit.Approval{Subject: "call", Tool: "crm__delete_contact", Call: 2, Rule: "policy.rules[1]", Answer: "refused", By: "bob on the page", WaitMS: 8000})
	add(id, audit.KindCallEnd, audit.CallEnd{
		Call: 2, Tool: "crm__delete_contact", Hint: "destructive", Outcome: "denied", Error: "bob refused it", Effect: "ask", Rule: "policy.rules[1]", By: "bob on the page", Arguments: json.RawMessage(`{"id":7}`),
	})
	add(id, audit.KindConnection, egress.Event{Time: at, Host: "api.example.com", Port: 443, Protocol: egress.HTTPS, Method: "GET", Path: "/v1", Status: 200, Allowed: true, Sent: 10, Received: 2000})
	add(id, audit.KindConnection, egress.Event{Time: at, Host: "169.254.169.254", Port: 80, Protocol: egress.HTTP, Check: egress.ByRange, Reason: "it is link-local"})
	add(id, audit.KindPersonal, audit.Personal{Tokens: map[string]int{"EMAIL": 3, "PHONE": 1}})
	tokens, saved := 120, 4000
	add(id, audit.KindRunEnd, audit.RunEnd{
		Program: program, Sandbox: "docker", Cause: "exit", Success: true, DurationMS: 21_500, TokensUsed: &tokens, TokensSaved: &saved, Approved: true, By: "ann at the terminal", Rule: "policy.risk",
		Output: "3 contacts\n\x1b]0;title\a=1+1\n", Result: json.RawMessage(`{"contacts":3}`), Violations: []string{"connection to 169.254.169.254:80: blocked range"}, Calls: 2, Files: []string{"out.csv"},
	})
	add("run-DIED", audit.KindRun, audit.RunStart{Program: audit.Program{Action: "execute_code", Name: "\x1b[2Jevil.py", Language: "python", Risk: "low"}, Sandbox: "process"})
	add("run-DIED", audit.KindCall, audit.CallStart{Call: 1, Tool: "crm__delete_contact", Hint: "destructive", Effect: "allow", Rule: "policy.rules[2]", Arguments: json.RawMessage(`{"id":8}`)})
	return entries
}
