package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFunctions decides calls by rules with functions. An error denies the call whatever the rule says.
func TestFunctions(t *testing.T) {
	const deny = "deny n"
	for _, c := range []struct{ rule, args, want string }{
		{`allow: "*", when: "under(args.path, 'reports')"`, `{"path":"reports/a"}`, "allow n"},
		{`allow: "*", when: "under(args.path, 'reports')"`, `{"path":"reports/../private"}`, "allow"},
		{`allow: "*", when: "under(args.path, 'reports')"`, `{"path":"/reports/a"}`, deny},
		{`deny: "*", when: "under(args.path, '/srv/private')"`, `{"path":"../srv/private"}`, deny},
		{`deny: "*", when: "!under(args.path, '/srv/reports')"`, `{"path":"reports/a"}`, deny},
		{`ask: "*", when: "!under(args.path, 'reports')"`, `{"path":"private"}`, "ask n"},
		{`ask: "*", when: "!under(args.path, 'reports')"`, `{"path":["private"]}`, deny},
		{`ask: "*", when: "!under(args.path, 'reports') && !under(args.path, '/srv')"`, `{"path":"reports/a"}`, "allow"},
		{`deny: "*", when: "!(under(args.path, 'reports') || under(args.path, '/srv'))"`, `{"path":"/srv/a"}`, "allow"},
		{`deny: "*", when: "!paths(args).all(p, under(p, 'reports'))"`, `{"source":"private","edits":[{"path":"reports/a"}]}`, deny},
		{`deny: "*", when: "!paths(args).all(p, under(p, 'reports'))"`, `{"source":"reports/b","n":1,"edits":[{"path":"reports/a"}]}`, "allow"},
		{`deny: "*", when: "paths(args.edits).exists(p, under(p, 'private'))"`, `{"edits":[{"path":"private/a"}]}`, deny},
		{`allow: "*", when: "host(args.url) in ['example.com']"`, `{"url":"https://EXAMPLE.com./"}`, "allow n"},
		{`allow: "*", when: "host(args.url) == 'example.com'"`, `{"url":"https://example.com@evil.com/"}`, "allow"},
		{`deny: "*", when: "emails(args).exists(e, domain(e) != 'example.com')"`, `{"to":["a@example.com"],"cc":{"more":"b@evil.com"}}`, deny},
		{`deny: "*", when: "!emails([args.to, ?args.?cc]).all(e, domain(e) == 'example.com')"`, `{"to":"a@example.com"}`, "allow"},
		{`deny: "*", when: "!emails([args.to, ?args.?cc]).all(e, domain(e) == 'example.com')"`, `{"to":"a@example.com","cc":["b@evil.com"]}`, deny},
		{`deny: "*", when: "!emails([args.to, ?args.?cc]).all(e, domain(e) == 'example.com')"`, `{"to":123}`, deny},
		{`deny: "*", when: "!emails([args.to, ?args.?cc]).all(e, domain(e) == 'example.com')"`, `{"to":{"group":"everyone"}}`, deny},
		{`deny: "*", when: "!emails([args.to, ?args.?cc]).all(e, domain(e) == 'example.com')"`, `{"to":"a@example.com","cc":null}`, "allow"},
		{`deny: "*", when: "args.name.lowerAscii().split('/')[0].replace('_', '-') == 'a-b'"`, `{"name":"A_B/c"}`, deny},
	} {
		p := parse(t, "rules: [{name: n, "+c.rule+"}]", nil)
		if got := decided(p, of(&Run{}, "a__b", c.args, Hints{})); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.rule, c.args, got, c.want)
		}
	}
	for when, want := range map[string]string{
		"under(args.path, '')":             `policy.rules[0].when: the folder "": it is empty`,
		"under(args.path, 'a/*')":          `the folder "a/*": it is a pattern`,
		"under(args.path, args.b, 'x')":    "found no matching overload",
		"host(1) == 'x'":                   "found no matching overload",
		`under(args.path, '\\\\x\\share')`: "it names another machine",
	} {
		if _, err := parseFile(t, "rules:\n- deny: '*'\n  when: |\n    "+when+"\n", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", when, err, want)
		}
	}
}

