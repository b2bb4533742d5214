package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// parsePython runs the program that parses Python, for tests without a sandbox: it runs nothing of the files.
func parsePython(t testing.TB, texts map[string]string) json.RawMessage {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-I", "-c", "import json, sys\ncode = json.load(sys.stdin)\n"+judge.PythonProgram()+"\njson.dump(result, sys.stdout)")
	cmd.Stdin = strings.NewReader(string(in))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// judged returns the reports of scripts, by name. Each is a program of its own.
func judged(t testing.TB, files []txtar.File) map[string]*judge.Report {
	t.Helper()
	reports := map[string]*judge.Report{}
	python := map[string]string{}
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".py") {
			python[f.Name] = string(f.Data)
			continue
		}
		facts, err := (*script.Bundler)(nil).Facts(context.Background(), script.Source{Name: f.Name, Code: string(f.Data), Language: sandbox.LangTypeScript}, script.Options{})
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		reports[f.Name] = facts.Judge(&judge.Options{})
	}
	trees := parsePython(t, python)
	for name := range python {
		facts := &judge.Facts{}
		if err := facts.Python(python, []string{name}, trees); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reports[name] = facts.Judge(&judge.Options{Python: true})
	}
	return reports
}

// The least figures that docs/reference/check.md names.
const (
	leastPrecision = 0.97
	leastRecall    = 0.90
)

// TestLabelled judges the labelled scripts: those in bad.txtar should be judged high or critical, those in ordinary.txtar must not.
func TestLabelled(t *testing.T) {
	read := func(name string) []txtar.File {
		a, err := txtar.ParseFile(filepath.Join("testdata", "judge", name))
		if err != nil {
			t.Fatal(err)
		}
		return a.Files
	}
	bad, ordinary := judged(t, read("bad.txtar")), judged(t, read("ordinary.txtar"))
	count := func(reports map[string]*judge.Report, flagged bool) (n int, names []string) {
		for name, r := range reports {
			if (r.Risk >= risk.High) == flagged {
				n++
				names = append(names, fmt.Sprintf("%s: %s: %s", name, r.Risk, r.Reason))
			}
		}
		slices.Sort(names)
		return n, names
	}
	found, _ := count(bad, true)
	_, missed := count(bad, false)
	_, wrong := count(ordinary, true)
	precision, recall := float64(found)/float64(found+len(wrong)), float64(found)/float64(len(bad))
	t.Logf("%d bad and %d ordinary scripts: precision %.1f %%, recall %.1f %%", len(bad), len(ordinary), 100*precision, 100*recall)
	t.Logf("not found:\n  %s", strings.Join(missed, "\n  "))
	t.Logf("found in ordinary scripts:\n  %s", strings.Join(wrong, "\n  "))
	if precision < leastPrecision || recall < leastRecall {
		t.Errorf("precision %.3f, want %.2f; recall %.3f, want %.2f", precision, leastPrecision, recall, leastRecall)
	}
}
