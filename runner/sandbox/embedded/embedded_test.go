package embedded

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// outcome is what a run was.
type outcome struct {
	sandbox.Exit
	*testhost.Result
	stdout, stderr string
}

// kinds are the two ways a child is confined.
func kinds(t *testing.T, f func(t *testing.T, b *Backend)) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			f(t, New(&Options{plain: plain, RuntimeDir: t.TempDir()}))
		})
	}
}

func execute(t testing.TB, b *Backend, spec sandbox.Spec, h testhost.Host, code string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return executeCtx(t, ctx, b, spec, h, code)
}

func executeCtx(t testing.TB, ctx context.Context, b *Backend, spec sandbox.Spec, h testhost.Host, code string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	spec.ID, spec.Runtime, spec.Secret = "test", sandbox.QuickJS, "secret"
	spec.Stdout, spec.Stderr = &stdout, &stderr
	h.Secret = "secret"
	p, err := b.Start(ctx, spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	conn, err := p.Bridge(ctx)
	if err != nil {
		t.Fatalf("bridge: %v", err)
	}
	res, err := h.Serve(conn, code)
	if err != nil {
		t.Errorf("bridge: %v", err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Errorf("wait: %v", err)
	}
	return outcome{exit, res, stdout.String(), stderr.String()}
}

func TestRun(t *testing.T) {
	kinds(t, func(t *testing.T, b *Backend) {
		ws, tree := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(tree, "index.ts"), []byte("// tree"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := execute(t, b, sandbox.Spec{Workspace: ws, Tree: tree}, testhost.Host{}, `
			import fs from "node:fs";
			const r = await globalThis[Symbol.for("mcprun.transport")].call("a__b", { x: 1 });
			fs.writeFileSync("out.txt", JSON.stringify(r));
			fs.writeFileSync("/tmp/x", "tmp");
			console.log(fs.readdirSync("/"), fs.readdirSync("."), fs.readFileSync("./servers/index.ts", "utf8"), fs.readFileSync("/tmp/x", "utf8"));
			try { fs.writeFileSync("./servers/x", "") } catch (e) { console.error(e.code) }
			export const result = { n: 42 };
		`)
		want := "[ 'mcp', 'tmp', 'workspace' ] [ 'out.txt', 'servers' ] // tree tmp\n"
		if got.Code != 0 || got.stdout != want || got.stderr != "EROFS\n" || got.Result.Result != `{"n":42}` {
			t.Errorf("got %+v\n%s", got, got.Exit.Killed)
		}
		if b, err := os.ReadFile(filepath.Join(ws, "out.txt")); err != nil || string(b) != `{"ok":true}` {
			t.Errorf("the written file: %q %v", b, err)
		}
		left, _ := os.ReadDir(b.opts.RuntimeDir)
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

var _ = strings.Contains
