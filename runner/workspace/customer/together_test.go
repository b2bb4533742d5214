package customer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTogether uses one customer in every way at once. A state must always be complete: the files of one writer have the same content.
func TestTogether(t *testing.T) {
	r, err := OpenRoot(t.TempDir(), &RootOptions{Store: newStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	l := begin(t, c, 0)
	writeWhole(t, l, "first")
	l.Close()
	if _, err := s.Checkpoint(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	var writing sync.Mutex // the script's part: writers that hold the state at once must agree among themselves
	var wg sync.WaitGroup
	for i, do := range []func(i int) error{
		func(i int) error {
			l, err := c.Begin(t.Context(), 0)
			if err != nil {
				return err
			}
			writing.Lock()
			checkWhole(t, l.Files())
			writeWhole(t, l, fmt.Sprint("w", i))
			writing.Unlock()
			return errors.Join(s.Append(Record{Kind: KindRun, Run: &Run{Cause: "exit"}}), l.Close())
		},
		func(int) error { _, err := s.Restore(t.Context(), "first"); return err },
		func(i int) error {
			writing.Lock()
			defer writing.Unlock()
			_, err := s.Checkpoint(t.Context(), fmt.Sprint("c", i))
			return err
		},
		func(int) error {
			_, err := r.GC(t.Context(), GCOptions{Idle: time.Hour})
			return err
		},
		func(int) error { _, err := c.Info(t.Context()); return err },
		func(i int) error { _, err := c.NewSession(Meta{ID: fmt.Sprint("s", i)}); return err },
	} {
		wg.Go(func() {
			for n := range 8 {
				var busy *BusyError
				if err := do(n); err != nil && !errors.As(err, &busy) {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	checkWhole(t, c.Files())
	list, err := s.Checkpoints()
	if err != nil || len(list) != 9 {
		t.Errorf("%d checkpoints, %v, want 9 and no error", len(list), err)
	}
	for _, cp := range list {
		checkWhole(t, filepath.Join(c.Dir(), sessionsDir, "one", checkpointsDir, cp.Name, checkpointFiles))
	}
	stats, err := s.Stats()
	if err != nil || stats.Runs != 8 {
		t.Errorf("%+v %v, want Runs 8 and no error", stats, err)
	}
	if all, err := c.Stats(t.Context()); err != nil || len(all.Sessions) != 9 {
		t.Errorf("%v, want len(all.Sessions) 9 and no error", err)
	}
	if info, err := c.Info(t.Context()); err != nil || info.Runs != 0 {
		t.Errorf("%+v %v, want Runs 0 and no error", info, err)
	}
}

const wholeFiles = 5

func writeWhole(t *testing.T, l *Lease, text string) {
	t.Helper()
	for i := range wholeFiles {
		if err := os.WriteFile(filepath.Join(l.Files(), fmt.Sprint("f", i)), []byte(strings.Repeat(text+" ", 100)), 0o600); err != nil {
			t.Error(err)
		}
	}
}

func checkWhole(t *testing.T, dir string) {
	t.Helper()
	var all []string
	for i := range wholeFiles {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("f", i)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		all = append(all, string(text))
	}
	for _, text := range all {
		if text != all[0] || text == "" {
			t.Errorf("%s mixes files of two writers: %.20q, %.20q", dir, text, all[0])
		}
	}
}
