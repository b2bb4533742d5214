package policy

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runner/risk"
)

func TestShow(t *testing.T) {
	p := parse(t, `
default: deny
rules:
  - {name: reads, allow: "*", hint: reads}
  - {name: pays, allow: bank__pay, when: args.amount < 100}
  - {name: ann pays nothing, deny: bank__pay, when: customer == 'ann'}
  - {name: risky, ask: "*", when: risk >= high}
  - {name: many, deny: bank__list, over: {run: 5}}
  - {name: lists again, allow: bank__list, over: {run: 2}}
`, nil)
	for _, c := range []struct {
		tool, customer string
		risk           risk.Risk
		want           string
	}{
		{"bank__list", "", risk.Low, "allow reads; deny many after 5 calls in the run"},
		{"bank__list", "", 0, "allow reads; deny many after 5 calls in the run; ask risky from risk high on"},
		{"bank__pay", "", 0, "deny default: deny; allow pays if args.amount < 100; ask risky from risk high on"},
		{"bank__pay", "ann", 0, "deny ann pays nothing"},
		{"bank__pay", "", risk.High, "ask risky"},
		{"files__write", "", 0, "ask risky"}, // it is destructive, so its own risk is high
	} {
		var tool *Tool
		for _, each := range tools() {
			if each.ID == c.tool {
				tool = &each
			}
		}
		o := p.Show(tool, c.customer, c.risk)
		got := fmt.Sprintf("%s %s", o.Decision.Effect, o.Decision.Rule)
		for _, x := range o.Unless {
			got += fmt.Sprintf("; %s %s %s", x.Effect, x.Rule, x.If())
		}
		if got != c.want {
			t.Errorf("Show(%s, %q, %s) = %s, want %s", c.tool, c.customer, c.risk, got, c.want)
		}
	}
}

// TestNever finds the tools that a customer can never call.
func TestNever(t *testing.T) {
	p := parse(t, `
rules:
  - {name: large, deny: bank__pay, when: args.amount > 100}
  - {name: many, deny: bank__list, over: {run: 5}}
  - {name: risky, deny: bank__list, risk: high}
  - {name: ann pays nothing, deny: bank__pay, when: customer == 'ann'}
  - {name: no files, deny: "files__*"}
`, nil)
	for _, c := range []struct {
		customer, tool string
		want           bool
	}{{"", "bank__pay", false}, {"ann", "bank__pay", true}, {"", "bank__list", false}, {"", "files__write", true}, {"ann", "files__write", true}} {
		if got := p.Never(tools(), c.customer)[c.tool]; got != c.want {
			t.Errorf("Never(%q)[%s] = %v, want %v", c.customer, c.tool, got, c.want)
		}
	}
}

// TestShowRisk shows what applies only to scripts of a higher risk, and conditions that no call of a tool can satisfy.
func TestShowRisk(t *testing.T) {
	tool := Tool{Server: "bank", Dir: "bank", Name: "pay", ID: "bank__pay",
		Input: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"},"to":{"type":"string"}}}`)}
	none := Tool{Server: "bank", Dir: "bank", Name: "pay", ID: "bank__pay", Input: json.RawMessage(`{"type":"object","additionalProperties":false}`)}
	open := Tool{Server: "bank", Dir: "bank", Name: "pay", ID: "bank__pay", Input: json.RawMessage(`{"type":"object"}`)}
	scripts := ScriptsTool()
	const fails = "(its condition names args.sum, which the tool does not have)"
	for _, c := range []struct {
		policy string
		tool   *Tool
		want   string
	}{
		{"rules: [{name: r, ask: '*', risk: high}]", &tool, `allow; from risk high on: ask by rule "r"`},
		{"rules: [{name: r, ask: '*', risk: medium}]", &tool, `ask by rule "r", policy.yaml:1`}, // a tool that writes has medium risk
		{"rules: [{name: r, deny: '*', risk: critical}, {name: q, ask: '*', risk: high, when: args.amount > 5}]", &tool,
			`allow; from risk high on, if args.amount > 5: ask by rule "q"; from risk critical on: deny by rule "r"`},
		{"{default: deny, rules: [{name: r, allow: '*', when: risk <= medium}]}", &tool, `allow by rule "r", policy.yaml:1; from risk high on: deny by rule "default: deny"`},

		{"rules: [{name: r, deny: '*', when: args.sum > 5}]", &tool, `deny by rule "r", policy.yaml:1 ` + fails},
		{"rules: [{name: r, deny: '*', when: args.sum > 5, over: {run: 3}}]", &tool, `deny by rule "r", policy.yaml:1 ` + fails},
		{"rules: [{name: r, allow: '*', when: args.sum > 5}]", &none, `deny by rule "r", policy.yaml:1 ` + fails},
		{"rules: [{name: r, deny: '*', risk: high, when: args.sum > 5}]", &tool, `allow; from risk high on: deny by rule "r" ` + fails},
		{"rules: [{name: r, deny: '*', when: args.sum > 5}]", &open, `allow; if args.sum > 5: deny by rule "r"`},
		{"rules: [{name: r, deny: '*', when: has(args.sum) && args.sum > 5}]", &tool, "allow"},
		{"rules: [{name: r, deny: '*', when: '!has(args.sum) || args.sum > 5'}]", &tool, `deny by rule "r", policy.yaml:1`},
		{"rules: [{name: r, deny: '*', when: 'args[?\"sum\"].orValue(0) > 5'}]", &tool, "allow"},
		{"rules: [{name: r, deny: '*', when: \"customer == 'ann' && args.sum > 5\"}]", &tool, "allow"},
		{"rules: [{name: r, deny: '*', when: args.amount > 5 || args.sum > 5}]", &tool, `allow; if args.amount > 5 || args.sum > 5: deny by rule "r"`},
		{"rules: [{name: r, deny: '*', when: \"paths(args).exists(p, under(p, '/x'))\"}]", &tool, `allow; if paths(args).exists(p, under(p, '/x')): deny by rule "r"`},
		{"rules: [{name: r, deny: '*', when: \"calls > 5 || 'x' in taint\"}]", &tool, `allow; if calls > 5 || 'x' in taint: deny by rule "r"`},

		{"rules: [{deny: other}]", &scripts, `allow; from risk critical on: ask by rule "critical scripts ask"`},
		{"rules: [{name: r, deny: scripts, risk: high}]", &scripts, `allow; from risk high on: deny by rule "r"`},
		{"level: read_only", &scripts, `allow; from risk high on: deny by rule "level read_only"`},
	} {
		o := parse(t, c.policy, nil).Show(c.tool, "", risk.None)
		if got := o.String(); got != c.want {
			t.Errorf("Show() with %s = %s\nwant %s", c.policy, got, c.want)
		}
	}
}

func TestWithLevel(t *testing.T) {
	p, err := parse(t, `{level: execute_full, customers: {ann: {level: write_restricted}}}`, nil).WithLevel("read_only")
	if err != nil {
		t.Fatal(err)
	}
	for _, customer := range []string{"", "ann"} {
		if got := p.Show(&tools()[0], customer, risk.None).Decision.Effect; got != Deny {
			t.Errorf("customer %q: %s, want deny", customer, got)
		}
	}
	if _, err := p.WithLevel("readonly"); err == nil {
		t.Error("an unknown level was accepted: got no error, want an error")
	}
}
