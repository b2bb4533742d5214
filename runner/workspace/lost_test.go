package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLostRun: a run whose process died is in the log, once; one that ended is there as it was logged.
func TestLostRun(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	lost := &Run{Code: "mail ada", Cause: "lost", ExitCode: 125}
	logged := func() (runs []string) {
		t.Helper()
		if _, err := s.Read(func(r *Record) error {
			if r.Kind == KindRun {
				runs = append(runs, r.Run.Code+" "+r.Run.Cause)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return runs
	}
	ended, torn := begin(t, c, 0), begin(t, c, 0)
	for _, l := range []*Lease{ended, torn} {
		if err := l.Note(s, lost); err != nil {
			t.Fatal(err)
		}
	}
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	if c.Sweep(t.Context()); len(logged()) != 0 {
		t.Errorf("while it is under way: %q", logged())
	}
	half := filepath.Join(c.Dir(), runsDir, torn.name+noteEnd)
	if err := os.Truncate(half, 20); err != nil {
		t.Fatal(err)
	}
	died := begin(t, c, 0)
	if err := died.Note(s, lost); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Lease{died, torn} { // as the system does for a process that is gone
		if err := l.file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		begin(t, c, 0).Close() // which looks at the others
	}
	if got := logged(); len(got) != 1 || got[0] != "mail ada lost" {
		t.Errorf("logged %q", got)
	}
	if left, err := os.ReadDir(filepath.Join(c.Dir(), runsDir)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
