package customer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWork checks that a session's tasks are with their last runs, and bounded.
func TestWork(t *testing.T) {
	root, _ := openTest(t, 0)
	s, err := customer(t, root, "acme").NewSession(Meta{ID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Record{
		{Kind: KindTask, ID: "a", Task: "first"},
		{Kind: KindRun, Run: &Run{TaskID: "a", Code: "1", ExitCode: 1, Files: []string{"x"}}},
		{Kind: KindRun, Run: &Run{Code: "2", Files: []string{"y"}}},
		{Kind: KindRun, Run: &Run{TaskID: "a", Code: "3", Result: []byte("8"), Files: []string{"x"}}},
	} {
		if err := s.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	w, err := s.Work()
	if err != nil || len(w.Tasks) != 2 || w.Began.IsZero() || w.Ended.Before(w.Began) || !slices.Equal(w.Files, []string{"x", "y"}) {
		t.Fatalf("Work() = %+v, %v, want two tasks and the files x and y", w, err)
	}
	if first := w.Tasks[0]; first.Description != "first" || first.Code != "3" || first.ExitCode != 0 || string(first.Result) != "8" {
		t.Errorf("the first task is %+v, want its last run", first)
	}
	if other := w.Tasks[1]; other.Description != "" || other.Code != "2" {
		t.Errorf("the run without a task is %+v", other)
	}
	for i := range maxWork {
		if err := s.Append(Record{Kind: KindTask, ID: fmt.Sprint(i), Task: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if w, err = s.Work(); err != nil || len(w.Tasks) != maxWork || w.Tasks[0].Description != "0" {
		t.Errorf("Work() has %d tasks, %v, want the last %d", len(w.Tasks), err, maxWork)
	}
}

// TestEarlier checks which session's work a script gets, and how much of it.
func TestEarlier(t *testing.T) {
	root, now := openTest(t, 0)
	c := customer(t, root, "acme")
	begin := func(id string) *Session {
		t.Helper()
		*now = now.Add(time.Minute)
		s, err := c.NewSession(Meta{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	do := func(s *Session, task string, run *Run) {
		t.Helper()
		*now = now.Add(time.Minute)
		if err := s.Append(Record{Kind: KindTask, ID: task, Task: task}); err != nil {
			t.Fatal(err)
		}
		run.TaskID = task
		if err := s.Append(Record{Kind: KindRun, Run: run}); err != nil {
			t.Fatal(err)
		}
	}
	earlier := func(s *Session) (w Work, text string) {
		t.Helper()
		value, err := s.Earlier()
		if err != nil {
			t.Fatal(err)
		}
		if value != nil && json.Unmarshal(value, &w) != nil {
			t.Fatalf("not JSON: %.100s", value)
		}
		return w, string(value)
	}
	one, two := begin("one"), begin("two")
	if _, text := earlier(two); text != "" {
		t.Errorf("nothing was done, got %s", text)
	}
	do(two, "second", &Run{Output: "to [EMAIL_1] and [API_KEY_12]"})
	do(one, "first", &Run{})
	if w, _ := earlier(begin("three")); w.Session != "one" {
		t.Errorf("a new session gets the work of %q, want that of the one used last", w.Session)
	}
	if w, text := earlier(two); w.Session != "two" || !strings.Contains(text, "to [EMAIL] and [API_KEY]") {
		t.Errorf("a session gets %s, want its own work, and tokens without numbers", text)
	}
	for i := range 40 {
		do(two, fmt.Sprint(i), &Run{Code: strings.Repeat("x", 50_000)})
	}
	if w, text := earlier(two); len(text) > maxEarlier || len(w.Tasks) == 0 || w.Tasks[len(w.Tasks)-1].Description != "39" {
		t.Errorf("%d bytes with %d tasks, want at most %d with the last ones", len(text), len(w.Tasks), maxEarlier)
	}
}

// TestWorkCheckpoint checks that the last checkpoint of a session is what its scripts have saved, or a copy of the state, and that files which only
// look like one are left out.
func TestWorkCheckpoint(t *testing.T) {
	root, now := openTest(t, 0)
	root.opt.Mask = func(value json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(value, []byte("ann@example.com"), []byte("[EMAIL_1]"))
	}
	c := customer(t, root, "acme")
	s, err := c.NewSession(Meta{ID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	ran := func(files map[string]string) *LastCheckpoint {
		t.Helper()
		var names []string
		for name, text := range files {
			at := filepath.Join(c.Files(), SavedFolder, name)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			names = append(names, SavedFolder+"/"+name)
		}
		for _, r := range []Record{{Kind: KindTask, ID: "a", Task: "import"}, {Kind: KindRun, Run: &Run{TaskID: "a", Files: names}}} {
			if err := s.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		w, err := s.Work()
		if err != nil {
			t.Fatal(err)
		}
		return w.Checkpoint
	}
	at := func(n int) string {
		return now.Add(time.Duration(n) * time.Minute).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if got := ran(map[string]string{"bad.json": "{", "other.json": `{"time":"soon","data":1}`, "sub/deep.json": `{"time":"` + at(9) + `","data":1}`}); got != nil {
		t.Errorf("checkpoint %+v, want none", got)
	}
	got := ran(map[string]string{"first.json": `{"name":"first","time":"` + at(-2) + `","data":{"step":1}}`, "second.json": `{"name":"x","time":"` + at(-1) + `","data":{"step":2,"to":"ann@example.com"}}`})
	if got == nil || got.Name != "second" || got.Task != "import" || string(got.Data) != `{"step":2,"to":"[EMAIL_1]"}` || got.Copied {
		t.Errorf("checkpoint %+v, want second", got)
	}
	if _, err := s.Checkpoint(t.Context(), "copy"); err != nil {
		t.Fatal(err)
	}
	if got = ran(nil); got == nil || got.Name != "copy" || !got.Copied || got.Task != "import" {
		t.Errorf("checkpoint %+v, want the copy, which is the last", got)
	}
	if got = ran(map[string]string{"third.json": `{"name":"third","time":"` + at(5) + `","data":"` + strings.Repeat("x", maxSaved) + `"}`}); got == nil || got.Name != "third" || got.Data != nil {
		t.Errorf("checkpoint %+v, want third without its data, which is too long", got)
	}
}
