package sandboxtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func endCases() []testCase {
	well := &testCase{code: both(`console.log("well")`, `print("well")`), check: prints("well\n")}
	return []testCase{
		{name: "daemons", check: soon},
		{name: "busy children end with a kill", coldOnly: true, timeout: 2 * time.Second, code: both(`
try {
  const { spawn } = await import("node:child_process");
  for (let i = 0; i < 3; i++) spawn(process.execPath, ["-e", "while (true) {}", "@ID@"], { detached: true, stdio: "ignore" }).on("error", () => {});
} catch {}
console.log("running");
while (true) {}`, `
import subprocess, sys
for _ in range(3): subprocess.Popen([sys.executable, "-c", "while True: pass", "@ID@"], start_new_session=True)
print("running")
while True: pass`), check: killed("running")},
		{name: "a guest without its host ends", timeout: 50 * time.Second, code: both(
			importTS+`callMCPTool("test__drop", {}).catch(() => {}); setInterval(() => {}, 1000); await new Promise(() => {});`,
			importPy+`import time
try: call_mcp_tool("test__drop", {})
except Exception: pass
time.sleep(60)`),
			check: alone("test__drop")},
		{name: "an idle guest without its host ends", timeout: 50 * time.Second, code: both(
			importTS+`await callMCPTool("test__drop_soon", {}); setInterval(() => {}, 1000); await new Promise(() => {});`,
			importPy+`import time
call_mcp_tool("test__drop_soon", {})
time.sleep(60)`),
			check: alone("test__drop_soon")},
		{name: "closed streams", code: python(`
import os
os.close(0); os.close(1); os.close(2)
open("done", "w").write("1")`),
			check: func(t *recorder, w *world, r *result) {
				if text, err := os.ReadFile(filepath.Join(w.workspace, "done")); err != nil || string(text) != "1" {
					t.Errorf("the script did not reach its end: %q, %v", text, err)
				}
				if r.elapsed > 30*time.Second {
					t.Errorf("took %v", r.elapsed)
				}
			}},
		{name: "signals to all", timeout: 50 * time.Second, check: func(t *recorder, w *world, r *result) {
			nothing(t, w, r) // it may have hit itself afterwards
			if r.elapsed > 40*time.Second {
				t.Errorf("took %v", r.elapsed)
			}
		}, then: well},
		{name: "unusual files in the workspace", coldOnly: true, timeout: 40 * time.Second, check: nothing, then: well},
		{name: "a locked workspace", check: nothing, then: &testCase{code: well.code, check: well.check, mayRefuse: true}},
	}
}

// alone checks that the guest ended soon after the script lost its host by calling tool.
func alone(tool string) func(*recorder, *world, *result) {
	return func(t *recorder, w *world, r *result) {
		if r.began.IsZero() || !slices.Contains(w.called(), tool) {
			t.Errorf("the script did not lose its host: it began %v and called %q", r.began, w.called())
		}
		if r.elapsed > 30*time.Second {
			t.Errorf("the guest ran for %v without its host", r.elapsed)
		}
	}
}

// soon checks that nothing forbidden worked, and that the run did not wait for processes of the script.
func soon(t *recorder, w *world, r *result) {
	nothing(t, w, r)
	if r.elapsed > 30*time.Second {
		t.Errorf("took %v", r.elapsed)
	}
}

func plantCases() []testCase {
	list := []testCase{{name: "planted loaders", then: &testCase{name: "after planted loaders"}, check: nothing}}
	// Before there is a tree, a script may take the names on which it will be mounted.
	for _, kind := range []string{"folder", "link", "link to the root", "link to the kernel", "file", "pipe", "locked folder"} {
		c := testCase{name: "a " + kind + " where the tree is mounted", noTree: true, args: []string{kind},
			code: programs("the-places-of-the-mounts"), check: nothing,
			then: &testCase{name: "after the places of the mounts", check: nothing, mayRefuse: true}}
		if kind == "pipe" { // node cannot create one
			c.code = only(c.code, "python")
		}
		list = append(list, c)
	}
	return list
}

func neighbourCases() []testCase {
	mine := func(t *testing.T, w *world) {
		must(t, os.WriteFile(filepath.Join(w.workspace, "mine.txt"), []byte("x"), 0o666))
	}
	return []testCase{
		{name: "files of a neighbour", neighbour: true, setup: mine},
		{name: "memory shared with a neighbour", neighbour: true},
		{name: "signals to a neighbour", neighbour: true, serial: true, timeout: 12 * time.Second, check: harmlessNeighbour},
	}
}

// harmlessNeighbour checks that the script harmed at most itself. It need not have reached its end in time.
func harmlessNeighbour(t *recorder, w *world, r *result) {
	harmless(t, w, r)
	if !strings.HasPrefix(r.stdout, "running") {
		t.Errorf("the script did not start")
	}
	if !strings.Contains(r.stdout, "checked") && r.exit.Code <= 128 {
		t.Errorf("the script neither reached its end nor was killed")
	}
	if r.elapsed > 40*time.Second {
		t.Errorf("took %v", r.elapsed)
	}
}
