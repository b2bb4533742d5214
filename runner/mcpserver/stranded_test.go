package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// group is one with one place, and an engine of a group.
func (s *sharedState) group(t *testing.T, name string) func(*mcpserver.Options) {
	return func(o *mcpserver.Options) {
		e, err := durable.Open(t.Context(), durable.Options{State: s.place, Store: s.store, Lease: frontLease, Group: name})
		if err != nil {
			t.Fatal(err)
		}
		o.Engine, o.State, o.Secret, o.Parallel = e, s.store, testSecret, 1
	}
}

// TestOtherFlags has two servers on a state that were started in different ways: each shows and cancels the other's tasks, and runs none of
// them. Those that wait at the one take no place in the queue of the other.
func TestOtherFlags(t *testing.T) {
	eachState(t, func(t *testing.T, s *sharedState) {
		w, first, release := tasksFixture(t, s.group(t, "one"))
		running, waiting, third := first.run(), first.run(), first.run()
		other, second, others := tasksFixture(t, func(o *mcpserver.Options) {
			o.Waiting = 1
			s.group(t, "two")(o)
		})
		own := second.run()
		if own.ResultType != "task" {
			t.Fatalf("%+v, want a task although others wait elsewhere", own)
		}
		if next := second.run(); next.ResultType != "task" || second.get(next.TaskID).StatusMessage != "waiting for a turn: 1st in the queue" {
			t.Errorf("%+v, want the first place in the queue", next)
		}
		others <- "of two"
		second.until(own.TaskID, "completed")
		others <- "of two"
		if err := w.srv.Close(); err != nil { // a third server of its group is to go on
			t.Fatal(err)
		}
		if got := second.get(running.TaskID); got.Status != "working" {
			t.Errorf("%+v, want a task that waits for its server", got)
		}
		second.do("tasks/cancel", `"taskId":"`+third.TaskID+`"`)
		second.until(third.TaskID, "cancelled")
		_, again, release2 := tasksFixture(t, s.group(t, "one"))
		close(release)
		release2 <- "of one"
		release2 <- "of one"
		for _, id := range []string{running.TaskID, waiting.TaskID} {
			for _, c := range []taskClient{again, second} {
				if got := c.until(id, "completed", "failed", "cancelled"); !strings.Contains(string(got.Result), "of one") {
					t.Errorf("%+v, want the result of a server that was started in the same way", got)
				}
			}
		}
		other.mu.Lock()
		defer other.mu.Unlock()
		if len(other.jobs) != 2 {
			t.Errorf("the other server ran %d calls, want its own two", len(other.jobs))
		}
	})
}

// TestStranded checks that tasks end with a reason once no server that was started as theirs has run for long.
func TestStranded(t *testing.T) {
	eachState(t, func(t *testing.T, s *sharedState) {
		w, first, _ := tasksFixture(t, s.group(t, "one"))
		running, next, waiting := first.run(), first.run(), first.run()
		if err := w.srv.Close(); err != nil {
			t.Fatal(err)
		}
		settled := make(chan string, 10)
		_, second, _ := tasksFixture(t, func(o *mcpserver.Options) {
			o.StrandTime = 300 * time.Millisecond
			o.Settled = func(_ context.Context, customer, work string) { settled <- customer + " " + work }
			o.Made = func(_ context.Context, customer, work string) (map[string]int, error) {
				switch {
				case customer != "ada" || work != running.TaskID && work != next.TaskID:
					return nil, errors.New("no such journal")
				case work == next.TaskID: // which may have been admitted, and waits for the place of the other
					return nil, nil
				}
				return map[string]int{"crm__add": 2, "crm__log": 1}, nil
			}
			s.group(t, "two")(o)
		})
		for id, want := range map[string]string{
			running.TaskID: "it had called crm__add (2), crm__log (1). Find out what took effect before making the call again",
			next.TaskID:    "",
			waiting.TaskID: "nothing of it was run. Make the call again if it is still wanted",
		} {
			got := second.until(id, "completed", "failed", "cancelled")
			if got.Status != "failed" || got.Error == nil || !strings.Contains(got.Error.Message, "same flags and the same key has run for 300ms, so that nothing continued it; "+want) {
				t.Errorf("%+v, %+v, want it failed, with %q", got, got.Error, want)
			}
		}
		all := []string{<-settled, <-settled, <-settled}
		slices.Sort(all)
		want := []string{"ada " + running.TaskID, "ada " + next.TaskID, "ada " + waiting.TaskID}
		slices.Sort(want)
		if !slices.Equal(all, want) {
			t.Errorf("%q were settled, want %q", all, want)
		}
	})
}

// keyLog is a log that tells when it says that a key is another.
type keyLog chan bool

func (l keyLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("need the same key")) {
		select {
		case l <- true:
		default:
		}
	}
	return len(line), nil
}

// TestOtherKey has a server that cannot read a task: it leaves it for one that can.
func TestOtherKey(t *testing.T) {
	s := newState(t)
	first, c, _ := tasksFixture(t, s.group(t, "one"))
	made := c.run()
	if err := first.srv.Close(); err != nil {
		t.Fatal(err)
	}
	tried := make(keyLog)
	unable, other, _ := tasksFixture(t, func(o *mcpserver.Options) {
		s.group(t, "one")(o)
		o.Secret, o.Logger = bytes.Repeat([]byte{1}, 32), slog.New(slog.NewTextHandler(tried, nil))
	})
	<-tried
	<-tried // which it does not keep
	if got := other.get(made.TaskID); got.Status == "failed" {
		t.Errorf("%+v, want it left alone", got)
	}
	if err := unable.srv.Close(); err != nil {
		t.Fatal(err)
	}
	_, able, release := tasksFixture(t, s.group(t, "one"))
	release <- "read"
	if got := able.until(made.TaskID, "completed", "failed", "cancelled"); !strings.Contains(string(got.Result), "read") {
		t.Errorf("%+v, want the result", got)
	}
	unable.mu.Lock()
	defer unable.mu.Unlock()
	if len(unable.jobs) != 0 {
		t.Errorf("%d calls were made with another key", len(unable.jobs))
	}
}

// TestNotContinued checks that a task that fails when it begins again says what it had called.
func TestNotContinued(t *testing.T) {
	s := newState(t)
	first, c, _ := tasksFixture(t, s.group(t, "one"))
	made := c.run()
	if err := first.srv.Close(); err != nil {
		t.Fatal(err)
	}
	_, second, _ := tasksFixture(t, func(o *mcpserver.Options) {
		s.group(t, "one")(o)
		o.Made = func(context.Context, string, string) (map[string]int, error) {
			return map[string]int{"crm__add": 1}, nil
		}
		o.Reload = func(context.Context) (*mcpserver.Project, error) { return nil, errors.New("the project is broken") }
	})
	const want = "the project is broken; before, it had called crm__add (1)"
	if got := second.until(made.TaskID, "completed", "failed", "cancelled"); got.Status != "failed" || !strings.HasSuffix(got.Error.Message, want) {
		t.Errorf("%+v, %+v, want it failed with %q", got, got.Error, want)
	}
}
