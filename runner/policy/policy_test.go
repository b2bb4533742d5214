package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// parse compiles the text of a policy.
func parse(t testing.TB, text string, rates *Rates) *Policy {
	t.Helper()
	p, err := parseFile(t, text, rates)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parseFile(t testing.TB, text string, rates *Rates) (*Policy, error) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.ReadPolicy(path)
	if err != nil {
		return nil, err
	}
	return New(&cfg.Policy, rates)
}

// of returns a call of a tool by its id.
func of(run *Run, id, args string, hints Hints) *Request {
	dir, name, _ := strings.Cut(id, "__")
	return &Request{Server: dir, Dir: dir, Name: name, Tool: id, Args: json.RawMessage(args), Hints: hints, Run: run}
}

func decided(p Decider, req *Request) string {
	d := p.Decide(context.Background(), req)
	return strings.TrimSpace(fmt.Sprintf("%s %s", d.Effect, d.Rule))
}

func TestDecide(t *testing.T) {
	reads, destroys := Hints{ReadOnly: true}, Hints{Destructive: true}
	for _, c := range []struct {
		name, policy, tool, args string
		hints                    Hints
		want                     string
	}{
		{"no policy, a write", "{}", "crm__create", `{}`, Hints{}, "allow"},
		{"no policy, a destructive tool", "{}", "crm__delete", `{}`, destroys, "ask " + DefaultRule},
		{"a rule instead of the default", `rules: [{allow: "crm__*"}]`, "crm__delete", `{}`, destroys, "allow allow crm__*"},
		{"read_only, a read", "level: read_only", "crm__get", `{}`, reads, "allow"},
		{"read_only, a write", "{level: read_only, rules: [{allow: '*'}]}", "crm__create", `{}`, Hints{}, "deny level read_only"},
		{"read_only, a rule that denies is named", "{level: read_only, rules: [{deny: '*', name: n}]}", "crm__create", `{}`, Hints{}, "deny n"},
		{"write_restricted, a write", "level: write_restricted", "crm__create", `{}`, Hints{}, "ask level write_restricted"},
		{"write_restricted, a listed write", "{level: write_restricted, rules: [{allow: crm__create}]}", "crm__create", `{}`, Hints{}, "allow allow crm__create"},
		{"execute_full, a destructive tool", "level: execute_full", "crm__delete", `{}`, destroys, "allow"},
		{"default deny, no rule", `default: deny`, "crm__get", `{}`, reads, "deny default: deny"},
		{"default deny, a rule that allows", `{default: deny, rules: [{allow: crm__delete}]}`, "crm__delete", `{}`, destroys, "allow allow crm__delete"},
		{"default deny, a rule that asks", `{default: deny, rules: [{ask: crm__get, name: n}]}`, "crm__get", `{}`, reads, "ask n"},
		{"default deny, reads are opened by a hint", `{default: deny, rules: [{allow: "*", hint: reads, name: n}]}`, "crm__get", `{}`, reads, "allow n"},
		{"default deny, an allow rule whose condition is false", `{default: deny, rules: [{allow: "*", when: args.a == 1}]}`, "crm__get", `{"a": 2}`, reads, "deny default: deny"},
		{"default deny is stricter than a level", `{default: deny, level: execute_full}`, "crm__get", `{}`, reads, "deny default: deny"},
		{"default ask", `default: ask`, "crm__get", `{}`, reads, "ask default: ask"},
		{"default ask, a level that asks too", `{default: ask, level: write_restricted}`, "crm__create", `{}`, Hints{}, "ask level write_restricted"},
		{"default ask, a level that denies", `{default: ask, level: read_only}`, "crm__create", `{}`, Hints{}, "deny level read_only"},
		{"default allow, a destructive tool", `default: allow`, "crm__delete", `{}`, destroys, "allow"},
		{"default allow, a level that asks", `{default: allow, level: write_restricted}`, "crm__create", `{}`, Hints{}, "ask level write_restricted"},
		{"deny wins", `rules: [{allow: "*"}, {ask: "*"}, {deny: "crm__*", name: no}]`, "crm__get", `{}`, reads, "deny no"},
		{"ask beats allow", `rules: [{allow: "*"}, {ask: "*", name: may I}]`, "crm__get", `{}`, reads, "ask may I"},
		{"the first of two", `rules: [{deny: "*", name: a}, {deny: "*", name: b}]`, "crm__get", `{}`, reads, "deny a"},
		{"hint destructive", `rules: [{deny: "*", hint: destructive}]`, "crm__get", `{}`, Hints{}, "allow"},
		{"hint writes", `rules: [{deny: "*", hint: writes, name: n}]`, "crm__get", `{}`, Hints{}, "deny n"},
		{"hint reads", `rules: [{deny: "*", hint: writes}, {allow: "*", hint: reads, name: n}]`, "crm__get", `{}`, reads, "allow n"},
		{"risk of the call", `rules: [{deny: "*", risk: high, name: n}]`, "crm__delete", `{}`, destroys, "deny n"},
		{"risk below", `rules: [{deny: "*", risk: high, name: n}]`, "crm__create", `{}`, Hints{}, "allow"},
		{"when holds", `rules: [{ask: "*", name: n, when: args.amount > 10000}]`, "bank__pay", `{"amount": 10000.5}`, Hints{}, "ask n"},
		{"when holds not", `rules: [{ask: "*", name: n, when: args.amount > 10000}]`, "bank__pay", `{"amount": 1e4}`, Hints{}, "allow"},
		{"a huge number", `rules: [{ask: "*", name: n, when: args.amount > 10000}]`, "bank__pay", `{"amount": 1e999}`, Hints{}, "ask n"},
		{"a large whole number", `rules: [{ask: "*", name: n, when: args.id == 9007199254740993}]`, "bank__pay", `{"id": 9007199254740993}`, Hints{}, "ask n"},
		{"a missing argument", `rules: [{allow: "*", name: n, when: args.amount > 10000}]`, "bank__pay", `{}`, Hints{}, "deny n"},
		{"an optional argument", `rules: [{ask: "*", name: n, when: 'args.?amount.orValue(0) > 10000'}]`, "bank__pay", `{}`, Hints{}, "allow"},
		{"another type", `rules: [{allow: "*", name: n, when: args.amount > 10000}]`, "bank__pay", `{"amount": "9"}`, Hints{}, "deny n"},
		{"not a bool", `rules: [{allow: "*", name: n, when: args.amount}]`, "bank__pay", `{"amount": 1}`, Hints{}, "deny n"},
		{"a name twice", `rules: [{ask: "*", name: n, when: args.amount > 10000}]`, "bank__pay", `{"amount":1,"amount":20000}`, Hints{}, "deny n"},
		{"names that differ in case", `rules: [{ask: "*", name: n, when: args.b.amount > 10000}]`, "bank__pay", `{"b":{"amount":1,"Amount":20000}}`, Hints{}, "deny n"},
		{"another case", `rules: [{ask: "*", name: n, when: "args.?amount.orValue(0) > 10000"}]`, "bank__pay", `{"AMOUNT":20000}`, Hints{}, "deny n"},
		{"another case in a list", `rules: [{ask: "*", name: n, when: "args.rows.all(r, r.a == 1)"}]`, "bank__pay", `{"rows":[{"a":1},{"a":1,"A":2}]}`, Hints{}, "deny n"},
		{"another case that no condition looks at", `rules: [{ask: "*", name: n, when: "args.b == 1"}]`, "bank__pay", `{"a":1,"A":1,"b":1}`, Hints{}, "ask n"},
		{"server, tool and hints", `rules: [{ask: "*", name: n, when: server == 'crm' && tool == 'crm__x' && hints.destructive && risk >= high}]`, "crm__x", `{}`, destroys, "ask n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := decided(parse(t, c.policy, nil), of(&Run{}, c.tool, c.args, c.hints)); got != c.want {
				t.Errorf("Decide() = %q, want %q", got, c.want)
			}
		})
	}
}

