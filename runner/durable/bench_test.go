package durable

import (
	"context"
	"encoding/json"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSteps measures a step, a call, and the start and end of work.
func BenchmarkSteps(b *testing.B) {
	var n int
	nothing := func(context.Context) (int, error) { return 0, nil }
	kinds := map[string]Func{
		"empty": func(*Work, json.RawMessage) (json.RawMessage, error) { return nil, nil },
		"step": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			for range n {
				if _, err := Step(w, "step", nothing); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
		"call": func(w *Work, _ json.RawMessage) (json.RawMessage, error) {
			for range n {
				if _, err := Call(w, "call", false, nothing); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
	}
	eachState(b, func(b *testing.B, o Options) {
		e := open(b, o, kinds)
		run := func(kind string) {
			if s := wait(b, e, start(b, e, kind, nil)); s.State != Done {
				b.Fatalf("status = %+v", s)
			}
		}
		for _, kind := range []string{"step", "call"} {
			b.Run(kind, func(b *testing.B) { n = b.N; run(kind) })
		}
		b.Run("work", func(b *testing.B) {
			for b.Loop() {
				run("empty")
			}
		})
	})
}

// BenchmarkLaunch measures how long an engine takes to be ready on a database that has its tables.
func BenchmarkLaunch(b *testing.B) {
	eachState(b, func(b *testing.B, o Options) {
		open(b, o, nil)
		for b.Loop() {
			e, err := Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			e.Register("empty", nil)
			if err := e.Launch(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			e.Close(b.Context())
			b.StartTimer()
		}
	})
}

// TestIdle measures what an engine costs that has nothing to do but to wait for ten answers, beside a queue.
func TestIdle(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		e := open(t, o, map[string]Func{"approval": approval})
		if err := e.AddQueue(t.Context(), Queue{Name: "jobs", Concurrency: 2}); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			start(t, e, "approval", nil)
		}
		time.Sleep(2 * time.Second) // until it is idle
		const span = 3 * time.Second
		before := cpu(t)
		time.Sleep(span)
		used := cpu(t) - before
		t.Logf("%v of %v", used, span)
		if used > span/20 {
			t.Errorf("an idle engine used %v of processor time in %v, want at most a twentieth", used, span)
		}
	})
}

func cpu(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
