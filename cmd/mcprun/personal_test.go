package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// people is a project with the server of people, and a session of mcprun serve in it.
type people struct {
	t    *testing.T
	dir  string
	env  []string
	got  bytes.Buffer // what the client has sent and received
	said bytes.Buffer // standard error
	cs   *mcp.ClientSession
}

func newPeople(t *testing.T, settings string) *people {
	t.Helper()
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	p := &people{t: t, dir: t.TempDir()}
	p.env = append(os.Environ(), "MCPGEN_TRUST=1", "HOME="+t.TempDir(), "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "CI=1", "MCPGEN_KEYRING=off", "MCPRUN_SANDBOX=embedded")
	p.write(".mcp.json", `{"mcpServers": {"people": {"command": "peoplemcp", "args": ["calls.txt"]}, "other": {"command": "peoplemcp", "args": ["other.txt"]}}}`)
	p.write("mcpgen.yaml", "version: 1\nservers: {people: {protocol: legacy, trusted: true}, other: {protocol: legacy, trusted: true}}\n"+settings)
	if _, said, err := p.run(filepath.Join(programs, "mcpgen"), "sync"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return p
}

func (p *people) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *people) run(name string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(name, args...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &out, &said
	err = cmd.Run()
	return out.String(), said.String(), err
}

// received returns the last arguments that the server of people got.
func (p *people) received() string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "calls.txt"))
	if err != nil {
		p.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// serve starts a session, whose user accepts every question as it is.
func (p *people) serve(args ...string) {
	p.t.Helper()
	cmd := exec.Command("mcprun", append([]string{"serve"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = p.dir, p.env, &p.said
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{"to": "[EMAIL_1]"}
			if strings.Contains(req.Params.Message, "needs your approval") {
				content = map[string]any{"answer": "once"}
			}
			if strings.Contains(req.Params.Message, "due: expected") {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
	})
	cs, err := client.Connect(p.t.Context(), &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: &p.got}, nil)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.said.String())
	}
	p.cs = cs
	p.t.Cleanup(func() { _ = cs.Close() })
}

func (p *people) call(tool string, args map[string]any) (string, bool) {
	p.t.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken(tool)
	res, err := p.cs.CallTool(p.t.Context(), params)
	if err != nil {
		p.t.Fatalf("%s: %v", tool, err)
	}
	text := ""
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, res.IsError
}

// hasNoCanary fails if a text has personal data.
func (p *people) hasNoCanary(what, text string) {
	p.t.Helper()
	for _, canary := range canaries {
		if i := strings.Index(text, canary); i >= 0 {
			p.t.Errorf("%s has %q: %s", what, canary, text[max(0, i-300):min(len(text), i+100)])
		}
	}
}

// everything prints personal data in all ways that a script has.
const everything = `import * as people from "./servers/people";
import { writeFile } from "node:fs/promises";
import { saveSkill } from "mcprun";
const { contacts } = (await people.listContacts({})) as any;
for (const c of contacts) console.log(JSON.stringify(c), c);
console.error(contacts[0].name, "at", contacts[0].company);
console.log(await people.describe({}), await people.blocks({}), (await people.big({}) as string).slice(0, 5000));
for (const f of [people.refuse, people.break_]) try { await f({}) } catch (e) { console.log(e.message, e) }
await people.slow({});
console.log(await people.ask({}), await people.resources.read("people://kim"), await people.prompts.get("greet", {}));
await writeFile("contacts.txt", contacts.map((c: any) => c.name + " " + c.email).join("\n"));
await writeFile(contacts[0].email + ".txt", "x");
await saveSkill("who", "export const to = '" + contacts[0].email + "';", "Writes to " + contacts[0].email);
export const result = { contacts, [contacts[0].email]: contacts[0].name };`