// TestNames uses all names under which a rule may name a tool. The configuration calls the server Sales.CRM; its folder is an alias.
func TestNames(t *testing.T) {
	req := &Request{Server: "Sales.CRM", Dir: "customers", Name: "Delete-Record", Tool: "customers__delete_record_2", Run: &Run{}}
	for glob, fits := range map[string]struct{ deny, allow bool }{
		"customers__delete_record_2": {true, true},
		"customers__*":               {true, true},
		"Sales.CRM__Delete-Record":   {true, true},
		"CUSTOMERS__DELETE*":         {true, false},
		"sales_crm__delete_record":   {true, false},
		"sales.crm__*":               {true, false},
		"crm__*":                     {false, false},
		"delete_record":              {false, false},
	} {
		if got := decided(parse(t, `rules: [{name: n, deny: "`+glob+`"}]`, nil), req) == "deny n"; got != fits.deny {
			t.Errorf("deny %q fits: %v, want %v", glob, got, fits.deny)
		}
		if got := decided(parse(t, `rules: [{name: n, allow: "`+glob+`"}]`, nil), req) == "allow n"; got != fits.allow {
			t.Errorf("allow %q fits: %v, want %v", glob, got, fits.allow)
		}
	}
	read := &Request{Server: "crm", Dir: "crm", Name: "resources/read", Tool: "crm__resources/read", Args: json.RawMessage(`{"uri":"x"}`), Run: &Run{}}
	for _, glob := range []string{"crm__*", "*", "crm__resources/*", "crm__resources/read"} {
		if got := decided(parse(t, `rules: [{name: n, deny: "`+glob+`"}]`, nil), read); got != "deny n" {
			t.Errorf(`a resource and deny %q: %s, want "deny n"`, glob, got)
		}
	}
}

