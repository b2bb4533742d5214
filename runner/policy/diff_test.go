package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// tools are those of a small bank.
func tools() []Tool {
	tool := func(id, input string, h Hints) Tool {
		dir, name, _ := strings.Cut(id, "__")
		return Tool{Server: dir, Dir: dir, Name: name, ID: id, Hints: h, Input: json.RawMessage(input)}
	}
	return []Tool{
		tool("bank__pay", `{"type":"object","properties":{"amount":{"type":"number","minimum":1},"to":{"type":"string","minLength":3},"kind":{"enum":["gift","rent"]},"urgent":{"type":"boolean"}},"required":["amount","to"]}`, Hints{}),
		tool("bank__list", `{"type":"object","properties":{"limit":{"type":"integer"}}}`, Hints{ReadOnly: true}),
		tool("files__write", `{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}},"required":["path","lines"],"additionalProperties":false}`, Hints{Destructive: true}),
		tool("web__get", `{"$ref":"#/$defs/in","$defs":{"in":{"type":"object","properties":{"url":{"type":"string","format":"uri"}},"required":["url"]}}}`, Hints{ReadOnly: true, OpenWorld: true}),
		{Server: "crm", Dir: "crm", Name: "resources/read", ID: "crm:resources/read", Hints: Hints{ReadOnly: true}, Input: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]}`)},
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"the same", `rules: [{ask: "bank__*", when: args.amount > 10}]`, `rules: [{name: other, ask: "bank__*", when: 10 < args.amount}]`, ``},
		{"a rule less", `rules: [{deny: "bank__pay", name: n}]`, `{}`, `bank__pay deny→allow`},
		{"a higher bound", `rules: [{ask: bank__pay, when: args.amount > 1000}]`, `rules: [{ask: bank__pay, when: args.amount > 5000}]`, `bank__pay ask→allow {"amount":1000.5`},
		{"a bound that is not reached", `rules: [{ask: bank__pay, when: args.amount > 0}]`, `rules: [{ask: bank__pay}]`, ``},
		{"two arguments", `rules: [{deny: bank__pay, when: args.amount > 100.0 && args.to.startsWith('evil')}]`, `rules: [{deny: bank__pay, when: args.amount > 100.0 && args.to == 'evil'}]`, `bank__pay deny→allow`},
		{"an enum", `rules: [{deny: bank__pay, when: has(args.kind)}]`, `rules: [{deny: bank__pay, when: has(args.kind) && args.kind == 'gift'}]`, `bank__pay deny→allow {"amount":1,"kind":"rent"`},
		{"elements of a list", `rules: [{ask: files__write},{deny: files__write, when: "args.lines.exists(l, l.text.contains('secret'))"}]`, `rules: [{ask: files__write}]`, `files__write deny→ask {"lines":[{"text":"secret"}]`},
		{"the length of a list", `rules: [{allow: files__write},{deny: files__write, when: size(args.lines) > 3}]`, `rules: [{allow: files__write},{deny: files__write, when: size(args.lines) > 4}]`, `files__write deny→allow {"lines":[{"text":"x"},{"text":"x"},{"text":"x"},{"text":"x"}]`},
		{"a pattern", `rules: [{deny: web__get, when: "args.url.matches('^https?://(www[.])?internal/')"}]`, `{}`, `web__get deny→allow {"url":"http://internal/"}`},
		{"a resource", `rules: [{deny: "crm__*"}]`, `rules: [{deny: "crm__*", when: "args.uri.startsWith('crm://private')"}]`, `crm:resources/read deny→allow`},
		{"taint", `rules: [{deny: bank__pay, when: "'web' in taint"}]`, `rules: [{deny: bank__pay, when: "'web' in taint && 'files' in taint"}]`, `bank__pay deny→allow {"amount":1,"to":"xxx"} web`},
		{"risk", `rules: [{ask: bank__list, risk: high}]`, `rules: [{ask: bank__list, risk: critical}]`, `bank__list ask→allow {} high`},
		{"a customer", `customers: {ann: {level: read_only}}`, `customers: {ann: {level: write_restricted}}`, `bank__pay deny→ask {"amount":1,"to":"xxx"} ann|files__write deny→ask`},
		{"a number of calls", `rules: [{deny: bank__pay, over: {run: 50}}]`, `rules: [{deny: bank__pay, over: {run: 60}}]`, `bank__pay deny→allow {"amount":1,"to":"xxx"} 50 calls`},
		{"a level", `level: execute_full`, `level: read_only`, `bank__pay allow→deny|files__write allow→deny`},
		{"calls", `rules: [{deny: bank__list, when: calls > 7}]`, `rules: [{deny: bank__list, when: calls > 8}]`, `bank__list deny→allow {}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := parse(t, c.before, nil), parse(t, c.after, nil)
			there, back := Diff(before, after, tools()), Diff(after, before, tools())
			want := strings.Split(c.want, "|")
			if c.want == "" {
				want = nil
			}
			if len(there) != len(want) || len(back) != len(want) {
				t.Fatalf("%d and %d changes, want %d: %s %s", len(there), len(back), len(want), describe(there), describe(back))
			}
			for i := range want {
				if got := describe(there[i : i+1]); !strings.HasPrefix(got, want[i]) {
					t.Errorf("got %s, want %s", got, want[i])
				}
				if there[i].From != back[i].To || there[i].To != back[i].From || there[i].Widens() == back[i].Widens() {
					t.Errorf("the way back is not the opposite: %s %s", describe(there), describe(back))
				}
			}
		})
	}
}

func describe(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s→%s %s", c.Tool, c.From, c.To, c.Example.Args)
		for _, s := range append(c.Example.Taint, c.Example.Customer, c.Example.Risk.String()) {
			if s != "" {
				b.WriteString(" " + s)
			}
		}
		if c.Example.Made > 0 {
			fmt.Fprintf(&b, " %d calls", c.Example.Made)
		}
	}
	return b.String()
}

