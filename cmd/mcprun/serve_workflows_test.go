package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearing sends a bearer token with each request.
type bearing string

func (b bearing) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

const (
	greetWorkflow = `document: {dsl: 1.0.3, name: greet, version: 1.0.0, title: Greet somebody and note it}
input:
  schema:
    document: {type: object, required: [name], properties: {name: {type: string}}}
do:
  - note: {call: desk.note, with: {text: "${ input.name }"}}
  - line: {set: "hello ${ input.name }"}
output: {as: "${ tasks.line }"}
`
	asksWorkflow = `import { vars, workflow } from "mcprun";
const { plan } = await workflow.ask("Which plan for " + vars.input.who + "?", { schema: { type: "object", properties: { plan: { type: "string" } }, required: ["plan"] } });
export const result = "plan " + plan;
`
)

// workflowServer is a project with workflows, and servers of it.
type workflowServer struct {
	*testing.T
	dir string
	env []string
}

func newWorkflowServer(t *testing.T) *workflowServer {
	t.Helper()
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	w := &workflowServer{t, t.TempDir(), append(os.Environ(), "MCPGEN_TRUST=1", "HOME="+t.TempDir(), "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "CI=1", "MCPGEN_KEYRING=off")}
	w.write(".mcp.json", `{"mcpServers": {"desk": {"command": "deskmcp", "args": ["notes.txt"]}}}`)
	w.write("mcpgen.yaml", "version: 1\nservers: {desk: {protocol: legacy, trusted: true}}\n")
	w.write("tokens.txt", strings.Repeat("a", 40)+" acme\n"+strings.Repeat("b", 40)+" bolt\n")
	if err := os.Mkdir(filepath.Join(w.dir, "workflows"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("workflows/greet.workflow.yaml", greetWorkflow)
	w.write("workflows/asks.ts", asksWorkflow)
	w.write("workflows/execute_code.ts", asksWorkflow)
	w.write("workflows/two words.ts", asksWorkflow)
	w.write("workflows/broken.workflow.yaml", strings.Replace(greetWorkflow, "desk.note", "desk.nothing", 1))
	w.command(filepath.Join(programs, "mcpgen"), "sync")
	return w
}

func (w *workflowServer) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *workflowServer) command(name string, args ...string) string {
	w.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// serve starts a server, whose calls wait three seconds for a workflow, and returns its address.
func (w *workflowServer) serve() (url string) {
	w.Helper()
	cmd := exec.Command("mcprun", "serve", "--http", "127.0.0.1:0", "--token-file", "tokens.txt", "--sandbox", "embedded", "--timeout", "3s", "--parallel", "1")
	cmd.Dir, cmd.Env = w.dir, w.env
	return serveURL(w.T, cmd)
}

// connect returns a client of a customer, whose user answers questions with the plan; empty: it has no user.
func (w *workflowServer) connect(url, token, plan string) *mcp.ClientSession {
	w.Helper()
	o := &mcp.ClientOptions{}
	if plan != "" {
		o.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"plan": plan}}, nil
		}
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(w.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearing(strings.Repeat(token, 40))},
	}, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = cs.Close() })
	return cs
}

func (w *workflowServer) call(cs *mcp.ClientSession, tool string, args map[string]any) (text string, data map[string]any) {
	w.Helper()
	res, err := cs.CallTool(w.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		w.Fatalf("%s: %v", tool, err)
	}
	data, _ = res.StructuredContent.(map[string]any)
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, data
}