// TestPolicyWithoutFile checks the names and positions of rules that a program created itself.
func TestPolicyWithoutFile(t *testing.T) {
	p, err := New(&config.Policy{PolicyPart: config.PolicyPart{Rules: []config.PolicyRule{{Deny: config.Globs{"crm__delete*"}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Decide(t.Context(), &Request{Server: "crm", Dir: "crm", Name: "delete_record", Tool: "crm__delete_record", Args: json.RawMessage(`{}`), Run: &Run{}})
	if got, want := d.Source(), `rule "deny crm__delete*"`; d.Effect != Deny || got != want {
		t.Errorf("%s by %s, want deny by %s", d.Effect, got, want)
	}
}

func TestTaintAndRun(t *testing.T) {
	p := parse(t, `rules:
- {name: no mixing, deny: "crm__*", when: "'web' in taint"}
- {name: first calls, deny: "late__*", when: calls >= 2}
- {name: not bob, deny: "*", when: "customer == 'bob' || session == 's2'"}
customers:
  carl: {level: read_only, rules: [{ask: "web__*", name: carl asks}]}
`, nil)
	run := &Run{}
	for i, want := range []string{"crm__get allow", "web__get allow", "crm__get deny no mixing", "late__x deny first calls", "mail__get allow"} {
		tool, want, _ := strings.Cut(want, " ")
		req := of(run, tool, `{}`, Hints{})
		if got := decided(p, req); got != want {
			t.Errorf("call %d: %q, want %q", i+1, got, want)
		}
		if strings.HasPrefix(want, "allow") {
			run.Received(req)
		}
	}
	for _, c := range []struct {
		subject    Subject
		tool, want string
	}{
		{Subject{Customer: "bob"}, "mail__get", "deny not bob"},
		{Subject{Session: "s2"}, "mail__get", "deny not bob"},
		{Subject{Customer: "carl"}, "mail__send", "deny level read_only"},
		{Subject{Customer: "carl"}, "web__get", "deny level read_only"},
		{Subject{Customer: "carla"}, "web__get", "allow"},
		{Subject{Risk: risk.Critical}, "mail__send", "allow"},
	} {
		if got := decided(p, of(&Run{Subject: c.subject}, c.tool, `{}`, Hints{})); got != c.want {
			t.Errorf("%+v calls %s: %q, want %q", c.subject, c.tool, got, c.want)
		}
	}
}

func TestOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := NewRates()
		p := parse(t, `rules:
- {name: five a run, deny: "*", hint: writes, over: {run: 5}}
- {name: three a minute, ask: "mail__*", over: {minute: 3}}
- {name: never, deny: "*__bad"}
`, rates)
		run := &Run{}
		call := func(run *Run, tool string, hints Hints) string { return decided(p, of(run, tool, `{}`, hints)) }
		for range 4 {
			if got := call(run, "mail__bad", Hints{}); got != "deny never" {
				t.Fatal(got)
			}
			if got := call(run, "mail__get", Hints{ReadOnly: true}); !strings.Contains("allow ask three a minute", got) {
				t.Fatal(got)
			}
		}
		if got := call(run, "mail__get", Hints{ReadOnly: true}); got != "ask three a minute" {
			t.Errorf(`the fifth read of a minute: %q, want "ask three a minute"`, got)
		}
		time.Sleep(time.Minute)
		if got := call(run, "mail__get", Hints{ReadOnly: true}); got != "allow" {
			t.Errorf(`a minute later: %q, want "allow"`, got)
		}
		var wait sync.WaitGroup
		var mu sync.Mutex
		count := map[string]int{}
		for range 40 {
			wait.Go(func() {
				got := call(run, "crm__put", Hints{})
				mu.Lock()
				defer mu.Unlock()
				count[got]++
			})
		}
		wait.Wait()
		if count["allow"] != 5 || count["deny five a run"] != 35 {
			t.Errorf("40 writes at once: %v, want 5 of them allowed", count)
		}
		if got := call(&Run{}, "crm__put", Hints{}); got != "allow" {
			t.Errorf(`another run: %q, want "allow"`, got)
		}
		for range 4 {
			call(&Run{}, "mail__get", Hints{ReadOnly: true})
		}
		if got := call(&Run{}, "mail__get", Hints{ReadOnly: true}); got != "ask three a minute" {
			t.Errorf(`a minute's number is that of all runs: %q, want "ask three a minute"`, got)
		}
		if got := call(&Run{Subject: Subject{Customer: "ann"}}, "mail__get", Hints{ReadOnly: true}); got != "allow" {
			t.Errorf(`another customer: %q, want "allow"`, got)
		}
	})
}

func TestRunsOfALevel(t *testing.T) {
	p := parse(t, `level: write_restricted
ceilings: {memory: 1GB}
customers:
  ann: {level: read_only, ceilings: {timeout: 10m, risk: high}}
  bob: {level: execute_full}
`, nil)
	for _, c := range []struct {
		customer string
		program  Program
		want     string
	}{
		{"", Program{Risk: risk.Assessment{Set: risk.High}, Operations: one("file-write", "a.txt")}, "allow"},
		{"", Program{Risk: risk.Assessment{Set: risk.Critical}}, "deny level write_restricted policy.yaml:1 the script's risk is critical; the policy allows at most high"},
		{"", Program{Operations: one("process", "git status")}, "deny level write_restricted policy.yaml:1 the script runs a command \"git status\" (a.ts:3): the level allows none"},
		{"ann", Program{Risk: risk.Assessment{Set: risk.High}}, "allow"},
		{"ann", Program{Operations: one("file-write", "a.txt")}, "deny level read_only policy.yaml:4 the script writes a file \"a.txt\" (a.ts:3)"},
		{"ann", Program{Operations: one("network", "example.com")}, "deny level read_only policy.yaml:4 the script uses the network \"example.com\" (a.ts:3)"},
		{"bob", Program{Risk: risk.Assessment{Set: risk.Low}}, "ask level execute_full policy.yaml:5 the level asks before a script starts, unless a rule with allow: scripts lets it"},
	} {
		d := p.DecideRun(Subject{Customer: c.customer}, &c.program)
		if got := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", d.Effect, d.Rule, d.At, d.Reason)); got != c.want {
			t.Errorf("%q, %+v: %q, want %q", c.customer, c.program, got, c.want)
		}
		err := &RunError{"a.ts", d}
		if said := err.Error(); d.Effect != Allow && (!strings.Contains(said, "policy refused to run a.ts: "+d.Reason) || !strings.Contains(said, d.At)) {
			t.Errorf("Error() = %v", err)
		}
	}
	if got := p.Ceilings("ann"); got.Timeout != 10*time.Minute || got.Memory != "1GB" {
		t.Errorf(`ann's ceilings = %+v, want Timeout %v and Memory "1GB"`, got, 10*time.Minute)
	}
	if got := p.Ceilings("bob"); got.Timeout != 0 || got.Memory != "1GB" {
		t.Errorf(`bob's ceilings = %+v, want Timeout 0 and Memory "1GB"`, got)
	}
}

// TestScriptsAreAskedAbout tests rules about scripts, the level that asks, and the risk that always asks unless a rule denies.
func TestScriptsAreAskedAbout(t *testing.T) {
	low, medium, high := Program{Risk: risk.Assessment{Shown: risk.Low}}, Program{Risk: risk.Assessment{Shown: risk.Medium}}, Program{Risk: risk.Assessment{Shown: risk.High}}
	critical := Program{Risk: risk.Assessment{Shown: risk.Critical}}
	for _, c := range []struct {
		rules   string
		program Program
		want    string
	}{
		{"{}", low, "allow"},
		{"{}", high, "allow"},
		{"{}", critical, "ask " + CriticalRule},
		{"{}", Program{Risk: risk.Assessment{Set: risk.Critical, Shown: risk.Low}}, "allow"}, // set by a person
		{"rules: [{ask: scripts, risk: high, name: n}]", high, "ask n"},
		{"rules: [{ask: scripts, risk: high, name: n}]", Program{Risk: risk.Assessment{Set: risk.High, Shown: risk.Low}}, "ask n"},
		{"rules: [{ask: scripts, risk: high, name: n}]", medium, "allow"},
		{"rules: [{ask: scripts, risk: high, name: n}]", critical, "ask n"},
		{"rules: [{ask: '*'}, {deny: 's*'}, {deny: 'script?'}]", low, "allow"},
		{"rules: [{ask: [Scripts, 'crm__*'], name: n}]", low, "ask n"},
		{"rules: [{deny: scripts, risk: critical, name: n}]", critical, "deny n"},
		{"rules: [{allow: scripts}]", critical, "ask " + CriticalRule},
		{"rules: [{ask: scripts, when: 'customer == \"ann\"'}]", low, "allow"},
		{"rules: [{ask: scripts, when: 'args.x > 1', name: n}]", low, "deny n"},
		{"{level: execute_full, rules: [{allow: scripts, when: risk <= medium, name: n}]}", low, "allow n"},
		{"{level: execute_full, rules: [{allow: scripts, when: risk <= medium, name: n}]}", medium, "allow n"},
		{"{level: execute_full, rules: [{allow: scripts, when: risk <= medium, name: n}]}", high, "ask level execute_full"},
		{"{level: execute_full, rules: [{allow: scripts}]}", critical, "ask " + CriticalRule},
	} {
		d := parse(t, c.rules, nil).DecideRun(Subject{}, &c.program)
		if got := strings.TrimSpace(fmt.Sprintf("%s %s", d.Effect, d.Rule)); got != c.want {
			t.Errorf("%s, %+v: %q, want %q", c.rules, c.program, got, c.want)
		}
	}
	if d := (*Policy)(nil).DecideRun(Subject{}, &critical); d.Effect != Ask || d.Rule != CriticalRule {
		t.Errorf("without a policy: %+v, want Effect %v and Rule %v", d, Ask, CriticalRule)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"rules:\n  - deny: a\n    when: args.amount >\n":                `policy.yaml:3:`,
		"rules:\n  - deny: a\n    when: 'argz.amount > 1'\n":            `policy.yaml:3:12: policy.rules[0].when: undeclared reference to 'argz'`,
		"rules:\n  - deny: a\n    when: |\n      true &&\n      args\n": `policy.yaml:5:7: policy.rules[0].when: expected type 'bool'`,
		"rules:\n  - deny: a\n    when: 1 + 1\n":                        `policy.yaml:3:11: policy.rules[0].when: the condition has type int, not bool`,
		"rules:\n  - deny: a\n    when: args.a.matches('(')\n":          `policy.yaml:3:11: policy.rules[0].when: error parsing regexp`,
		"rules:\n  - {deny: a, allow: b}\n":                             `policy.yaml:2:5: policy.rules[0]: a rule has one of allow, ask and deny`,
		"rules:\n  - {name: x}\n":                                       `policy.yaml:2:5: policy.rules[0]: a rule has one of`,
		"rules:\n  - {allow: a, risk: low}\n":                           `policy.yaml:2:5: policy.rules[0]: risk: is the least risk`,
		"rules:\n  - {deny: a, over: {}}\n":                             `policy.yaml:2:5: policy.rules[0]: over: has no number`,
		"rules:\n  - {deny: []}\n":                                      `policy.yaml:2:12: policy.rules[0].deny: the list is empty`,
		"rules:\n  - {deny: a, name: n}\n  - {ask: a, name: n}\n":       `policy.yaml:3:5: policy.rules[1]: another rule is called "n"`,
		"rules:\n  - {dney: a}\n":                                       `policy.yaml:2:6: policy.rules[0]: the key "dney" is not known`,
		"level: full":                                                   `policy.yaml:1:8: policy.level: no level is called "full"`,
		"customers:\n  a: {rules: [{deny: b, hint: reed}]}\n":           `policy.yaml:2:31: policy.customers.a.rules[0].hint: "reed" is not known`,
		"customers:\n  a: {rules: [{deny: b, when: x}]}\n":              `policy.yaml:2:31: policy.customers.a.rules[0].when: undeclared reference to 'x'`,
	} {
		_, err := parseFile(t, text, nil)
		var at *config.FileError
		if err == nil || !errors.As(err, &at) || !strings.Contains(err.Error(), want) || at.Line == 0 || at.Column == 0 {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestConditionsCostLittle gives conditions arguments that make them expensive.
func TestConditionsCostLittle(t *testing.T) {
	// The limit counts steps: it is reached after 0.2 s, or 6 s with the race detector. Without it, each condition has hundreds of
	// millions of steps, which take hours.
	const longest = 5 * time.Minute
	list := "[" + strings.Repeat("1,", 20000) + "1]"
	args := `{"list":` + list + `,"text":"` + strings.Repeat("a", 1<<20) + `"}`
	for _, when := range []string{
		"args.list.all(x, args.list.all(y, x == y))",
		"args.list.map(x, args.list).size() > 1 && args.list.exists(x, args.list.exists(y, y == 2))",
		"args.text.matches('(a+)+b') || (args.text + args.text + args.text + args.text).matches('^(a|aa|aaa)*b$')",
	} {
		p := parse(t, "rules: [{name: n, allow: '*', when: \""+when+"\"}]", nil)
		start := time.Now()
		d := p.Decide(t.Context(), of(&Run{}, "a__b", args, Hints{}))
		if took := time.Since(start); d.Effect != Deny || d.Rule != "n" || !strings.Contains(d.Reason, "cost") || took > longest {
			t.Errorf(`%s: %+v after %v, want Effect %v, Rule "n", "cost" in it and at most %v`, when, d, took, Deny, longest)
		}
	}
}

func TestConsent(t *testing.T) {
	p := WithConsent(parse(t, `rules: [{ask: "crm__*", name: a}, {deny: "crm__drop", name: d}]`, nil), []string{"crm__d*"})
	for tool, want := range map[string]string{"crm__delete": "allow a", "crm__drop": "deny d", "crm__put": "ask a", "CRM__delete": "ask a"} {
		if got := decided(p, of(&Run{}, tool, `{}`, Hints{})); got != want {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	p := parse(b, `rules:
- {deny: "*__drop_*"}
- {ask: "bank__*", when: args.amount > 10000}
- {deny: "*", hint: writes, over: {run: 1000000000}}
`, nil)
	run := &Run{}
	for b.Loop() {
		p.Decide(b.Context(), of(run, "bank__pay", `{"amount": 12, "to": "ann", "note": "rent"}`, Hints{}))
	}
}

func TestReasons(t *testing.T) {
	for _, c := range []struct{ rule, args, want string }{
		{"deny: crm__set, when: args.data.Amount > 10000", `{"data":{}}`, "the condition failed: no such key: Amount; to apply the rule to calls without it too, begin with !has(args.data.Amount) || …; to let them pass, with has(args.data.Amount) && …"},
		{"ask: crm__set, when: args.data.Amount > 10000", `{}`, "the condition failed: no such key: data; to apply the rule to calls without it too, begin with !has(args.data) || …; to let them pass, with has(args.data) && …"},
		{"allow: crm__set, when: args.n > 10000", `{}`, "the condition failed: no such key: n; to allow only calls that have it, begin with has(args.n) && …"},
		{"deny: crm__set, when: args.path != 'x'", `{"n":1}`, "the condition failed: no such key: path; crm__set has no such argument, but data, n: name only tools that have it in this rule, and write another rule for crm__set"},
		{"deny: crm__set, when: \"!under(args.path, '/x')\"", `{"path":"a"}`, "the condition failed: the path \"a\": it is relative and the folder of the rule is absolute, so the rule cannot tell whether it lies there"},
		{"allow: crm__set, when: \"args['a-b'] > 10000\"", `{}`, "the condition failed: no such key: a-b"},
		{"deny: crm__set, when: args.n > 10", `{"n":"11"}`, "the condition failed: no such overload; a value has another type than the condition expects: compare numbers with double(args.x), or test type(args.x) == string first"},
		{"deny: crm__set, hint: writes, over: {run: 1}", `{}`, "the run has already made 1 such call; a tool counts as writing unless read_only: in mcpgen.yaml, or a trusted server, marks it as read-only"},
		{"deny: crm__set, over: {run: 1}", `{}`, "the run has already made 1 such call"},
		{"deny: crm__set, over: {run: 2, minute: 1}", `{}`, "1 such call was made within a minute"},
		{"deny: crm__set, over: {session: 1}", `{}`, "the session has already made 1 such call"},
		{"deny: crm__set, over: {day: 1}", `{}`, "1 such call was already made today; the count starts again at 00:00 UTC"},
	} {
		p := parse(t, "rules: [{name: r, "+c.rule+"}]", nil)
		req := of(&Run{}, "crm__set", c.args, Hints{})
		req.Input = json.RawMessage(`{"type":"object","properties":{"data":{"type":"object"},"n":{}}}`)
		d := p.Decide(context.Background(), req)
		if d.Effect != Deny {
			d = p.Decide(context.Background(), req)
		}
		if d.Effect != Deny || d.Reason != c.want {
			t.Errorf("%s: %+v, want %q", c.rule, d, c.want)
		}
		if !strings.Contains(c.want, "condition") {
			continue
		}
		tool := &Tool{Server: "crm", Dir: "crm", Name: "set", ID: "crm__set", Input: req.Input}
		if _, said := p.Explain(tool, &Example{Args: json.RawMessage(c.args)}); said[0].Fits || said[0].Why != c.want {
			t.Errorf("%s: explained as %+v, want %q", c.rule, said[0], c.want)
		}
	}
}

// one returns one operation.
func one(rule, target string) []judge.Operation {
	return []judge.Operation{{Rule: rule, Target: target, File: "a.ts", Line: 3}}
}
