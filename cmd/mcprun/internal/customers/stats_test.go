package customers

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// TestStatsMoney shows money and seconds of two sessions, and of both together.
func TestStatsMoney(t *testing.T) {
	prices := model.Prices{Input: 3, Output: 15}
	run := &customer.Run{Cause: "exit", CallCount: 2, Cache: &cache.Use{Hits: 1, Misses: 1, Bytes: 2000, SavedMS: 1500}}
	tokens := customer.Tokens{Script: 100, Wrappers: 50, Output: 50, Definitions: 10_000, Called: 400, Arguments: 60, Results: 20_000}.Sum()
	run.Tokens = &tokens
	report := &statsReport{Prices: prices, Customers: []*customer.CustomerStats{{Customer: "acme"}}}
	for i := range 2 { // one run, and two
		s := customer.SessionStats{Session: fmt.Sprint("s", i+1)}
		for range i + 1 {
			s.Add(time.Time{}, run)
		}
		report.Total.Merge(&s.Stats)
		s.Price(prices)
		report.Customers[0].Sessions = append(report.Customers[0].Sessions, s)
	}
	report.Total.Price(prices)
	var out bytes.Buffer
	o := &statsCommand{customersCommand: customersCommand{app: &cli.App{Stdout: &out}}}
	if err := o.print(report); err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	// A run reads 100 and writes 100 as code; 20,400 and 60 with search-then-call; 30,000 and 60 with direct calls.
	for _, want := range []string{
		"2 200 20460 99.0 % 30060 99.3 % 0.0603 3.4 s acme s1",
		"4 400 40920 99.0 % 50120 99.2 % 0.1206 6.8 s acme s2",
		"code 600 0.0054 5.1 s",
		"search-then-call 61380 0.1863 15.2 s 99.0 %",
		"direct calls 80180 0.2427 19.0 s 99.2 %",
		"cache: answered 3 of 6 calls; 6kB and 4.5 s saved",
		"3 runs, 6 calls; a million tokens at 3 read and 15 written",
	} {
		if !lines[want] {
			t.Errorf("there is no line %q in\n%s", want, out.String())
		}
	}
}
