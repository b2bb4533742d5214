package durable

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func TestSchedule(t *testing.T) {
	o := newState(t)
	var missed []string
	o.Missed = func(name string, times []time.Time) {
		for _, at := range times {
			missed = append(missed, name+" "+at.UTC().Format("15:04"))
		}
	}
	kinds := map[string]Func{"job": func(w *Work, input json.RawMessage) (json.RawMessage, error) { return input, nil }}
	engines := []*Engine{open(t, o, kinds), open(t, o, kinds)}
	times, err := cron.ParseStandard("CRON_TZ=UTC */10 * * * *")
	if err != nil {
		t.Fatal(err)
	}
	s := Schedule{Name: "hourly", Cron: "CRON_TZ=UTC */10 * * * *", Kind: "job", Input: json.RawMessage("7"), Start: Start{Customer: "acme"}}
	at := func(clock string) time.Time {
		parsed, err := time.Parse("15:04:05", clock)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(2026, 5, 4, parsed.Hour(), parsed.Minute(), parsed.Second(), 0, time.UTC)
	}
	for _, moment := range []struct{ now, next string }{
		{"11:55:00", "12:00:00"}, // the first time that it is known
		{"11:59:59", "12:00:00"},
		{"12:00:00", "12:10:00"}, // due
		{"12:00:01", "12:10:00"}, // not again
		{"12:35:00", "12:40:00"}, // three were missed
		{"12:51:00", "13:00:00"}, // one was missed, and one is late, but due
	} {
		for _, e := range engines {
			if next, err := e.fire(t.Context(), s, times, at(moment.now)); err != nil || !next.Equal(at(moment.next)) {
				t.Errorf("at %s: next = %v, %v, want %s", moment.now, next, err, moment.next)
			}
		}
	}
	// A process dies after it has started the work, and before it has written that down.
	doc, state, err := engines[0].schedule(t.Context(), s.Name)
	if err != nil {
		t.Fatal(err)
	}
	state.Last = at("12:45:00")
	if err := engines[0].keep(t.Context(), doc, state); err != nil {
		t.Fatal(err)
	}
	for _, now := range []string{"12:50:30", "12:58:00"} {
		if _, err := engines[0].fire(t.Context(), s, times, at(now)); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"hourly 12:10", "hourly 12:20", "hourly 12:30", "hourly 12:40"}; !reflect.DeepEqual(missed, want) {
		t.Errorf("missed = %v, want %v", missed, want)
	}
	list, err := engines[0].List(t.Context(), Filter{Customer: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range list {
		done := wait(t, engines[0], list[i].ID)
		ids = append(ids, done.ID+" "+string(done.Result))
	}
	if want := []string{"hourly@2026-05-04T12:50:00Z 7", "hourly@2026-05-04T12:00:00Z 7"}; !reflect.DeepEqual(ids, want) {
		t.Errorf("work = %v, want %v", ids, want)
	}
	scheduled := func(s Schedule, now, id string, want int) {
		t.Helper()
		got, err := engines[0].Scheduled(t.Context(), s, at(now))
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		if got.Last != nil {
			last = got.Last.ID
		}
		if got.Missed != want || last != id || got.Next.Before(at(now)) {
			t.Errorf("Scheduled() = %q, %d, next %v, want %q, %d", last, got.Missed, got.Next, id, want)
		}
	}
	const last = "hourly@2026-05-04T12:50:00Z"
	scheduled(s, "12:58:00", last, 0)
	scheduled(s, "13:20:30", last, 2) // nobody follows it; 13:20 may be dealt with yet
	if _, err := engines[1].fire(t.Context(), s, times, at("13:29:00")); err != nil {
		t.Error(err)
	}
	scheduled(s, "13:29:00", last, 3)
	scheduled(Schedule{Name: "hourly", Cron: "@daily"}, "13:29:00", last, 0)
	scheduled(Schedule{Name: "other", Cron: "@daily"}, "13:29:00", "", 0)
	// A schedule whose times have changed, or that was forgotten, begins again.
	s.Cron = "CRON_TZ=UTC */5 * * * *"
	missed = nil
	for range 2 {
		if next, err := engines[0].fire(t.Context(), s, times, at("15:01:00")); err != nil || !next.Equal(at("15:10:00")) {
			t.Errorf("next = %v, %v, want 15:10", next, err)
		}
		if err := engines[1].KeepSchedules(t.Context(), []string{"other"}); err != nil {
			t.Error(err)
		}
	}
	scheduled(s, "18:00:00", "", 0)
	if missed != nil {
		t.Errorf("missed = %v, want none", missed)
	}
}

// TestScheduleFollows lets two engines follow a schedule with real time.
func TestScheduleFollows(t *testing.T) {
	o := newState(t)
	fired := make(chan string, 10)
	kinds := map[string]Func{"job": func(w *Work, _ json.RawMessage) (json.RawMessage, error) { fired <- w.ID; return nil, nil }}
	for range 2 {
		e := open(t, o, kinds)
		if err := e.Schedule(t.Context(), Schedule{Name: "often", Cron: "@every 1s", Kind: "job"}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for range 3 {
		id := <-fired
		if seen[id] {
			t.Errorf("%s ran twice", id)
		}
		seen[id] = true
	}
}

func TestScheduleErrors(t *testing.T) {
	e := open(t, newState(t), map[string]Func{"job": nil})
	for _, s := range []Schedule{{Cron: "every day", Kind: "job"}, {Cron: "0 0 30 2 *", Kind: "job"}, {Cron: "@daily", Kind: "other"}} {
		if err := e.Schedule(t.Context(), s); err == nil {
			t.Errorf("Schedule(%s) = nil, want an error", fmt.Sprint(s.Cron, s.Kind))
		}
	}
}
