package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// threeWays are the ways to make one call over MCP: the tool of mcprun serve that is called, and with which arguments.
var threeWays = []struct {
	name, tools string
	call        func(tool string, args map[string]any) (string, map[string]any)
}{
	{"script", "core", func(tool string, args map[string]any) (string, map[string]any) {
		given, err := json.Marshal(args)
		if err != nil {
			panic(err)
		}
		return "execute_code", map[string]any{"language": "typescript", "code": `import { callMCPTool } from "./servers/client.ts";
try {
  const r = await callMCPTool("` + tool + `", ` + string(given) + `);
  console.log("returned " + (String(r) === "[object Object]" ? JSON.stringify(r) : String(r)));
} catch (e) { console.log("failed " + e.message); }`}
	}},
	{"call_tool", "core", func(tool string, args map[string]any) (string, map[string]any) {
		return "call_tool", map[string]any{"tool": tool, "arguments": args}
	}},
	{"passthrough", "passthrough", func(tool string, args map[string]any) (string, map[string]any) { return tool, args }},
}

var none = map[string]any{}

// threeWaysCases are calls of one client, one after the other.
var threeWaysCases = []struct {
	name, tool string
	args       map[string]any
	answer     string // to the question whether the call may be made; empty: nobody is asked
	failed     bool
	want       string // in the result or the error
	rule       string // that decided
	outcome    string
}{
	{"allowed", "desk__sum", map[string]any{"a": 1, "b": 2}, "", false, `{"sum":3}`, "", "ok"},
	{"denied", "desk__pay", none, "", true, "closed", "closed", "denied"},
	{"the condition refuses", "desk__note", map[string]any{"text": strings.Repeat("x", 60)}, "", true, "short texts", "short texts", "denied"},
	{"approved", "desk__note", map[string]any{"text": "ask ann@example.com"}, "accept", false, "noted", "ask first", "ok"},
	{"not approved", "desk__note", map[string]any{"text": "ask bob@example.com"}, "decline", true, "not approved", "ask first", "denied"},
	{"an argument of another type", "desk__sum", map[string]any{"a": "one", "b": 2}, "", true, `a: expected integer, got string "one"`, "", "argument"},
	{"a missing argument", "desk__sum", map[string]any{"a": 1}, "", true, `missing "b"`, "", "argument"},
	{"a misspelt argument", "desk__sum", map[string]any{"a": 1, "b": 2, "bb": 3}, "", false, `the tool has no argument "bb", which was sent anyway`, "", "ok"},
	{"an error of the tool", "desk__fail", none, "", true, "the desk is closed", "", "tool"},
	{"an unknown tool", "desk__summ", none, "", true, "did you mean desk__sum?", "", "argument"},
	{"often", "desk__sum", map[string]any{"a": 1, "b": 2}, "", true, "few sums", "few sums", "denied"},
	{"data of another server", "web__rows", none, "", false, `one`, "", "ok"},
	{"after that data", "desk__big", map[string]any{"size": 10}, "", true, "no mixing", "no mixing", "denied"},
}

