package sandboxtest

import (
	"testing"
	"time"
)

func endCases() []testCase {
	return []testCase{
		{name: "daemons end with the script", code: python(`
import subprocess, sys, os
code = "import os, signal, time\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nwhile True: pass"
subprocess.run([sys.executable, "-c", code, "@ID@"])
subprocess.Popen([sys.executable, "-c", "while True: pass", "@ID@"], start_new_session=True)
print("started")`), check: prints("started\n")},
		{name: "busy children end with a kill", timeout: 2 * time.Second, code: both(`
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
		{name: "a guest without its host ends", timeout: 20 * time.Second, code: both(
			importTS+`callMCPTool("test__drop", {}).catch(() => {}); setInterval(() => {}, 1000); await new Promise(() => {});`,
			importPy+`import time
try: call_mcp_tool("test__drop", {})
except Exception: pass
time.sleep(60)`),
			check: func(t *testing.T, _ *world, r *result) {
				if r.elapsed > 10*time.Second {
					t.Errorf("the guest lived on for %v without its host", r.elapsed)
				}
			}},
		{name: "closed streams", code: python(`
import os
os.close(0); os.close(1); os.close(2)
open("done", "w").write("1")`),
			check: func(t *testing.T, _ *world, r *result) {
				if r.elapsed > 10*time.Second {
					t.Errorf("took %v", r.elapsed)
				}
			}},
	}
}