// TestServeHidesPersonalData: in a session that uses each tool, the client receives nothing of the people whose data the servers give.
func TestServeHidesPersonalData(t *testing.T) {
	for name, args := range map[string][]string{"output": nil, "bridge": {"--pii", "bridge"}} {
		t.Run(name, func(t *testing.T) {
			p := newPeople(t, "policy: {rules: [{ask: \"people__send\"}]}\n")
			p.serve(append([]string{"--tools", "all"}, args...)...)
			text, failed := p.call("execute_code", map[string]any{"code": everything, "language": "typescript"})
			if failed || !strings.Contains(text, "[EMAIL_1]") || !strings.Contains(text, "[NAME_1]") || !strings.Contains(text, "[COMPANY_1]") || !strings.Contains(text, "[PHONE_1]") {
				t.Errorf("execute_code failed: %v, %s, want tokens of four types", failed, text)
			}
			if text, failed := p.call("execute_code", map[string]any{"code": everything + "\nthrow new Error(contacts[0].name + ' ' + contacts[0].email);"}); !failed || !strings.Contains(text, "[EMAIL_1]") {
				t.Errorf("a script that throws: failed %v, %s, want the token of the address", failed, text)
			}
			for _, tool := range []string{"list_contacts", "describe", "blocks", "refuse", "break", "big", "slow", "ask"} {
				p.call("call_tool", map[string]any{"tool": "people__" + tool})
			}
			if text, failed := p.call("call_tool", map[string]any{"tool": "people__send", "arguments": map[string]any{"to": "[EMAIL_1]"}}); failed || !strings.Contains(text, "[EMAIL_1]") || !strings.Contains(p.received(), canaries[0]) {
				t.Errorf("call_tool: failed %v, %s; the server got %s, want %q", failed, text, p.received(), canaries[0])
			}
			if text, failed := p.call("call_tool", map[string]any{"tool": "people__send", "arguments": map[string]any{"to": "[EMAIL_77]"}}); !failed || !strings.Contains(text, "unknown token EMAIL_77") {
				t.Errorf("an unknown token: failed %v, %s, want an error that names it", failed, text)
			}
			if text, failed := p.call("restore_pii", map[string]any{"text": "[EMAIL_1]"}); !failed || !strings.Contains(text, "does not reach the model") {
				t.Errorf("restore_pii: failed %v, %s, want a refusal", failed, text)
			}
			if text, _ := p.call("read_workspace_file", map[string]any{"filename": "contacts.txt"}); !strings.Contains(text, "[EMAIL_1]") {
				t.Errorf("read_workspace_file: %s, want the token of the address", text)
			}
			for _, one := range []struct {
				tool string
				args map[string]any
			}{
				{"list_workspace_files", nil}, {"read_workspace_file", map[string]any{"filename": "[EMAIL_1].txt"}},
				{"write_workspace_file", map[string]any{"filename": "to.txt", "content": "[EMAIL_1] and [NAME_1]"}}, {"read_workspace_file", map[string]any{"filename": "to.txt"}},
				{"checkpoint", map[string]any{"name": "one", "data": map[string]any{"to": "[EMAIL_1]"}}}, {"checkpoint", map[string]any{"name": "one"}}, {"checkpoint", nil},
				{"load_skill", map[string]any{"name": "who"}}, {"list_skills", nil}, {"sanitize_pii", map[string]any{"text": "write to [EMAIL_1]"}},
				{"search_tools", map[string]any{"query": []string{"contacts"}, "detail_level": "full"}}, {"get_execution_stats", nil},
			} {
				if text, failed := p.call(one.tool, one.args); failed {
					t.Errorf("%s %v: %s", one.tool, one.args, text)
				}
			}
			prompt, err := p.cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "task", Arguments: map[string]string{"task": "ask for contacts"}})
			if err != nil {
				t.Fatal(err)
			}
			rule := map[bool]string{false: `only as await detokenizePii("[EMAIL_1]")`, true: "Compare them, and pass them to functions, exactly as they are"}[name == "bridge"]
			if text := prompt.Messages[0].Content.(*mcp.TextContent).Text; !strings.Contains(text, rule) {
				t.Errorf("the prompt is %s, want %q in it", text, rule)
			}
			list, err := p.cs.ListResources(t.Context(), nil)
			if err != nil || len(list.Resources) == 0 {
				t.Fatalf("%v, %v, want the resources of the skill", list, err)
			}
			for _, r := range list.Resources {
				if _, err := p.cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI}); err != nil {
					t.Errorf("%s: %v", r.URI, err)
				}
			}
			if _, failed := p.call("execute_code", map[string]any{"code": `import { detokenizePii } from "mcprun"; console.log((await detokenizePii("[EMAIL_1]")).length)`}); failed != (name == "bridge") {
				t.Errorf("detokenizePii in a script: failed %v, want %v", failed, name == "bridge")
			}
			_ = p.cs.Close()
			p.hasNoCanary("what the client received", p.got.String())
			p.hasNoCanary("standard error", p.said.String())
			if !strings.Contains(p.got.String(), "progress") || !strings.Contains(p.got.String(), "elicitation/create") {
				t.Error("there was no progress, or no question")
			}
		})
	}
}

