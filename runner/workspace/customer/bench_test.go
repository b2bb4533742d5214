package customer

import (
	"fmt"
	"strings"
	"testing"
)

// benchRun returns a typical record of a run.
func benchRun() *Run {
	run := &Run{Language: "typescript", Cause: "exit", Code: strings.Repeat("const x = 1;\n", 80), Output: strings.Repeat("line\n", 40), Tokens: &Tokens{Used: 10, Direct: 1000, Saved: 990}}
	for i := range 20 {
		run.Calls = append(run.Calls, Call{Tool: fmt.Sprint("server__tool", i%4), MS: 1.5, Outcome: "ok"})
	}
	return run
}

// BenchmarkRun measures the overhead of a run for a customer: a lease and a line in the log.
func BenchmarkRun(b *testing.B) {
	r, err := OpenRoot(b.TempDir(), &RootOptions{Store: newStore(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	c, err := r.Customer("acme")
	if err != nil {
		b.Fatal(err)
	}
	s, err := c.NewSession(Meta{ID: "one"})
	if err != nil {
		b.Fatal(err)
	}
	run := benchRun()
	b.ResetTimer()
	for i := range b.N {
		if i%5000 == 4999 { // a log is bounded
			b.StopTimer()
			if s, err = c.NewSession(Meta{}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		l, err := c.Begin(b.Context(), 0)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Append(Record{Kind: KindRun, Run: run}); err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStats measures the totals of a log with 1,000 runs.
func BenchmarkStats(b *testing.B) {
	r, err := OpenRoot(b.TempDir(), &RootOptions{Store: newStore(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	c, err := r.Customer("acme")
	if err != nil {
		b.Fatal(err)
	}
	s, err := c.NewSession(Meta{ID: "one"})
	if err != nil {
		b.Fatal(err)
	}
	for range 1000 {
		if err := s.Append(Record{Kind: KindRun, Run: benchRun()}); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for range b.N {
		if stats, err := s.Stats(); err != nil || stats.Runs != 1000 {
			b.Fatal(stats, err)
		}
	}
}
