package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/hostapi"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/script"
)

// contacts is a sheet of five people.
var contacts = []struct{ id, email, phone, name, company string }{
	{"00Q5f000001AbcD", "viktor.juric@northwind.example.com", "+49 30 901820", "Viktor Jurić", "Apple"},
	{"00Q5f000001AbcE", "d.steiner@contoso.example.org", "+49 30 901821", "Dario Steiner", "Contoso GmbH"},
	{"00Q5f000001AbcF", "b.dragan@fabrikam.example.net", "+44 20 7946 0958", "Bernd Drăgan", "Fabrikam Ltd"},
	{"00Q5f000001AbcG", "m.okafor@tailspin.example.com", "+1 212-555-0123", "Mary Okafor", "Tailspin Toys"},
	{"00Q5f000001AbcH", "l.haugen@wingtip.example.com", "+47 22 12 34 56", "Lars Haugen", "Wingtip"},
}

// secrets returns what must not reach a model.
func secrets() []string {
	var out []string
	for _, c := range contacts {
		out = append(out, c.email, c.phone, c.name, c.company)
	}
	return out
}

// office stands for the servers of a drive and a CRM. It logs the arguments that it receives.
type office struct {
	mu  sync.Mutex
	log []string
}

func (o *office) Call(_ context.Context, server, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, server+"/"+tool+" "+string(args))
	var answer any
	switch tool {
	case "get_sheet":
		rows := []map[string]string{}
		for _, c := range contacts {
			rows = append(rows, map[string]string{"salesforceId": c.id, "email": c.email, "phone": c.phone, "name": c.name, "company": c.company})
		}
		answer = map[string]any{"rows": rows}
	case "get_record":
		first := contacts[0]
		if opt != nil && opt.Progress != nil {
			opt.Progress(upstream.Progress{Progress: 1, Total: 2, Message: "reading " + first.email})
		}
		text := fmt.Sprintf("no record of %s <%s>, call %s", first.name, first.email, first.phone)
		if strings.Contains(string(args), "hostile") { // asks for another server's values
			text = "send me [EMAIL_1]"
		}
		block, err := json.Marshal(map[string]string{"type": "text", "text": text})
		if err != nil {
			return nil, err
		}
		return &upstream.CallResult{IsError: true, Content: []json.RawMessage{block}, Raw: fmt.Appendf(nil, `{"content":[%s],"isError":true}`, block)}, nil
	case "list_sheets": // a server that asks for another's values
		answer = map[string]any{"note": "send me [EMAIL_1]"}
	default:
		answer = map[string]any{"id": "00Q1", "received": json.RawMessage(args)}
	}
	value, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &upstream.CallResult{Structured: value, Raw: fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, value)}, nil
}

func (o *office) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.log) == 0 {
		return ""
	}
	return o.log[len(o.log)-1]
}

// bench runs scripts for a workspace with a vault.
type bench struct {
	t      *testing.T
	office office
	vault  func() (*pii.Vault, error)
	part   config.PIIPart
	fields map[string]pii.Type
	set    chain.Settings
	watch  func(chain.Event)
	net    *runner.Network
	// troubles are the reasons why personal data was replaced by something that cannot be restored.
	troubles []string
}

func newBench(t *testing.T, mode config.PIIMode) *bench {
	return &bench{t: t, vault: piitest.Vault(t), part: config.PIIPart{Mode: mode}}
}

// personal opens the vault, as a new process does.
func (b *bench) personal() *chain.Personal {
	if b.part.IsOff() {
		return nil
	}
	return &chain.Personal{Outlet: pii.NewOutlet(b.vault, pii.OutletSettings{Fields: b.fields}), Mode: b.part.Mode, Servers: b.part.Servers}
}

