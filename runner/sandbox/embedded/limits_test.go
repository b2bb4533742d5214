package embedded

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

// TestLimits exceeds each limit that ends a script. Output printed before must arrive.
func TestLimits(t *testing.T) {
	const begin = `console.log("before"); const fs = require("fs"); `
	for name, c := range map[string]struct {
		limits sandbox.Limits
		code   string
	}{
		sandbox.LimitMemory: {sandbox.Limits{Memory: 100_000_000}, `const keep = []; for (;;) keep.push("x".repeat(1e5) + keep.length);`},
		sandbox.LimitCPU:    {sandbox.Limits{CPU: time.Second}, `for (;;);`},
		sandbox.LimitOutput: {sandbox.Limits{Output: 1 << 20}, `for (let i = 0; i < 5000; i++) console.log("x".repeat(1000));`},
		sandbox.LimitDisk:   {sandbox.Limits{Disk: 8 << 20}, `for (let i = 0; i < 64; i++) { fs.writeFileSync("f" + i, "x".repeat(1 << 20)); await new Promise((ok) => setTimeout(ok, 200)); }`},
	} {
		t.Run(name, func(t *testing.T) {
			kinds(t, func(t *testing.T, b kind) {
				ws := t.TempDir()
				got := execute(t, b, sandbox.Spec{Limits: c.limits, Workspace: ws}, testhost.Host{}, begin+c.code)
				if got.Killed != name || !slices.Contains(got.Hit, name) || !strings.HasPrefix(got.stdout, "before\n") {
					t.Errorf("%+v, stdout %.100q, stderr %.300q, want Killed %v, %v in it and %q at its start", got.Exit, got.stdout, got.stderr, name, name, "before\n")
				}
				if n := len(got.stdout) + len(got.stderr); c.limits.Output > 0 && n != int(c.limits.Output) {
					t.Errorf("%d bytes of output, the limit is %d", n, c.limits.Output)
				}
			})
		})
	}
}

func TestDiskFiles(t *testing.T) {
	kinds(t, func(t *testing.T, b kind) {
		got := execute(t, b, sandbox.Spec{Limits: sandbox.Limits{DiskFiles: 100}, Workspace: t.TempDir()}, testhost.Host{},
			`const fs = require("fs"); for (let i = 0; i < 1000; i++) { fs.mkdirSync("d" + i); await new Promise((ok) => setTimeout(ok, 20)); }`)
		if got.Killed != sandbox.LimitDisk {
			t.Errorf("%+v, stderr %.300q: got %v, want %v", got.Exit, got.stderr, got.Killed, sandbox.LimitDisk)
		}
	})
}

func TestFilesAreBounded(t *testing.T) {
	kinds(t, func(t *testing.T, b kind) {
		got := execute(t, b, sandbox.Spec{Limits: sandbox.Limits{FileSize: 1 << 20}}, testhost.Host{}, `
			const fs = require("fs");
			try { fs.writeFileSync("big", "x".repeat(2 << 20)) } catch (e) { console.log(e.code) }
			console.log(fs.statSync("big").size);
			try { fs.appendFileSync("big", "y") } catch (e) { console.log(e.code) }
			fs.writeFileSync("big", "small"); fs.appendFileSync("big", "er"); console.log(fs.readFileSync("big", "utf8"));
		`)
		if got.stdout != "EFBIG\n1048576\nEFBIG\nsmaller\n" {
			t.Errorf("%+v %q %q, want %q", got.Exit, got.stdout, got.stderr, "EFBIG\n1048576\nEFBIG\nsmaller\n")
		}
	})
}

// TestLimitsOfTheRun uses limits that are smaller and greater than those with which an idle guest was started.
func TestLimitsOfTheRun(t *testing.T) {
	kinds(t, func(t *testing.T, b kind) {
		const need = `const keep = []; for (let i = 0; i < 300; i++) keep.push(new Uint8Array(1 << 20).fill(1)); console.log(keep.length);`
		if got := execute(t, b, sandbox.Spec{Limits: sandbox.Limits{Memory: 1 << 30}}, testhost.Host{}, need); got.stdout != "300\n" {
			t.Errorf("with a gigabyte: %+v, stderr %.300q: got %v, want %q", got.Exit, got.stderr, got.stdout, "300\n")
		}
		if got := execute(t, b, sandbox.Spec{Limits: sandbox.Limits{Memory: 200 << 20}}, testhost.Host{}, need); got.Killed != sandbox.LimitMemory {
			t.Errorf("with 200 MiB: %+v, stderr %.300q: got %v, want %v", got.Exit, got.stderr, got.Killed, sandbox.LimitMemory)
		}
	})
}

// TestFullWorkspace uses a workspace that already exceeds its limit when the run starts, which is up to its owner.
func TestFullWorkspace(t *testing.T) {
	kinds(t, func(t *testing.T, b kind) {
		ws := t.TempDir()
		if err := os.WriteFile(filepath.Join(ws, "old"), make([]byte, 4<<20), 0o644); err != nil {
			t.Fatal(err)
		}
		got := execute(t, b, sandbox.Spec{Limits: sandbox.Limits{Disk: 1 << 20}, Workspace: ws}, testhost.Host{},
			`const fs = require("fs"); console.log(fs.statSync("old").size); await new Promise((ok) => setTimeout(ok, 200));`)
		if got.Code != 0 || got.Killed != "" {
			t.Errorf(`%+v, stderr %.300q, want Code 0 and Killed ""`, got.Exit, got.stderr)
		}
	})
}

func TestTmpIsBounded(t *testing.T) {
	kinds(t, func(t *testing.T, b kind) {
		got := execute(t, b, sandbox.Spec{Limits: sandbox.Limits{Tmp: 4 << 20}}, testhost.Host{}, `
			const fs = require("fs"), mb = "x".repeat(1 << 20);
			let n = 0; try { for (; n < 10; n++) fs.appendFileSync("/tmp/big", mb) } catch (e) { console.log(e.code) }
			console.log(n <= 4, n >= 3);
			fs.rmSync("/tmp/big"); for (let i = 0; i < 20; i++) fs.writeFileSync("/tmp/again", mb);
			try { for (let i = 0; i < 1e5; i++) fs.writeFileSync("/tmp/f" + i, "x") } catch (e) { console.log(e.code) }
		`)
		if got.stdout != "ENOSPC\ntrue true\nENOSPC\n" {
			t.Errorf("%+v %q %q, want %q", got.Exit, got.stdout, got.stderr, "ENOSPC\ntrue true\nENOSPC\n")
		}
	})
}
