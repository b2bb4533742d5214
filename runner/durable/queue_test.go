package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestQueue lets 100 works of five customers through a queue that two engines serve.
func TestQueue(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		var mu sync.Mutex
		var now, most int
		var order []string
		running, mostOf := map[string]int{}, map[string]int{}
		kinds := map[string]Func{"job": func(w *Work, input json.RawMessage) (json.RawMessage, error) {
			_, err := Step(w, "work", func(context.Context) (int, error) {
				mu.Lock()
				now++
				running[w.Customer]++
				most, mostOf[w.Customer] = max(most, now), max(mostOf[w.Customer], running[w.Customer])
				order = append(order, w.Customer+" "+string(input))
				mu.Unlock()
				time.Sleep(2 * time.Millisecond)
				mu.Lock()
				now--
				running[w.Customer]--
				mu.Unlock()
				return 0, nil
			})
			return nil, err
		}}
		queue := Queue{Name: "jobs", Concurrency: 4, PerCustomer: 2, Bound: 20}
		client := open(t, o, nil)
		if err := client.AddQueue(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range 100 { // customer by customer, the less urgent work first
			customer, priority := fmt.Sprint("c", i/20), uint(20-i%20)
			id, err := client.Start(t.Context(), "job", json.RawMessage(fmt.Sprint(priority)), Start{Queue: "jobs", Customer: customer, Priority: priority})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		_, err := client.Start(t.Context(), "job", nil, Start{Queue: "jobs", Customer: "c0"})
		if busy, ok := errors.AsType[*BusyError](err); !ok || busy.Waiting != 20 || busy.RetryAfter != time.Second {
			t.Errorf("Start() of a customer without room = %v, want a BusyError", err)
		}
		// The first turn is that of the most urgent work of each customer.
		for i, place := range map[int][2]int{0: {96, 100}, 19: {1, 5}, 99: {1, 5}, 98: {6, 10}} {
			if s, err := client.Get(t.Context(), ids[i]); err != nil || s.State != Queued || s.Position < place[0] || s.Position > place[1] {
				t.Errorf("Get(%d) = %+v, %v, want a position in %v", i, s, err, place)
			}
		}
		for range 2 {
			if err := open(t, o, kinds).AddQueue(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range ids {
			if s := wait(t, client, id); s.State != Done {
				t.Fatalf("status = %+v", s)
			}
		}
		if len(order) != 100 || most > 4 || most < 2 {
			t.Errorf("%d works ran, %d at a time; want 100, and 2 to 4", len(order), most)
		}
		for customer, n := range mostOf {
			if n > 2 {
				t.Errorf("%d works of %s ran at a time, want 2", n, customer)
			}
			// They are taken in their order, two at a time. One that was taken may begin late, on a busy machine, and the others go on.
			begun := 0
			for _, line := range order {
				var of string
				var priority int
				if fmt.Sscan(line, &of, &priority); of != customer {
					continue
				}
				if begun++; priority > begun+1 {
					t.Errorf("%s: work of priority %d was number %d to begin", customer, priority, begun)
				}
			}
		}
		// Turns are random: nobody waits until the others have finished.
		for customer := range mostOf {
			first := slices.IndexFunc(order, func(s string) bool { return s[:2] == customer })
			if first > 75 { // of 80
				t.Errorf("%s had its first turn after %d others: %v", customer, first, order)
			}
		}
	})
}

// TestQueueOfEach checks that the bounds of a queue can be those of each process: two engines run twice as much. It also checks what others
// are told of the queue and of the engines.
func TestQueueOfEach(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		begun, release := make(chan string, 10), make(chan bool)
		kinds := map[string]Func{"job": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			begun <- w.Customer
			<-release
			return nil, nil
		}, "other": func(*Work, json.RawMessage) (json.RawMessage, error) { return nil, nil }}
		engines := []*Engine{open(t, o, kinds), open(t, o, kinds)}
		queue := Queue{Name: "each", Concurrency: 2, PerCustomer: 1, Each: true}
		for _, e := range engines {
			if err := e.AddQueue(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
			if alive, err := engines[0].Alive(t.Context(), e.Name()); err != nil || !alive {
				t.Errorf("Alive() = %v, %v, want true", alive, err)
			}
		}
		if alive, err := engines[0].Alive(t.Context(), engines[1].Name()[:20]); err != nil || alive {
			t.Errorf("Alive() of another name = %v, %v, want false", alive, err)
		}
		if engines[0].Crowded("each") || engines[0].Crowded("none") {
			t.Error("Crowded() = true for an empty queue")
		}
		var ids []string
		for i := range 6 {
			id, err := engines[0].Start(t.Context(), "job", nil, Start{Queue: "each", Customer: fmt.Sprint(i % 2)})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		of := map[string]int{}
		for range 4 {
			of[<-begun]++
		}
		if of["0"] != 2 || of["1"] != 2 || !engines[0].Crowded("each") {
			t.Errorf("%v run, want two of each customer, and others to wait", of)
		}
		close(release)
		for _, id := range ids {
			wait(t, engines[0], id)
		}
		id, err := engines[0].Start(t.Context(), "other", nil, Start{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, engines[0], id)
		if n, err := engines[0].Forget(t.Context(), time.Now().Add(time.Minute), "job"); err != nil || n != 6 {
			t.Errorf("Forget() of a kind = %d, %v, want 6", n, err)
		}
	})
}

// TestBound lets several engines fill a queue at once: a customer has its bound, exactly, and others have room. If nobody has, each customer
// has room for one.
func TestBound(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		var engines []*Engine
		for range 3 {
			e := open(t, o, nil)
			if err := e.AddQueue(t.Context(), Queue{Name: "jobs", Concurrency: 4, PerCustomer: 2, Bound: 3}); err != nil {
				t.Fatal(err)
			}
			engines = append(engines, e)
		}
		fill := func(customer string) (in int) {
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range 12 {
				all.Go(func() {
					_, err := engines[i%3].Start(t.Context(), "job", nil, Start{Queue: "jobs", Customer: customer})
					busy, isBusy := errors.AsType[*BusyError](err)
					if err != nil && !isBusy || isBusy && busy.Waiting != 3 && busy.Waiting != 25 {
						t.Errorf("Start() = %v, want a BusyError, of 3 or 25", err)
					}
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						in++
					}
				})
			}
			all.Wait()
			return in
		}
		for i := range 8 {
			if n := fill(fmt.Sprint("c", i)); n != 3 {
				t.Errorf("%d works of customer %d wait, want 3", n, i)
			}
		}
		if n := fill("late"); n != 1 {
			t.Errorf("%d works of a customer wait in a queue without room, want 1", n)
		}
	})
}

