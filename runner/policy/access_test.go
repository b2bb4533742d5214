package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// The commands used in the acceptance examples.
const usualCommands = "[ls, cat, grep, head, tail, npm, node, python3, git]"

func TestLevelsOfAnOperator(t *testing.T) {
	p := parse(t, `level: reports
levels:
  reports: {extends: write_restricted, read: [input, /etc/hosts], write: [/workspace/output], hosts: [api.example.com, "*.example.org"], commands: {allow: `+usualCommands+`}}
  narrow: {extends: execute_full, commands: {deny: [rm, "git push*"]}}
  closed: {extends: execute_full, read: [], write: [], hosts: [], commands: {allow: []}}
customers:
  ann: {level: narrow}
  bob: {level: closed}
`, nil)
	const may = "" // it starts
	for _, c := range []struct{ customer, rule, target, want string }{
		{"", "file-write", "output/a.csv", may},
		{"", "file-write", "/workspace/output/b/c.csv", may},
		{"", "own-file-delete", "./output//a.csv", may},
		{"", "file-write", "output/../private/a.csv", `the script writes a file "output/../private/a.csv" (a.ts:3): the level allows only /workspace/output`},
		{"", "file-write", "outputs/a.csv", "the level allows only /workspace/output"},
		{"", "file-write", "/output/a.csv", "the level allows only"},
		{"", "file-write", "../output/a.csv", "the level allows only"},
		{"", "file-write", "Output/a.csv", "the level allows only"},
		{"", "file-write", "/tmp/a.csv", "the level allows only"},
		{"", "file-write", "", "it computes the name of a file"},
		{"", "file-delete", "input/a.csv", `deletes a file "input/a.csv"`},
		{"", "file-read", "input/a.csv", may},
		{"", "file-read", "/etc/hosts", may},
		{"", "file-read", "/etc/passwd", `reads a file "/etc/passwd"`},
		{"", "file-read", "~/.ssh/id_ed25519", "the level allows only input, /etc/hosts"},
		{"", "network", "api.example.com", may},
		{"", "network", "API.example.com:443", may},
		{"", "network", "a.b.example.org.", may},
		{"", "network", "example.org", `uses the network "example.org" (a.ts:3): the level allows only api.example.com, *.example.org`},
		{"", "network", "evil.com/.example.org", "the level allows only"},
		{"", "network", "api.example.com.evil.com", "the level allows only"},
		{"", "network", "", "it computes the name of a host"},
		{"", "process", "git status", may},
		{"", "process", "ls -la output/a-1.csv --color=never", may},
		{"", "process", "git; rm", `the script runs a command "git; rm" (a.ts:3): the argument "git;" has characters with which a shell`},
		{"", "process", "git log $(rm)", `the argument "$(rm)" has characters`},
		{"", "process", "git log --format='%h'", `the argument "--format='%h'" has other characters`},
		{"", "process", "git -c core.pager=rm log", `the argument "core.pager=rm" has other characters`},
		{"", "process", "ls\nrm a", "has characters"},
		{"", "process", "curl x", "only these are allowed: ls, cat"},
		{"", "process", "/bin/ls", "only these are allowed"},
		{"", "process", "node -e process.exit", may},
		{"", "process", "", "it computes the command"},
		{"ann", "process", "git status", may},
		{"ann", "process", "/bin/rm a", "it is denied"},
		{"ann", "process", "git push --force", "it is denied"},
		{"ann", "process", "git log 'a'", "has other characters"},
		{"ann", "file-write", "anywhere", may},
		{"ann", "file-write", "", may},
		{"bob", "process", "ls", "no command is allowed"},
		{"bob", "file-read", "a", `the script reads a file "a" (a.ts:3)`},
		{"bob", "file-write", "a", `the script writes a file "a" (a.ts:3)`},
		{"bob", "network", "a", `the script uses the network "a" (a.ts:3)`},
	} {
		program := Program{Risk: risk.Assessment{Set: risk.Low}, Operations: []judge.Operation{{Rule: c.rule, Target: c.target, Computed: c.target == "", File: "a.ts", Line: 3}}}
		d := p.DecideRun(Subject{Customer: c.customer}, &program)
		if (d.Effect == Deny) != (c.want != may) || !strings.Contains(d.Reason, c.want) {
			t.Errorf("%q %s %q: %s, %s; want %q", c.customer, c.rule, c.target, d.Effect, d.Reason, c.want)
		}
	}
	unread := Program{Risk: risk.Assessment{Set: risk.Low}, Unread: "a.ts:1:1: dynamic-code: calls eval"}
	for customer, want := range map[string]string{"": "deny", "ann": "deny", "bob": "deny"} {
		if d := p.DecideRun(Subject{Customer: customer}, &unread); string(d.Effect) != want || !strings.Contains(d.Reason, "calls eval") {
			t.Errorf(`%q: %+v, want string(d.Effect) %v and "calls eval" in it`, customer, d, want)
		}
	}
	if d := p.DecideRun(Subject{Customer: "ann"}, &Program{}); d.Effect != Ask || d.Rule != "level narrow" {
		t.Errorf("what extends execute_full: %+v, want that it asks", d)
	}
	if d := p.DecideRun(Subject{}, &Program{Risk: risk.Assessment{Set: risk.Critical}}); d.Effect != Deny || d.Rule != "level reports" {
		t.Errorf(`the ceiling of write_restricted: %+v, want Effect %v and Rule "level reports"`, d, Deny)
	}
	if c := p.Commands("ann"); c == nil || len(c.Deny) != 2 || (*Policy)(nil).Commands("") != nil || parse(t, "level: execute_full", nil).Commands("") != nil {
		t.Errorf("Commands() = %+v", c)
	}
}

