package customer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/workspace"
)

// stateFile is the store of the customers that openTest opens, beside their folder.
const stateFile = "state.db"

// openTest opens a folder of customers with a clock that the test sets.
func openTest(t *testing.T, quota int64) (*Root, *time.Time) {
	t.Helper()
	now := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	r, err := OpenRoot(filepath.Join(dir, "workspaces"), &RootOptions{Quota: quota, Now: func() time.Time { return now }, Store: fileStore(t, filepath.Join(dir, stateFile))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, &now
}

func customer(t *testing.T, r *Root, id string) *Customer {
	t.Helper()
	c, err := r.Customer(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func begin(t *testing.T, c *Customer, want int64) *Lease {
	t.Helper()
	l, err := c.Begin(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestHostileIDs(t *testing.T) {
	r, _ := openTest(t, 0)
	for _, id := range []string{
		"", ".", "..", "...", ".a", "-a", "a.", "a/b", `a\b`, "/etc", "../a", "a/../../b", "a b", "a:b", "C:", "a\x00b", "a\nb", "ä", "a\u202e", "~", "*",
		"con", "NUL", "aux.txt", "COM1", "lpt9.tar.gz", "com0", "%2e%2e", strings.Repeat("a", 65), "\xff",
	} {
		var refused *IDError
		if _, err := r.Customer(id); !errors.As(err, &refused) || refused.Hint() == "" {
			t.Errorf("Customer(%q) = %v, want an *IDError", id, err)
		}
		if _, err := r.FindSession(id); !errors.As(err, &refused) {
			t.Errorf("Session(%q) = %v, want an *IDError", id, err)
		}
		if _, err := customer(t, r, "ok").NewSession(Meta{ID: id}); id != "" && !errors.As(err, &refused) {
			t.Errorf("NewSession(%q) = %v, want an *IDError", id, err)
		}
	}
	for _, id := range []string{"a", "A1", "_", "acme.example", "a-b_c", "7", "console", "com10", strings.Repeat("a", 64)} {
		if err := CheckID("customer", id); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(r.Dir())
	if err != nil || len(entries) != 3 || read(t, filepath.Join(r.Dir(), ".gitignore")) != "*\n" { // the customer, ok, and the lock
		t.Errorf("%v %v", entries, err)
	}
}

func TestIDsThatDifferInCaseOnly(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "Acme")
	var refused *IDError
	if _, err := r.Customer("acme"); !errors.As(err, &refused) || !strings.Contains(err.Error(), `"Acme"`) {
		t.Errorf("Customer() with different case = %v, want an *IDError", err)
	}
	named, err := OpenRoot(r.Dir(), &RootOptions{Named: []string{"ACME", "Delta"}})
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	for _, id := range []string{"delta", "Acme"} { // Acme exists
		if _, err := named.Customer(id); !errors.As(err, &refused) {
			t.Errorf("Customer(%q) that settings name with different case = %v, want an *IDError", id, err)
		}
	}
	if _, err := named.Customer("Delta"); err != nil {
		t.Error(err)
	}
	if _, err := c.NewSession(Meta{ID: "One"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NewSession(Meta{ID: "ONE"}); !errors.As(err, &refused) {
		t.Errorf("NewSession() with different case = %v, want an *IDError", err)
	}
	if _, err := c.NewSession(Meta{ID: "One"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("NewSession() with an existing id = %v, want fs.ErrExist", err)
	}
}

func TestFolders(t *testing.T) {
	r, _ := openTest(t, 0)
	if _, err := r.Find("acme"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find() of a missing customer = %v, want a *NotFoundError", err)
	}
	c := customer(t, r, "acme")
	for _, dir := range []string{c.Dir(), c.Files(), c.Skills(), c.Vault()} {
		info, err := os.Stat(dir)
		want := fs.FileMode(0o700)
		if dir == c.Skills() {
			want = 0o755 // below a folder that others cannot enter
		}
		if err != nil || !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", dir, info, err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(c.Dir(), 0o755); err != nil {
			t.Fatal(err)
		}
		customer(t, r, "acme")
		if info, err := os.Stat(c.Dir()); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder has the mode %v, %v, want it private", info.Mode(), err)
		}
	}
	write(t, filepath.Join(r.Dir(), "notes.txt"), "x")
	customer(t, r, "beta")
	list, err := r.List()
	if err != nil || len(list) != 2 || list[0].ID() != "acme" || list[1].ID() != "beta" {
		t.Errorf("%v %v", list, err)
	}
}

func TestCustomerIsNoLink(t *testing.T) {
	r, _ := openTest(t, 0)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(r.Dir(), "acme")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Customer("acme"); err == nil {
		t.Error("Find() of a link succeeded, want an error")
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("%v was created outside the folder of customers, want len(entries) at most 0", entries)
	}
}

// TestCustomersAtOnce creates one customer, and sessions of it, several times at once.
func TestCustomersAtOnce(t *testing.T) {
	r, _ := openTest(t, 0)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			c, err := r.Customer("acme")
			if err == nil {
				_, err = c.NewSession(Meta{ID: fmt.Sprint("s", i)})
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if s, err := customer(t, r, "acme").Sessions(); len(s) != len(errs) {
		t.Errorf("%d sessions, %v, want %d", len(s), err, len(errs))
	}
}

func TestLease(t *testing.T) {
	r, now := openTest(t, 16<<20)
	c := customer(t, r, "acme")
	write(t, filepath.Join(c.Skills(), "big"), strings.Repeat("x", 3<<20))
	u, err := c.Usage(t.Context())
	if err != nil || u.Skills < 3<<20 {
		t.Fatalf("%+v %v, want Skills at least %v and no error", u, err, 3<<20)
	}
	*now = now.Add(time.Hour)
	a := begin(t, c, 0)
	if want := int64(15<<20) - (u.Total() - u.State); a.Disk != want {
		t.Errorf("Begin() allows a state of %d bytes, want %d", a.Disk, want)
	}
	write(t, filepath.Join(a.Files(), "half"), strings.Repeat("x", 5<<20))
	if b := begin(t, c, 0); b.Disk != a.Disk {
		t.Errorf("a second run may use %d bytes, want %d: together they would exceed the quota", b.Disk, a.Disk)
	}
	if l := begin(t, c, 2<<20); l.Disk != 2<<20 {
		t.Errorf("Begin() ignored the run's own limit: got %d, want %d", l.Disk, 2<<20)
	}
	room, err := c.Room(t.Context())
	if err != nil || room != 1<<20 {
		t.Errorf("Room() = %d, want %d, %v: the rest is promised to runs", room, 1<<20, err)
	}
	info, err := c.Info(t.Context())
	if err != nil || info.Runs != 3 || !info.LastUsed.Equal(*now) || info.Usage.State < 5<<20 {
		t.Errorf("%+v %v", info, err)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	if info, err = c.Info(t.Context()); info.Runs != 2 {
		t.Errorf("%d runs in progress after one has ended, %v, want 2", info.Runs, err)
	}
}

func TestNoRoomForARun(t *testing.T) {
	r, _ := openTest(t, MinQuota)
	c := customer(t, r, "acme")
	write(t, filepath.Join(c.Vault(), "big"), strings.Repeat("x", 3<<20))
	var full *QuotaError
	if _, err := c.Begin(t.Context(), 0); !errors.As(err, &full) || !errors.Is(err, workspace.ErrNoRoom) || full.Hint() == "" {
		t.Errorf("%v", err)
	}
	if _, err := OpenRoot(t.TempDir(), &RootOptions{Quota: 1}); err == nil {
		t.Error("OpenRoot() accepted a quota of one byte: got no error, want an error")
	}
}

// TestDeadRun checks that the files of processes that died do not count as runs.
func TestDeadRun(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	write(t, filepath.Join(c.Dir(), runsDir, "ABCDEF-1000000"), "")
	write(t, filepath.Join(c.Dir(), runsDir, "other"), "")
	if info, err := c.Info(t.Context()); err != nil || info.Runs != 0 {
		t.Errorf("%+v %v, want Runs 0 and no error", info, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(c.Dir(), runsDir)); len(entries) != 1 {
		t.Errorf("%v, want len(entries) 1", entries)
	}
}

func TestLockEndsWithContext(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	unlock, err := c.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Begin(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

func TestGC(t *testing.T) {
	r, now := openTest(t, 0)
	c, busy := customer(t, r, "acme"), customer(t, r, "busy")
	write(t, filepath.Join(c.Files(), "a", "b"), "x")
	write(t, filepath.Join(c.Skills(), "s"), "x")
	for _, id := range []string{"old", "young"} {
		if _, err := c.NewSession(Meta{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := busy.NewSession(Meta{ID: "old"}); err != nil {
		t.Fatal(err)
	}
	begin(t, c, 0).Close()
	*now = now.Add(20 * 24 * time.Hour)
	young, err := c.Session("young")
	if err != nil {
		t.Fatal(err)
	}
	if err := young.Append(Record{Kind: KindTask}); err != nil {
		t.Fatal(err)
	}
	*now = now.Add(15 * 24 * time.Hour)
	begin(t, busy, 0)
	opt := GCOptions{Idle: 30 * 24 * time.Hour, DryRun: true}
	for range 2 {
		got, err := r.GC(t.Context(), opt)
		if err != nil || len(got) != 2 || !slices.Equal(got[0].Sessions, []string{"old"}) || !got[0].State || got[0].Files != 2 || got[0].Bytes == 0 || got[1].Busy != 1 {
			t.Fatalf("dry %v: %+v %v", opt.DryRun, got, err)
		}
		if opt.DryRun {
			read(t, filepath.Join(c.Files(), "a", "b"))
		}
		opt.DryRun = false
	}
	if entries, err := os.ReadDir(c.Files()); err != nil || len(entries) != 0 {
		t.Errorf("GC() left the state %v, %v, want len(entries) 0 and no error", entries, err)
	}
	if list, err := c.Sessions(); err != nil || len(list) != 1 || list[0].ID() != "young" {
		t.Errorf("%v %v", list, err)
	}
	if list, _ := busy.Sessions(); len(list) != 1 {
		t.Errorf("GC() removed a session during a run: got %v, want 1", len(list))
	}
	read(t, filepath.Join(c.Skills(), "s"))
	if _, err := r.GC(t.Context(), GCOptions{}); err == nil {
		t.Error("GC() removed a session that was in use: got no error, want an error")
	}
}

// TestGCOfLockedFolders checks that folders without permissions are removed, and that links are not followed.
func TestGCOfLockedFolders(t *testing.T) {
	r, now := openTest(t, 0)
	c := customer(t, r, "acme")
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, "x")
	write(t, filepath.Join(c.Files(), "a", "b", "c"), "x")
	if err := os.Symlink(outside, filepath.Join(c.Files(), "a", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(c.Files(), "dir")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "a", "."} {
		if err := os.Chmod(filepath.Join(c.Files(), dir), 0); err != nil {
			t.Fatal(err)
		}
	}
	*now = now.Add(time.Hour)
	got, err := r.GC(t.Context(), GCOptions{Idle: time.Minute})
	if err != nil || len(got) != 1 || !got[0].State {
		t.Fatalf("%+v %v", got, err)
	}
	if entries, err := os.ReadDir(c.Files()); err != nil || len(entries) != 0 {
		t.Errorf("%v %v, want len(entries) 0 and no error", entries, err)
	}
	read(t, outside)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
