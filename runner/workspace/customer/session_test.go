package customer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

func session(t *testing.T, c *Customer, id string) *Session {
	t.Helper()
	s, err := c.NewSession(Meta{ID: id, Title: "the " + id})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// logText returns the session's log as it is in the store.
func logText(t *testing.T, s *Session) string {
	t.Helper()
	st, err := s.customer.store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := s.document(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := st.Lines(t.Context(), s.key(kindLog, doc.Log), 0, func(l store.Line) error { text.Write(l.Value); return nil }); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// writeOldLog writes a log as earlier versions did.
func writeOldLog(t *testing.T, c *Customer, id, text string) {
	t.Helper()
	write(t, filepath.Join(c.Dir(), sessionsDir, id, logName), text)
}

func records(t *testing.T, s *Session) (list []Record, bad int) {
	t.Helper()
	bad, err := s.Read(func(r *Record) error { list = append(list, *r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return list, bad
}

func TestSessionLog(t *testing.T) {
	r, now := openTest(t, 0)
	c := customer(t, r, "acme")
	s := session(t, c, "")
	if !strings.HasPrefix(s.ID(), "20261003-120000-") {
		t.Errorf(`NewSession() generated the id %q, want "20261003-120000-" at its start`, s.ID())
	}
	run := &Run{
		Name: "a.ts", Language: "typescript", Code: "1 + 1\n", Cause: "exit", DurationMS: 12.5, Result: json.RawMessage(`{"a": 1}`), Output: "<2>\n",
		Calls: []Call{{Tool: "drive__list", MS: 1.5, Outcome: "ok"}}, Files: []string{"a.csv"}, Tokens: &Tokens{Used: 1, Direct: 100, Definitions: 90, Results: 10, Saved: 99},
	}
	*now = now.Add(time.Minute)
	for _, rec := range []Record{{Kind: KindTask, Task: "do\nit"}, {Kind: KindRun, Run: run}} {
		if err := s.Append(rec); err != nil {
			t.Fatal(err)
		}
	}
	again, err := r.FindSession(s.ID())
	if err != nil {
		t.Fatal(err)
	}
	list, bad := records(t, again)
	if bad != 0 || len(list) != 3 || list[0].Kind != KindSession || list[1].Task != "do\nit" || !list[2].Time.Equal(*now) {
		t.Fatalf("%d bad, %+v", bad, list)
	}
	if got := list[2].Run; got.Code != run.Code || string(got.Result) != `{"a":1}` || got.CallCount != 1 || got.FileCount != 1 || got.Cut || !reflect.DeepEqual(got.Calls[0], run.Calls[0]) {
		t.Errorf("%+v", got)
	}
	info, err := s.Info()
	if err != nil || info.Stats.Runs != 1 || info.Stats.Tokens.Saved != 99 || info.Bytes == 0 || !info.Began.Equal(now.Add(-time.Minute)) {
		t.Errorf("%+v %v", info, err)
	}
	other := customer(t, r, "other")
	if _, err := other.Session(s.ID()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Session() of another customer = %v, want fs.ErrNotExist", err)
	}
	session(t, other, s.ID())
	if _, err := r.FindSession(s.ID()); err == nil || !strings.Contains(err.Error(), "name the customer") {
		t.Errorf("FindSession() of an ambiguous id = %v, want an error", err)
	}
}

// TestLinesOfMany checks that lines of several goroutines and processes are complete, and that none is missing.
func TestLinesOfMany(t *testing.T) {
	if dir := os.Getenv("WORKSPACE_TEST_APPEND"); dir != "" {
		appendMany(t, dir, "child")
		return
	}
	r, _ := openTest(t, 0)
	s := session(t, customer(t, r, "acme"), "one")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestLinesOfMany$")
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_APPEND="+r.Dir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { appendMany(t, r.Dir(), fmt.Sprint(i)) })
	}
	wg.Wait()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	list, bad := records(t, s)
	if bad != 0 || len(list) != 1+5*20 {
		t.Errorf("the log has %d lines, %d of them bad, want 0 and %d", len(list), bad, 1+5*20)
	}
}

func appendMany(t *testing.T, dir, who string) {
	st, err := sqlite.Open(t.Context(), filepath.Join(filepath.Dir(dir), stateFile), sqlite.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer st.Close()
	r, err := OpenRoot(dir, &RootOptions{Store: func(context.Context) (store.Store, error) { return st, nil }})
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	s, err := r.FindSession("one")
	if err != nil {
		t.Error(err)
		return
	}
	for i := range 20 {
		if err := s.Append(Record{Kind: KindTask, Task: fmt.Sprint(who, " ", i, strings.Repeat("x", 8000))}); err != nil {
			t.Error(err)
		}
	}
}

// TestTornLine checks that lines of a file that are not records are skipped, and that no other line is lost with them.
func TestTornLine(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	writeOldLog(t, c, "one", `{"kind":"session","task":"the one"}`+"\n"+`{"kind":"run","run":{"code":"abc`+"\n"+`{"kind":"task","task":"after"}`+"\n"+
		"null\n[]\n\n"+strings.Repeat("x", maxLine+10)+"\n"+`{"kind":"task","task":"by hand"}`)
	s, err := c.Session("one")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(Record{Kind: KindTask, Task: "now"}); err != nil {
		t.Fatal(err)
	}
	list, bad := records(t, s)
	if bad != 4 || len(list) != 4 || list[1].Task != "after" || list[2].Task != "by hand" || list[3].Task != "now" {
		t.Errorf(`%d bad, %+v, want 4, len(list) 4, Task "after", "by hand" and "now"`, bad, list)
	}
	if _, err := s.Stats(); err != nil {
		t.Error(err)
	}
}

func TestLogIsBounded(t *testing.T) {
	r, _ := openTest(t, 0)
	s := session(t, customer(t, r, "acme"), "one")
	big := &Run{Code: strings.Repeat("\x01", 1<<20), Output: strings.Repeat("ä", 1<<20) + "end", Result: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}
	for range 3000 {
		big.Calls = append(big.Calls, Call{Tool: strings.Repeat("\x02", 5000), Outcome: "ok"})
		big.Files = append(big.Files, strings.Repeat("f", 5000))
	}
	if err := s.Append(Record{Kind: KindRun, Run: big, Task: strings.Repeat("t", 1<<20)}); err != nil {
		t.Fatal(err)
	}
	list, bad := records(t, s)
	if bad != 0 || len(list) != 2 || !list[1].Run.Cut || list[1].Run.CallCount != 3000 || list[1].Run.FileCount != 3000 || !strings.HasSuffix(list[1].Run.Output, "end") {
		t.Fatalf("%d bad, %d lines", bad, len(list))
	}
	st, err := s.customer.store(t.Context())
	if err == nil {
		_, err = s.change(t.Context(), st, func(doc *sessionDocument) error { doc.Bytes = maxLog; return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(Record{Kind: KindTask, Task: "x"}); !errors.Is(err, workspace.ErrNoRoom) {
		t.Errorf("Append() to a full log = %v, want ErrNoRoom", err)
	}
}

func TestMask(t *testing.T) {
	hide := func(v json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(v, []byte("ann@example.com"), []byte("[EMAIL]"))
	}
	r, err := OpenRoot(t.TempDir(), &RootOptions{Mask: hide, Store: newStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const who = "ann@example.com"
	s, err := customer(t, r, "acme").NewSession(Meta{ID: "one", Title: who})
	if err != nil {
		t.Fatal(err)
	}
	run := &Run{
		Name: who, Code: "mail('" + who + "')", Output: who, Message: who, Result: json.RawMessage(`{"` + who + `": 1}`),
		Calls: []Call{{Tool: who, Outcome: "denied"}}, Files: []string{who + ".csv"},
	}
	if err := s.Append(Record{Kind: KindRun, Task: who, Run: run}); err != nil {
		t.Fatal(err)
	}
	if text := logText(t, s); strings.Contains(text, who) || strings.Count(text, "[EMAIL]") != 9 {
		t.Errorf("%s, want no %q in it and 9", text, who)
	}
	write(t, filepath.Join(s.Customer().Files(), "a"), "x")
	if err := os.Symlink("a", filepath.Join(s.Customer().Files(), who)); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Checkpoint(t.Context(), "cp"); err != nil || info.Example != "[EMAIL]: a symbolic link" {
		t.Errorf(`%+v %v, want Example "[EMAIL]: a symbolic link" and no error`, info, err)
	}
	if list, err := s.Checkpoints(); err != nil || len(list) != 1 || strings.Contains(logText(t, s)+list[0].Example, who) {
		t.Errorf("the checkpoint has the unmasked name of a skipped file: %+v, %v, want no %q in it", list, err, who)
	}
	one, _ := records(t, s)
	if got := one[1].Run; string(got.Result) != `{"[EMAIL]":1}` || got.Calls[0].Outcome != "denied" || got.Code != "mail('[EMAIL]')" {
		t.Errorf(`%+v, want string(got.Result) %q, got.Calls[0].Outcome "denied" and Code "mail('[EMAIL]')"`, got, `{"[EMAIL]":1}`)
	}
	if run.Files[0] != who+".csv" || run.Calls[0].Tool != who {
		t.Errorf("Append() changed the caller's record, want run.Files[0] %v and run.Calls[0].Tool %v", who+".csv", who)
	}
}

// TestMaskBeforeCut checks that cutting a text does not leave half a secret.
func TestMaskBeforeCut(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	hide := func(v json.RawMessage) json.RawMessage { return bytes.ReplaceAll(v, []byte(secret), []byte("[KEY]")) }
	r, err := OpenRoot(t.TempDir(), &RootOptions{Mask: hide, Store: newStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := session(t, customer(t, r, "acme"), "one")
	for before := range len(secret) + 3 {
		code := strings.Repeat("x", maxCode-before) + secret + strings.Repeat("y", maxCode/2)
		output := strings.Repeat("x", maxOutput/2) + secret + strings.Repeat("y", maxOutput-before)
		if err := s.Append(Record{Kind: KindRun, Run: &Run{Code: code, Output: output}}); err != nil {
			t.Fatal(err)
		}
	}
	list, _ := records(t, s)
	for _, rec := range list[1:] {
		if all := rec.Run.Code + rec.Run.Output; strings.Contains(all, "sk-") || strings.Contains(all, "ef") || len(rec.Run.Code) > maxCode || !rec.Run.Cut {
			t.Fatalf("…%s, %s…", rec.Run.Code[len(rec.Run.Code)-30:], rec.Run.Output[:30])
		}
	}
}

// TestLogIsNoLink checks that the host does not follow a link in a folder that came from elsewhere.
func TestLogIsNoLink(t *testing.T) {
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, `{"kind":"session"}`)
	write(t, filepath.Join(c.Dir(), sessionsDir, "one", "x"), "")
	if err := os.Symlink(t.TempDir(), filepath.Join(c.Dir(), sessionsDir, "two")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Session("two"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Session() of a link = %v, want fs.ErrNotExist", err)
	}
	if list, err := c.Sessions(); err != nil || len(list) != 0 {
		t.Errorf("%v %v, want len(list) 0 and no error", list, err)
	}
	if err := os.Symlink(outside, filepath.Join(c.Dir(), sessionsDir, "one", logName)); err != nil {
		t.Fatal(err)
	}
	again, err := OpenRoot(r.Dir(), &RootOptions{Store: r.opt.Store})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if s, err := customer(t, again, "acme").Session("one"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Session() with a link as its log = %+v, %v, want an error", s, err)
	}
}

func TestStats(t *testing.T) {
	r, now := openTest(t, 0)
	c := customer(t, r, "acme")
	for i, id := range []string{"b", "a"} {
		*now = now.Add(time.Hour)
		s := session(t, c, id)
		for j := range 2 {
			run := &Run{
				Cause: "exit", ExitCode: j, DurationMS: 0.1, CallCount: 7,
				Tokens: &Tokens{Used: 10, Direct: 1000, Definitions: 900, Results: 100, Output: 5, Saved: 990},
				Calls:  []Call{{Tool: "z__z", MS: 0.1, Outcome: "ok"}, {Tool: "a__a", MS: 0.2, Outcome: "tool"}, {Tool: "z__z", MS: 0.1, Outcome: "dry"}},
			}
			if err := s.Append(Record{Kind: KindRun, Run: run, Time: now.Add(time.Duration(i+j) * time.Minute)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := c.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Runs != 4 || got.Failed != 2 || got.Calls != 28 || got.FailedCalls != 4 || got.DurationMS != 0.4 || got.Tokens.SavedPercent() != 98.2 {
		t.Errorf("%+v", got.Stats)
	}
	// Two sessions are two conversations: direct calls need the definitions once in each session, not once per run.
	if want := (Tokens{Used: 40, Direct: 2200, Definitions: 1800, Results: 400, Output: 20, Saved: 2160, Search: 400, SavedSearch: 360}); got.Tokens != want {
		t.Errorf("%+v, want %+v", got.Tokens, want)
	}
	if want := []ToolStats{{"a__a", 4, 4, 0.8}, {"z__z", 8, 0, 0.8}}; !slices.Equal(got.Tools, want) {
		t.Errorf("%+v, want %+v", got.Tools, want)
	}
	if len(got.Sessions) != 2 || got.Sessions[0].Session != "b" || got.Sessions[0].Title != "the b" || !got.First.Equal(now.Add(-time.Hour)) || !got.Last.Equal(now.Add(2*time.Minute)) {
		t.Errorf("%+v", got)
	}
	one, _ := json.Marshal(got)
	for range 3 {
		again, err := c.Stats(t.Context())
		if text, _ := json.Marshal(again); err != nil || !bytes.Equal(one, text) {
			t.Fatalf("other totals: %s\n%s %v", one, text, err)
		}
	}
}

// TestDefinitionsCountOnce checks that the shares of runs add up to the session's total, and that a run without calls saves
// nothing, also in logs whose runs all have the definitions.
func TestDefinitionsCountOnce(t *testing.T) {
	of := func(calls int, definitions int64) *Run {
		return &Run{Cause: "exit", CallCount: calls, Tokens: &Tokens{
			Used: 30, Script: 10, Wrappers: 5, Output: 15, Direct: definitions + 12, Definitions: definitions, Arguments: 2, Results: 10, Saved: definitions - 18,
		}}
	}
	silent := &Run{Cause: "exit", Tokens: &Tokens{Used: 30, Script: 20, Output: 10, Direct: 1000, Definitions: 1000, Saved: 970}}
	var s Stats
	var sum Tokens
	for i, c := range []struct {
		run                        *Run
		definitions, direct, saved int64
	}{
		{silent, 0, 0, 0}, {of(1, 1000), 1000, 1012, 982}, {of(3, 1000), 0, 12, 0}, {silent, 0, 0, 0},
		{of(1, 1500), 500, 512, 482}, {of(1, 200), 0, 12, 0}, {&Run{Cause: "failed"}, 0, 0, 0},
	} {
		share := s.Add(time.Time{}, c.run)
		if share.Definitions != c.definitions || share.Direct != c.direct || share.Saved != c.saved {
			t.Errorf("%d: %+v, want Definitions %v, Direct %v and Saved %v", i, share, c.definitions, c.direct, c.saved)
		}
		sum.add(&share)
	}
	if s.Tokens != sum || s.Tokens.Definitions != 1500 || s.Tokens.Direct != 1548 || s.Tokens.Used != 180 || s.Tokens.Saved != 1368 {
		t.Errorf("%+v, the runs together %+v", s.Tokens, sum)
	}
	var none Stats
	none.Add(time.Time{}, silent)
	if none.Tokens.Saved != 0 || none.Tokens.SavedPercent() != 0 {
		t.Errorf("a session without calls has %+v, want no definitions", none.Tokens)
	}
}

func TestToolsAreBounded(t *testing.T) {
	var s Stats
	for i := range maxTools + 10 {
		s.Add(time.Time{}, &Run{Calls: []Call{{Tool: fmt.Sprintf("t%06d", i)}}})
	}
	if len(s.Tools) != maxTools || s.Calls != maxTools+10 {
		t.Errorf("%d tools, %d calls, want %d and %d", len(s.Tools), s.Calls, maxTools, maxTools+10)
	}
}

// TestSavedOfAll checks that runs that cost more than direct calls reduce the total saving, and that no figure is negative.
func TestSavedOfAll(t *testing.T) {
	var s Stats
	for _, used := range []int64{40, 150, 10} {
		run := &Run{Cause: "exit", CallCount: 1, Tokens: &Tokens{Used: used, Output: used, Direct: 70, Results: 70}}
		if share := s.Add(time.Time{}, run); share.Saved != max(0, 70-used) {
			t.Errorf("a run that used %d of 70 saved %d", used, share.Saved)
		}
	}
	if s.Tokens.Saved != 10 {
		t.Errorf("saved %d, want 210 - 200", s.Tokens.Saved)
	}
}