// A level without lists has those of its built-in level.
func TestListsOfALevel(t *testing.T) {
	for level, want := range map[string]string{
		"{}": "all all all all none", "level: read_only": "none none all none none", "level: write_restricted": "none all all none none", "level: execute_full": "all all all all none",
		"{level: a, levels: {a: {extends: read_only, write: [x, y]}}}":                       "none [x, y] all none none",
		"{level: a, levels: {a: {extends: execute_full, commands: {deny: [rm]}, read: []}}}": "all all none all [rm]",
		"{level: a, levels: {a: {extends: read_only, commands: {allow: [ls], deny: [rm]}}}}": "none none all [ls] [rm]",
	} {
		var got []string
		for _, l := range parse(t, level, nil).all.access.lists() {
			text := l.String()
			if len(l.entries) > 0 {
				text = "[" + text + "]"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", level, text, want)
		}
	}
}

func TestDiffOfLevels(t *testing.T) {
	level := func(rest string) string { return "{level: a, levels: {a: {extends: write_restricted" + rest + "}}}" }
	for _, c := range []struct{ before, after, want string }{
		{level(", write: [x]"), level(", write: [x, y]"), "policy.level.write: x to x, y wider"},
		{level(", write: [x, y]"), level(", write: [x]"), "policy.level.write: x, y to x stricter"},
		{level(", write: [x]"), level(""), "policy.level.write: x to all wider"},
		{level(", write: [x]"), level(", write: []"), "policy.level.write: x to none stricter"},
		{level(""), level(", hosts: [x]"), "policy.level.hosts: none to x wider"},
		{level(", commands: {allow: [ls], deny: [rm]}"), level(", commands: {allow: [ls]}"), "policy.level.commands.deny: rm to none wider"},
		{level(", commands: {allow: [ls]}"), level(", commands: {deny: [ls]}"), "policy.level.commands.allow: ls to all wider; policy.level.commands.deny: none to ls stricter"},
		{"level: write_restricted", level(", read: [x]"), "policy.level.read: all to x stricter"},
		{"{customers: {ann: {level: write_restricted}}}", "{customers: {ann: {level: a}}, levels: {a: {extends: write_restricted, hosts: [x]}}}", "policy.customers.ann.level.hosts: none to x wider"},
	} {
		var got []string
		for _, change := range DiffLimits(parse(t, c.before, nil), parse(t, c.after, nil)) {
			word := "stricter"
			if change.Wider {
				word = "wider"
			}
			got = append(got, fmt.Sprintf("%s: %s to %s %s", change.Setting, change.From, change.To, word))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s to %s: %q, want %q", c.before, c.after, text, c.want)
		}
	}
}
