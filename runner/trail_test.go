package runner_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/store"
)

// rows is a store of the record in memory.
type rows struct {
	store.Record // what a log that writes does not use
	full         error

	mu    sync.Mutex
	rows  []store.Row
	tree  []tlog.Hash
	codes map[string]string
}

func (m *rows) Extend(_ context.Context, next func(int64, tlog.HashReader) (store.Addition, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full != nil {
		return m.full
	}
	add, err := next(int64(len(m.rows)), tlog.HashReaderFunc(func(at []int64) (list []tlog.Hash, _ error) {
		for _, i := range at {
			list = append(list, m.tree[i])
		}
		return list, nil
	}))
	m.rows, m.tree = append(m.rows, add.Rows...), append(m.tree, add.Hashes...)
	return err
}

func (m *rows) SetCode(_ context.Context, digest string, code []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full != nil {
		return m.full
	}
	if m.codes == nil {
		m.codes = map[string]string{}
	}
	m.codes[digest] = string(code)
	return nil
}

// kinds returns the kinds of the rows so far.
func (m *rows) kinds() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rows {
		list = append(list, r.Kind)
	}
	return list
}

// all returns everything that is kept, as text.
func (m *rows) all() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all strings.Builder
	for _, r := range m.rows {
		fmt.Fprintln(&all, r.Run, string(r.Content))
	}
	for _, code := range m.codes {
		fmt.Fprintln(&all, code)
	}
	return all.String()
}

// row returns the only row of a kind, and decodes its body.
func row[Body any](t *testing.T, m *rows, kind audit.Kind) (audit.Row, Body) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var out audit.Row
	var body Body
	found := 0
	for _, r := range m.rows {
		if r.Kind != string(kind) {
			continue
		}
		decoded, err := audit.Decode(r)
		if err == nil {
			err = json.Unmarshal(decoded.Body, &body)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, found = decoded, found+1
	}
	if found != 1 {
		t.Fatalf("%d rows of kind %s, want 1", found, kind)
	}
	return out, body
}

