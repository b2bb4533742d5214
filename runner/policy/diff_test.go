package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
)

// tools are the tools of a small bank.
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
		{Server: "crm", Dir: "crm", Name: "resources/read", ID: "crm__resources/read", Hints: Hints{ReadOnly: true}, Input: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]}`)},
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
		{"a resource", `rules: [{deny: "crm__*"}]`, `rules: [{deny: "crm__*", when: "args.uri.startsWith('crm://private')"}]`, `crm__resources/read deny→allow`},
		{"taint", `rules: [{deny: bank__pay, when: "'web' in taint"}]`, `rules: [{deny: bank__pay, when: "'web' in taint && 'files' in taint"}]`, `bank__pay deny→allow {"amount":1,"to":"xxx"} web`},
		{"risk", `rules: [{ask: bank__list, risk: high}]`, `rules: [{ask: bank__list, risk: critical}]`, `bank__list ask→allow {} high`},
		{"a customer", `customers: {ann: {level: read_only}}`, `customers: {ann: {level: write_restricted}}`, `bank__pay deny→ask {"amount":1,"to":"xxx"} ann|files__write deny→ask`},
		{"a number of calls", `rules: [{deny: bank__pay, over: {run: 50}}]`, `rules: [{deny: bank__pay, over: {run: 60}}]`, `bank__pay deny→allow {"amount":1,"to":"xxx"} 50 calls`},
		{"a number of a day", `rules: [{deny: bank__pay, over: {day: 50}}]`, `rules: [{deny: bank__pay, over: {day: 60}}]`, `bank__pay deny→allow {"amount":1,"to":"xxx"} 50 calls`},
		{"a number less", `rules: [{deny: bank__pay, over: {session: 9, customer: 50}}]`, `rules: [{deny: bank__pay, over: {customer: 50}}]`, `bank__pay deny→allow {"amount":1,"to":"xxx"} 9 calls`},
		{"a number of something else", `rules: [{deny: bank__pay, over: {day: 50}}]`, `rules: [{deny: bank__pay, over: {day: 50, session: 50}}]`, `bank__pay allow→deny {"amount":1,"to":"xxx"} 50 calls`},
		{"a level", `level: execute_full`, `level: read_only`, `bank__pay allow→deny|files__write allow→deny`},
		{"a default", `{default: deny, rules: [{allow: "bank__*"}]}`, `{default: ask, rules: [{allow: "bank__*"}]}`, `crm__resources/read deny→ask|files__write deny→ask|web__get deny→ask`},
		{"calls", `rules: [{deny: bank__list, when: calls > 7}]`, `rules: [{deny: bank__list, when: calls > 8}]`, `bank__list deny→allow {}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := parse(t, c.before, nil), parse(t, c.after, nil)
			there, back := Diff(before, after, tools(), tools()), Diff(after, before, tools(), tools())
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

// TestDiffHints compares policies, one of which has tools that a person vouches for.
func TestDiffHints(t *testing.T) {
	p := parse(t, `level: read_only`, nil)
	vouched := tools()
	vouched[0].Hints.ReadOnly = true
	if there := Diff(p, p, tools(), vouched); len(there) != 1 || !there[0].Widens() || there[0].Tool != "bank__pay" {
		t.Errorf("got %s, want bank__pay wider", describe(there))
	}
	if back := Diff(p, p, vouched, tools()); len(back) != 1 || back[0].Widens() {
		t.Errorf("got %s, want bank__pay stricter", describe(back))
	}
}

