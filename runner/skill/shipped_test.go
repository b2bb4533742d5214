package skill

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRepository checks that the skills of the program itself work with the repository's tree, and are saved as they are.
func TestRepository(t *testing.T) {
	tree, err := filepath.Abs("../../servers")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open([]Dir{{FS: os.DirFS("../../skills"), Shipped: true}}, &Options{Tree: tree})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range report.Skills {
		names = append(names, k.Name)
		if k.Broken || k.Edited || k.Version == "" || len(k.Instructions()) > 20_000 {
			t.Errorf("%s: broken %v (%s), edited %v; run: mcprun skill save %s", k.Name, k.Broken, k.Reason(), k.Edited, k.Name)
		}
	}
	if got := strings.Join(names, " "); got != "collect-pages compare-records mcp-progressive-discovery save-sheet-as-csv" {
		t.Error(got)
	}
}

// TestView checks that scripts see the skills of all folders in one folder, which is created once and readable for every
// user.
func TestView(t *testing.T) {
	w := newWorld(t)
	save(t, w.open(t), Draft{Name: "one", Code: tsCode})
	below := filepath.Join(w.top, "cache")
	if at, err := w.open(t).View(below); err != nil || at != w.skills {
		t.Errorf("%s %v, want %s and no error", at, err, w.skills)
	}
	own := filepath.Join(w.top, "own")
	both, err := Open([]Dir{{Path: own, Writable: true}, {Path: w.skills}}, &Options{Tree: w.tree})
	if err != nil {
		t.Fatal(err)
	}
	save(t, both, Draft{Name: "two", Code: tsCode})
	at, err := both.View(below)
	if err != nil || filepath.Dir(at) != below || !Readable(at) {
		t.Fatalf("%s %v", at, err)
	}
	for _, name := range []string{"one/scripts/main.ts", "two/SKILL.md"} {
		if _, err := os.Stat(filepath.Join(at, name)); err != nil {
			t.Error(err)
		}
	}
	if again, err := both.View(below); err != nil || again != at {
		t.Errorf("%s %v, want %s and no error", again, err, at)
	}
	save(t, both, Draft{Name: "two", Code: tsCode + "// more\n"})
	if other, err := both.View(below); err != nil || other == at {
		t.Errorf("%s %v", other, err)
	}
	if runtime.GOOS == "windows" {
		return // folders have no such modes
	}
	if err := os.Chmod(w.skills, 0o700); err != nil {
		t.Fatal(err)
	}
	if copied, err := w.open(t).View(below); err != nil || filepath.Dir(copied) != below {
		t.Errorf("View() of a private folder = %s, %v, want a copy", copied, err)
	}
}
