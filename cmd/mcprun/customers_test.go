package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// TestRunsShareTheQuota checks that two concurrent runs of one customer, which both write as much as they can, stay below the
// quota together.
func TestRunsShareTheQuota(t *testing.T) {
	const quota, overshoot = 32 << 20, 24 << 20 // overshoot is what is written until the sandbox checks again
	dir := t.TempDir()
	place := filepath.Join(dir, "state.db")
	script := filepath.Join(dir, "fill.ts")
	code := `import fs from "fs";
for (let i = 0; i < 2000; i++) {
  fs.writeFileSync(process.argv[2] + i, "x".repeat(1e5));
  if (i % 10 === 0) await new Promise((done) => setTimeout(done, 20));
}`
	if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			code, stdout, stderr := mcprun(t, "--sandbox", "embedded", "--timeout", "60s", "--workspaces", filepath.Join(dir, "all"), "--state", place, "--quota", "32MiB", "--customer", "acme", script, fmt.Sprint("f", i, "-"))
			if code != 137 || !strings.Contains(stderr, "quota of customer acme") {
				t.Errorf("run %d: exit code %d, want 137 and \"quota of customer acme\" in it\n%s%s", i, code, stdout, stderr)
			}
		})
	}
	wg.Wait()
	st, err := sqlite.Open(t.Context(), place, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r, err := customer.OpenRoot(filepath.Join(dir, "all"), &customer.RootOptions{Store: func(context.Context) (store.Store, error) { return st, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := r.Find("acme")
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Usage.Total() > quota+overshoot || info.Usage.State < quota/2 || info.Runs != 0 || info.SessionCount != 2 {
		t.Errorf("%+v", info)
	}
	for _, s := range info.Sessions {
		if s.Stats.Runs != 1 || s.Stats.Failed != 1 {
			t.Errorf("%+v, want Stats.Runs 1 and Stats.Failed 1", s)
		}
	}
}

func TestHelpOfCustomers(t *testing.T) {
	for _, args := range [][]string{
		{"workspace"}, {"workspace", "list"}, {"workspace", "show"}, {"workspace", "gc"},
		{"session"}, {"session", "list"}, {"session", "show"}, {"session", "resume"}, {"stats"},
	} {
		code, stdout, stderr := mcprun(t, append(args, "--help")...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "Examples:\n  ") {
			t.Errorf("%v: exit code %d, want 0, \"\" and %q in it\n%s%s", args, code, "Examples:\n  ", stdout, stderr)
		}
	}
	if _, stdout, _ := mcprun(t, "session", "resume", "--help"); !strings.Contains(stdout, "--restore") {
		t.Errorf("--restore is missing in the help of session resume, want \"--restore\" in it:\n%s", stdout)
	}
}
