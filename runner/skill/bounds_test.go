package skill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// TestListIsLight checks that a list of skills does not hold the data of their files, which are read when needed.
func TestListIsLight(t *testing.T) {
	w := newWorld(t)
	save(t, w.open(t), Draft{Name: "one", Code: tsCode})
	all, err := w.open(t).List()
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	k := all[0]
	if k.content.files != nil || k.Language() != "typescript" || k.Broken {
		t.Errorf("List() holds %d files, language %q, reasons %v", len(k.content.files), k.Language(), k.Reasons)
	}
	if data, err := k.Read("scripts/main.ts"); err != nil || string(data) != tsCode {
		t.Errorf("Read() = %q, %v, want %v and no error", data, err, tsCode)
	}
	if _, code, ok := k.Main(""); !ok || code != tsCode {
		t.Errorf("Main() = %q", code)
	}
	if _, err := k.Read("scripts/../../other"); err == nil {
		t.Error("Read() of a missing file succeeded, want an error")
	}
	if report, err := w.open(t).Check(t.Context()); err != nil || len(report.Broken()) > 0 {
		t.Error(report, err)
	}
	if err := os.WriteFile(filepath.Join(w.skills, "one", "scripts", "main.ts"), []byte(strings.Replace(tsCode, "Save", "Keep", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := k.Read("scripts/main.ts"); err == nil {
		t.Errorf("Read() of a changed file = %q, want an error", data)
	}
}

// TestViewsAreBounded checks that views do not fill the disk if a skill is saved and run again and again.
func TestViewsAreBounded(t *testing.T) {
	w := newWorld(t)
	save(t, w.open(t), Draft{Name: "one", Code: tsCode})
	both, err := Open([]Dir{{Path: filepath.Join(w.top, "own"), Writable: true}, {Path: w.skills}}, &Options{Tree: w.tree})
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(w.top, "cache")
	large := filepath.Join(below, fmt.Sprintf("%s-%s-%d", both.key(), strings.Repeat("0", 32), maxViews))
	foreign := filepath.Join(below, fmt.Sprintf("%s-%s-%d", strings.Repeat("0", 16), strings.Repeat("0", 32), maxViews))
	for _, dir := range []string{large, foreign} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	save(t, both, Draft{Name: "two", Code: tsCode})
	if at, err := both.View(below); !errors.As(err, new(*ViewError)) {
		t.Errorf("View() = %s, %v", at, err)
	}
	past := time.Now().Add(-2 * viewUsed)
	if err := os.Chtimes(large, past, past); err != nil {
		t.Fatal(err)
	}
	if at, err := both.View(below); err != nil || at == "" {
		t.Errorf("View() = %s, %v", at, err)
	}
	if _, err := os.Stat(large); err == nil {
		t.Error("View() kept an old view without room for it: got no error, want an error")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("a view of other folders was removed")
	}
}

// TestChecksAreBounded checks that scripts that keep a type checker busy until its timeout do not add up.
func TestChecksAreBounded(t *testing.T) {
	w := newWorld(t)
	checks, bounded := 0, 0
	s, err := Open([]Dir{{Path: w.skills, Writable: true}}, &Options{Tree: w.tree, Check: func(ctx context.Context, _ script.Source) ([]check.Problem, error) {
		checks++
		if _, ok := ctx.Deadline(); ok {
			bounded++
		}
		return nil, errors.New("it was not done")
	}})
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, Draft{Name: "one", Code: tsCode})
	for _, name := range []string{"two", "three", "four", "five"} {
		if saved := save(t, s, Draft{Name: name, Code: tsCode, Author: AuthorScript}); len(saved.Warnings) != 1 {
			t.Errorf("%q, want len(saved.Warnings) 1", saved.Warnings)
		}
	}
	if checks != 5 || bounded != 4 {
		t.Errorf("%d type checks, %d of them with the store's timeout, want 5 and 4", checks, bounded)
	}
	checks = 0
	report, err := s.Check(t.Context())
	if err != nil || checks != maxUnchecked || !strings.Contains(strings.Join(report.Warnings, "\n"), "further skills were not checked") {
		t.Errorf(`%d checks, %q %v, want %d, "further skills were not checked" in it and no error`, checks, report.Warnings, err, maxUnchecked)
	}
}