// Functions that read long arguments have a cost.
func TestFunctionsCostLittle(t *testing.T) {
	body := strings.Repeat("write to a@b.example. ", 50_000)
	args := `{"to":"a@b.example","body":"` + body + `","list":[` + strings.Repeat("1,", 999) + `1],"path":"` + strings.Repeat("./", 100_000) + `x"}`
	for when, want := range map[string]string{
		"emails(args).size() == 1":                          "deny n",
		"paths(args).size() == 2":                           "deny n",
		"under(args.path, 'x')":                             "deny n",
		"args.list.exists(x, emails(args).size() == x + 1)": "cost",
	} {
		p := parse(t, "rules: [{name: n, deny: '*', when: \""+when+"\"}]", nil)
		start := time.Now()
		d := p.Decide(t.Context(), of(&Run{}, "a__b", args, Hints{}))
		took := time.Since(start)
		// A function that ends because of its cost is bounded by a count. The others make one pass over the arguments.
		if byCost := want == "cost"; byCost != strings.Contains(d.Reason, "cost") || d.Effect != Deny || d.Rule != "n" || !byCost && took > 20*time.Second {
			t.Errorf("%s: %+v after %s, want %s", when, d, took, want)
		}
	}
}

func TestDeclaredArguments(t *testing.T) {
	const mail = `{"type":"object","properties":{"to":{"type":"string"},"data":{"type":"object"},"message":{"type":"object","properties":{"subject":{}}},
		"rows":{"type":"array","items":{"$ref":"#/$defs/row"}},"tags":{"type":"object","additionalProperties":{"type":"string"}},"x":{"$ref":"other.json"}},
		"allOf":[{"properties":{"cc":true}}],"patternProperties":{"^x-":{}},"additionalProperties":true,"$defs":{"row":{"properties":{"a":{}}}}}`
	for args, want := range map[string]string{
		`{}`: "",
		`{"to":"a","cc":"b","x-y":1,"data":{"any":{"thing":1}},"message":{"subject":"s"},"rows":[{"a":1}],"tags":{"any":"t"}}`: "",
		`{"to":"a","bcc":"b"}`:              "bcc",
		`{"To":"a"}`:                        "To",
		`{"message":{"subject":1,"bcc":1}}`: "message.bcc",
		`{"rows":[{"a":1},{"b":1}]}`:        "rows.b",
		`{"x":{"y":1}}`:                     "x.y",
	} {
		for _, how := range []string{"rule", "server", "no policy"} {
			req := of(&Run{}, "mail__send", args, Hints{})
			req.Input, req.DeclaredOnly = json.RawMessage(mail), how != "rule"
			var p Decider = parse(t, `rules: [{name: n, allow: "mail__*", arguments: declared, when: "size(args) > 100"}]`, nil)
			rule := "n"
			switch how {
			case "server":
				p, rule = parse(t, `rules: [{ask: "mail__*"}]`, nil), declaredRule
			case "no policy":
				p, rule = Default(), declaredRule
			}
			d := p.Decide(t.Context(), req)
			if want == "" && d.Effect == Deny || want != "" && (d.Effect != Deny || d.Rule != rule || !strings.Contains(d.Reason, fmt.Sprintf("does not declare the argument %q", want))) {
				t.Errorf("%s, %s: %+v, want %q refused", how, args, d, want)
			}
		}
	}
	for _, input := range []string{"", `{"type":"object"}`, "true"} {
		req := of(&Run{}, "mail__send", `{"to":"a"}`, Hints{})
		req.Input, req.DeclaredOnly = json.RawMessage(input), true
		if d := Default().Decide(t.Context(), req); d.Effect != Deny || !strings.Contains(d.Reason, "it declares none") {
			t.Errorf("the schema %s: %+v, want a refusal", input, d)
		}
	}
	if _, err := parseFile(t, "rules: [{deny: '*', arguments: declared}]", nil); err == nil || !strings.Contains(err.Error(), "arguments: does not go with deny") {
		t.Errorf(`arguments: with deny: %v, want an error and "arguments: does not go with deny" in it`, err)
	}
}