// newLog returns a log, and its store.
func newLog(t *testing.T) (*audit.Log, *rows) {
	t.Helper()
	m := &rows{}
	l, err := audit.Open(m, audit.Options{Who: audit.Who{User: "root"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, m
}

// callingUpstreams calls a function before each answer.
type callingUpstreams struct {
	fakeUpstreams
	before func()
}

func (u *callingUpstreams) Call(ctx context.Context, server, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
	u.before()
	return u.fakeUpstreams.Call(ctx, server, tool, args, opt)
}

// Conceal takes the value of a variable of the configuration out of texts.
func (u *callingUpstreams) Conceal(text string) string {
	return strings.ReplaceAll(text, "hunter2", "(hidden)")
}

var sum = map[string]*upstream.CallResult{"calculator/add": {Structured: json.RawMessage(`{"result":3}`)}}

// launchRecorded launches a Python script with a guest.
func launchRecorded(t *testing.T, up chain.Upstreams, s *runner.Script, opt runner.LaunchOptions, g func(*guest) sandbox.Exit) (*runner.Result, error) {
	t.Helper()
	s.Name, s.Language = "s.py", py
	opt.Sandboxes = []sandbox.Backend{&fakeBackend{status: sandbox.Status{Usable: true, Languages: []sandbox.Language{py}}, guest: g}}
	return newRunner(t, up).Launch(t.Context(), s, opt)
}

// TestIntentBeforeEffect: when a server gets a call, the rows of the run and the call are there; when the run's result is there, so are the
// rows of their ends.
func TestIntentBeforeEffect(t *testing.T) {
	log, m := newLog(t)
	var started, sent []string
	up := &callingUpstreams{fakeUpstreams: fakeUpstreams{answers: sum}, before: func() { sent = m.kinds() }}
	s := &runner.Script{Code: "print(1)", Args: []string{"one"}, Vars: map[string]json.RawMessage{"n": json.RawMessage("12345678901234567890")}}
	s.Calls.Audit, s.Calls.Who = log, audit.Who{Client: "claude", ClientVersion: "9"}
	s.Calls.Subject.Customer, s.Calls.Subject.Session = "acme", "s1"
	res, err := launchRecorded(t, up, s, runner.LaunchOptions{}, func(g *guest) sandbox.Exit {
		started = m.kinds()
		g.begin()
		g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		fmt.Fprint(g.spec.Stdout, "three")
		g.done(object{"result": 3})
		return sandbox.Exit{}
	})
	if err != nil || res.Stdout != "three" {
		t.Fatal(res, err)
	}
	if want := []string{"run"}; !slices.Equal(started, want) {
		t.Errorf("when the sandbox started, the record had %v, want %v", started, want)
	}
	if want := []string{"run", "call"}; !slices.Equal(sent, want) {
		t.Errorf("when the server got the call, the record had %v, want %v", sent, want)
	}
	if got, want := m.kinds(), []string{"run", "call", "call.end", "run.end"}; !slices.Equal(got, want) {
		t.Errorf("at the end, the record has %v, want %v", got, want)
	}
	first, _ := row[audit.RunStart](t, m, audit.KindRun)
	last, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
	if want := (audit.Who{User: "root", Customer: "acme", Session: "s1", Client: "claude", ClientVersion: "9"}); last.Who != want || first.Who != want || first.Run != last.Run || first.Run == "" {
		t.Errorf("run %q by %+v, then %q by %+v, want the same run, by %+v", first.Run, first.Who, last.Run, last.Who, want)
	}
	digest := slices.Collect(func(yield func(string) bool) {
		for d := range m.codes {
			yield(d)
		}
	})
	if len(digest) != 1 || end.Code != audit.Text(digest[0]) || m.codes[digest[0]] != "print(1)" {
		t.Errorf("the code %v, the digest %q, want that of the code", m.codes, end.Code)
	}
	if !end.Success || !end.Approved || !end.AutoApproved || end.ExitCode != 0 || end.Sandbox != "fake" || end.Action != "execute_code" || end.Output != "three" || string(end.Result) != "3" ||
		end.Calls != 1 || end.TokensUsed == nil || end.DurationMS <= 0 || end.Error != "" || end.Violations == nil || end.Files == nil || end.Risk == "" {
		t.Errorf("the end is %+v", end)
	}
	if want := `{"arguments":["one"],"options":{"memoryBytes":500000000,"timeoutMs":30000},"variables":{"n":12345678901234567890}}`; string(end.Input) != want {
		t.Errorf("the input is %s, want %s", end.Input, want)
	}
	if _, call := row[audit.CallStart](t, m, audit.KindCall); call.Call != 1 || call.Tool != "calculator__add" || string(call.Arguments) != `{"numbers":[1,2]}` || call.Effect != "allow" {
		t.Errorf("the call is %+v", call)
	}
	if _, call := row[audit.CallEnd](t, m, audit.KindCallEnd); call.Call != 1 || call.Outcome != "ok" || call.ResultBytes != len(`{"result":3}`) || call.Arguments != nil {
		t.Errorf("the call's end is %+v", call)
	}
}

// TestRecordOfRefusals: what did not happen has only an end, with the reason.
func TestRecordOfRefusals(t *testing.T) {
	for _, c := range []struct {
		name, code string
		script     runner.Script
		opt        runner.LaunchOptions
		person     approve.Approver
		rule, want string
		exit       int
		violations int
		kinds      []string
	}{
		{"restricted", `eval("1")`, runner.Script{Restricted: true}, runner.LaunchOptions{}, nil, "restricted", "restricted scripts may not do", 126, 1, []string{"run.end"}},
		{"level", command, runner.Script{}, runner.LaunchOptions{Policy: newPolicy(t, config.PolicyPart{Level: "read_only"})}, nil, `rule "level read_only"`, "runs a command", 126, 1, []string{"run.end"}},
		{"not approved", "1", runner.Script{Confirm: true}, runner.LaunchOptions{}, &answering{answer: approve.Answer{By: "ann"}}, `rule "scripts are confirmed"`, "not approved by ann", 126, 1, []string{"approval", "run.end"}},
		{"nobody", "1", runner.Script{Confirm: true}, runner.LaunchOptions{}, nil, `rule "scripts are confirmed"`, "nobody can be asked", 126, 1, []string{"run.end"}},
		{"sandbox", "1", runner.Script{}, runner.LaunchOptions{Sandbox: "process", Trust: runner.TrustStranger}, nil, "", "too weak", 126, 1, []string{"run.end"}},
		{"network", "1", runner.Script{Network: true}, runner.LaunchOptions{}, nil, "", "asks for the network", 126, 1, []string{"run.end"}},
		{"not a script", `import "./missing"`, runner.Script{}, runner.LaunchOptions{}, nil, "", "missing", 1, 0, []string{"run.end"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, m := newLog(t)
			var ran []string
			s := c.script
			s.Name, s.Code, s.Language, s.Calls.Audit, s.Calls.Approver = "s.ts", c.code, ts, log, c.person
			c.opt.Sandboxes = working("process docker gvisor", &ran)
			if _, err := newRunner(t, nil).Launch(t.Context(), &s, c.opt); err == nil || ran != nil {
				t.Fatalf("error %v, ran in %v", err, ran)
			}
			if got := m.kinds(); !slices.Equal(got, c.kinds) {
				t.Errorf("the record has %v, want %v", got, c.kinds)
			}
			_, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
			if end.Success || end.Approved || end.AutoApproved || end.Sandbox != "none" || end.ExitCode != c.exit || len(end.Violations) != c.violations || !strings.Contains(string(end.Error), c.want) || string(end.Rule) != c.rule {
				t.Errorf("the end is %+v", end)
			}
			if m.codes[string(end.Code)] != c.code {
				t.Errorf("the digest %q is not that of the code", end.Code)
			}
			if s.Calls.Approver != c.person {
				t.Error("the script has another approver than before")
			}
		})
	}
}

// TestRecordOfAnswers says who approved a run, and a call.
func TestRecordOfAnswers(t *testing.T) {
	log, m := newLog(t)
	ask := newPolicy(t, config.PolicyPart{Rules: []config.PolicyRule{{Name: "sums", Ask: config.Globs{"calculator__*"}}}})
	s := &runner.Script{Confirm: true}
	s.Calls.Audit, s.Calls.Approver = log, &answering{answer: approve.Answer{Scope: approve.Once, By: "ann"}}
	_, err := launchRecorded(t, &fakeUpstreams{answers: sum}, s, runner.LaunchOptions{Policy: ask}, func(g *guest) sandbox.Exit {
		g.begin()
		g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		g.done(nil)
		return sandbox.Exit{}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.kinds(), []string{"approval", "run", "approval", "call", "call.end", "run.end"}; !slices.Equal(got, want) {
		t.Errorf("the record has %v, want %v", got, want)
	}
	if _, end := row[audit.RunEnd](t, m, audit.KindRunEnd); !end.Approved || end.AutoApproved || end.By != "ann" || end.Rule != `rule "scripts are confirmed"` {
		t.Errorf("the end is %+v", end)
	}
	if _, call := row[audit.CallStart](t, m, audit.KindCall); call.Effect != "ask" || call.Rule != `rule "sums"` || call.By != "ann" {
		t.Errorf("the call is %+v", call)
	}
	for at, want := range map[int]audit.Approval{0: {Subject: "run", Rule: `rule "scripts are confirmed"`, Answer: "approved", By: "ann"}, 2: {Subject: "call", Tool: "calculator__add", Call: 1, Rule: `rule "sums"`, Answer: "approved", By: "ann"}} {
		decoded, err := audit.Decode(m.rows[at])
		var got audit.Approval
		if err == nil {
			err = json.Unmarshal(decoded.Body, &got)
		}
		if got.WaitMS = 0; err != nil || got != want || decoded.Run == "" {
			t.Errorf("run %q has the answer %+v, %v, want %+v", decoded.Run, got, err, want)
		}
	}
}

// TestRecordOfRefusedCalls: a call that was not sent has only an end, with its arguments and the rule; and the run has a violation.
func TestRecordOfRefusedCalls(t *testing.T) {
	log, m := newLog(t)
	deny := newPolicy(t, config.PolicyPart{Rules: []config.PolicyRule{{Name: "no sums", Deny: config.Globs{"calculator__*"}}}})
	s := &runner.Script{}
	s.Calls.Audit = log
	_, err := launchRecorded(t, &fakeUpstreams{answers: sum}, s, runner.LaunchOptions{Policy: deny}, func(g *guest) sandbox.Exit {
		g.begin()
		g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		g.done(nil)
		return sandbox.Exit{Code: 3}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, call := row[audit.CallEnd](t, m, audit.KindCallEnd); call.Outcome != "denied" || call.Effect != "deny" || call.Rule != `rule "no sums"` || string(call.Arguments) != `{"numbers":[1,2]}` || !strings.Contains(string(call.Error), "refused") {
		t.Errorf("the call is %+v", call)
	}
	if _, end := row[audit.RunEnd](t, m, audit.KindRunEnd); end.Success || end.ExitCode != 3 || !end.Approved || end.Error == "" || !slices.Equal(end.Violations, []string{`call of calculator__add: rule "no sums"`}) {
		t.Errorf("the end is %+v", end)
	}
}

// TestRecordCannotBeWritten: then nothing runs, and a call in a run that has begun is not sent.
func TestRecordCannotBeWritten(t *testing.T) {
	log, m := newLog(t)
	up := &fakeUpstreams{answers: sum}
	s := &runner.Script{}
	s.Calls.Audit = log
	var reply map[string]json.RawMessage
	calls := func(g *guest) sandbox.Exit {
		g.begin()
		m.mu.Lock()
		m.full = store.ErrFull
		m.mu.Unlock()
		reply = g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		g.done(nil)
		return sandbox.Exit{}
	}
	res, err := launchRecorded(t, up, s, runner.LaunchOptions{}, calls)
	if err != nil || up.seen != nil || !strings.Contains(string(reply["error"]), "nothing was sent, because the record of calls cannot be written") {
		t.Errorf("reply %s, error %v, sent %v", reply["error"], err, up.seen)
	}
	if !strings.Contains(strings.Join(res.Warnings, "; "), "the record of this run is incomplete") {
		t.Errorf("warnings %q", res.Warnings)
	}
	reply = nil
	_, err = launchRecorded(t, up, s, runner.LaunchOptions{}, calls)
	if bad, ok := err.(*runner.RecordError); !ok || exit.Of(err, 0) != exit.Runner || !strings.Contains(err.Error(), "s.py was not run, because the record of runs cannot be written: ") || bad.Hint() == "" || reply != nil {
		t.Errorf("a run that has no room in the record: %v, want a *RecordError; it called %s", err, reply)
	}
	if _, _, _, err := newRunner(t, up).Call(t.Context(), runner.DirectCall{Tool: "calculator__add", Args: json.RawMessage(`{"numbers":[1]}`), Calls: chain.Settings{Audit: log}}); err == nil || up.seen != nil {
		t.Errorf("a call that has no room in the record: %v, sent %v", err, up.seen)
	}
}

// TestRecordOfDirectCalls: a call without a script is a run of its own.
func TestRecordOfDirectCalls(t *testing.T) {
	for raw, want := range map[string]struct {
		outcome string
		exit    int
	}{`{"content":[],"structuredContent":{"result":3}}`: {"ok", 0}, `{"content":[],"isError":true}`: {"tool", 1}} {
		log, m := newLog(t)
		up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Raw: json.RawMessage(raw), IsError: want.exit != 0}}}
		d := runner.DirectCall{Tool: "calculator__add", Args: json.RawMessage(`{"numbers":[1,2]}`), Calls: chain.Settings{AllowDrift: true, Audit: log}}
		if _, _, _, err := newRunner(t, up).Call(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := m.kinds(), []string{"run", "call", "call.end", "run.end"}; !slices.Equal(got, want) {
			t.Errorf("the record has %v, want %v", got, want)
		}
		call, ended := row[audit.CallEnd](t, m, audit.KindCallEnd)
		run, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
		if ended.Outcome != want.outcome || call.Run != run.Run || end.Action != "call_tool" || end.Name != "calculator__add" || !end.Approved || !end.AutoApproved || end.ExitCode != want.exit || end.Success != (want.exit == 0) {
			t.Errorf("%s: the call's end %+v, the run's end %+v", raw, ended, end)
		}
	}
}

// TestRecordHasTokens: neither personal data nor values of the configuration's variables are in any row, whatever is done with personal data
// elsewhere, and wherever a script, a server or a client puts them.
func TestRecordHasTokens(t *testing.T) {
	const mail, phone, secret = "ann.canary@example.org", "+41 44 668 18 00", "hunter2"
	all := mail + " " + phone + " " + secret
	for _, mode := range []config.PIIMode{config.PIIOff, config.PIIOutput, config.PIIBridge} {
		for _, broken := range []bool{false, true} {
			log, m := newLog(t)
			up := &callingUpstreams{fakeUpstreams: fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Structured: json.RawMessage(`{"result":"` + all + `"}`)}}}, before: func() {}}
			if broken {
				up.errs = map[string]error{"calculator/add": &upstream.ProtocolError{Message: all}}
			}
			s := &runner.Script{Code: "# " + all, Args: []string{all}, Vars: map[string]json.RawMessage{"v": json.RawMessage(`"` + all + `"`)}, Workspace: t.TempDir(), Confirm: true}
			s.Calls.Audit, s.Calls.Who, s.Calls.AllowDrift = log, audit.Who{Client: audit.Text(all), ClientVersion: audit.Text(all)}, true
			s.Calls.Approver = &answering{answer: approve.Answer{Scope: approve.Once, By: "ann"}}
			if mode != config.PIIOff {
				s.Calls.Personal = &chain.Personal{Outlet: pii.NewOutlet(piitest.Vault(t), pii.OutletSettings{}), Mode: mode}
			}
			res, err := launchRecorded(t, up, s, runner.LaunchOptions{}, func(g *guest) sandbox.Exit {
				g.begin()
				g.call(1, "calculator__add", object{"numbers": []int{1, 2}, "note": all})
				g.call(2, all, object{"to": all})
				fmt.Fprint(g.spec.Stdout, all)
				fmt.Fprint(g.spec.Stderr, all)
				if err := os.WriteFile(g.spec.Workspace+"/"+mail, nil, 0o600); err != nil {
					t.Error(err)
				}
				members := object{"result": all}
				if broken {
					members = object{"error": object{"name": "Error", "message": all, "stack": all}}
				}
				g.done(members)
				return sandbox.Exit{}
			})
			if err != nil {
				t.Fatal(err)
			}
			text := m.all()
			for _, canary := range []string{mail, phone, secret} {
				if strings.Contains(text, canary) {
					t.Errorf("mode %s: the record has %q:\n%s", mode, canary, text)
				}
			}
			if !strings.Contains(text, "[EMAIL #1]") || strings.Contains(text, "[EMAIL_1]") != (mode != config.PIIOff) || !slices.Contains(m.kinds(), "call.end") {
				t.Errorf("mode %s, result %+v: the record has no tokens, or one too many:\n%s", mode, res, text)
			}
			_, personal := row[audit.Personal](t, m, audit.KindPersonal)
			left, other := personal.Tokens, personal.Clear
			if mode == config.PIIOff {
				left, other = other, left
			}
			if left["EMAIL"] == 0 || left["PHONE"] == 0 || len(other) > 0 {
				t.Errorf("mode %s: the record counts %+v", mode, personal)
			}
			_, begin := row[audit.RunStart](t, m, audit.KindRun)
			if _, end := row[audit.RunEnd](t, m, audit.KindRunEnd); begin.PII != audit.Text(mode) || end.PII != begin.PII {
				t.Errorf("mode %s: the record says %q, then %q", mode, begin.PII, end.PII)
			}
		}
	}
}

// TestRecordOfConnections: each has a row, with tokens in its path.
func TestRecordOfConnections(t *testing.T) {
	log, m := newLog(t)
	list := machine("embedded")
	list[0].(*fakeBackend).guest = func(g *guest) sandbox.Exit {
		g.begin()
		for i, url := range []string{"http://other.example/", "http://api.example/users/ann.canary%40example.org"} {
			g.send(object{"type": "request", "id": i + 1, "method": "network/fetch", "params": object{"method": "GET", "url": url}})
			g.receive()
		}
		g.done(nil)
		return sandbox.Exit{}
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	defer web.Close()
	net := &runner.Network{ConnectTo: map[string]string{"api.example:80": web.Listener.Addr().String()}, Settings: &config.Network{Present: true, NetworkPart: config.NetworkPart{Allow: []config.NetworkEntry{{Host: "api.example", Ports: []int{80}, Protocols: []string{"http"}}}}}}
	s := &runner.Script{Name: "s.ts", Code: "1", Language: ts, Network: true}
	s.Calls.Audit = log
	if _, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: list, Network: net}); err != nil {
		t.Fatal(err)
	}
	var got []egress.Event
	for _, r := range m.rows {
		if r.Kind != string(audit.KindConnection) {
			continue
		}
		var body struct{ Body egress.Event }
		if err := json.Unmarshal(r.Content, &body); err != nil {
			t.Fatal(err)
		}
		got = append(got, body.Body)
	}
	if len(got) != 2 || got[0].Host != "other.example" || got[0].Allowed || got[0].Check != egress.ByAllowList || got[1].Host != "api.example" || !got[1].Allowed || got[1].Path != "/users/[EMAIL #1]" {
		t.Errorf("the connections are %+v", got)
	}
	if _, end := row[audit.RunEnd](t, m, audit.KindRunEnd); !slices.Equal(end.Violations, []string{"connection to other.example:80: allow list"}) {
		t.Errorf("the violations are %q", end.Violations)
	}
}

// TestRecordOfScriptsNotStarted: a script that failed before its launch, or whose sandbox did not start, was neither started nor approved.
func TestRecordOfScriptsNotStarted(t *testing.T) {
	log, m := newLog(t)
	r := newRunner(t, nil)
	s := runner.Script{Name: "s.ts", Code: `console.log("ann@example.org")`, Language: ts}
	s.Calls.Audit, s.Calls.Subject.Customer = log, "acme"
	r.NotStarted(t.Context(), &s, nil)
	r.NotStarted(t.Context(), &s, fmt.Errorf("the plan is for ben@example.org"))
	got, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
	if end.Success || end.Approved || end.Sandbox != "none" || end.ExitCode != exit.Runner || end.Error != "the plan is for [EMAIL #1]" || got.Who.Customer != "acme" || m.codes[string(end.Code)] != `console.log("[EMAIL #1]")` {
		t.Errorf("the end of a script that was not launched is %+v of %+v", end, got.Who)
	}
	var ran []string
	list := working("docker", &ran)
	for _, b := range list {
		b.(*fakeBackend).startErr = &runner.BackendError{Name: b.Name(), Message: "it is broken"}
	}
	log, m = newLog(t)
	s.Calls.Audit = log
	_, err := r.Launch(t.Context(), &s, runner.LaunchOptions{Sandboxes: list, Sandbox: "docker"})
	r.NotStarted(t.Context(), &s, err) // it is in the record
	if _, end = row[audit.RunEnd](t, m, audit.KindRunEnd); err == nil || end.Approved || end.Sandbox != "none" || end.ExitCode != exit.NoBackend {
		t.Errorf("after %v the end is %+v", err, end)
	}
}

// TestRecordOfWhatToolsDo: the risk of a call without a script is that of its tool, before the call and after it, and each call says what its
// tool does.
func TestRecordOfWhatToolsDo(t *testing.T) {
	for tool, want := range map[string]struct{ args, risk, hint string }{
		"crm__delete_record": {`{"object_type":"Contact","record_id":"003xx"}`, "high", "destructive"}, "calculator__add": {`{"numbers":[1,2]}`, "medium", "writes"}, "crm__x": {`{}`, "", ""},
	} {
		log, m := newLog(t)
		up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Raw: json.RawMessage(`{"content":[]}`)}, "crm/delete_record": {Raw: json.RawMessage(`{"content":[]}`)}}}
		allow := newPolicy(t, config.PolicyPart{Default: "allow"})
		d := runner.DirectCall{Tool: tool, Args: json.RawMessage(want.args), Calls: chain.Settings{AllowDrift: true, Audit: log, Policy: allow, Machine: audit.Machine{Host: "box", Version: "1"}}}
		_, _, _, _ = newRunner(t, up).Call(t.Context(), d) // one tool is unknown
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, begin := row[audit.RunStart](t, m, audit.KindRun)
		_, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
		_, call := row[audit.CallEnd](t, m, audit.KindCallEnd)
		if string(begin.Risk) != want.risk || end.Risk != begin.Risk || (end.RiskReason == "") != (want.risk == "") || string(call.Hint) != want.hint || end.Host != "box" || end.Version != "1" || end.PII != "off" {
			t.Errorf("%s: begins with %+v, ends with %+v, and the call with %+v; want the risk %q and %q", tool, begin, end, call, want.risk, want.hint)
		}
		if want.hint == "" {
			continue
		}
		if _, call := row[audit.CallStart](t, m, audit.KindCall); string(call.Hint) != want.hint || call.Rule != `rule "default: allow"` {
			t.Errorf("%s: the call begins with %+v", tool, call)
		}
	}
}