// TestSanitizeCountsTypes: the answer says how many values were found, and of which types.
func TestSanitizeCountsTypes(t *testing.T) {
	p := newPeople(t, "")
	p.serve("--tools", "all")
	text, failed := p.call("sanitize_pii", map[string]any{"text": "ann@example.com, +1 212-555-0123, SSN 536-90-4399, card 4539 1488 0343 6467, 8.8.8.8, api_key=zQ8mK2vX9pL4nR7tW1yB"})
	for _, want := range []string{"[EMAIL_1]", "[PHONE_1]", "[SSN_1]", "[CARD_1]", "[IP_1]", "CARD 1", "EMAIL 1", "IP 1", "PHONE 1", "SSN 1"} {
		if failed || !strings.Contains(text, want) {
			t.Errorf("sanitize_pii: failed %v, %s, want %q in it", failed, text, want)
		}
	}
	if strings.Contains(text, "zQ8mK2vX9pL4nR7tW1yB") || !strings.Contains(text, "[SECRET_1]") && !strings.Contains(text, "[API_KEY_1]") {
		t.Errorf("sanitize_pii: %s, want a token for the key", text)
	}
}

// TestServePassthroughHidesPersonalData: the tree's own tools give no personal data either, unless their server's mode is off.
func TestServePassthroughHidesPersonalData(t *testing.T) {
	p := newPeople(t, "pii: {servers: {other: off}}\n")
	p.serve("--tools", "passthrough")
	for _, tool := range []string{"list_contacts", "describe", "blocks", "refuse", "break", "big", "slow", "ask"} {
		p.call("people__"+tool, nil)
	}
	if text, failed := p.call("people__send", map[string]any{"to": "[EMAIL_1]"}); failed || !strings.Contains(p.received(), canaries[0]) {
		t.Errorf("failed %v, %s; the server got %s, want %q", failed, text, p.received(), canaries[0])
	}
	p.hasNoCanary("what the client received", p.got.String())
	if text, _ := p.call("other__describe", nil); !strings.Contains(text, canaries[0]) {
		t.Errorf("a server whose mode is off gives %s, want %q in it", text, canaries[0])
	}
}

// TestServeRecipientsDiffer: in the questions that the client gets, two recipients never look alike, in every mode.
func TestServeRecipientsDiffer(t *testing.T) {
	for _, mode := range []string{"off", "output", "bridge"} {
		p := newPeople(t, "policy: {rules: [{ask: \"people__send\"}]}\n")
		p.serve("--pii", mode)
		for _, to := range []string{canaries[0], "second@example.org", "third@example.org"} {
			p.call("call_tool", map[string]any{"tool": "people__send", "arguments": map[string]any{"to": to}})
			if !strings.Contains(p.received(), to) {
				t.Errorf("%s: the server got %s, want %q", mode, p.received(), to)
			}
		}
		_ = p.cs.Close()
		var questions []string
		for line := range strings.Lines(p.got.String()) {
			if strings.HasPrefix(line, "read") && strings.Contains(line, "needs your approval") {
				questions = append(questions, line)
			}
		}
		for i, token := range []string{"[EMAIL_1]", "[EMAIL_2]", "[EMAIL_3]"} {
			if len(questions) != 3 || !strings.Contains(questions[i], token) || strings.Contains(questions[i], "@") {
				t.Fatalf("%s: the questions are %q, want %s in the one at %d, and no address", mode, questions, token, i)
			}
		}
	}
}

