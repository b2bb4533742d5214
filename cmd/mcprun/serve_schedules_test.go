package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// output collects what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestServeSchedules has a running server follow the schedules in mcpgen.yaml, with its own flags, and dies in a run.
func TestServeSchedules(t *testing.T) {
	dir, env, write := newProject(t)
	await := func(what string, there func() bool) {
		t.Helper()
		for began := time.Now(); !there(); time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s does not come", what)
			}
		}
	}
	file := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, "files", name)); return err == nil }
	}
	mcprun := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("mcprun", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("mcprun %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	has := func(text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want %q in it", text, want)
		}
	}
	serve := func() (*exec.Cmd, *output, func() error) {
		t.Helper()
		cmd, log := exec.Command("mcprun", "serve", "--sandbox", "embedded", "--workspace", "files"), &output{}
		cmd.Dir, cmd.Env, cmd.Stderr = dir, env, log
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cs.Close() })
		return cmd, log, cs.Close
	}
	write("mcpgen.json", `{"mcpServers": {}}`)
	write("mcpgen.yaml", "version: 1\n")
	write("a.ts", `import { writeFile } from "mcprun"; await writeFile("a.txt", "x");`)
	write("slow.ts", `import { writeFile } from "mcprun"; await writeFile("begun.txt", "x"); await new Promise((done) => setTimeout(done, 20000));`)
	process, log, _ := serve()
	write("mcpgen.yaml", "version: 1\nschedules: {a: {cron: '@every 1s', script: a.ts}, lost: {cron: '@yearly', script: none.ts}, none: {cron: '@yearly', skill: none}}\n")
	await("a.txt", file("a.txt"))
	has(log.String(), "the script of the schedule lost cannot be read")
	has(log.String(), "schedule=none")
	has(mcprun("audit", "list", "--json", "--limit", "1"), `"client": "schedule a"`)

	write("mcpgen.yaml", "version: 1\nschedules: {slow: {cron: '@every 1s', script: slow.ts}}\n")
	await("begun.txt", file("begun.txt"))
	await("a skipped time", func() bool { return strings.Contains(log.String(), "its last run is still going on") })
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await("the end", func() bool { return strings.Contains(mcprun("schedule", "list"), "nothing runs them now") })
	write("slow.ts", "export {};")
	_, log, end := serve()
	await("the unknown run", func() bool { return strings.Contains(log.String(), "it is not repeated") })
	write("mcpgen.yaml", "version: 1\nschedules: {none: {cron: '@every 1s', skill: none}}\n")
	await("what does not start", func() bool {
		return strings.Contains(mcprun("audit", "list", "--kind", "schedule"), "schedule none failed at ")
	})
	if err := end(); err != nil {
		t.Error(err)
	}
	has(mcprun("audit", "list", "--kind", "schedule"), `: there is no skill`)
	has(mcprun("schedule", "list"), "failed")
	events := mcprun("audit", "list", "--kind", "schedule")
	has(events, "schedule slow skipped at ")
	has(events, "schedule slow unknown at ")
}

// TestServeScheduledWorkflow kills a server while the workflow of a schedule waits. The next server continues it, and repeats no step.
func TestServeScheduledWorkflow(t *testing.T) {
	dir, env, write := newProject(t)
	write("mcpgen.json", `{"mcpServers": {}}`)
	write("mcpgen.yaml", "version: 1\nschedules: {flow: {cron: '@every 1s', workflow: flow.ts, input: 7}}\n")
	write("flow.ts", `import { appendFile } from "node:fs/promises";
import { vars, workflow } from "mcprun";
await workflow.step("once", () => appendFile("steps.txt", "step\n"));
const paid = await workflow.waitFor("paid");
await appendFile("steps.txt", "paid " + paid + " for " + vars.input + "\n");`)
	mcprun := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("mcprun", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("mcprun %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	log := &output{}
	serve := func() *exec.Cmd {
		t.Helper()
		cmd := exec.Command("mcprun", "serve", "--sandbox", "embedded", "--workspace", "files")
		cmd.Dir, cmd.Env, cmd.Stderr = dir, env, log
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cs.Close() })
		return cmd
	}
	await := func(what string, there func() bool) {
		t.Helper()
		for began := time.Now(); !there(); time.Sleep(100 * time.Millisecond) {
			if time.Since(began) > 90*time.Second {
				t.Fatalf("%s does not come; log:\n%s", what, log.String())
			}
		}
	}
	process := serve()
	list := ""
	await("a workflow that waits", func() bool {
		list = mcprun("workflow", "list")
		return strings.Contains(list, "value paid")
	})
	id := list[strings.Index(list, "flow-"):]
	id, _, _ = strings.Cut(id, " ")
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	mcprun("workflow", "send", id, "paid", "12")
	write("mcpgen.yaml", "version: 1\nschedules: {flow: {cron: '@yearly', workflow: flow.ts, input: 7}}\n") // no later run
	serve()
	await("the end", func() bool { return strings.Contains(mcprun("workflow", "show", id), ", done,") })
	steps, err := os.ReadFile(filepath.Join(dir, "files", "steps.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(steps); strings.Count(text, "paid 12 for 7\n") != 1 || !strings.HasPrefix(text, "step\npaid") {
		t.Errorf("the steps of the workflow are %q, want one step, and one payment of 12 for 7 after it", text)
	}
	await("the schedule's outcome", func() bool { return strings.Contains(mcprun("audit", "list", "--json"), `"client": "schedule flow"`) })
}