// TestRecordOfImports: the texts of imported files are kept like the script's.
func TestRecordOfImports(t *testing.T) {
	dir, ran := t.TempDir(), []string{}
	for name, text := range map[string]string{"lib.ts": `export const to = "ann@example.org"`, "lib.py": `to = "ann@example.org"`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []runner.Script{{Name: "s.ts", Code: `import { to } from "./lib.ts"; console.log(to)`, Language: ts}, {Name: "s.py", Code: "from lib import to", Language: py}} {
		log, m := newLog(t)
		s.Dir, s.Calls.Audit = dir, log
		if _, err := newRunner(t, nil).Launch(t.Context(), &s, runner.LaunchOptions{Sandboxes: working("docker", &ran)}); err != nil {
			t.Fatal(err)
		}
		_, begin := row[audit.RunStart](t, m, audit.KindRun)
		_, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
		file := "lib" + s.Language.Extensions()[0]
		if len(begin.Modules) != 1 || begin.Modules[0].Name != file || !slices.Equal(begin.Modules, end.Modules) || !strings.Contains(m.codes[begin.Modules[0].Digest], `to = "[EMAIL #1]"`) {
			t.Errorf("%s imports %+v, then %+v, of the codes %q", s.Name, begin.Modules, end.Modules, m.codes)
		}
	}
}

// TestRecordOfLongOutput: of long output the end is kept, with the length and the digest of the whole.
func TestRecordOfLongOutput(t *testing.T) {
	log, m := newLog(t)
	s := &runner.Script{}
	s.Calls.Audit = log
	out := strings.Repeat("0123456789abcdef", 2000)
	if _, err := launchRecorded(t, nil, s, runner.LaunchOptions{}, func(g *guest) sandbox.Exit {
		g.begin()
		fmt.Fprint(g.spec.Stdout, out)
		fmt.Fprint(g.spec.Stderr, "ann@example.org")
		g.done(nil)
		return sandbox.Exit{}
	}); err != nil {
		t.Fatal(err)
	}
	_, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
	if len(end.Output) > 17<<10 || end.OutputBytes != len(out) || string(end.OutputHash) != fmt.Sprintf("%x", sha256.Sum256([]byte(out))) || end.Stderr != "[EMAIL #1]" || end.StderrBytes != len("[EMAIL #1]") || end.StderrHash != "" {
		t.Errorf("%d of %d bytes %q, and %d bytes of standard error %q %q", len(end.Output), end.OutputBytes, end.OutputHash, end.StderrBytes, end.Stderr, end.StderrHash)
	}
}

// TestRecordOfRefusedRequest: a request that was refused before there was a run has one row, which is no violation of a rule.
func TestRecordOfRefusedRequest(t *testing.T) {
	log, m := newLog(t)
	r := newRunner(t, nil)
	set := chain.Settings{Audit: log}
	set.Subject.Customer, set.Who.Client = "acme", audit.Text(strings.Repeat("x", 1000))
	r.Refused(set, "call_tool", "crm__send", "no room for ann@example.org "+strings.Repeat("x", 10_000))
	if err := log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
	if end.Action != "call_tool" || end.Name != "crm__send" || !strings.HasPrefix(string(end.Error), "no room for [EMAIL #1] xx") || len(end.Error) > 2100 || len(got.Who.Client) > 310 ||
		end.ExitCode != exit.Refused || end.Sandbox != "none" || end.Success || end.Approved || len(end.Violations) > 0 || got.Who.Customer != "acme" {
		t.Errorf("the row is %+v of %+v", end, got.Who)
	}
	if len(m.rows) != 1 || len(m.codes) > 0 {
		t.Errorf("there are %d rows and %d codes, want 1 and none", len(m.rows), len(m.codes))
	}
	r.Refused(chain.Settings{}, "execute_code", "script", "nothing is recorded")
}
