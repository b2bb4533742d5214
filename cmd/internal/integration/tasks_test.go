package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tasksPackage is the reference client of the extension for tasks.
const (
	tasksPackage = "@modelcontextprotocol/ext-tasks"
	tasksVersion = "0.2.2"
)

// TestTasksReferenceClient checks that the reference client takes a run of mcprun serve as a task, answers the question that a server asks during
// the run, and gets the result.
func TestTasksReferenceClient(t *testing.T) {
	t.Parallel()
	needVersion(t, tasksPackage, tasksVersion)
	node := newNode(t)
	p := newProject(t, map[string]server{"everything": {Command: "node", Args: []string{entry(t, everythingPackage), "stdio"}}})
	p.sync()
	code := `import { callMCPTool } from "./servers/client.ts";
const begin = Date.now();
while (Date.now() - begin < 1500);
const answer = await callMCPTool("everything__trigger_elicitation_request", {});
console.log("the server says", JSON.stringify(answer));`
	args, err := json.Marshal(map[string]string{"code": code, "language": "typescript"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join(root, "cmd", "internal", "integration", "testdata", "tasks.mjs"),
		filepath.Dir(needNPM(t, "@modelcontextprotocol")), p.serveHTTP(t, "--customer", "acme"), serveToken, "execute_code", string(args))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, 20*time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	var seen struct {
		Kind            string
		Statuses, Asked []string
		Names           []string
		Result          struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &seen); err != nil || seen.Kind != "task" || len(seen.Result.Content) == 0 {
		t.Fatalf("%v, want a task and its result\n%s", err, stdout.String())
	}
	if text := seen.Result.Content[0].Text; seen.Result.IsError || !strings.Contains(text, "the server says") || !strings.Contains(text, "Ada") {
		t.Errorf("the result is %q, want the answer in it", text)
	}
	if len(seen.Asked) != 1 || !strings.HasPrefix(seen.Asked[0], "elicitation task task-update [everything] ") {
		t.Errorf("asked %q, want one question of the task", seen.Asked)
	}
	if !slices.Contains(seen.Statuses, "working") || !slices.Contains(seen.Statuses, "input_required") || seen.Statuses[len(seen.Statuses)-1] != "completed" || !slices.Contains(seen.Names, "tasks/update") {
		t.Errorf("statuses %q and requests %q, want working, input_required and at last completed", seen.Statuses, seen.Names)
	}
}
