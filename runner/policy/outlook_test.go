package policy

import (
	"fmt"
	"strings"
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
		{"bank__list", "", 0, "allow reads; deny many after 5 calls in the run"},
		{"bank__pay", "", 0, "deny default: deny; allow pays args.amount < 100"},
		{"bank__pay", "ann", 0, "deny ann pays nothing"},
		{"bank__pay", "", risk.High, "ask risky"},
		{"files__write", "", 0, "ask risky"}, // it is destructive, so that its own risk is high
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
			got += fmt.Sprintf("; %s %s %s", x.Effect, x.Rule, x.When)
			if x.Over != nil {
				got += x.Over.String()
			}
		}
		if got = strings.TrimSpace(got); got != c.want {
			t.Errorf("Show(%s, %q, %s) = %s, want %s", c.tool, c.customer, c.risk, got, c.want)
		}
	}
}

func TestWithLevel(t *testing.T) {
	p, err := parse(t, `{level: execute_full, customers: {ann: {level: write_restricted}}}`, nil).WithLevel(ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, customer := range []string{"", "ann"} {
		if got := p.Show(&tools()[0], customer, risk.None).Decision.Effect; got != Deny {
			t.Errorf("customer %q: %s, want deny", customer, got)
		}
	}
	if _, err := p.WithLevel("readonly"); err == nil {
		t.Error("an unknown level was accepted")
	}
}