// TestThreeWays makes the same calls from scripts, with call_tool and passed through. They give the same decisions, questions,
// results, errors and records.
func TestThreeWays(t *testing.T) {
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		Failed         bool
		Text, Question string
	}
	outcomes, records := map[string][]outcome{}, map[string][]customer.Call{}
	for _, way := range threeWays {
		dir, env := threeWaysProject(t)
		notes := filepath.Join(dir, "notes.txt")
		serve := exec.Command("mcprun", "serve", "--sandbox", "embedded", "--customer", "acme", "--tools", way.tools, "--http", "127.0.0.1:0", "--no-token")
		serve.Dir, serve.Env = dir, env
		url := serveURL(t, serve)
		var question, answer string
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				question = req.Params.Message
				if answer != "accept" {
					return &mcp.ElicitResult{Action: answer}, nil
				}
				return &mcp.ElicitResult{Action: answer, Content: map[string]any{"answer": string(approve.Once)}}, nil
			},
		})
		cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		if way.name == "passthrough" {
			list, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, tool := range list.Tools {
				names[tool.Name] = true
			}
			if names["desk__pay"] || !names["desk__note"] || len(names) != 15 {
				t.Errorf("the tools are %v; want all but desk__pay, which the policy always denies", names)
			}
		}
		for _, c := range threeWaysCases {
			question, answer = "", c.answer
			name, args := way.call(c.tool, c.args)
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
			if err != nil {
				t.Fatalf("%s: %s: %v", way.name, c.name, err)
			}
			var texts []string
			for _, block := range res.Content {
				if block, ok := block.(*mcp.TextContent); ok {
					texts = append(texts, block.Text)
				}
			}
			got := outcome{Failed: res.IsError, Text: strings.Join(texts, "\n"), Question: strings.TrimSpace(ofScripts.ReplaceAllString(question, ""))}
			if name == "execute_code" {
				var failed bool
				if got.Text, failed = strings.CutPrefix(got.Text, "failed "); !failed {
					got.Text = strings.TrimPrefix(got.Text, "returned ")
				}
				got.Failed = failed
			}
			if got.Failed != c.failed || !strings.Contains(got.Text, c.want) || (question != "") != (c.answer != "") {
				t.Errorf("%s: %s: failed %v, asked %q: %s; want %v, %q", way.name, c.name, got.Failed, question, got.Text, c.failed, c.want)
			}
			if strings.Contains(question, "@example.com") {
				t.Errorf(`%s: %s: the question has personal data: %s, want no "@example.com" in it`, way.name, c.name, question)
			}
			got.Text = strings.TrimPrefix(strings.TrimSpace(got.Text), c.tool+": ")
			outcomes[way.name] = append(outcomes[way.name], got)
		}
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(notes); string(got) != "ask ann@example.com\n" {
			t.Errorf("%s: the server got %q, %v, want %q", way.name, got, err, "ask ann@example.com\n")
		}
		records[way.name] = loggedCalls(t, dir, env, "acme")
		for i, c := range threeWaysCases {
			if i >= len(records[way.name]) {
				t.Fatalf("%s: %d calls are in the log, want %d", way.name, len(records[way.name]), len(threeWaysCases))
			}
			got := records[way.name][i]
			rule := ""
			if got.Decision != nil {
				rule = got.Decision.Rule
			}
			if got.Outcome != c.outcome || !strings.Contains(rule, c.rule) || (rule == "") != (c.rule == "") || strings.Contains(got.Arguments, "@example.com") {
				t.Errorf("%s: %s: record %+v, rule %q; want %s by %q", way.name, c.name, got, rule, c.outcome, c.rule)
			}
		}
	}
	for _, other := range []string{"call_tool", "passthrough"} {
		if diff := cmp.Diff(outcomes["script"], outcomes[other]); diff != "" {
			t.Errorf("the outcomes of %s are not those of a script:\n%s", other, diff)
		}
		if diff := cmp.Diff(records["script"], records[other]); diff != "" {
			t.Errorf("the records of %s are not those of a script:\n%s", other, diff)
		}
	}
}

// ofScripts matches what only questions about calls of scripts say: the script, the line that makes the call, and what else may be allowed.
var ofScripts = regexp.MustCompile(`(?m)^(Script: .*|Line \d+ makes the call:|[ >]+\d+  .*|This run: .*)\n?`)

