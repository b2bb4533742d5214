package durable

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/mcpgen/mcpgen/runner/store"
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
	s := Schedule{Name: "hourly", Kind: "job", Input: json.RawMessage("7"), Start: Start{Customer: "acme"}}
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
	doc, err := o.Store.Document(t.Context(), store.Key{Kind: "schedule", Name: "hourly"})
	if err != nil {
		t.Fatal(err)
	}
	doc.Value, _ = json.Marshal(at("12:45:00"))
	if _, err := o.Store.SetDocument(t.Context(), doc); err != nil {
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
}

// TestScheduleFollows lets two engines follow a schedule with real time.
func TestScheduleFollows(t *testing.T) {
	o := newState(t)
	fired := make(chan string, 10)
	kinds := map[string]Func{"job": func(w *Work, _ json.RawMessage) (json.RawMessage, error) { fired <- w.ID; return nil, nil }}
	for range 2 {
		e := open(t, o, kinds)
		if err := e.Schedule(Schedule{Name: "often", Cron: "@every 1s", Kind: "job"}); err != nil {
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
		if err := e.Schedule(s); err == nil {
			t.Errorf("Schedule(%s) = nil, want an error", fmt.Sprint(s.Cron, s.Kind))
		}
	}
}