// TestServeWorkflows runs workflows as tools: their results, questions and waits, and what another customer sees of them.
func TestServeWorkflows(t *testing.T) {
	w := newWorkflowServer(t)
	url := w.serve()
	cs := w.connect(url, "a", "pro")
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{}
	for _, tool := range list.Tools {
		tools[tool.Name] = fmt.Sprint(tool.Description, " ", tool.InputSchema)
	}
	if !strings.HasPrefix(tools["execute_code"], "Run a script that calls MCP tools") || tools["two words"] != "" {
		t.Errorf("the tools are %v, want mcprun's own execute_code, and no workflow whose name no tool can have", tools)
	}
	if tools["broken"] != "" || !strings.Contains(tools["greet"], "Greet somebody and note it map[properties:map[name:") || !strings.Contains(tools["asks"], "input") || tools["workflow_status"] == "" {
		t.Errorf("the tools are %v, want greet with its schema, asks with input, and workflow_status; not broken", tools)
	}
	if text, data := w.call(cs, "greet", map[string]any{"name": "world"}); data["result"] != "hello world" || data["success"] != true {
		t.Errorf("greet: %s %v, want the result hello world", text, data)
	}
	if text, data := w.call(cs, "greet", map[string]any{"name": 5}); data["success"] != false || !strings.Contains(text, "name: expected string") {
		t.Errorf("a wrong input: %s %v", text, data)
	}
	if text, data := w.call(cs, "asks", map[string]any{"input": map[string]any{"who": "Ann"}}); data["result"] != "plan pro" {
		t.Errorf("asks: %s %v, want the plan of the client's user", text, data)
	}

	alone := w.connect(url, "a", "")
	text, data := w.call(alone, "asks", map[string]any{"input": map[string]any{"who": "Ann"}})
	id, _ := data["workflow"].(string)
	if data["status"] != "waiting" || data["success"] != true || !strings.Contains(text, "Which plan for Ann?") || !strings.Contains(text, "mcprun workflow answer "+id) || !strings.Contains(text, "workflow_status") {
		t.Fatalf("asks without a user: %s %v, want that it waits, and how to go on", text, data)
	}
	other := w.connect(url, "b", "")
	for _, args := range []map[string]any{{"id": id}, {"id": id, "cancel": true}} {
		if text, data := w.call(other, "workflow_status", args); data["success"] != false || !strings.Contains(text, "there is no workflow") || strings.Contains(text, "plan") {
			t.Errorf("another customer asks for %v: %s %v", args, text, data)
		}
	}
	w.command("mcprun", "workflow", "answer", id, "plan=free")
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		text, data := w.call(alone, "workflow_status", map[string]any{"id": id})
		if data["status"] == "done" && data["result"] == "plan free" {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("workflow_status: %s %v, want the plan free", text, data)
		}
	}

	_, data = w.call(alone, "asks", map[string]any{"input": map[string]any{"who": "Bob"}})
	id, _ = data["workflow"].(string)
	if text, data := w.call(alone, "workflow_status", map[string]any{"id": id, "cancel": true}); data["status"] != "cancelled" {
		t.Errorf("cancel: %s %v", text, data)
	}
	own := w.command("mcprun", "workflow", "list", "--json")
	if strings.Count(own, `"customer": "acme"`) < 4 || strings.Contains(own, `"customer": "bolt"`) {
		t.Errorf("workflow list: %s, want those of acme", own)
	}

	// One whose files have changed stops. Once they are restored, a person has the server continue it.
	w.write("workflows/helper.ts", "export const limit = 1;")
	w.write("workflows/changes.ts", `import { limit } from "./helper"; `+asksWorkflow+`export const other = limit;`)
	if _, err := alone.ListTools(t.Context(), nil); err != nil { // a server that runs has the new workflow
		t.Fatal(err)
	}
	_, data = w.call(alone, "changes", map[string]any{"input": map[string]any{"who": "Cid"}})
	id, _ = data["workflow"].(string)
	w.write("workflows/helper.ts", "export const limit = 2;")
	w.command("mcprun", "workflow", "answer", id, "plan=max")
	await := func(status string) (text string) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			text, data := w.call(alone, "workflow_status", map[string]any{"id": id})
			if data["status"] == status {
				return text
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("workflow_status: %s %v, want %s", text, data, status)
			}
		}
	}
	if text := await("stopped"); !strings.Contains(text, "has changed since") || !strings.Contains(text, "mcprun workflow resume "+id) {
		t.Errorf("a stopped workflow: %s, want the reason and the remedy", text)
	}
	w.write("workflows/helper.ts", "export const limit = 1;")
	w.command("mcprun", "workflow", "resume", id)
	if text := await("done"); !strings.Contains(text, "plan max") {
		t.Errorf("a workflow that was resumed: %s, want the plan max", text)
	}

	// A workflow of the command line, which is the project's, is not one of a client's.
	w.write("quick.ts", `import { workflow } from "mcprun"; await workflow.sleep(0.01);`)
	w.command("mcprun", "workflow", "run", "--sandbox", "embedded", "--id", "own-1", "quick.ts")
	if text, data := w.call(alone, "workflow_status", map[string]any{"id": "own-1"}); data["success"] != false {
		t.Errorf("a workflow of the command line: %s %v", text, data)
	}
}