func TestDiffLimits(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"the same", `ceilings: {risk: high, memory: "0512"}`, `ceilings: {memory: 512, risk: high}`, ``},
		{"raised", "ceilings: {risk: high, timeout: 1m}", "\nceilings: {risk: critical, timeout: 90m}",
			"wider policy.ceilings.timeout 1m→1h30m policy.yaml:2|wider policy.ceilings.risk high→critical policy.yaml:2"},
		{"lowered", "ceilings: {memory: 600, disk: 70}", "ceilings: {memory: 500, disk: 100}", "stricter policy.ceilings.memory 600→500 policy.yaml:1|wider policy.ceilings.disk 70→100 policy.yaml:1"},
		{"units", "ceilings: {memory: 1GB, disk: 1000}", "ceilings: {memory: 1GiB, disk: 1GB}", "wider policy.ceilings.memory 1GB→1GiB policy.yaml:1"},
		{"removed", "ceilings: {processes: 9}", "{}", "wider policy.ceilings.processes 9→none policy.yaml:1"},
		{"added", "{}", "ceilings: {cpu: 9s}", "stricter policy.ceilings.cpu none→9s policy.yaml:1"},
		{"a level, which has ceilings", "level: write_restricted", "level: execute_full",
			"wider policy.level write_restricted→execute_full policy.yaml:1|wider policy.ceilings.timeout 5m→none policy.yaml:1|wider policy.ceilings.risk high→none policy.yaml:1"},
		{"a customer as the project", "ceilings: {risk: high}\ncustomers: {ann: {rules: []}}", "ceilings: {risk: low}\ncustomers: {ann: {rules: []}}", "stricter policy.ceilings.risk high→low policy.yaml:1"},
		{"a customer of its own", "ceilings: {risk: low}", "ceilings: {risk: low}\ncustomers: {ann: {ceilings: {risk: high}}}", "wider policy.customers.ann.ceilings.risk low→high policy.yaml:2"},
		{"a customer who has the former", "ceilings: {risk: high}", "ceilings: {risk: low}\ncustomers: {ann: {ceilings: {risk: critical}}}",
			"stricter policy.ceilings.risk high→low policy.yaml:1|wider policy.customers.ann.ceilings.risk high→critical policy.yaml:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := describeSettings(DiffLimits(parse(t, c.before, nil), parse(t, c.after, nil))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDiffRun(t *testing.T) {
	run := func(key, value string) *config.Settings {
		return &config.Settings{Path: "dir/mcpgen.yaml", Run: config.RunSettings{key: {Value: value, Line: 3}, "memory": {Value: value}}}
	}
	for _, c := range []struct{ key, before, after, want string }{
		{"approve_command", "", "yes", "wider run.approve_command none→yes mcpgen.yaml:3"},
		{"approve_command", "tools/ask", "yes", "wider run.approve_command tools/ask→yes mcpgen.yaml:3"},
		{"approve_command", "yes", "", "stricter run.approve_command yes→none mcpgen.yaml:3"},
		{"approve", "terminal", "command", "wider run.approve terminal→command mcpgen.yaml:3"},
		{"approve", "none", "", "wider run.approve none→auto mcpgen.yaml:3"},
		{"approve", "page", "none", "stricter run.approve page→none mcpgen.yaml:3"},
		{"allow_drift", "", "true", "wider run.allow_drift false→true mcpgen.yaml:3"},
		{"allow_drift", "", "false", ""},
		{"network", "", "true", "wider run.network false→true mcpgen.yaml:3"},
		{"network", "true", "", "stricter run.network true→false mcpgen.yaml:3"},
	} {
		if got := describeSettings(DiffRun(run(c.key, c.before), run(c.key, c.after))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.key, got, c.want)
		}
	}
}

