package runqueue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueueShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(3, 2, 10, time.Minute)
		enter := func(who string) func() {
			leave, err := q.Enter(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		a, b := enter("ada"), enter("ada")
		got := make(chan string, 10)
		for _, who := range []string{"ada", "bob"} {
			go func() { leave := enter(who); got <- who; leave() }()
			synctest.Wait()
		}
		if len(got) != 1 || <-got != "bob" { // the third place is not for ada
			t.Error("bob waited, want a place at once")
		}
		a()
		synctest.Wait()
		if len(got) != 1 || <-got != "ada" {
			t.Error("ada still waits, want the freed place")
		}
		b()
	})
}

// TestQueueWithoutBounds checks that Await takes its turn behind those who wait, however long that takes, and that Try waits for its
// time only.
func TestQueueWithoutBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 1, 1, time.Minute)
		leave, ok := q.Try(t.Context(), "x", time.Second)
		if !ok {
			t.Fatal("Try() = false with a free place")
		}
		began := time.Now()
		if _, ok := q.Try(t.Context(), "y", time.Second); ok || time.Since(began) != time.Second {
			t.Errorf("Try() = %v after %v without a free place, want false after a second", ok, time.Since(began))
		}
		got := make(chan func())
		go func() {
			leave, err := q.Await(t.Context(), "y")
			if err != nil {
				t.Error(err)
			}
			got <- leave
		}()
		time.Sleep(time.Hour)
		leave()
		(<-got)()
		if q.total != 0 {
			t.Errorf("%d places are taken, want 0", q.total)
		}
	})
}

// TestQueueWatch checks that a free place lets one go of those who watch for one and may have it, after those who wait, and that it stays free.
func TestQueueWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(3, 2, 10, time.Minute)
		enter := func(who string) func() {
			leave, err := q.Enter(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		told := make(chan string, 10)
		watch := func(ctx context.Context, who string) {
			go func() { q.Watch(ctx, who); told <- who }()
			synctest.Wait()
		}
		said := func() (all string) {
			synctest.Wait()
			for len(told) > 0 {
				all += <-told
			}
			return all
		}
		a, b, c := enter("a"), enter("a"), enter("b")
		ctx, giveUp := context.WithCancel(t.Context())
		watch(ctx, "b")
		giveUp()
		if got := said(); got != "b" {
			t.Errorf("%q was told, want the one that gave up", got)
		}
		for _, who := range []string{"a", "a", "b", "b"} {
			watch(t.Context(), who)
		}
		for i, leave := range []func(){c, a, b} { // the place of b is not for a
			leave()
			if got := said(); got != []string{"b", "a", "a"}[i] {
				t.Errorf("%q was told of place %d", got, i)
			}
		}
		c, b, a = enter("b"), enter("a"), enter("a")
		go func() { enter("b")(); told <- "waiter" }()
		synctest.Wait()
		a()
		if got := said(); got != "waiterb" && got != "bwaiter" {
			t.Errorf("%q were told, want the one that waited, and then the last that watches", got)
		}
		b()
		c()
		if watch(t.Context(), "a"); said() != "a" || q.total != 0 || len(q.watching) != 0 {
			t.Errorf("queue after all left = %+v, want it empty", q)
		}
	})
}

func TestQueueBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 1, 1, time.Minute)
		leave, err := q.Enter(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 2)
		go func() { _, err := q.Enter(t.Context(), "x"); errs <- err }()
		synctest.Wait()
		if _, err := q.Enter(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "wait already") {
			t.Errorf("Enter() with a full queue = %v, want \"wait already\"", err)
		}
		soon, end := context.WithTimeout(t.Context(), time.Second)
		if _, err := q.Enter(soon, "y"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Enter() of another customer = %v, want it to wait", err)
		}
		end()
		var busy *BusyError
		if err := <-errs; !errors.As(err, &busy) {
			t.Errorf("Enter() after maxWait = %v, want a *BusyError", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, err := q.Enter(ctx, "x"); errs <- err }()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("Enter() with a cancelled context = %v, want context.Canceled", err)
		}
		leave()
		if leave, err = q.Enter(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		leave()
		if q.total != 0 || len(q.taken) != 0 || len(q.waiting) != 0 {
			t.Errorf("queue after all left = %+v, want it empty", q)
		}
	})
}

// TestQueueCrowd checks that many concurrent callers never exceed the bound, and that no place is lost.
func TestQueueCrowd(t *testing.T) {
	q := New(4, 3, 1000, time.Minute)
	var now, most atomic.Int64
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%3 == 0 {
				time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
			}
			defer cancel()
			leave, err := q.Enter(ctx, string(rune('a'+i%5)))
			if err != nil {
				return
			}
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
			leave()
		})
	}
	all.Wait()
	if most.Load() > 4 || q.total != 0 || len(q.taken) != 0 || len(q.waiting) != 0 {
		t.Errorf("got %d at once, want at most 4; queue after all left = %+v, want it empty", most.Load(), q)
	}
}
