package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/config"
)

// someTools are tools of three servers, one of which has a folder with another name.
func someTools() []Tool {
	var out []Tool
	for id, key := range map[string]string{"crm__delete_record": "Sales.CRM", "crm__get_record": "Sales.CRM", "web__fetch": "web", "web__resources/read": "web", "bank__pay": "bank"} {
		_, name, _ := strings.Cut(id, "__")
		dir, _, _ := strings.Cut(id, "__")
		tool := Tool{Server: key, Dir: dir, Name: name, ID: id}
		if dir == "crm" {
			tool.Input = json.RawMessage(`{"type":"object","properties":{"record_id":{"type":"string"}}}`)
		}
		out = append(out, tool)
	}
	slices.SortFunc(out, func(a, b Tool) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func TestMisspelt(t *testing.T) {
	for rule, want := range map[string]string{
		// Globs.
		`deny: "*"`:                                         ``,
		`deny: [crm__delete_record, "web__*"]`:              ``,
		`deny: "sales.crm__*"`:                              ``,
		`allow: "Sales.CRM__delete_record"`:                 ``,
		`deny: "*__drop_table"`:                             ``,
		`deny: crm__delte_record`:                           `5: rule "n": no tool in the tree matches "crm__delte_record"; did you mean crm__delete_record?`,
		`deny: "crm__delte_*"`:                              `5: rule "n": no tool in the tree matches "crm__delte_*"; did you mean crm__delete_*?`,
		`deny: "webb__*"`:                                   `5: rule "n": no tool in the tree matches "webb__*"; did you mean web__*?`,
		`deny: "*__delte_*"`:                                `5: rule "n": no tool in the tree matches "*__delte_*"; did you mean *__delete_*?`,
		`deny: "mail__*"`:                                   `5: rule "n": no tool in the tree matches "mail__*"`,
		`allow: "CRM__*"`:                                   `5: rule "n": no tool in the tree matches "CRM__*"; did you mean crm__*?`,
		`{deny: "*", when: "'web' in taint"}`:               ``,
		`{deny: "*", when: "'webb' in taint"}`:              `5:33: rule "n": no server "webb" in the tree; did you mean web?`,
		`{deny: "*", when: "'crm' in taint"}`:               ``,
		`{deny: "*", when: "server == 'crm'"}`:              `5:43: rule "n": no server "crm" in the tree; did you mean Sales.CRM?`,
		`{deny: "*", when: "server == 'bank'"}`:             ``,
		`{deny: "*", when: "!('wbe' in taint)"}`:            `5:35: rule "n": no server "wbe" in the tree; did you mean web?`,
		`{deny: "*", when: "taint.exists(t, t == 'bnak')"}`: `5:54: rule "n": no server "bnak" in the tree; did you mean bank?`,
		`{deny: "*", when: "taint.exists(t, t in ['bank', 'wbe', args.record_id])"}`: `5:63: rule "n": no server "wbe" in the tree; did you mean web?`,
		`{deny: "web__*", when: "args.rows.exists(t, t == 'bnak')"}`:                 ``,
		`{deny: "*", when: "size(taint.filter(t, t != 'bnak')) > 0"}`:                `5:59: rule "n": no server "bnak" in the tree; did you mean bank?`,
		`{deny: "*", when: "tool == 'crm__delete_recrod'"}`:                          `5:41: rule "n": no tool "crm__delete_recrod" in the tree; did you mean crm__delete_record?`,
		`{deny: "*", when: "tool in ['bank__pay', 'web__resources/read']"}`:          ``,
		`{deny: "*", when: "customer == 'acmee'"}`:                                   `5:45: rule "n": policy.customers has no "acmee"; did you mean acme?`,
		`{deny: "*", when: "customer == 'zeta' || customer == ''"}`:                  ``,
		`{deny: "web__*", when: "args.server == 'wbe' && session == 'wbe'"}`:         ``,
		`{deny: "*", when: "['web', 'bnak'].exists(s, s in taint)"}`:                 `5:41: rule "n": no server "bnak" in the tree; did you mean bank?`,
		// Arguments. The schemas of web and bank name none, so any are allowed.
		`{deny: "crm__*", when: "has(args.record_id) && args.recordid == 'x'"}`: `5: rule "n": its tools have no argument "recordid"; did you mean record_id?`,
		`{deny: "crm__*", when: "args.?recordid.orValue('') == 'x'"}`:           `5: rule "n": its tools have no argument "recordid"; did you mean record_id?`,
		`{deny: [bank__pay, "crm__*"], when: "args.recordid == 'x'"}`:           `5: rule "n": 2 of its 3 tools have no argument "recordid", so their calls are denied: crm__delete_record, crm__get_record`,
	} {
		rule = strings.TrimSuffix(strings.TrimPrefix(rule, "{"), "}")
		p := parse(t, "customers:\n  acme: {}\nrules:\n  -\n    {name: n, "+rule+"}", nil)
		got := strings.ReplaceAll(strings.Join(p.Misspelt(someTools), "\n"), "policy.yaml:", "")
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", rule, got, want)
		}
	}
}

// A customer's rules are checked too, and the general ones are reported once.
func TestMisspeltOfCustomers(t *testing.T) {
	p := parse(t, "rules: [{deny: wbe__fetch}]\ncustomers: {ann: {rules: [{ask: bank__pya}]}}", nil)
	want := []string{
		`policy.yaml:1: rule "deny wbe__fetch": no tool in the tree matches "wbe__fetch"; did you mean web__fetch?`,
		`policy.yaml:2: rule "ask bank__pya": no tool in the tree matches "bank__pya"; did you mean bank__pay?`,
	}
	if diff := cmp.Diff(want, p.Misspelt(someTools)); diff != "" {
		t.Errorf("Misspelt() (-want +got):\n%s", diff)
	}
	none := parse(t, "level: read_only", nil)
	if got := none.Misspelt(func() []Tool { t.Error("asked for tools without a rule"); return nil }); got != nil {
		t.Errorf("Misspelt() = %q, want none", got)
	}
}

// A server has two names: naming one of them in a case or an example means both, as in a run.
func TestBothNamesInExamples(t *testing.T) {
	for _, name := range []string{"crm", "Sales.CRM"} {
		for _, other := range []string{"crm", "Sales.CRM"} {
			p := parse(t, "rules: [{deny: bank__pay, when: \"'"+other+"' in taint\"}]", nil)
			if got := p.Test(someTools(), []config.PolicyCase{{Tool: "bank__pay", Taint: []string{name}, Expect: "deny"}})[0]; got.Problem != "" {
				t.Errorf("Test() with taint %q and a rule for %q = %q, want deny", name, other, got.Problem)
			}
			e := &Example{Taint: []string{name}}
			if _, err := p.CheckNames(someTools(), e); err != nil {
				t.Fatal(err)
			}
			if got, _ := p.Explain(&someTools()[0], e); got.Effect != Deny {
				t.Errorf("Explain() with taint %q and a rule for %q = %v, want deny", name, other, got.Effect)
			}
		}
	}
}

func TestCustomers(t *testing.T) {
	p := parse(t, "rules: [{deny: '*', when: \"customer in ['zeta', 'acme'] || session == 'x'\"}]\ncustomers: {acme: {}}", nil)
	if diff := cmp.Diff([]string{"acme", "zeta"}, p.Customers()); diff != "" {
		t.Errorf("Customers() (-want +got):\n%s", diff)
	}
}

// The set of hints is closed: an unknown hint would never hold, and prevents the start.
func TestUnknownHint(t *testing.T) {
	for _, when := range []string{"hints.destructve", "!has(hints.destructve)", "hints['destructve']"} {
		_, err := parseFile(t, "rules:\n- deny: '*'\n  when: |\n    risk > low &&\n    "+when+"\n", nil)
		if err == nil || !strings.Contains(err.Error(), `policy.yaml:5:`) || !strings.Contains(err.Error(), `no hint "destructve"; did you mean destructive?`) {
			t.Errorf("%s: %v, want an error that suggests destructive, with its line", when, err)
		}
	}
}

func TestNamesInCases(t *testing.T) {
	p := parse(t, "rules: [{name: no pay, deny: bank__pay}]\ncustomers: {acme: {}}", nil)
	for _, c := range []struct {
		of               config.PolicyCase
		problem, warning string
	}{
		{config.PolicyCase{Tool: "bank__pya"}, `no tool "bank__pya" in the tree; did you mean bank__pay?`, ""},
		{config.PolicyCase{Tool: "bank__pay", Taint: []string{"web", "bnak"}}, `no server "bnak" in the tree; did you mean bank?`, ""},
		{config.PolicyCase{Tool: "bank__pay", Rule: "no pya"}, `the policy has no rule "no pya"; did you mean no pay?`, ""},
		{config.PolicyCase{Tool: "bank__pay", Rule: DefaultRule}, `rule "no pay" decided, want "` + DefaultRule + `"`, ""},
		{config.PolicyCase{Tool: "bank__pay", Customer: "acmee"}, "", `policy.customers has no "acmee"; did you mean acme?`},
		{config.PolicyCase{Tool: "bank__pay", Customer: "zeta"}, "", ""},
	} {
		c.of.Expect = "deny"
		if got := p.Test(someTools(), []config.PolicyCase{c.of})[0]; got.Problem != c.problem || got.Warning != c.warning {
			t.Errorf("Test(%+v) = problem %q, warning %q, want %q, %q", c.of, got.Problem, got.Warning, c.problem, c.warning)
		}
	}
}
