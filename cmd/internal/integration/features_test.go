package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFeatures uses features of a real server besides plain calls, from both languages, in every sandbox.
func TestFeatures(t *testing.T) {
	t.Parallel()
	program := entry(t, everythingPackage)
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newProject(t, map[string]server{"everything": {Command: "node", Args: []string{program, "stdio"}}})
			p.sync()
			p.write("features"+where.ext(), testdata(t, "features"+where.ext()))
			p.writeJSON("answers.json", map[string]any{"server": "everything", "content": map[string]any{"name": "Ada"}})
			res := p.runJSON(t, where, 0, "--elicit", "answers.json", "--var", "city=Oslo", "features"+where.ext())
			var got, want any
			if err := json.Unmarshal([]byte(testdata(t, "features.json")), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(res.Value, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the result (- wanted, + is):\n%s", diff)
			}
			if res.Stderr != "" || !strings.HasSuffix(res.Stdout, " resources\n") {
				t.Errorf(`stdout %q, stderr %q, want "" and %q at its end`, res.Stdout, res.Stderr, " resources\n")
			}
		})
	}
}

// TestCancelReachesTheServer checks that the server learns of a call that its script cancels, or whose run ends.
func TestCancelReachesTheServer(t *testing.T) {
	t.Parallel()
	hang := tool{"name": "hang", "description": "Never answers.", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{}}}
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newTracker(t, hang)
			p.sync()
			said := p.path("cancelled")
			code := map[string]string{
				"typescript": `import { callMCPTool } from "./servers/client.ts"; import fs from "node:fs";
const options = process.argv[2] !== "0" ? { timeoutMs: Number(process.argv[2]) } : {};
fs.writeFileSync("ready", "");
await callMCPTool("tracker__hang", {}, options);`,
				"python": `import sys; from servers.client import call_mcp_tool
options = {"timeout": int(sys.argv[1]) / 1000} if sys.argv[1] != "0" else {}
open("ready", "w").close()
call_mcp_tool("tracker__hang", {}, **options)`,
			}[where.language]
			p.write("hang"+where.ext(), code+"\n")
			for _, end := range []struct {
				name string
				args func(patience time.Duration) []string
				code int
			}{
				{"the script gives up", func(d time.Duration) []string {
					return []string{"hang" + where.ext(), "--", fmt.Sprint(d.Milliseconds())}
				}, 1},
				{"its time", func(d time.Duration) []string {
					return []string{"--call-timeout", d.String(), "hang" + where.ext(), "--", "0"}
				}, 1},
				{"the run's time", func(d time.Duration) []string {
					return []string{"--timeout", (3 * d).String(), "hang" + where.ext(), "--", "0"}
				}, 124},
			} {
				// On a busy machine the call may end before it has reached the server.
				heard := false
				for patience := 300 * time.Millisecond; patience < 10*time.Second && !heard; patience *= 4 {
					p.runJSON(t, where, end.code, end.args(patience)...)
					heard = waitCancelled(said)
				}
				if !heard {
					t.Errorf("%s: the server never heard of it", end.name)
				}
			}
			_ = os.Remove(p.workspace(where) + "/ready")
			cmd := p.command(t.Context(), "mcprun", "--sandbox", where.sandbox, "--workspace", p.workspace(where), "hang"+where.ext(), "--", "0")
			p.start(cmd)
			waitFor(t, cmd, p.workspace(where)+"/ready")
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if cmd.ProcessState.ExitCode() != 130 {
				t.Errorf("exit code %d after Ctrl-C", cmd.ProcessState.ExitCode())
			}
		})
	}
}

// waitCancelled waits for the file in which the server reports a cancelled call, and removes it. It reports whether the file appeared.
func waitCancelled(path string) bool {
	for began := time.Now(); time.Since(began) < 3*time.Second; time.Sleep(5 * time.Millisecond) {
		if os.Remove(path) == nil {
			return true
		}
	}
	return false
}

// waitFor waits until a file exists, or the command has ended.
func waitFor(t *testing.T, cmd *exec.Cmd, path string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < commandTime; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	_ = cmd.Process.Kill()
	t.Fatalf("%s never came", path)
}
