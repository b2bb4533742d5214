package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// taskAnswer is what a request about a task is answered with.
type taskAnswer struct {
	Result struct {
		TaskID, Status, StatusMessage string
		Result                        json.RawMessage
	}
	Error json.RawMessage
}

// askTask sends a request of the stateless revision, of a client that takes tasks, and returns the task in the answer.
func askTask(t *testing.T, url, method, name, params string) (out taskAnswer) {
	t.Helper()
	text := postTask(t, url, method, name, params)
	for line := range strings.Lines(text) {
		if err := json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(line), "data: ")), &out); err == nil && (out.Result.TaskID != "" || out.Error != nil) {
			return out
		}
	}
	t.Fatalf("%s: %s", method, text)
	return out
}

// postTask is askTask for any answer.
func postTask(t *testing.T, url, method, name, params string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, method, params)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTaskOutlivesServe: a task of a server that is stopped goes on in the next one, with the same script. No call is made twice: one that had
// an answer keeps it, and one that had none is unknown.
func TestTaskOutlivesServe(t *testing.T) {
	for name, c := range map[string]struct{ code, status, want, calls string }{
		"calls with answers": {
			`const first = await look({ to: "a" }); await new Promise(done => setTimeout(done, 5000)); await look({ to: "b" }); export const result = "finished: " + JSON.stringify(first);`,
			"completed", `finished: \\\"ok\\\"`, "look look ",
		},
		"call without an answer": {`await look({ to: "a" }); await hold({ to: "b" });`, "completed", "unknown", "look hold "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRecorded(t)
			serve := func(t *testing.T) (url string) {
				return serveURL(t, w.command(context.WithoutCancel(t.Context()), "serve", "--http", "127.0.0.1:0", "--no-token"))
			}
			code, err := json.Marshal(`import { look, hold } from "./servers/rec"; ` + c.code)
			if err != nil {
				t.Fatal(err)
			}
			var id string
			t.Run("first", func(t *testing.T) { // to its end
				made := askTask(t, serve(t), "tools/call", "execute_code", `"name":"execute_code","arguments":{"code":`+string(code)+`}`)
				if id = made.Result.TaskID; id == "" {
					t.Fatalf("%+v, want a task", made)
				}
			})
			url := serve(t)
			for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
				got := askTask(t, url, "tasks/get", id, `"taskId":"`+id+`"`)
				if got.Result.Status == "working" && time.Now().Before(end) {
					continue
				}
				if got.Result.Status != c.status || !strings.Contains(string(got.Result.Result), c.want) {
					t.Errorf("%+v %s %s, want %s with %q", got.Result, got.Result.Result, got.Error, c.status, c.want)
				}
				break
			}
			calls, err := os.ReadFile(w.seen + ".calls")
			if text := strings.ReplaceAll(string(calls), "\n", " "); err != nil || text != c.calls {
				t.Errorf("the server got the calls %q, %v; want %q", text, err, c.calls)
			}
		})
	}
}

// TestTaskKeepsFlags: a task of a server with --dry-run makes no call that changes something at a server without it, which shows the task.
func TestTaskKeepsFlags(t *testing.T) {
	w := newRecorded(t)
	serve := func(t *testing.T, args ...string) (url string) {
		return serveURL(t, w.command(context.WithoutCancel(t.Context()), append([]string{"serve", "--http", "127.0.0.1:0", "--no-token"}, args...)...))
	}
	start := func(t *testing.T, url string, seconds int, call string) (id string) {
		t.Helper()
		code, err := json.Marshal(fmt.Sprintf(`import { look, hold } from "./servers/rec"; await new Promise(done => setTimeout(done, %d000)); await %s;`, seconds, call))
		if err != nil {
			t.Fatal(err)
		}
		made := askTask(t, url, "tools/call", "execute_code", `"name":"execute_code","arguments":{"code":`+string(code)+`}`)
		if made.Result.TaskID == "" {
			t.Fatalf("%+v, want a task", made)
		}
		return made.Result.TaskID
	}
	until := func(t *testing.T, url, id, status string) {
		t.Helper()
		end := time.Now().Add(time.Minute)
		got := askTask(t, url, "tasks/get", id, `"taskId":"`+id+`"`)
		for ; got.Result.Status == "working" && status != "working" && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			got = askTask(t, url, "tasks/get", id, `"taskId":"`+id+`"`)
		}
		if got.Result.Status != status {
			t.Fatalf("%+v %s, want %s", got.Result, got.Error, status)
		}
	}
	var id string
	t.Run("dry", func(t *testing.T) { id = start(t, serve(t, "--dry-run"), 2, `hold({ to: "a" })`) })
	t.Run("wet", func(t *testing.T) {
		url := serve(t)
		until(t, url, id, "working")
		until(t, url, start(t, url, 5, `look({ to: "b" })`), "completed") // later than the other would, if it was continued
		until(t, url, id, "working")
	})
	until(t, serve(t, "--dry-run"), id, "completed")
	calls, err := os.ReadFile(w.seen + ".calls")
	if text := strings.ReplaceAll(string(calls), "\n", " "); err != nil || text != "look " {
		t.Errorf("the server got the calls %q, %v; want only that of the other task", text, err)
	}
}