// TestJSONHidesPersonalData: --json, too, hides by default, and each of flag, variable and settings switches that off.
func TestJSONHidesPersonalData(t *testing.T) {
	p := newPeople(t, "")
	p.write("a.ts", `import { ask, listContacts, send } from "./servers/people";
const { contacts } = (await listContacts({})) as any;
console.log(contacts, await ask({}));
console.log(await send({ to: contacts[0].email }));
export const result = contacts[0];`)
	stdout, stderr, err := p.run("mcprun", "--json", "--record", "calls.jsonl", "--trace=trace.html", "a.ts")
	if err != nil || !strings.Contains(stdout, "[EMAIL_1]") || !strings.Contains(p.received(), canaries[0]) {
		t.Errorf("%v: %s %s; the server got %s", err, stdout, stderr, p.received())
	}
	p.hasNoCanary("--json", stdout+stderr)
	for _, file := range []string{"calls.jsonl", "trace.html"} {
		text, err := os.ReadFile(filepath.Join(p.dir, file))
		if err != nil || !bytes.Contains(text, []byte("[EMAIL_1]")) {
			t.Errorf("%s: %v, %s, want tokens in it", file, err, text)
		}
		p.hasNoCanary(file, string(text))
	}
	if !strings.Contains(stderr, "server people asks: write to [NAME_1] of [COMPANY_1]") {
		t.Errorf("the question that was declined: %s, want tokens in it", stderr)
	}
	for _, args := range [][]string{{"people__list_contacts"}, {"people__ask"}, {"people__ask", "--elicit", "decline"}} {
		stdout, stderr, _ := p.run("mcprun", append([]string{"call", "--json"}, args...)...)
		p.hasNoCanary("mcprun call --json "+strings.Join(args, " "), stdout+stderr)
	}
	for _, args := range [][]string{{"--pii", "off", "--json"}, nil, {"--pii=off"}} {
		if stdout, _, _ := p.run("mcprun", append(args, "a.ts")...); !strings.Contains(stdout, canaries[0]) {
			t.Errorf("mcprun %q: %s, want %q in it", args, stdout, canaries[0])
		}
	}
	for _, args := range [][]string{{"--pii", "output"}, {"--pii", "bridge"}} {
		stdout, stderr, _ := p.run("mcprun", append(args, "a.ts")...)
		p.hasNoCanary(strings.Join(args, " "), stdout+stderr)
	}
	p.env = append(p.env, "MCPRUN_PII=output")
	stdout, stderr, _ = p.run("mcprun", "a.ts")
	p.hasNoCanary("MCPRUN_PII=output", stdout+stderr)
	p.env = append(p.env, "MCPRUN_PII=hide")
	if _, stderr, err := p.run("mcprun", "a.ts"); err == nil || !strings.Contains(stderr, `MCPRUN_PII: "hide" is not one of`) {
		t.Errorf("MCPRUN_PII=hide: %v, %s, want an error", err, stderr)
	}
}