// TestServeWorkflowGoesOn kills a server while a workflow waits: the next one with the same flags continues it.
func TestServeWorkflowGoesOn(t *testing.T) {
	w := newWorkflowServer(t)
	cmd := exec.Command("mcprun", "serve", "--customer", "acme", "--sandbox", "embedded", "--timeout", "3s")
	cmd.Dir, cmd.Env = w.dir, w.env
	first, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	_, data := w.call(first, "asks", map[string]any{"input": map[string]any{"who": "Ann"}})
	id, _ := data["workflow"].(string)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	w.command("mcprun", "workflow", "answer", id, "plan=free")
	cs := w.connect(w.serve(), "a", "")
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		text, data := w.call(cs, "workflow_status", map[string]any{"id": id})
		if data["status"] == "done" && data["result"] == "plan free" {
			return
		}
		if time.Since(began) > 90*time.Second {
			t.Fatalf("workflow_status: %s %v, want the plan free", text, data)
		}
	}
}

// TestServeWorkflowTask has workflows that are tasks of their client: one outlives its server, and the end of the other's task ends it too.
func TestServeWorkflowTask(t *testing.T) {
	w := newWorkflowServer(t)
	serve := func(t *testing.T) string {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "mcprun", "serve", "--http", "127.0.0.1:0", "--no-token", "--sandbox", "embedded", "--parallel", "1")
		cmd.Dir, cmd.Env = w.dir, w.env
		return serveURL(t, cmd)
	}
	begin := func(t *testing.T, url string) (task string) {
		t.Helper()
		made := askTask(t, url, "tools/call", "asks", `"name":"asks","arguments":{"input":{"who":"Ann"}}`)
		if made.Result.TaskID == "" {
			t.Fatalf("%+v, want a task", made)
		}
		return made.Result.TaskID
	}
	flow := func(task string) string { return "wf-" + strings.ToLower(task) }
	await := func(t *testing.T, url, task, status string) json.RawMessage {
		t.Helper()
		end := time.Now().Add(time.Minute)
		for ; ; time.Sleep(100 * time.Millisecond) {
			got := askTask(t, url, "tasks/get", task, `"taskId":"`+task+`"`)
			if got.Result.Status == status {
				return got.Result.Result
			}
			if time.Now().After(end) {
				t.Fatalf("%+v %s, want %s", got.Result, got.Error, status)
			}
		}
	}
	var task string
	t.Run("first", func(t *testing.T) { task = begin(t, serve(t)) }) // to its end
	url := serve(t)
	w.command("mcprun", "workflow", "answer", flow(task), "plan=free")
	if result := string(await(t, url, task, "completed")); !strings.Contains(result, `"result":"plan free"`) {
		t.Errorf("the task's result is %s, want the plan free", result)
	}
	if list := w.command("mcprun", "workflow", "list", "--json"); strings.Count(list, `"id"`) != 1 {
		t.Errorf("workflow list: %s, want one workflow", list)
	}

	task = begin(t, url)
	if text := postTask(t, url, "tasks/cancel", task, `"taskId":"`+task+`"`); !strings.Contains(text, `"result"`) {
		t.Fatalf("tasks/cancel: %s", text)
	}
	await(t, url, task, "cancelled")
	for began := time.Now(); !strings.Contains(w.command("mcprun", "workflow", "show", flow(task)), ", cancelled,"); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("the workflow of a cancelled task goes on")
		}
	}
}