// Comparisons that another spelling evades are worth a warning.
func TestTextual(t *testing.T) {
	files := func() []Tool {
		tool := func(id, names string, h Hints) Tool {
			dir, name, _ := strings.Cut(id, "__")
			var properties []string
			for _, each := range strings.Fields(names) {
				properties = append(properties, `"`+each+`":{"type":"string"}`)
			}
			return Tool{Server: dir, Dir: dir, Name: name, ID: id, Hints: h, Input: json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)}
		}
		return []Tool{
			tool("fs__read", "path url to name uri paths", Hints{ReadOnly: true}),
			tool("fs__write", "path url to name uri paths amount", Hints{}),
			tool("fs__move", "source destination to url", Hints{}),
			{Server: "any", Dir: "any", Name: "x", ID: "any__x"},
		}
	}
	text := func(operand, like string) string {
		return fmt.Sprintf(`4: rule "n": %s is compared as text, and other spellings mean the same; it looks like %s`, operand, like)
	}
	for rule, want := range map[string]string{
		// Paths, addresses and URLs as text.
		`allow: fs__read, when: "args.path.startsWith('reports/')"`:                      text("args.path", "a path: use under(args.path, …)"),
		`deny: fs__read, when: "args.path == 'private'"`:                                 text("args.path", "a path: use under(args.path, …)"),
		`deny: fs__read, when: "args.path in ['a', 'b']"`:                                text("args.path", "a path: use under(args.path, …)") + "\n" + text("args.path", "a path: use under(args.path, …)"),
		`deny: fs__read, when: "args.path.lowerAscii().split('/')[0] == 'private'"`:      text("args.path", "a path: use under(args.path, …)"),
		`deny: fs__read, when: "args.?path.orValue('').contains('private')"`:             text("args.path", "a path: use under(args.path, …)"),
		`deny: fs__read, when: "args.paths.exists(p, p.startsWith('private'))"`:          text("args.paths[…]", "a path: use under(args.paths[…], …)"),
		`deny: fs__read, when: "args.path.matches('^private')"`:                          text("args.path", "a path: use under(args.path, …)"),
		`allow: fs__read, when: "args.path == 'reports/a'"`:                              ``,
		`allow: fs__read, when: "args.path != 'private/a'"`:                              text("args.path", "a path: use under(args.path, …)"),
		`allow: fs__read, when: "!(args.path == 'private/a')"`:                           text("args.path", "a path: use under(args.path, …)"),
		`deny: fs__read, when: "args.path != 'reports/a'"`:                               ``,
		`deny: fs__read, when: "args.path.endsWith('.env')"`:                             ``,
		`deny: fs__read, when: "args.to.endsWith('@example.com')"`:                       text("args.to", "a mail address: compare emails(args.to)"),
		`deny: fs__read, when: "args.url.startsWith('https://example.com')"`:             text("args.url", "a URL: compare host(args.url)"),
		`deny: fs__read, when: "args.url.contains('example.com')"`:                       text("args.url", "a URL: compare host(args.url)"),
		`deny: fs__read, when: "args.uri.startsWith('notes://private')"`:                 ``,
		`deny: fs__read, when: "args.name == 'Ann'"`:                                     ``,
		`deny: fs__read, when: "args.to == 'ACC-1'"`:                                     ``,
		`deny: fs__read, when: "under(args.path, 'private') || host(args.url) == 'a.b'"`: ``,
		// Results of functions.
		`deny: fs__read, when: "host(args.url) == 'Example.com'"`:                     `4: rule "n": host() returns lower case: write "example.com"`,
		`allow: fs__read, when: "host(args.url).endsWith('example.com')"`:             `4: rule "n": "example.com" also ends "evilexample.com": compare with ==, and use endsWith(".example.com") for what is below it`,
		`allow: fs__read, when: "emails(args.to).all(e, e.endsWith('example.com'))"`:  `4: rule "n": "example.com" also ends "evilexample.com": compare with ==, and use endsWith(".example.com") for what is below it`,
		`allow: fs__read, when: "emails(args.to).all(e, e.endsWith('@example.com'))"`: ``,
		`allow: fs__read, when: "host(args.url).contains('example.com')"`:             `4: rule "n": "example.com" is also in names of others, such as "example.com.evil.com": compare with ==, or use endsWith()`,
		`allow: fs__read, when: "paths(args).all(p, p.startsWith('a'))"`:              `4: rule "n": a path is compared as text, and other spellings mean the same: use under()`,
		// Arguments that some of the tools lack.
		`deny: "fs__*", when: "!under(args.path, 'a')"`:                        `4: rule "n": 1 of its 3 tools have no argument "path", so their calls are denied: fs__move`,
		`deny: "fs__*", when: "has(args.path) && !under(args.path, 'a')"`:      `4: rule "n": 1 of its 3 tools have no argument "path", so it may not apply to them: fs__move`,
		`allow: "fs__*", when: "has(args.path) && under(args.path, 'a')"`:      ``,
		`deny: "*", when: "has(args.path) && !under(args.path, 'a')"`:          ``,
		`deny: "fs__*", when: "tool != 'fs__move' && !under(args.path, 'a')"`:  ``,
		`deny: "fs__*", hint: writes, when: "args.?amount.orValue('') == '1'"`: `4: rule "n": 1 of its 2 tools have no argument "amount", so it may not apply to them: fs__move`,
		`deny: ["fs__read", "any__x"], when: "args.amount == '1'"`:             `4: rule "n": 1 of its 2 tools have no argument "amount", so their calls are denied: fs__read`,
	} {
		p := parse(t, "rules:\n  -\n\n    {name: n, "+rule+"}", nil)
		got := columns.ReplaceAllString(strings.Join(p.Misspelt(files), "\n"), "4:")
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", rule, got, want)
		}
	}
	at := parse(t, "rules: [{name: n, allow: fs__read, when: args.path.startsWith('reports/')}]", nil).Misspelt(files)
	if len(at) != 1 || !strings.HasPrefix(at[0], "policy.yaml:1:63: ") {
		t.Errorf("Misspelt() = %q, want the place of the constant", at)
	}
}