// TestDiffIsBounded compares policies with many dimensions.
func TestDiffIsBounded(t *testing.T) {
	var when []string
	for i := range 12 {
		when = append(when, fmt.Sprintf("args.?a%d.orValue(%d) > %d", i, i, i*100))
	}
	before := parse(t, `rules: [{deny: "*", when: "`+strings.Join(when, " || ")+`"}]`, nil)
	after := parse(t, `rules: [{deny: "*", when: "`+strings.Join(when[1:], " || ")+`"}]`, nil)
	var many []Tool
	for i := range 20 {
		many = append(many, Tool{Server: "s", Dir: "s", Name: fmt.Sprint("t", i), ID: fmt.Sprint("s__t", i), Input: json.RawMessage(`{"type":"object"}`)})
	}
	start := time.Now()
	if got := Diff(before, after, many); len(got) != 20 {
		t.Errorf("%d changes, want 20", len(got))
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestExplain(t *testing.T) {
	p := parse(t, `rules:
- {name: a, deny: "crm__*"}
- {name: b, ask: "bank__*", hint: destructive}
- {name: c, ask: "bank__*", when: args.amount > 10}
- {name: d, ask: "bank__*", over: {run: 3}}
- {name: e, deny: "bank__*", risk: critical}
- {name: f, allow: "bank__pay"}
`, nil)
	d, list := p.Explain(&tools()[0], &Example{Args: json.RawMessage(`{"amount":5,"to":"ann"}`)})
	var got []string
	for _, v := range list {
		got = append(got, v.Rule+": "+v.Why)
	}
	want := []string{"a: it is about other tools: crm__*", "b: the tool's hints are not destructive", "c: its condition is false: args.amount > 10",
		"d: it begins after 3 calls", "e: the risk is medium, below critical", "f: "}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || d.Effect != Allow || d.Rule != "f" {
		t.Errorf("Explain() = %+v\n%s\nwant\n%s", d, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