func TestDiffPackages(t *testing.T) {
	with := func(p config.Packages) *config.Settings {
		p.Line = 3
		return &config.Settings{Path: "dir/mcpgen.yaml", Packages: p}
	}
	for _, c := range []struct {
		before, after config.Packages
		want          string
	}{
		{config.Packages{}, config.Packages{Python: "requirements.txt"}, "wider run.packages.python none→requirements.txt mcpgen.yaml:3"},
		{config.Packages{JavaScript: "a.json"}, config.Packages{JavaScript: "b.json"}, "wider run.packages.javascript a.json→b.json mcpgen.yaml:3"},
		{config.Packages{Python: "wheels", Preload: []string{"a", "b"}}, config.Packages{Python: "wheels"}, "stricter run.packages.preload a, b→none mcpgen.yaml:3"},
	} {
		if got := describeSettings(DiffRun(with(c.before), with(c.after))); got != c.want {
			t.Errorf("DiffRun(%+v, %+v) = %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

func TestDiffUnattended(t *testing.T) {
	with := func(keys ...string) *config.Settings {
		return &config.Settings{Path: "dir/mcpgen.yaml", Policy: config.Policy{Unattended: keys, File: "mcpgen.yaml"}}
	}
	for _, c := range []struct {
		before, after *config.Settings
		want          string
	}{
		{with(), with("allow"), "wider policy.unattended none→allow mcpgen.yaml"},
		{&config.Settings{}, with("allow"), "stricter policy.unattended allow, allow_drift, approve, approve_command, config, pii→allow mcpgen.yaml"},
		{with("config"), with("allow"), "wider policy.unattended config→allow mcpgen.yaml"},
		{with("allow", "config"), with("config"), "stricter policy.unattended allow, config→config mcpgen.yaml"},
		{with("allow", "config"), with("config", "allow"), ""},
	} {
		if got := describeSettings(DiffRun(c.before, c.after)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestDiffPlugins(t *testing.T) {
	strict, lax := config.DefaultGuardrails(), config.Guardrails{}
	strict.Strict = true
	limit, other := config.NewPlugin("plugins/limit.py"), config.NewPlugin("plugins/limit.py")
	other.OnError = "allow"
	with := func(g config.Guardrails, plugins ...config.Plugin) *config.Settings {
		return &config.Settings{Path: "mcpgen.yaml", Guardrails: g, Plugins: plugins}
	}
	got := map[bool][]string{}
	note := func(list []SettingChange) {
		for _, c := range list {
			got[c.Wider] = append(got[c.Wider], c.Setting)
		}
	}
	note(DiffPlugins(with(lax, limit), with(lax)))
	note(DiffPlugins(with(lax, limit), with(lax, other)))
	note(DiffPlugins(with(strict), with(lax)))
	if want := []string{"plugins.limit", "plugins.limit", "guardrails.strict", "guardrails.max_time", "guardrails.max_memory"}; !slices.Equal(got[true], want) || got[false] != nil {
		t.Errorf("DiffPlugins() = %v, want all of %v wider", got, want)
	}
	clear(got)
	off := config.DefaultGuardrails()
	off.Checks.Business = false
	note(DiffPlugins(with(lax), with(strict, limit)))
	note(DiffPlugins(with(off), with(off)))
	note(DiffPlugins(with(off), with(lax)))
	if want := []string{"plugins.limit", "guardrails.strict", "guardrails.max_time", "guardrails.max_memory", "guardrails.checks.business"}; !slices.Equal(got[false], want) {
		t.Errorf("DiffPlugins() = %v, want %v not wider", got, want)
	}
}

func TestDiffPII(t *testing.T) {
	part := func(mode config.PIIMode, server config.PIIMode, field string) config.PIIPart {
		p := config.PIIPart{Mode: mode}
		if server != "" {
			p.Servers = map[string]config.PIIMode{"crm": server}
		}
		if field != "" {
			p.Fields = map[string]string{"who": field}
		}
		return p
	}
	with := func(p config.PIIPart) *config.Settings {
		return &config.Settings{Path: "dir/mcpgen.yaml", PII: config.PII{PIIPart: p}}
	}
	for _, c := range []struct {
		before, after config.PIIPart
		want          string
	}{
		{part("", "", ""), part("off", "", ""), "wider pii.mode the command's→off mcpgen.yaml"},
		{part("off", "", ""), part("", "", ""), "stricter pii.mode off→the command's mcpgen.yaml"},
		{part("bridge", "", ""), part("output", "", ""), "wider pii.mode bridge→output mcpgen.yaml"},
		{part("output", "", ""), part("", "", ""), "wider pii.mode output→the command's mcpgen.yaml"},
		{part("output", "", ""), part("output", "off", ""), "wider pii.servers.crm output→off mcpgen.yaml"},
		{part("output", "bridge", ""), part("output", "", ""), "wider pii.servers.crm bridge→output mcpgen.yaml"},
		{part("output", "", ""), part("output", "output", ""), ""},
		{part("output", "", "NAME"), part("output", "", "off"), "wider pii.fields.who NAME→off mcpgen.yaml"},
		{part("output", "", ""), part("output", "", "NAME"), "stricter pii.fields.who none→NAME mcpgen.yaml"},
	} {
		if got := describeSettings(DiffPII(with(c.before), with(c.after))); got != c.want {
			t.Errorf("DiffPII() = %q, want %q", got, c.want)
		}
	}
	own := &config.Settings{Path: "dir/mcpgen.yaml", PII: config.PII{
		PIIPart: part("output", "", ""), Customers: map[string]config.PIIPart{"acme": {Mode: "off"}}, Detector: &config.PIIDetector{URL: "http://127.0.0.1:5002"},
	}}
	want := "wider pii.customers.acme.mode output→off mcpgen.yaml|stricter pii.detector none→http://127.0.0.1:5002, closed, en mcpgen.yaml"
	if got := describeSettings(DiffPII(with(part("output", "", "")), own)); got != want {
		t.Errorf("DiffPII() = %q, want %q", got, want)
	}
}

func TestDiffNetwork(t *testing.T) {
	read := func(text string) *config.Settings {
		dir := t.TempDir()
		for name, content := range map[string]string{"mcpgen.yaml": "version: 1\n" + text, ".mcp.json": `{"mcpServers":{}}`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := config.Load(filepath.Join(dir, ".mcp.json"))
		if err != nil {
			t.Fatal(err)
		}
		return &cfg.Settings
	}
	for _, c := range []struct{ before, after, want string }{
		{"network:\n  allow: [a.example]\n", "network:\n  allow: [a.example]\n  rate: 100\n  bytes: 1GiB\n", ""},
		{"network:\n  allow: [a.example]\n", "network:\n  default: deny\n  allow:\n    - host: a.example\n", ""},
		{"network:\n  {}\n", "network:\n  allow: [a.example]\n", "wider network.allow none→a.example, ports 443, https mcpgen.yaml:3"},
		{"network:\n  allow: [a.example]\n", "network:\n  {}\n", "stricter network.allow a.example, ports 443, https→none mcpgen.yaml:3"},
		{"network:\n  allow: [\"*.example\"]\n", "network:\n  allow: [\"*.example\", a.example]\n", "stricter network.allow none→a.example, ports 443, https mcpgen.yaml:3"},
		{"network:\n  allow: [\"*.example\"]\n", "network:\n  allow: [\"*.example\", example]\n", "wider network.allow none→example, ports 443, https mcpgen.yaml:3"},
		{
			"network:\n  allow: [a.example]\n", "network:\n  allow: [{host: a.example, tls: inspect, methods: [GET]}]\n",
			"stricter network.allow none→a.example, ports 443, https, tls inspect, methods GET mcpgen.yaml:3|stricter network.allow a.example, ports 443, https→none mcpgen.yaml:3",
		},
		{
			"network:\n  allow: [{host: a.example, tls: inspect, paths: [/a]}]\n", "network:\n  allow: [{host: a.example, tls: inspect}]\n",
			"wider network.allow none→a.example, ports 443, https, tls inspect mcpgen.yaml:3|stricter network.allow a.example, ports 443, https, tls inspect, paths /a→none mcpgen.yaml:3",
		},
		{
			"network:\n  allow: [{host: a.example, tls: inspect, methods: [GET]}]\npolicy: {level: execute_full}\n", "network:\n  {}\npolicy: {level: execute_full}\n",
			"wider network.allow a.example, ports 443, https, tls inspect, methods GET→none mcpgen.yaml:3",
		},
		{
			"network:\n  allow: [{host: a.example, tls: inspect, methods: [GET, POST]}]\npolicy: {level: execute_full}\n", "network:\n  allow: [{host: a.example, tls: inspect, methods: [GET]}]\npolicy: {level: execute_full}\n",
			"stricter network.allow none→a.example, ports 443, https, tls inspect, methods GET mcpgen.yaml:3|stricter network.allow a.example, ports 443, https, tls inspect, methods GET POST→none mcpgen.yaml:3",
		},
		{
			"network:\n  allow: [{host: a.example, tls: inspect}]\n", "network:\n  allow: [{host: a.example, tls: inspect, credentials: [{secret: \"${T}\", basic: ann}]}]\n",
			"wider network.allow none→a.example, ports 443, https, tls inspect, credential ${T} in \"basic ann\" mcpgen.yaml:3|stricter network.allow a.example, ports 443, https, tls inspect→none mcpgen.yaml:3",
		},
		{"network:\n  allow: [a.example]\n", "network:\n  allow: [a.example]\n  customers: {acme: {allow: [b.example]}}\n", "wider network.customers.acme.allow none→b.example, ports 443, https mcpgen.yaml:4"},
		{"network:\n  {}\n", "network:\n  default: ask\n  rate: 200\n  bytes: 1MiB\n  log: refused\n", "wider network.default deny→ask mcpgen.yaml|wider network.rate 100→200 mcpgen.yaml|stricter network.bytes the default→1MiB mcpgen.yaml|wider network.log all→refused mcpgen.yaml"},
		{"network:\n  alerts: {command: [./alert.sh]}\n", "network:\n  {}\n", "wider network.alerts ./alert.sh→none mcpgen.yaml"},
		{"", "network:\n  {}\n", "wider network none→present mcpgen.yaml"},
		{"network:\n  {}\n", "", "stricter network present→none mcpgen.yaml"},
		{
			"network:\n  allow: [{host: a.example, tls: inspect}]\n", "network:\n  allow: [a.example]\n",
			"wider network.allow none→a.example, ports 443, https mcpgen.yaml:3|stricter network.allow a.example, ports 443, https, tls inspect→none mcpgen.yaml:3",
		},
		{
			"network:\n  allow: [{host: \"*.a.example\", tls: inspect, methods: [GET, post]}]\n", "network:\n  allow: [{host: \"*.A.example\", tls: inspect, methods: [get, POST]}]\n",
			"stricter network.allow none→*.A.example, ports 443, https, tls inspect, methods get POST mcpgen.yaml:3|stricter network.allow *.a.example, ports 443, https, tls inspect, methods GET post→none mcpgen.yaml:3",
		},
		{
			"network:\n  allow: [{host: \"*.a.example\", tls: inspect, methods: [GET, POST]}]\npolicy: {level: execute_full}\n",
			"network:\n  allow: [{host: \"*.a.example\", tls: inspect, methods: [GET]}]\npolicy: {level: execute_full}\n",
			"stricter network.allow none→*.a.example, ports 443, https, tls inspect, methods GET mcpgen.yaml:3|stricter network.allow *.a.example, ports 443, https, tls inspect, methods GET POST→none mcpgen.yaml:3",
		},
		{"network:\n  allow: [a.example]\n", "network:\n  allow: [a.example, \"*.a.example\"]\n", "wider network.allow none→*.a.example, ports 443, https mcpgen.yaml:3"},
	} {
		if got := describeSettings(DiffNetwork(read(c.before), read(c.after))); got != c.want {
			t.Errorf("DiffNetwork(%q, %q) =\n%q, want\n%q", c.before, c.after, got, c.want)
		}
	}
}

func describeSettings(changes []SettingChange) string {
	var out []string
	for _, c := range changes {
		word := "stricter"
		if c.Wider {
			word = "wider"
		}
		out = append(out, fmt.Sprintf("%s %s %s→%s %s", word, c.Setting, c.From, c.To, c.At))
	}
	return strings.Join(out, "|")
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
	if got := Diff(before, after, many, many); len(got) != 20 {
		t.Errorf("%d changes, want 20", len(got))
	}
	// If no call fits the schema, calls that do not fit are tried.
	none := Tool{Server: "s", Dir: "s", Name: "t", ID: "s__t", Input: json.RawMessage(`{"type":"object","not":{}}`)}
	for _, tool := range []*Tool{&many[0], &none} {
		if n := len(examples(before, after, tool, tool, many)); n == 0 || n > 1000 {
			t.Errorf("%d calls of a tool with the schema %s are tried, want at most 1000", n, tool.Input)
		}
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
	want := []string{"a: it applies to other tools: crm__*", "b: the tool's hints do not match destructive", "c: the condition is false: args.amount > 10",
		"d: it applies only after 3 calls in the run", "e: the risk (medium) is below critical", "f: "}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || d.Effect != Allow || d.Rule != "f" {
		t.Errorf("Explain() = %+v\n%s\nwant\n%s", d, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