var columns = regexp.MustCompile(`policy\.yaml:4:(\d+:)?`)

// recipe returns the policy below a heading on the page of recipes, and the servers whose arguments must be declared.
func recipe(t *testing.T, heading string) (*Policy, map[string]bool) {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/write-a-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n### " + heading + "\n.*?```yaml\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no recipe %q", heading)
	}
	declared := map[string]bool{}
	for _, server := range regexp.MustCompile(`(?m)^  (\w+):\n    arguments: declared$`).FindAllSubmatch(found[1], -1) {
		declared[string(server[1])] = true
	}
	return parse(t, string(found[1]), nil), declared
}

// TestRecipes tries to circumvent the recipes.
func TestRecipes(t *testing.T) {
	schemas := map[string]string{
		"mail__send": `{"type":"object","properties":{"to":{},"cc":{},"bcc":{},"subject":{},"body":{}}}`,
	}
	for _, c := range []struct {
		heading, tool, want string
		args                []string
	}{
		{"A folder", "files__write", "allow", []string{
			`{"path":"reports/a.txt","content":"see /etc"}`, `{"path":"./reports//x/../a"}`, `{"source":"reports/a","destination":"reports/b"}`, `{"paths":["reports/a","reports"]}`,
		}},
		{"A folder", "files__write", "deny", []string{
			`{}`, `{"content":"x"}`, `{"path":""}`, `{"path":null}`, `{"path":"."}`, `{"path":"private"}`, `{"path":"reports/../private"}`, `{"path":"reports/..//private"}`,
			`{"path":"../reports/a"}`, `{"path":"/etc/passwd"}`, `{"path":"file:///etc/passwd"}`, `{"path":"FILE:reports/../private"}`, `{"path":"~/x"}`, `{"path":"Reports/a"}`,
			`{"path":"reports\\..\\private"}`, `{"path":"reports/%2e%2e/private"}`, `{"path":"reports/.. /private"}`, `{"path":"reports/\u0000/../../private"}`, `{"path":"reports2"}`,
			`{"path":" reports"}`, `{"path":"r\u0435ports/a"}`, `{"path":"reports\uff0f../private"}`, `{"source":"private/a","destination":"reports/a"}`, `{"from":"secret.txt","to":"reports/a"}`,
			`{"paths":["reports/a","private/b"]}`, `{"files":[{"name":"reports/a"},{"name":"secret.txt"}]}`, `{"files":{"reports/a":"x","private/b":"y"}}`, `{"path":"reports/a","item":"../private"}`,
			`{"path":"reports","pattern":"../private/*"}`, `{"path":"reports","path2":"private"}`, `{"path":"reports","Path":"private"}`, `{"uri":"file:///etc/passwd"}`, `{"path":"http://reports/a"}`,
			`{"path":"reports/$HOME/a"}`, `{"path":"reports/{a,../../b}"}`, `{"path":"C:reports"}`, `{"path":"reports\u2215..\u2215private"}`,
		}},
		{"Recipients", "mail__send", "allow", []string{
			`{"to":"ann@example.com"}`, `{"to":["Ann <ANN@Example.com>"],"cc":"bob@example.com, eve@example.com","body":"ask x@evil.com"}`, `{"to":"ann@example.com","cc":null,"bcc":[]}`,
		}},
		{"Recipients", "mail__send", "deny", []string{
			`{}`, `{"to":"everyone"}`, `{"to":"ann@evil.com"}`, `{"to":"ann@example.com, eve@evil.com"}`, `{"to":"ann@example.com;eve@evil.com"}`, `{"to":"ann@example.com eve@evil.com"}`,
			`{"to":["ann@example.com","eve@evil.com"]}`, `{"to":["ann@example.com","everyone"]}`, `{"to":"ann@example.com","cc":"eve@evil.com"}`, `{"to":"ann@example.com","bcc":["eve@evil.com"]}`,
			`{"to":"ann@example.com","BCC":"eve@evil.com"}`, `{"to":"ann@example.com","reply_all":"eve@evil.com"}`, `{"to":"\"ann@example.com\" <eve@evil.com>"}`, `{"to":"eve@evil.com <ann@example.com>"}`,
			`{"to":"ann@example.com@evil.com"}`, `{"to":"eve%evil.com@example.com"}`, `{"to":"ann@example.com.evil.com"}`, `{"to":"ann@evilexample.com"}`, `{"to":"ann@ex\u0430mple.com"}`,
			`{"to":"ann@example.com\nBcc: eve@evil.com"}`, `{"to":{"email":"ann@example.com","more":"eve@evil.com"}}`, `{"to":"team: eve@evil.com;"}`, `{"to":"<@evil.com:ann@example.com>"}`,
			`{"to":"eve\uff20evil.com, ann@example.com"}`, `{"to":"=?utf-8?q?eve=40evil.com=2C?= <ann@example.com>"}`, `{"to":"ann@example.com","cc":{"x":["eve@evil.com"]}}`, `{"To":"ann@example.com"}`,
		}},
		{"Amounts", "bank__transfer", "allow", []string{`{"amount":1000}`, `{"amount":0.5}`, `{"amount":1e3}`}},
		{"Amounts", "bank__transfer", "ask", []string{`{"amount":1000.01}`, `{"amount":1e999}`, `{"amount":-5000}`, `{"amount":10000000000000000000000}`}},
		{"Amounts", "bank__transfer", "deny", []string{`{}`, `{"amount":"20000"}`, `{"amount":null}`, `{"amount":[5]}`, `{"amount":1,"Amount":5000}`, `{"amount":1,"amount":5000}`}},
		{"Hosts", "web__fetch", "allow", []string{`{"url":"https://example.com/a?b=c@d"}`, `{"url":"HTTPS://API.Example.com:8443"}`, `{"url":"https://example.com./"}`}},
		{"Hosts", "web__fetch", "deny", []string{
			`{}`, `{"url":""}`, `{"url":"example.com"}`, `{"url":"//example.com"}`, `{"url":"https://evil.com"}`, `{"url":"https://evilexample.com"}`, `{"url":"https://example.com.evil.com"}`,
			`{"url":"https://example.com@evil.com"}`, `{"url":"https://evil.com#@example.com"}`, `{"url":"https://evil.com?.example.com"}`, `{"url":"https://evil.com\\@example.com"}`,
			`{"url":"https://evil.com\\.example.com"}`, `{"url":"https://evil.com%2f.example.com"}`, `{"url":"https://evil.com\uff0f.example.com"}`, `{"url":"https://evil.com\u0000.example.com"}`,
			`{"url":"https:example.com"}`, `{"url":"https:///example.com"}`, `{"url":" https://example.com"}`, `{"url":"https://ex\u0430mple.com"}`, `{"url":"file://example.com/etc"}`,
			`{"url":"http://2130706433"}`, `{"url":"http://[::ffff:127.0.0.1]"}`, `{"url":"http://0177.0.0.1"}`, `{"url":"https://evil.com;.example.com"}`, `{"url":["https://example.com"]}`,
			`{"url":"https://example.com","URL":"https://evil.com"}`, `{"url":"javascript://example.com/%0aalert(1)"}`, `{"url":"https://a@b@example.com"}`,
		}},
		{"A list of what is allowed", "crm__get_record", "allow", []string{`{}`}},
		{"A list of what is allowed", "crm__get_record_2", "deny", []string{`{}`}},
		{"A list of what is allowed", "CRM__get_record", "deny", []string{`{}`}},
		{"A list of what is allowed", "web__fetch", "deny", []string{`{}`}},
	} {
		p, declared := recipe(t, c.heading)
		for _, args := range c.args {
			req := of(&Run{}, c.tool, args, Hints{})
			req.Input, req.DeclaredOnly = json.RawMessage(schemas[c.tool]), declared[req.Server]
			if d := p.Decide(t.Context(), req); string(d.Effect) != c.want {
				t.Errorf("%s: %s %s: %s (%s), want %s", c.heading, c.tool, args, d.Effect, d.Reason, c.want)
			}
		}
	}
}

