package customer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// earlier returns a folder of customers that a version with files made.
func earlier(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "workspaces")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "files"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// openRoot opens a folder of customers with a store.
func openRoot(t *testing.T, dir string, state store.Opener, moved func(string)) *Root {
	t.Helper()
	r, err := OpenRoot(dir, &RootOptions{Store: state, Moved: moved})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// checkMoved checks that the sessions are as the files in testdata had them, with this many more records in the session leads.
func checkMoved(t *testing.T, r *Root, more int) *Session {
	t.Helper()
	c := customer(t, r, "acme")
	list, err := c.Sessions()
	if err != nil || len(list) != 2 || list[0].ID() != "empty" || list[1].ID() != "leads" {
		t.Fatalf("Sessions() = %v, %v, want empty and leads", list, err)
	}
	for i, s := range list {
		var got strings.Builder
		for line := range strings.Lines(logText(t, s)) {
			got.WriteString(line)
		}
		want := read(t, filepath.Join("testdata", "files", "acme", sessionsDir, s.ID(), logName))
		if text, more := strings.CutPrefix(got.String(), want); !more || i == 0 && text != "" {
			t.Errorf("session %s has the log\n%s\nwant\n%s", s.ID(), got.String(), want)
		}
	}
	s := list[1]
	records, bad := records(t, s)
	if len(records) != 8+more || bad != 0 {
		t.Errorf("%d records, %d bad, want %d and 0", len(records), bad, 8+more)
	}
	checkpoints, err := s.Checkpoints()
	if err != nil || len(checkpoints) != 2 || checkpoints[0].Name != "imported" || checkpoints[0].Bytes != 9 || checkpoints[1].Files != 2 {
		t.Errorf("Checkpoints() = %+v, %v", checkpoints, err)
	}
	return s
}

func TestMoveFiles(t *testing.T) { testMoveFiles(t, newStore(t)) }

// testMoveFiles moves files to a store, with several processes at once.
func testMoveFiles(t *testing.T, state store.Opener) {
	dir := earlier(t)
	was, err := os.Stat(filepath.Join(dir, "acme", sessionsDir, "leads", logName))
	if err != nil {
		t.Fatal(err)
	}
	var said atomic.Int32
	var wg sync.WaitGroup
	for i := range 4 {
		r := openRoot(t, dir, state, func(line string) {
			if said.Add(1); !strings.Contains(line, "moved the sessions of customer acme (2) ") || !strings.Contains(line, "log.jsonl.moved") {
				t.Errorf("it said %q", line)
			}
		})
		wg.Go(func() {
			s, err := r.FindSession("leads")
			if err == nil {
				err = s.Append(Record{Kind: KindTask, Task: fmt.Sprint(i)})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := said.Load(); n != 1 {
		t.Errorf("%d processes said that they moved sessions, want 1", n)
	}
	r := openRoot(t, dir, state, nil)
	s := checkMoved(t, r, 4)
	for _, name := range []string{logName, "checkpoints/imported/" + checkpointInfo} {
		path := filepath.Join(s.customer.Dir(), sessionsDir, s.ID(), filepath.FromSlash(name))
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
		read(t, path+movedSuffix)
	}
	u, err := s.customer.Usage(t.Context())
	_, logs, err2 := s.customer.sessionDocuments(t.Context(), must(state(t.Context())))
	files, _ := measure(must(s.customer.open()), sessionsDir)
	if err != nil || err2 != nil || logs < was.Size() || u.Sessions >= logs+files {
		t.Errorf("Usage() = %+v, %v, %v, want less than the %d bytes of logs and %d of files: files that were moved do not count", u, err, err2, logs, files)
	}
	if _, err := s.Restore(t.Context(), "second"); err != nil || read(t, filepath.Join(s.customer.Files(), "more.csv")) != "x" {
		t.Errorf("Restore() of a checkpoint that was moved = %v", err)
	}
	if n := said.Load(); n != 1 {
		t.Error("sessions were moved again")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestLastUsedOfMoved(t *testing.T) {
	dir := earlier(t)
	info, err := os.Stat(filepath.Join(dir, "acme", sessionsDir, "leads", logName))
	if err != nil {
		t.Fatal(err)
	}
	s := checkMoved(t, openRoot(t, dir, newStore(t), nil), 0)
	got, err := s.Info()
	if err != nil || !got.LastUsed.Equal(info.ModTime()) || got.Stats.Runs != 3 || got.Title != "import the September leads" {
		t.Errorf("Info() = %+v, %v, want LastUsed %v", got, err, info.ModTime())
	}
}

// failing is a store whose writes fail, except the first ones.
type failing struct {
	store.Store
	left *int // writes that succeed
	err  error
}

func (f failing) write() error {
	if *f.left--; *f.left < 0 {
		return f.err
	}
	return nil
}

func (f failing) SetDocument(ctx context.Context, d *store.Document) (int64, error) {
	if err := f.write(); err != nil {
		return 0, err
	}
	return f.Store.SetDocument(ctx, d)
}

func (f failing) AppendLine(ctx context.Context, k store.Key, value []byte) (int64, error) {
	if err := f.write(); err != nil {
		return 0, err
	}
	return f.Store.AppendLine(ctx, k, value)
}

func (f failing) DeleteDocument(ctx context.Context, k store.Key) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.DeleteDocument(ctx, k)
}

func (f failing) DeleteLog(ctx context.Context, k store.Key) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.DeleteLog(ctx, k)
}

// TestMoveIsInterrupted interrupts the move at each write to the store, as the death of the process does, and completes it then.
func TestMoveIsInterrupted(t *testing.T) {
	died := errors.New("died")
	for n := 0; ; n++ {
		dir, state := earlier(t), newStore(t)
		st := must(state(t.Context()))
		left := n
		r := openRoot(t, dir, func(context.Context) (store.Store, error) { return failing{st, &left, died}, nil }, nil)
		list, err := customer(t, r, "acme").Sessions()
		if err == nil && n > 8 { // it was not interrupted
			return
		}
		if !errors.Is(err, died) || len(list) > 0 {
			t.Fatalf("after %d writes: %v, %v, want no sessions and %v", n, list, err, died)
		}
		left = n / 2 // and once more
		_, _ = customer(t, r, "acme").Sessions()
		checkMoved(t, openRoot(t, dir, state, nil), 0)
		logs, err := st.ListLogs(t.Context(), "acme", kindLog)
		if err != nil || len(logs) != 2 {
			t.Errorf("after %d writes: the store has the logs %q, %v, want 2", n, logs, err)
		}
	}
}

// TestMoveDiesBeforeRename: a session that is in the store, and whose file has not been renamed yet, is not moved twice.
func TestMoveDiesBeforeRename(t *testing.T) {
	dir, state := earlier(t), newStore(t)
	s := checkMoved(t, openRoot(t, dir, state, nil), 0)
	for _, name := range []string{logName, "checkpoints/imported/" + checkpointInfo} {
		path := filepath.Join(s.customer.Dir(), sessionsDir, s.ID(), filepath.FromSlash(name))
		if err := os.Rename(path+movedSuffix, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(Record{Kind: KindTask}); err != nil {
		t.Fatal(err)
	}
	checkMoved(t, openRoot(t, dir, state, nil), 1)
}

// TestMoveToAnotherSession: a session of the store is not mixed with one of the same name in a file.
func TestMoveToAnotherSession(t *testing.T) {
	state := newStore(t)
	session(t, customer(t, openRoot(t, t.TempDir(), state, nil), "acme"), "leads")
	dir := earlier(t)
	r := openRoot(t, dir, state, nil)
	if _, err := customer(t, r, "acme").Session("leads"); err == nil || !strings.Contains(err.Error(), "rename the folder") {
		t.Errorf("Session() = %v, want an error that says what to rename", err)
	}
	sessions := filepath.Join(dir, "acme", sessionsDir)
	if err := os.Rename(filepath.Join(sessions, "leads"), filepath.Join(sessions, "leads-2")); err != nil {
		t.Fatal(err)
	}
	if list, err := customer(t, r, "acme").Sessions(); err != nil || len(list) != 3 {
		t.Errorf("Sessions() after that = %v, %v, want 3", list, err)
	}
}

// TestLogOfMoved checks that a log that is longer than a line of the store stays in order.
func TestLogOfMoved(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	var text strings.Builder
	for i := range 200 {
		line, err := json.Marshal(Record{Kind: KindTask, Task: fmt.Sprint(i, strings.Repeat("x", 8000))})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	writeOldLog(t, c, "long", text.String())
	s, err := c.Session("long")
	if err != nil {
		t.Fatal(err)
	}
	list, bad := records(t, s)
	if len(list) != 200 || bad != 0 || logText(t, s) != text.String() {
		t.Errorf("%d records, %d bad, want 200 and 0, in order", len(list), bad)
	}
}

// TestFullDisk: a log on a full disk says so, and has all lines that were appended.
func TestFullDisk(t *testing.T) {
	st := must(newStore(t)(t.Context()))
	left := 100
	r := openRoot(t, t.TempDir(), func(context.Context) (store.Store, error) {
		return failing{st, &left, fmt.Errorf("x.db: %w", store.ErrFull)}, nil
	}, nil)
	s := session(t, customer(t, r, "acme"), "one")
	for left = range 2 {
		if err := s.Append(Record{Kind: KindTask}); !errors.Is(err, store.ErrFull) || errors.Is(err, workspace.ErrNoRoom) {
			t.Errorf("Append() on a full disk = %v, want %v", err, store.ErrFull)
		}
	}
	left = 100
	if err := s.Append(Record{Kind: KindTask, Task: "after"}); err != nil {
		t.Error(err)
	}
	if list, bad := records(t, s); len(list) != 2 || bad != 0 || list[1].Task != "after" {
		t.Errorf("the log has %+v, want the first and the last line", list)
	}
}

// TestGCIsInterrupted interrupts the removal of a session at each write to the store. The session is there, or it is not, and a new one of that
// name has nothing of it.
func TestGCIsInterrupted(t *testing.T) {
	died := errors.New("died")
	for n := 0; ; n++ {
		st := must(newStore(t)(t.Context()))
		left := 100
		r := openRoot(t, t.TempDir(), func(context.Context) (store.Store, error) { return failing{st, &left, died}, nil }, nil)
		c := customer(t, r, "acme")
		if _, err := session(t, c, "one").Checkpoint(t.Context(), "first"); err != nil {
			t.Fatal(err)
		}
		r.opt.Now = func() time.Time { return time.Now().Add(time.Hour) }
		left = n
		_, err := r.GC(t.Context(), GCOptions{Idle: time.Minute})
		done := err == nil
		left = 100
		if s, err := c.Session("one"); err == nil {
			if list, err := s.Checkpoints(); err != nil || len(list) != 1 || n > 0 {
				t.Errorf("after %d writes, the session has the checkpoints %v, %v", n, list, err)
			}
			continue
		}
		s := session(t, c, "one")
		list, err := s.Checkpoints()
		if records, bad := records(t, s); err != nil || len(list) > 0 || len(records) != 1 || bad != 0 {
			t.Errorf("after %d writes, a new session has %+v and %v, %v", n, records, list, err)
		}
		if _, err := s.Checkpoint(t.Context(), "first"); err != nil {
			t.Errorf("after %d writes, Checkpoint() in a new session = %v", n, err)
		}
		if done {
			return
		}
	}
}