// TestRetryAfter checks that clients are told to return when one of the works that run may have ended.
func TestRetryAfter(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		begun, release := make(chan bool, 10), make(chan bool)
		defer close(release)
		e := open(t, o, map[string]Func{"job": func(*Work, json.RawMessage) (json.RawMessage, error) {
			begun <- true
			<-release
			return nil, nil
		}})
		if err := e.AddQueue(t.Context(), Queue{Name: "jobs", Concurrency: 4, PerCustomer: 2, Bound: 1}); err != nil {
			t.Fatal(err)
		}
		add := func(queue string) error {
			_, err := e.Start(t.Context(), "job", nil, Start{Queue: queue, Customer: "acme"})
			return err
		}
		for _, queue := range []string{"", "jobs", "jobs"} { // two run from the queue, and one without
			if err := add(queue); err != nil {
				t.Fatal(err)
			}
			<-begun
		}
		if err := add("jobs"); err != nil { // waits
			t.Fatal(err)
		}
		db := e.database()
		_, err := db.Pool().Exec(t.Context(), db.RenderSQL("UPDATE %sworkflow_status SET started_at_epoch_ms = started_at_epoch_ms - 60000, created_at = created_at - 60000 WHERE status = 'PENDING'",
			db.Dialect().SchemaPrefix(db.Schema())))
		if err != nil {
			t.Fatal(err)
		}
		busy, ok := errors.AsType[*BusyError](add("jobs"))
		if !ok || busy.RetryAfter < 20*time.Second || busy.RetryAfter > 30*time.Second {
			t.Errorf("%+v, want a third of the 60 s that three works have taken so far", busy)
		}
	})
}

// TestGiveBack has one engine give back what it cannot do. It takes no more of it until it has room, and another engine does it all.
func TestGiveBack(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		room := make(chan bool)
		var given, done atomic.Int32
		full := open(t, o, map[string]Func{"job": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			if w.Queue != "jobs" {
				t.Errorf("the queue is %q", w.Queue)
			}
			err := w.GiveBack()
			given.Add(1)
			<-room
			return nil, err
		}})
		queue := Queue{Name: "jobs", Concurrency: 2, Each: true}
		if err := full.AddQueue(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for range 6 {
			id, err := full.Start(t.Context(), "job", nil, Start{Queue: "jobs", Customer: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			time.Sleep(2 * time.Millisecond) // the queue is in the order of milliseconds
		}
		until(t, func() bool { return given.Load() == 2 })
		for i, id := range ids {
			if s, err := full.Get(t.Context(), id); err != nil || s.State != Queued || s.Position != i+1 {
				t.Errorf("%+v, %v; want the work to wait in its place %d", s, err, i+1)
			}
		}
		free := open(t, o, map[string]Func{"job": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			return Step(w, "work", func(context.Context) (json.RawMessage, error) { done.Add(1); return nil, nil })
		}})
		if err := free.AddQueue(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if s := wait(t, free, id); s.State != Done {
				t.Errorf("%+v, want it done", s)
			}
		}
		if given.Load() != 2 || done.Load() != 6 {
			t.Errorf("%d works were given back, and %d done; want 2 and 6", given.Load(), done.Load())
		}
		close(room)
	})
}

func TestRate(t *testing.T) {
	var mu sync.Mutex
	var times []time.Time
	e := open(t, newState(t), map[string]Func{"job": func(*Work, json.RawMessage) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		times = append(times, time.Now())
		return nil, nil
	}})
	if err := e.AddQueue(t.Context(), Queue{Name: "slow", Concurrency: 10, Rate: 2, RatePeriod: time.Second}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range 6 {
		id, err := e.Start(t.Context(), "job", nil, Start{Queue: "slow"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		wait(t, e, id)
	}
	// The library counts from the moment at which it admits work, in its clock; it begins a moment later.
	for i := 2; i < len(times); i++ {
		if gap := times[i].Sub(times[i-2]); gap < 500*time.Millisecond {
			t.Errorf("work %d began %v after the second before it, want a second", i, gap)
		}
	}
}

func TestQueueErrors(t *testing.T) {
	e := open(t, newState(t), nil)
	for _, q := range []Queue{{Name: "a"}, {Name: "b", Concurrency: 1, PerCustomer: 2}, {Name: "c", Concurrency: 1, Rate: 1}} {
		if err := e.AddQueue(t.Context(), q); err == nil {
			t.Errorf("AddQueue(%+v) = nil, want an error", q)
		}
	}
	if _, err := e.Start(t.Context(), "job", nil, Start{Queue: "a"}); err == nil {
		t.Error("Start() in a queue that does not exist = nil, want an error")
	}
}
