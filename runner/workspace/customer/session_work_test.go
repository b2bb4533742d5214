package customer

import (
	"fmt"
	"slices"
	"testing"
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
