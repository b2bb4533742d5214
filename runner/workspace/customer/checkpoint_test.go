package customer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCheckpoint(t *testing.T) {
	r, now := openTest(t, 0)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	if _, err := s.Restore(t.Context(), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Restore() without checkpoints = %v, want a *NotFoundError", err)
	}
	old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := filepath.Join(c.Files(), "a", "b.txt")
	write(t, at, "one")
	if err := errors.Join(os.Chmod(at, 0o751), os.Chtimes(at, old, old)); err != nil {
		t.Fatal(err)
	}
	info, err := s.Checkpoint(t.Context(), "first")
	if err != nil || info.Files != 1 || info.Bytes != 3 || info.Skipped != 0 {
		t.Fatalf("%+v %v, want Files 1, Bytes 3, Skipped 0 and no error", info, err)
	}
	if _, err := s.Checkpoint(t.Context(), "FIRST"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Checkpoint() with an existing name = %v, want fs.ErrExist", err)
	}
	var refused *IDError
	if _, err := s.Checkpoint(t.Context(), "../x"); !errors.As(err, &refused) {
		t.Errorf("Checkpoint() with a hostile name = %v, want an *IDError", err)
	}
	write(t, at, "two")
	write(t, filepath.Join(c.Files(), "new"), "x")
	*now = now.Add(time.Minute)
	if info, err = s.Checkpoint(t.Context(), ""); err != nil || info.Files != 2 || info.Name != "20261003-120100.000" {
		t.Fatalf(`%+v %v, want Files 2, Name "20261003-120100.000" and no error`, info, err)
	}
	write(t, at, "three")
	if _, err := s.Restore(t.Context(), ""); err != nil || read(t, at) != "two" {
		t.Errorf("Restore() of the last checkpoint = %v", err)
	}
	if _, err := s.Restore(t.Context(), "first"); err != nil || read(t, at) != "one" {
		t.Errorf("Restore() of the first checkpoint = %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Files(), "new")); err == nil {
		t.Error("Restore() left a file that is not in the checkpoint: got no error, want an error")
	}
	if st, err := os.Stat(at); err != nil || !st.ModTime().Equal(old) || st.Mode().Perm() != 0o777 {
		t.Errorf("%v %v", st, err)
	}
	if _, err := s.Restore(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Restore() of a missing checkpoint = %v, want a *NotFoundError", err)
	}
	list, _ := records(t, s)
	var kinds []string
	for _, rec := range list {
		kinds = append(kinds, string(rec.Kind))
	}
	if got := strings.Join(kinds, " "); got != "session checkpoint checkpoint restore restore" {
		t.Errorf(`the log has the kinds %s, want "session checkpoint checkpoint restore restore"`, got)
	}
	if entries, err := os.ReadDir(c.Dir()); err != nil || len(entries) != 7 { // 4 folders, runs, lock, used
		t.Errorf("%v %v, want len(entries) 7 and no error", entries, err)
	}
}

func TestRestoreWaitsForRuns(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	l := begin(t, c, 0)
	if _, err := s.Checkpoint(t.Context(), "a"); err != nil {
		t.Errorf("Checkpoint() during a run = %v", err)
	}
	var busy *BusyError
	if _, err := s.Restore(t.Context(), "a"); !errors.As(err, &busy) || busy.Runs != 1 {
		t.Errorf("%v", err)
	}
	l.Close()
	if _, err := s.Restore(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

func TestCheckpointQuota(t *testing.T) {
	r, _ := openTest(t, 8<<20)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	write(t, filepath.Join(c.Files(), "a"), strings.Repeat("x", 3<<20))
	if _, err := s.Checkpoint(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	var full *QuotaError
	if _, err := s.Checkpoint(t.Context(), "b"); !errors.As(err, &full) {
		t.Errorf("Checkpoint() of 3 MiB with 2 MiB left = %v, want a *QuotaError", err)
	}
	dir := filepath.Join(c.Dir(), sessionsDir, "one", checkpointsDir)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v %v, want len(entries) 1 and no error", entries, err)
	}
	write(t, filepath.Join(c.Files(), "b"), "new")
	if err := os.Truncate(filepath.Join(dir, "a", checkpointFiles, "a"), 7<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context(), "a"); !errors.As(err, &full) {
		t.Errorf("Restore() of more than the quota = %v, want a *QuotaError", err)
	}
	read(t, filepath.Join(c.Files(), "b"))
}

func TestCheckpointEndsWithContext(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	write(t, filepath.Join(c.Files(), "a"), "x")
	if _, err := s.Checkpoint(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.Files(), "a"), "y")
	ctx, cancel := context.WithCancel(t.Context())
	state, err := c.openIn(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	cancel()
	dir, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := copyToState(ctx, dir, state, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if read(t, filepath.Join(c.Files(), "a")) != "y" {
		t.Error("a canceled restore changed the state")
	}
}

// TestRecover checks that a restore whose process died leaves the old or the new state.
func TestRecover(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	write(t, filepath.Join(c.Files(), "a"), "old")
	if err := os.Rename(c.Files(), filepath.Join(c.Dir(), stateOld)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.Dir(), stateNew, "a"), "half")
	c = customer(t, r, "acme")
	if read(t, filepath.Join(c.Files(), "a")) != "old" {
		t.Error("the old state was not restored")
	}
	write(t, filepath.Join(c.Dir(), stateOld, "a"), "older")
	begin(t, c, 0)
	for _, name := range []string{stateNew, stateOld} {
		if _, err := os.Stat(filepath.Join(c.Dir(), name)); err == nil {
			t.Errorf("%s was left: got no error, want an error", name)
		}
	}
	if read(t, filepath.Join(c.Files(), "a")) != "old" {
		t.Error("the state was replaced")
	}
}
