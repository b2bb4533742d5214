package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// recorder collects the problems of a run. It has the methods of testing.T that checks use, but some cases are expected to fail.
type recorder struct {
	problems, notes []string
}

// verdict ends a check early.
type verdict struct{}

func (j *recorder) Errorf(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf(format, args...))
}
func (j *recorder) Error(args ...any) { j.problems = append(j.problems, fmt.Sprint(args...)) }
func (j *recorder) Logf(format string, args ...any) {
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}
func (j *recorder) Fatalf(format string, args ...any) {
	j.Errorf(format, args...)
	panic(verdict{})
}

// Prefixes of problems that a column may expect.
const (
	worked       = "a forbidden thing worked: "
	triedNothing = "the script had no means, and tried nothing: "
)

// hold runs a check, which Fatalf may end. A sandbox that did not start is a problem unless mayRefuse is set.
func (j *recorder) hold(check func(*recorder, *world, *result), mayRefuse bool, w *world, r *result) {
	if r.notStarted != nil {
		if !mayRefuse || !refused(w, r.notStarted) {
			j.Errorf("start: %v", r.notStarted)
		}
		return
	}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(verdict); !ok {
				panic(p)
			}
		}
	}()
	check(j, w, r)
}

// refused reports whether a sandbox did not start because of the workspace, which its error must name. A lost connection to the engine and
// a timeout do not count.
func refused(w *world, err error) bool {
	if gone := new(net.OpError); errors.As(err, &gone) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	return strings.Contains(err.Error(), w.workspace)
}

// noMeans reports whether the script had no means for its attempt. That is a problem unless the column lists it.
func noMeans(t *recorder, r *result) bool {
	if !strings.Contains(r.stdout, "there is no such means") && !strings.Contains(r.stdout, "there is no such descriptor") {
		return false
	}
	t.Errorf("%s%.200s", triedNothing, r.stdout)
	if r.exit.Code != 0 || r.exit.Killed != "" {
		t.Errorf("the script did not end well")
	}
	return true
}

// ok checks that the script ran to its end without an error.
func ok(t *recorder, _ *world, r *result) {
	if r.refused != nil {
		t.Fatalf("the script was refused: %v", r.refused)
	}
	if r.exit.Code != 0 || !r.outcome.Done || r.outcome.Error != nil || r.exit.Killed != "" {
		t.Errorf("the script did not end well")
	}
}

// prints checks the standard output, after ok.
func prints(want string) func(*recorder, *world, *result) {
	return func(t *recorder, w *world, r *result) {
		ok(t, w, r)
		if r.stdout != want {
			t.Errorf("stdout is %.500q, want %.500q", r.stdout, want)
		}
	}
}

// nothing checks that no forbidden attempt of a script worked: it prints LEAK and a description for each that did, and
// "checked" at its end.
func nothing(t *recorder, w *world, r *result) {
	harmless(t, w, r)
	if r.refused == nil && !strings.Contains(r.stdout, "checked") {
		t.Errorf("the script did not reach its end")
	}
}

// harmless is like [nothing], but the run may have been killed.
func harmless(t *recorder, _ *world, r *result) {
	if r.refused != nil {
		t.Errorf("refused before it ran, so that it tried nothing: %v", r.refused)
		return
	}
	for line := range strings.Lines(r.stdout) {
		if strings.HasPrefix(line, "LEAK") {
			t.Errorf("%s%s", worked, strings.TrimSpace(line))
		}
	}
	if r.stdout == "" && r.exit.Code == 0 {
		t.Errorf("the script did nothing")
	}
}