// TestReasonWithoutTerminal: standard error says why values could not be kept, also where it is not a terminal.
func TestReasonWithoutTerminal(t *testing.T) {
	p := newPeople(t, "pii: {mode: output}\n")
	p.env = append(p.env, "XDG_STATE_HOME="+filepath.Join(p.dir, "mcpgen.yaml"))
	p.write("a.ts", `import { describe } from "./servers/people"; console.log(await describe({}));`)
	for _, args := range [][]string{{"a.ts"}, {"--json", "a.ts"}, {"call", "people__describe"}} {
		stdout, stderr, err := p.run("mcprun", args...)
		if err != nil || !strings.Contains(stdout, "[EMAIL]") || !strings.Contains(stderr, "something that cannot be restored: ") || !strings.Contains(stderr, "mcpgen.yaml") {
			t.Errorf("mcprun %q: %v, %s, %s, want the reason on standard error", args, err, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, canaries[0]) {
			t.Errorf("mcprun %q shows the address: %s%s", args, stdout, stderr)
		}
	}
}

// TestTokensWithoutMode: a token that --json showed is not sent as it is by a plain command.
func TestTokensWithoutMode(t *testing.T) {
	p := newPeople(t, "")
	send := []string{"call", "people__send", "to=[EMAIL_1]"}
	if _, stderr, err := p.run("mcprun", send...); err != nil || !strings.Contains(p.received(), "[EMAIL_1]") {
		t.Errorf("before there is a vault: %v, %s", err, stderr)
	}
	if _, stderr, err := p.run("mcprun", "call", "--json", "people__list_contacts"); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if _, stderr, err := p.run("mcprun", send...); err == nil || !strings.Contains(stderr, "--pii output") || !strings.Contains(p.received(), "list_contacts") {
		t.Errorf("%v, %s, want a refusal; the server got %s", err, stderr, p.received())
	}
	p.write("a.ts", `import { send } from "./servers/people"; await send({ to: "[EMAIL_1]" });`)
	if _, stderr, err := p.run("mcprun", "a.ts"); err == nil || !strings.Contains(stderr, "--pii output") {
		t.Errorf("%v, %s, want a refusal", err, stderr)
	}
	for mode, want := range map[string]string{"off": "[EMAIL_1]", "output": canaries[0]} {
		if _, stderr, err := p.run("mcprun", append(send, "--pii", mode)...); err != nil || !strings.Contains(p.received(), want) {
			t.Errorf("--pii %s: %v, %s; the server got %s, want %q", mode, err, stderr, p.received(), want)
		}
	}
}

// TestDoctorTellsMode: the line about personal data says what runs of this project do.
func TestDoctorTellsMode(t *testing.T) {
	p := newPeople(t, "pii: {mode: output}\n")
	said := func() string {
		stdout, stderr, err := p.run("mcprun", "doctor", "--no-speed")
		_, line, _ := strings.Cut(stdout, "\npersonal")
		line, _, _ = strings.Cut(line, "\n")
		if err != nil || line == "" {
			t.Fatalf("%v: %s%s", err, stdout, stderr)
		}
		return line
	}
	if got := said(); !strings.Contains(got, "hidden by all runs, because the mode is output; the key") {
		t.Errorf("mode output: %q", got)
	}
	p.write("mcpgen.yaml", "version: 1\npii: {mode: off, servers: {people: bridge}}\n")
	if got := said(); !strings.Contains(got, "shown, except") {
		t.Errorf("mode off, and bridge for a server: %q", got)
	}
	p.env = append(p.env, "MCPRUN_PII=off")
	if got := said(); !strings.Contains(got, "shown by all runs") {
		t.Errorf("MCPRUN_PII=off: %q", got)
	}
}

// TestPIIUnattended: what the project hides is not shown because an agent gives a flag.
func TestPIIUnattended(t *testing.T) {
	p := newPeople(t, "pii: {mode: output}\n")
	p.write("a.ts", `import { describe } from "./servers/people"; console.log("one", await describe({}));`)
	stdout, _, err := p.run("mcprun", "a.ts")
	if err != nil || !strings.Contains(stdout, "[EMAIL_1]") {
		t.Errorf("%v, %s, want tokens", err, stdout)
	}
	for _, args := range [][]string{{"--pii", "off", "a.ts"}, {"call", "people__describe", "--pii", "off"}, {"serve", "--pii", "off"}} {
		stdout, stderr, err := p.run("mcprun", args...)
		if err == nil || !strings.Contains(stderr, "--pii off is not accepted without a terminal") {
			t.Errorf("mcprun %q: %v, %s%s, want a refusal", args, err, stdout, stderr)
		}
	}
	p.write("mcpgen.yaml", "version: 1\npii: {mode: output, servers: {people: bridge, other: off}, customers: {acme: {mode: bridge}}}\n")
	if stdout, stderr, err := p.run("mcprun", "--pii", "output", "a.ts"); err != nil || !strings.Contains(stdout, "[EMAIL_1]") {
		t.Errorf("--pii output, where single servers and customers have bridge: %v, %s%s, want tokens", err, stdout, stderr)
	}
	if _, stderr, err := p.run("mcprun", "--pii", "off", "a.ts"); err == nil || !strings.Contains(stderr, "--pii off is not accepted") {
		t.Errorf("--pii off: %v, %s, want a refusal", err, stderr)
	}
	if stdout, stderr, err := p.run("mcprun", "--pii", "bridge", "a.ts"); err != nil || !strings.Contains(stdout, "[EMAIL_1]") {
		t.Errorf("--pii bridge: %v, %s%s, want tokens", err, stdout, stderr)
	}
	p.write("mcpgen.yaml", "version: 1\npii: {mode: output}\npolicy: {unattended: [pii]}\n")
	if stdout, stderr, err := p.run("mcprun", "--pii", "off", "a.ts"); err != nil || !strings.Contains(stdout, canaries[0]) {
		t.Errorf("--pii off with unattended: [pii]: %v, %s%s, want %q", err, stdout, stderr, canaries[0])
	}
}
