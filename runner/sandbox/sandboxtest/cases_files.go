package sandboxtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
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

func diskCases() []testCase {
	small := sandbox.Limits{Disk: 48 << 20}
	disk := func(overshoot int64) func(*recorder, *world, *result) {
		return func(t *recorder, w *world, r *result) {
			if noMeans(t, r) {
				return
			}
			limitOrRefused(sandbox.LimitDisk, sandbox.LimitFileSize)(t, w, r)
			if !slices.Contains(r.exit.Hit, sandbox.LimitDisk) && !slices.Contains(r.exit.Hit, sandbox.LimitFileSize) {
				t.Errorf("the limits hit are %q, without disk", r.exit.Hit)
			}
			if size, _ := w.size(); size > small.Disk+overshoot {
				t.Errorf("the workspace has %d bytes, want at most %d and the overshoot", size, small.Disk)
			}
		}
	}
	return []testCase{
		{name: "one large file", limits: small, heavy: true, check: disk(256 << 20)},
		{name: "a file that is in no folder", limits: small, heavy: true, check: disk(256 << 20)},
		{name: "very many files", coldOnly: true, limits: sandbox.Limits{DiskFiles: 5000}, heavy: true, check: func(t *recorder, w *world, r *result) {
			limitOrRefused(sandbox.LimitDisk)(t, w, r)
			if _, n := w.size(); n > 40_000 {
				t.Errorf("the workspace has %d files, want at most 40,000", n)
			}
		}},
		{name: "very many files in a locked folder", coldOnly: true, limits: small, heavy: true, check: disk(256 << 20)},
		{name: "space in attributes", limits: small, heavy: true, check: limitOrRefused(sandbox.LimitDisk)},
		{name: "holes and links", limits: small, check: nothing},
		{name: "file size limit", limits: sandbox.Limits{FileSize: 1 << 20}, code: both(`
const fs = await import("node:fs");
try { for (let i = 0; i < 100; i++) fs.appendFileSync("big", "x".repeat(100_000)); console.log("LEAK"); } catch {}
console.log("checked");`, `
try:
    with open("big", "wb") as f:
        for _ in range(100): f.write(b"x" * 100_000)
    print("LEAK")
except OSError: pass
print("checked")`),
			check: func(t *recorder, w *world, r *result) {
				harmless(t, w, r) // the run may also have been killed for it
				if size, _ := w.size(); size > 2<<20 {
					t.Errorf("a file of %d bytes could be written", size)
				}
			}},
		{name: "output flood", limits: sandbox.Limits{Output: 2 << 20}, timeout: 20 * time.Second, check: flooded},
		{name: "output flood of errors", limits: sandbox.Limits{Output: 2 << 20}, timeout: 20 * time.Second, check: flooded},
		{name: "output flood of a child", limits: sandbox.Limits{Output: 2 << 20}, timeout: 20 * time.Second, check: flooded},
	}
}

// flooded checks that the output was cut at its limit, which ended the run, and that the output up to the limit arrived.
func flooded(t *recorder, _ *world, r *result) {
	if r.exit.Killed != sandbox.LimitOutput || r.exit.Code != 137 {
		t.Errorf("exit %+v, want 137, killed by output", r.exit)
	}
	late := 0 // the other stream's pipe may have held this much
	if len(r.stdout) > 0 && len(r.stderr) > 0 {
		late = 64 << 10
	}
	if got := len(r.stdout) + len(r.stderr); got < 2<<20 || got > 2<<20+late {
		t.Errorf("got %d bytes of output, want %d", got, 2<<20)
	}
	r.stdout, r.stderr = strings.Clone(r.stdout[:min(100, len(r.stdout))]), strings.Clone(r.stderr[:min(100, len(r.stderr))])
}

// size returns the size of the workspace in bytes, and the number of its files.
func (w *world) size() (bytes int64, files int) {
	_ = filepath.WalkDir(w.workspace, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // a locked folder, when the test does not run as root
		}
		files++
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			bytes += blocks(info)
		}
		return nil
	})
	return bytes, files
}