// threeWaysProject makes a project, and returns its folder and the environment of its programs.
func threeWaysProject(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	project := func(name string, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	project(".mcp.json", `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}, "web": {"command": "deskmcp", "args": ["web.txt"]}}}`)
	project("mcpgen.yaml", `version: 1
servers: {desk: {protocol: legacy, trusted: true}, web: {protocol: legacy, trusted: true}}
policy:
  rules:
    - {name: closed, deny: desk__pay}
    - {name: short texts, deny: desk__note, when: args.text.size() > 40}
    - {name: ask first, ask: desk__note, when: args.text.startsWith('ask')}
    - {name: few sums, deny: desk__sum, over: {session: 2}}
    - {name: no mixing, deny: desk__big, when: "'web' in taint"}
`)
	env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "CI=1")
	sync := exec.Command(filepath.Join(programs, "mcpgen"), "sync")
	sync.Dir, sync.Env = dir, env
	if out, err := sync.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir, env
}

// TestThreeWaysDry makes a call in a dry run: it is skipped, reported as skipped, and logged as skipped.
func TestThreeWaysDry(t *testing.T) {
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	for _, way := range threeWays {
		dir, env := threeWaysProject(t)
		serve := exec.Command("mcprun", "serve", "--sandbox", "embedded", "--customer", "acme", "--tools", way.tools, "--dry-run")
		serve.Dir, serve.Env, serve.Stderr = dir, env, t.Output()
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
		if err != nil {
			t.Fatal(err)
		}
		name, args := way.call("desk__note", map[string]any{"text": "short"})
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil || res.IsError {
			t.Errorf("%s: %v, %v", way.name, res, err)
		} else if text := res.Content[0].(*mcp.TextContent).Text; name != "execute_code" && text != `dry run: skipped desk__note {"text":"short"}` {
			t.Errorf("%s: %s", way.name, text)
		}
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err == nil {
			t.Errorf("%s: the call was made: got no error, want an error", way.name)
		}
		if calls := loggedCalls(t, dir, env, "acme"); len(calls) != 1 || calls[0].Tool != "desk__note" || calls[0].Outcome != "dry" {
			t.Errorf(`%s: log %+v, want len(calls) 1, Tool "desk__note" and Outcome "dry"`, way.name, calls)
		}
	}
}

// serveURL starts a server until the end of the test, and returns its URL.
func serveURL(t *testing.T, serve *exec.Cmd) string {
	t.Helper()
	stderr, err := serve.StderrPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		t.Log(lines.Text())
		if _, url, ok := strings.Cut(lines.Text(), "serving MCP at "); ok {
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				for lines.Scan() {
					t.Log(lines.Text())
				}
			}()
			t.Cleanup(func() {
				_ = serve.Process.Signal(os.Interrupt)
				<-drained
				if err := serve.Wait(); err != nil {
					t.Errorf("the server did not end well: %v", err)
				}
			})
			return url
		}
	}
	t.Fatalf("the server did not start: %v", serve.Wait())
	return ""
}

// loggedCalls returns the calls of a customer's sessions, in their order, without times.
func loggedCalls(t *testing.T, dir string, env []string, id string) (calls []customer.Call) {
	t.Helper()
	for _, record := range loggedRecords(t, dir, env, id) {
		if record.Run == nil {
			continue
		}
		for _, c := range record.Run.Calls {
			c.MS = 0
			calls = append(calls, c)
		}
	}
	return calls
}

// loggedRecords returns the records of a customer's sessions, the oldest session first.
func loggedRecords(t *testing.T, dir string, env []string, id string) (records []customer.Record) {
	t.Helper()
	ask := func(into any, args ...string) {
		t.Helper()
		cmd := exec.Command("mcprun", append(args, "--customer", id, "--json")...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	var list struct{ Sessions []customer.SessionInfo }
	if ask(&list, "session", "list"); len(list.Sessions) == 0 {
		t.Fatalf("customer %s has no sessions", id)
	}
	slices.SortFunc(list.Sessions, func(a, b customer.SessionInfo) int { return a.Began.Compare(b.Began) })
	for _, s := range list.Sessions {
		var one struct{ Records []customer.Record }
		ask(&one, "session", "show", s.ID)
		records = append(records, one.Records...)
	}
	return records
}
