package sandboxtest

import (
	"os"
	"path/filepath"
	"testing"
)

func fileCases() []testCase {
	return []testCase{
		{name: "workspace persists",
			setup: func(t *testing.T, w *world) {
				must(t, os.WriteFile(filepath.Join(w.workspace, "in.txt"), []byte("from before"), 0o666))
			},
			code: both(
				`import fs from "node:fs"; fs.mkdirSync("dir"); fs.writeFileSync("dir/out.txt", fs.readFileSync("in.txt", "utf8") + "!"); fs.renameSync("dir/out.txt", "/workspace/moved.txt"); console.log(process.cwd());`,
				`import os
os.mkdir("dir"); open("dir/out.txt", "w").write(open("in.txt").read() + "!"); os.rename("dir/out.txt", "/workspace/moved.txt"); print(os.getcwd())`),
			check: func(t *recorder, w *world, r *result) {
				prints("/workspace\n")(t, w, r)
				if got, err := os.ReadFile(filepath.Join(w.workspace, "moved.txt")); err != nil || string(got) != "from before!" {
					t.Errorf("the file on the host: %q, %v", got, err)
				}
			}},
		{name: "tmp is private",
			setup: func(t *testing.T, w *world) {
				if list, err := filepath.Glob(filepath.Join(os.TempDir(), "sandboxtest-*")); err != nil || len(list) == 0 {
					t.Fatalf("the temporary folder of the host has no file that must not be visible inside: %v", err)
				}
			},
			code: both(`
const fs = await import("node:fs");
fs.writeFileSync("/tmp/@ID@", "x");
for (const name of fs.readdirSync("/tmp")) if (name.startsWith("sandboxtest-")) console.log("LEAK", name);
console.log(fs.readFileSync("/tmp/@ID@", "utf8"));`, `
import os
open("/tmp/@ID@", "w").write("x")
for name in os.listdir("/tmp"):
    if name.startswith("sandboxtest-"): print("LEAK", name)
print(open("/tmp/@ID@").read())`), check: prints("x\n")},
	}
}