// Two policies that differ in a function, or in what must be declared, decide some call differently.
func TestDiffOfFunctions(t *testing.T) {
	list := tools()
	for _, c := range []struct{ before, after, want string }{
		{`deny: files__write, when: "!under(args.path, 'reports')"`, `deny: files__write, when: "!under(args.path, 'r')"`, "files__write"},
		{`deny: files__write, when: "paths(args).exists(p, under(p, 'a'))"`, `deny: files__write, when: "paths(args).exists(p, under(p, 'b'))"`, "files__write"},
		{`deny: web__get, when: "host(args.url) == 'a.example'"`, `deny: web__get, when: "host(args.url) == 'b.example'"`, "web__get"},
		{`deny: bank__pay, when: "emails(args).exists(e, domain(e) == 'a.example')"`, `deny: bank__pay, when: "emails(args).exists(e, domain(e) == 'b.example')"`, "bank__pay"},
		{`allow: bank__pay, arguments: declared`, `allow: bank__pay`, "bank__pay"},
	} {
		changes := Diff(parse(t, "rules: [{name: n, "+c.before+"}]", nil), parse(t, "rules: [{name: n, "+c.after+"}]", nil), list, list)
		var wider []string
		for i := range changes {
			if changes[i].Widens() {
				wider = append(wider, changes[i].Tool)
			}
		}
		if diff := cmp.Diff([]string{c.want}, wider); diff != "" {
			t.Errorf("%s and %s: wider (-want +got):\n%s", c.before, c.after, diff)
		}
	}
	closed := tools()
	closed[0].DeclaredOnly = true
	p := parse(t, "{}", nil)
	if changes := Diff(p, p, closed, list); len(changes) != 1 || !changes[0].Widens() {
		t.Errorf("without arguments: declared at a server: %s, want bank__pay wider", describe(changes))
	}
}