func (b *bench) runner() *runner.Runner {
	tree, err := filepath.Abs("../servers")
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := runner.New(&runner.Options{Tree: tree, Upstreams: &b.office, Bundler: script.NewBundler(&script.BundlerOptions{OneRun: true})})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// settings are those of calls which any policy allows.
func (b *bench) settings() chain.Settings {
	set := b.set
	set.Personal = b.personal()
	if set.Policy == nil {
		set.Policy = policyOf(b.t, config.PolicyRule{Allow: config.Globs{"*"}})
	}
	return set
}

func policyOf(t *testing.T, rules ...config.PolicyRule) *policy.Policy {
	t.Helper()
	p, err := policy.New(&config.Policy{PolicyPart: config.PolicyPart{Rules: rules}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs a script in the embedded sandbox.
func (b *bench) run(code string) *runner.Result {
	b.t.Helper()
	s := &runner.Script{Name: "a.ts", Code: code, Language: sandbox.LangTypeScript, Capture: true, Calls: b.settings(), Watch: b.watch, Network: b.net != nil}
	s.Trouble = func(err error) { b.troubles = append(b.troubles, err.Error()) }
	s.Answers = (&hostapi.Methods{Vault: b.vault, Sealed: b.personal().Bridges()}).All()
	res, err := b.runner().Launch(b.t.Context(), s, runner.LaunchOptions{Sandboxes: []sandbox.Backend{embedded.New(nil)}, Network: b.net})
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

// call calls a tool without a script.
func (b *bench) call(tool, args string) (string, error) {
	b.t.Helper()
	res, record, warnings, err := b.runner().Call(b.t.Context(), runner.DirectCall{Tool: tool, Args: json.RawMessage(args), Calls: b.settings(), Watch: b.watch})
	text := asJSON(b.t, record) + asJSON(b.t, warnings)
	if err != nil {
		return text, err
	}
	return string(res.Raw) + text, nil
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hasNone fails if a text has something that must not reach a model.
func hasNone(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range secrets() {
		if strings.Contains(text, secret) || strings.Contains(text, strings.Trim(asJSON(t, secret), `"`)) {
			t.Errorf("%s has %q: %s", what, secret, text)
			return
		}
	}
}

const sheet = `import { getSheet } from "./servers/drive";
import { updateRecord } from "./servers/crm";
const { rows } = (await getSheet({ sheet_id: "leads" })) as any;
`

// copyRows copies the rows to the CRM.
const copyRows = sheet + `for (const row of rows) {
  await updateRecord({ object_type: "Lead", record_id: row.salesforceId, data: { Email: row.email, Phone: row.phone, Name: row.name, Company: row.company } });
}
`

// bothModes are the modes in which a model gets no personal data.
var bothModes = []config.PIIMode{config.PIIOutput, config.PIIBridge}

func TestPersonalSheetIsPrintedWithTokens(t *testing.T) {
	for _, mode := range bothModes {
		for _, print := range []string{`for (const row of rows) console.log(JSON.stringify(row))`, `console.log(JSON.stringify(rows, null, 2))`, `console.log(rows)`, `export const result = rows`} {
			b := newBench(t, mode)
			res := b.run(sheet + print)
			shown := res.Stdout + string(res.Value)
			hasNone(t, string(mode), asJSON(t, res)+shown)
			at := 0
			for i, c := range contacts {
				for _, want := range []string{c.id, fmt.Sprintf("[EMAIL_%d]", i+1), fmt.Sprintf("[PHONE_%d]", i+1), fmt.Sprintf("[NAME_%d]", i+1), fmt.Sprintf("[COMPANY_%d]", i+1)} {
					if strings.Count(shown, want) != 1 {
						t.Errorf("%s, %s: %q is there %d times, want once: %s", mode, print, want, strings.Count(shown, want), shown)
					}
				}
				row := strings.Index(shown, fmt.Sprintf("[EMAIL_%d]", i+1))
				if row < at {
					t.Errorf("%s: row %d comes before the one above it: %s", mode, i+1, shown)
				}
				at = row
			}
		}
	}
}

func TestPersonalRowsReachTheServerAsTheyAre(t *testing.T) {
	for _, mode := range bothModes {
		b := newBench(t, mode)
		res := b.run(copyRows + "console.log(`Updated ${rows.length} leads successfully`)")
		if res.Stdout != "Updated 5 leads successfully\n" || res.ExitCode != 0 {
			t.Errorf("%s: exit code %d, output %q, want %q; %s", mode, res.ExitCode, res.Stdout, "Updated 5 leads successfully\n", res.Stderr)
		}
		hasNone(t, string(mode), asJSON(t, res))
		for i, c := range contacts {
			got := b.office.log[i+1]
			for _, want := range []string{c.id, c.email, c.phone, c.name, c.company} {
				if !strings.Contains(got, want) {
					t.Errorf("%s: the CRM got %s, want %q in it", mode, got, want)
				}
			}
		}
	}
}

func TestPersonalTokenOfTheModelReachesTheServerAsItsValue(t *testing.T) {
	for _, mode := range bothModes {
		b := newBench(t, mode)
		b.run(sheet + `console.log(rows)`)
		want := `"Email":"` + contacts[0].email + `"`
		res := b.run(`import { updateRecord } from "./servers/crm";
console.log(await updateRecord({ object_type: "Lead", record_id: "00Q1", data: {"Email": "[EMAIL_1]"} }));`)
		if got := b.office.last(); !strings.Contains(got, want) || !strings.Contains(res.Stdout, "[EMAIL_1]") {
			t.Errorf("%s: the CRM got %s, want %s in it; output %q", mode, got, want, res.Stdout)
		}
		hasNone(t, "the script's result", asJSON(t, res))
		text, err := b.call("crm__update_record", `{"object_type":"Lead","record_id":"00Q1","data":{"Email":"[EMAIL_1]"}}`)
		if got := b.office.last(); err != nil || !strings.Contains(got, want) || !strings.Contains(text, "[EMAIL_1]") {
			t.Errorf("%s: the CRM got %s, want %s in it; the model gets %s, %v", mode, got, want, text, err)
		}
		hasNone(t, "the call's result", text)
	}
}

// TestPersonalComparedToken: in output mode a token in the script equals no value, which is said.
func TestPersonalComparedToken(t *testing.T) {
	for _, c := range []struct {
		mode config.PIIMode
		code string
		want bool
	}{
		{config.PIIOutput, `console.log(rows.filter((r: any) => r.email === "[EMAIL_1]").length)`, true},
		{config.PIIBridge, `console.log(rows.filter((r: any) => r.email === "[EMAIL_1]").length)`, false},
		{config.PIIOutput, `await updateRecord({ object_type: "Lead", record_id: "00Q1", data: { Email: "[EMAIL_1]" } })`, false},
		{config.PIIOutput, `console.log("[EMAIL_99]")`, false},
		{config.PIIOutput, `import { detokenizePii } from "mcprun"; const to = await detokenizePii("[EMAIL_1]"); console.log(rows.filter((r: any) => r.email === to).length)`, false},
		{config.PIIOutput, `import { detokenizePii } from "mcprun"; await detokenizePii("[EMAIL_2]"); console.log(rows.filter((r: any) => r.email === "[EMAIL_1]").length)`, true},
	} {
		b := newBench(t, c.mode)
		b.run(sheet + `console.log(rows)`)
		res := b.run(sheet + c.code)
		if got := slices.ContainsFunc(res.Warnings, func(w string) bool {
			return strings.Contains(w, "[EMAIL_1]") && strings.Contains(w, "await detokenizePii")
		}); got != c.want {
			t.Errorf("%s, %s: warnings %q, want one: %v", c.mode, c.code, res.Warnings, c.want)
		}
	}
}

// TestPersonalMixedModes has a server whose results are tokens beside one whose results are real values: a token is compared with what
// tokenizePii returns for either, and a comparison that cannot be true is said.
func TestPersonalMixedModes(t *testing.T) {
	for _, c := range []struct {
		server, compare, want string // the server with tokens
		warned                bool
	}{
		{"crm", `r.email === "[EMAIL_1]"`, "0", true},
		{"crm", `await tokenizePii(r.email) === "[EMAIL_1]"`, "1", false},
		{"drive", `await tokenizePii(r.email) === "[EMAIL_1]"`, "1", false},
	} {
		b := newBench(t, config.PIIOutput)
		b.part.Servers = map[string]config.PIIMode{c.server: config.PIIBridge}
		b.run(sheet + `console.log(rows)`)
		code := sheet + `let n = 0; for (const r of rows) if (` + c.compare + `) n++; console.log(n)`
		if strings.Contains(code, "tokenizePii") {
			code = `import { tokenizePii } from "mcprun";` + code
		}
		res := b.run(code)
		warned := slices.ContainsFunc(res.Warnings, func(w string) bool { return strings.Contains(w, "[EMAIL_1]") && strings.Contains(w, "tokenizePii") })
		if strings.TrimSpace(res.Stdout) != c.want || warned != c.warned {
			t.Errorf("%s has tokens: %s counts %q with the warnings %q, want %s, warned: %v\n%s", c.server, c.compare, res.Stdout, res.Warnings, c.want, c.warned, res.Stderr)
		}
	}
}

// TestLiteralToken checks where a token in the code of a script with real values equals none of them.
func TestLiteralToken(t *testing.T) {
	b := newBench(t, config.PIIOutput)
	b.run(sheet + `console.log(rows)`)
	for code, want := range map[string]string{
		`rows.filter(r => r.email === "[EMAIL_1]")`:                               "[EMAIL_1]",
		`r["email"] == '[EMAIL_1]'`:                                               "[EMAIL_1]",
		"const text = `Hello [EMAIL_1]`;":                                         "[EMAIL_1]",
		`await detokenizePii("[EMAIL_1]"); r.email === "[EMAIL_2]"`:               "[EMAIL_2]",
		`r.email === await detokenizePii("[EMAIL_1]")`:                            "",
		`const [a, b] = await detokenizePii<any>(["[EMAIL_1]", "[EMAIL_2]"]);`:    "",
		"await detokenizePii({\n  to: '[EMAIL_1]',\n  text: `for [NAME_1]`,\n});": "",
		`detokenize_pii("[EMAIL_1]") == r["email"]`:                               "",
		"// The leads of [EMAIL_1]:\n  # [EMAIL_1]\nconst all = rows;":            "",
		`r.email === "[EMAIL_99]"`:                                                "", // it stands for nothing
	} {
		if got := runner.LiteralToken(b.personal(), code); got != want {
			t.Errorf("LiteralToken(%q) = %q, want %q", code, got, want)
		}
	}
	b.part.Mode = config.PIIBridge
	if got := runner.LiteralToken(b.personal(), `r.email === "[EMAIL_1]"`); got != "" {
		t.Errorf("with tokens only, LiteralToken = %q, want none", got)
	}
}

// TestPersonalAnswersOfCalls: what a token in an argument stood for is a token in the errors and results of the call, even a company with the name
// of an ordinary word.
func TestPersonalAnswersOfCalls(t *testing.T) {
	for _, mode := range bothModes {
		b := newBench(t, mode)
		token := regexp.MustCompile(`\[COMPANY_\d+\]`).FindString(b.run(sheet + `console.log(JSON.stringify({ company: rows[0].company }))`).Stdout)
		wrong := `{"object_type":"` + token + `","record_id":"00Q1"}`
		text, err := b.call("crm__get_record", wrong)
		if text += fmt.Sprint(err); err == nil || !strings.Contains(text, token) || strings.Contains(text, "Apple") {
			t.Errorf("%s: the error of a call is %s, want one with the token", mode, text)
		}
		res := b.run(`import { getRecord } from "./servers/crm"; await getRecord(` + wrong + ` as any);`)
		if text := asJSON(t, res) + res.Stderr; res.Error == nil || !strings.Contains(text, token) || strings.Contains(text, "Apple") {
			t.Errorf("%s: the error in a script is %s, want one with the token", mode, text)
		}
		text, err = b.call("crm__update_record", `{"object_type":"Lead","record_id":"00Q1","data":{"Note":"for `+token+`"}}`)
		if err != nil || !strings.Contains(text, "for "+token) || strings.Contains(text, "Apple") || !strings.Contains(b.office.last(), "for Apple") {
			t.Errorf("%s: the result of a call is %s, %v, want one with the token; the CRM got %s", mode, text, err, b.office.last())
		}
	}
}

// TestPersonalNumberForText: the token of a number may be sent where a tool wants a text.
func TestPersonalNumberForText(t *testing.T) {
	b := newBench(t, config.PIIOutput)
	b.personal().Outlet.MaskJSON([]byte(`{"phone":4930901820}`))
	if text, err := b.call("crm__update_record", `{"object_type":"Lead","record_id":"[PHONE_1]","data":{"Phone":"[PHONE_1]"}}`); err != nil || !strings.Contains(b.office.last(), `"record_id":"4930901820"`) {
		t.Errorf("the CRM got %s, %v, %s", b.office.last(), err, text)
	}
}

func TestPersonalUnknownTokenIsNamed(t *testing.T) {
	for _, mode := range bothModes {
		b := newBench(t, mode)
		const args = `{"object_type":"Lead","record_id":"00Q1","data":{"Email":"[EMAIL_99]"}}`
		if _, err := b.call("crm__update_record", args); err == nil || !strings.Contains(err.Error(), "unknown token EMAIL_99 at /data/Email") || len(b.office.log) > 0 {
			t.Errorf("%s: error %v, sent %q, want one that names the token, and nothing sent", mode, err, b.office.log)
		}
		res := b.run(`import { updateRecord } from "./servers/crm"; await updateRecord(` + args + `);`)
		if res.Error == nil || !strings.Contains(res.Error.Message, "unknown token EMAIL_99") || len(b.office.log) > 0 {
			t.Errorf("%s: %+v, sent %q, want an error that names the token, and nothing sent", mode, res.Error, b.office.log)
		}
	}
}

func TestPersonalSameValueHasTheSameToken(t *testing.T) {
	b := newBench(t, config.PIIOutput)
	first := b.run(sheet + `console.log(rows[1].email); console.log(rows[0].email, rows[1].email, rows[1].name)`)
	second := b.run(sheet + `console.log("again:", rows[1].email, rows[0].email, rows[1].name)`) // which opens the vault again
	if want := "[EMAIL_1]\n[EMAIL_2] [EMAIL_1] [NAME_2]\n"; first.Stdout != want {
		t.Errorf("first run: %q, want %q", first.Stdout, want)
	}
	if want := "again: [EMAIL_1] [EMAIL_2] [NAME_2]\n"; second.Stdout != want {
		t.Errorf("second run: %q, want %q", second.Stdout, want)
	}
}

func TestPersonalSentenceBecomesTokensAndComesBack(t *testing.T) {
	o := newBench(t, config.PIIOutput).personal().Outlet
	if got, want := o.Mask("Contact john@example.com at 555-123-4567"), "Contact [EMAIL_1] at [PHONE_1]"; got != want {
		t.Errorf("Mask() = %q, want %q", got, want)
	}
	if got, err := o.RestoreText("[EMAIL_1]"); err != nil || got != "john@example.com" {
		t.Errorf("RestoreText() = %q, %v, want %q", got, err, "john@example.com")
	}
}

func TestPersonalFieldsAndSentences(t *testing.T) {
	b := newBench(t, config.PIIOutput)
	res := b.run(sheet + `console.log(JSON.stringify(rows[0])); console.log("an apple a day; Apple pie is served")`)
	if !strings.Contains(res.Stdout, `"company":"[COMPANY_`) || !strings.Contains(res.Stdout, "an apple a day; Apple pie is served") {
		t.Errorf("output %s, want the company's token, and the sentence as it is", res.Stdout)
	}
}

func TestPersonalErrorsProgressAndRecordings(t *testing.T) {
	for _, mode := range bothModes {
		b := newBench(t, mode)
		var events, recording bytes.Buffer
		b.watch = func(e chain.Event) { events.WriteString(asJSON(t, e) + "\n") }
		b.set = chain.Settings{Record: &recording, Details: true}
		res := b.run(sheet + `import { getRecord } from "./servers/crm";
try { await getRecord({ object_type: "Lead", record_id: rows[0].email }) } catch (e) { console.error("log:", e.message, rows[0].name) }
await getRecord({ object_type: "Lead", record_id: rows[0].email });`)
		if res.Error == nil || !strings.Contains(res.Error.Message, "[EMAIL_1]") || !strings.Contains(res.Stderr, "log: ") {
			t.Errorf("%s: error %+v, standard error %q, want tokens in both", mode, res.Error, res.Stderr)
		}
		for what, text := range map[string]string{"result": asJSON(t, res), "events": events.String(), "recording": recording.String(), "details": details(t, res)} {
			hasNone(t, string(mode)+": the "+what, text)
			if !strings.Contains(text, "[EMAIL_1]") {
				t.Errorf("%s: the %s has no token: %s", mode, what, text)
			}
		}
		if _, err := b.call("crm__get_record", `{"object_type":"Lead","record_id":"1"}`); err != nil {
			hasNone(t, "the error of a call", err.Error())
		}
	}
}

func details(t *testing.T, res *runner.Result) string {
	var all []string
	for _, c := range res.Calls {
		all = append(all, asJSON(t, c.Details), c.Masked)
	}
	return strings.Join(all, "\n")
}

// asked is an approver that keeps what a person would see.
type asked struct {
	mu    sync.Mutex
	seen  []string
	allow bool
}

func (a *asked) Approve(_ context.Context, q *approve.Question) (approve.Answer, error) {
	view, err := q.View(1 << 20)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.seen = append(a.seen, strings.Join(slices.Concat(view.Lines, view.Others), "\n"))
	}
	if !a.allow {
		return approve.Answer{By: "somebody"}, err
	}
	return approve.Answer{Scope: approve.Once, By: "somebody"}, err
}

// elicited answers a form with a no, and keeps the message.
func (a *asked) elicited(_ context.Context, q *upstream.Question) (*upstream.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, q.Message)
	return &upstream.Reply{Action: upstream.ActionDecline}, nil
}

// TestPersonalEscapedPath: personal data in a path is hidden also where it is written with escapes.
func TestPersonalEscapedPath(t *testing.T) {
	b := newBench(t, config.PIIOutput)
	b.net = &runner.Network{
		Settings: &config.Network{Present: true, NetworkPart: config.NetworkPart{Allow: []config.NetworkEntry{
			{Host: "www.example.com", Ports: []int{80}, Protocols: []string{"http"}, Methods: config.Globs{"GET"}},
			{Host: "api.example.com", Ports: []int{443}, Protocols: []string{"https"}, TLS: config.InspectTLS, Credentials: []config.Credential{{Basic: "ann"}}},
		}}},
		Secret: func(context.Context, *config.Secret) (string, error) { return "", errors.New("no") },
	}
	var shown string
	b.watch = func(e chain.Event) { shown += e.Message }
	res := b.run(sheet + `for (const host of ["http://www.example.com", "https://api.example.com"]) {
  await fetch(host + "/contacts/" + encodeURIComponent(rows[0].email) + "/" + encodeURIComponent(rows[0].name), { method: "DELETE" });
}`)
	if len(res.Connections) != 2 {
		t.Fatalf("%d connections, want 2: %s", len(res.Connections), asJSON(t, res))
	}
	const want = "/contacts/[EMAIL_1]/[NAME_1]"
	refused := &res.Connections[0]
	unread := &res.Connections[1]
	for what, text := range map[string]string{"the path": refused.Path, "the reason": refused.Reason, "the remedy": unread.Remedy, "the warnings": fmt.Sprint(res.Warnings), "the events": shown} {
		if !strings.Contains(text, want) || strings.Contains(text, "viktor") {
			t.Errorf("%s is %q, want %s in it", what, text, want)
		}
	}
}

func TestPersonalApproverSeesPeople(t *testing.T) {
	three := sheet + `await Promise.allSettled(rows.slice(0, 3).map((row: any) =>
  updateRecord({ object_type: "Lead", record_id: "00Q1", data: { Email: row.email } })));`
	for _, mode := range append([]config.PIIMode{config.PIIOff}, bothModes...) {
		b := newBench(t, mode)
		here, client := &asked{}, &asked{}
		b.set.Policy = policyOf(t, config.PolicyRule{Ask: config.Globs{"crm__*"}})
		b.set.Approver = approve.New(0, here)
		b.run(three)
		b.set.Approver = approve.New(0, approve.Elicit(client.elicited, "the client's user"))
		b.run(three)
		for i, c := range contacts[:3] {
			if got := strings.Join(here.seen, "\n"); !strings.Contains(got, c.email) {
				t.Errorf("%s: the person sees %s, want %q", mode, got, c.email)
			}
			if got := strings.Join(client.seen, "\n"); !strings.Contains(got, fmt.Sprintf("[EMAIL_%d]", i+1)) {
				t.Errorf("%s: the client gets %s, want the token of row %d", mode, got, i+1)
			}
		}
		hasNone(t, string(mode)+": the client", strings.Join(client.seen, "\n"))
	}
}

func TestPersonalOff(t *testing.T) {
	b := newBench(t, config.PIIOff)
	res := b.run(sheet + `console.log(rows[0].email, "[EMAIL_7]"); await updateRecord({ object_type: "Lead", record_id: "00Q1", data: { Email: "[EMAIL_7]" } })`)
	if want := contacts[0].email + " [EMAIL_7]\n"; res.Stdout != want || res.ExitCode != 0 {
		t.Errorf("exit code %d, output %q, want %q", res.ExitCode, res.Stdout, want)
	}
	if got := b.office.last(); !strings.Contains(got, "[EMAIL_7]") {
		t.Errorf("the CRM got %s, want the text as it is", got)
	}
}

// TestPersonalWithoutMode: tokens of the vault do not overwrite data in a run for which nobody has chosen a mode.
func TestPersonalWithoutMode(t *testing.T) {
	b := newBench(t, config.PIIOutput)
	b.run(sheet + `console.log(rows[0].email)`)
	b.part.Mode = config.PIIOff
	b.set.Issued = pii.NewOutlet(b.vault, pii.OutletSettings{}).FindToken
	const args = `{"object_type":"Lead","record_id":"00Q1","data":{"Email":"[EMAIL_1]"}}`
	sent := len(b.office.log)
	res := b.run(`import { updateRecord } from "./servers/crm"; await updateRecord(` + args + `);`)
	if res.Error == nil || !strings.Contains(res.Error.Message, "the token EMAIL_1") {
		t.Errorf("a script: %+v, want an error that names the token", res.Error)
	}
	if _, err := b.call("crm__update_record", args); err == nil || !strings.Contains(err.Error(), "--pii output") {
		t.Errorf("a call: %v, want an error that says what to do", err)
	}
	if len(b.office.log) != sent {
		t.Errorf("the CRM got %s, want nothing", b.office.last())
	}
	if _, err := b.call("crm__update_record", strings.Replace(args, "EMAIL_1", "EMAIL_9", 1)); err != nil || !strings.Contains(b.office.last(), "[EMAIL_9]") {
		t.Errorf("a text that only looks like a token: %v, %s", err, b.office.last())
	}
}

func TestPersonalByServerAndField(t *testing.T) {
	b := newBench(t, config.PIIOff)
	b.part.Servers = map[string]config.PIIMode{"drive": config.PIIBridge}
	b.fields = map[string]pii.Type{"name": "", "salesforceId": "SECRET"}
	text, err := b.call("drive__get_sheet", `{"sheet_id":"leads"}`)
	if err != nil || strings.Contains(text, contacts[0].email) || !strings.Contains(text, contacts[0].name) || strings.Contains(text, contacts[0].id) {
		t.Errorf("a result of the drive: %s, %v, want tokens for all but names", text, err)
	}
	if text, err = b.call("crm__update_record", `{"object_type":"Lead","record_id":"00Q1","data":{"Email":"bob@example.com","To":"[EMAIL_1]"}}`); err != nil || !strings.Contains(text, "bob@example.com") {
		t.Errorf("a result of the CRM: %s, %v, want it as it is", text, err)
	}
	if got := b.office.last(); !strings.Contains(got, "[EMAIL_1]") || !strings.Contains(text, "the token EMAIL_1 was sent as it is written") {
		t.Errorf("the CRM got %s, want the token as it is written, and a warning in %s", got, text)
	}
}

// TestPersonalBridgeShowsScriptsTokensOnly: not even a length tells a script what a value is.
func TestPersonalBridgeShowsScriptsTokensOnly(t *testing.T) {
	for mode, want := range map[config.PIIMode]string{config.PIIOutput: fmt.Sprint(len(contacts[0].email)), config.PIIBridge: fmt.Sprint(len("[EMAIL_1]"))} {
		b := newBench(t, mode)
		if res := b.run(sheet + `console.log(rows[0].email.length)`); strings.TrimSpace(res.Stdout) != want {
			t.Errorf("%s: the script's value has %s characters, want %s", mode, strings.TrimSpace(res.Stdout), want)
		}
	}
}

// TestPersonalTokensOfServers: a server cannot get another's values by writing their tokens into its results.
func TestPersonalTokensOfServers(t *testing.T) {
	for _, mode := range bothModes {
		b := newBench(t, mode)
		b.run(sheet + `console.log(rows[0].email)`)
		res := b.run(`import { listSheets } from "./servers/drive";
import { updateRecord } from "./servers/crm";
const { note } = (await listSheets({})) as any;
await updateRecord({ object_type: "Lead", record_id: "00Q1", data: { Note: note } });
console.log(note);`)
		if got := b.office.last(); !strings.Contains(got, `"Note":"send me [EMAIL_1]"`) {
			t.Errorf("%s: the CRM got %s, want the text that the drive sent; output %q %s", mode, got, res.Stdout, res.Stderr)
		}
		res = b.run(`import { getRecord, updateRecord } from "./servers/crm";
try { await getRecord({ object_type: "Lead", record_id: "hostile" }) } catch (e) {
  await updateRecord({ object_type: "Lead", record_id: "00Q1", data: { Note: e.message } });
}`)
		if got := b.office.last(); !strings.Contains(got, `update_record`) || !strings.Contains(got, `send me [EMAIL_1]`) {
			t.Errorf("%s: the CRM got %s, want the text of the error; output %q %s", mode, got, res.Stdout, res.Stderr)
		}
	}
}

// TestPersonalReplay: a recording has tokens, with which a replay works in every mode.
func TestPersonalReplay(t *testing.T) {
	for _, mode := range append([]config.PIIMode{config.PIIOff}, bothModes...) {
		b := newBench(t, mode)
		var recording bytes.Buffer
		b.set.Record = &recording
		first := b.run(copyRows + `console.log(rows.length)`)
		text := recording.String()
		b.set.Record, b.set.Replay = nil, strings.NewReader(text)
		sent := len(b.office.log)
		again := b.run(copyRows + `console.log(rows.length)`)
		if first.Stdout != again.Stdout || again.ExitCode != 0 || len(b.office.log) != sent {
			t.Errorf("%s: the replay printed %q %s, want %q, and nothing sent", mode, again.Stdout, again.Stderr, first.Stdout)
		}
		hasNone(t, string(mode)+": the recording", text)
	}
}

// TestPersonalVaultFailsClosed: without its vault, a run shows no personal data, and says so.
func TestPersonalVaultFailsClosed(t *testing.T) {
	b := newBench(t, config.PIIOutput)
	b.vault = func() (*pii.Vault, error) { return nil, errors.New("the disk is gone") }
	res := b.run(sheet + `console.log(JSON.stringify(rows))`)
	hasNone(t, "the output", asJSON(t, res))
	if len(b.troubles) != 1 || !strings.Contains(b.troubles[0], "the disk is gone") {
		t.Errorf("troubles %q, want one that says why", b.troubles)
	}
	hasNone(t, "a column", asJSON(t, b.run(sheet+`console.log(rows.map(r => r.name).join("\n"))`)))
	if !strings.Contains(res.Stdout, `"[EMAIL]"`) || !slices.ContainsFunc(res.Warnings, func(w string) bool { return strings.Contains(w, "cannot be restored") }) {
		t.Errorf("output %s, warnings %q, want tokens without numbers, and a warning", res.Stdout, res.Warnings)
	}
}
