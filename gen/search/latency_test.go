package search_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
)

// alike returns tools that have nearly all words in common, which is the worst case for an index of words.
func alike(t testing.TB, n int) *catalog.Catalog {
	verbs := []string{"create", "get", "list", "update", "delete", "search", "export", "import"}
	things := []string{"customer", "invoice", "order", "product", "ticket", "message", "file", "user", "report", "event"}
	var servers []catalog.Server
	for s := range 100 {
		var tools []tool
		for i := range n / 100 {
			verb, thing := verbs[i%len(verbs)], things[(i/len(verbs)+s)%len(things)]
			tools = append(tools, tool{
				name:        fmt.Sprintf("%s_%s_record_%d", verb, thing, i),
				description: fmt.Sprintf("This tool lets you %s a %s record in the database by its id. Use it to %s data of a user, and get the result as a list.", verb, thing, verb),
			})
		}
		servers = append(servers, server(t, fmt.Sprintf("crm-%d", s), tools...))
	}
	return catalogOf(t, servers...)
}

// TestLatency bounds, generously, the time of a query among 10,000 similar tools; docs/internals/search.md has figures.
func TestLatency(t *testing.T) {
	tools := 10_000
	if raced {
		tools = 2_000
	}
	x := index(t, alike(t, tools), nil)
	for _, text := range []string{"get", "record", "get the user record from the database by id", "delete an invoice in crm-57", "find all tickets of a customer and export them as a list", "custmer recrod"} {
		var times []time.Duration
		for range 7 {
			start := time.Now()
			hits, err := x.Search(t.Context(), search.Query{Text: text})
			if err != nil || len(hits) != search.DefaultLimit {
				t.Fatalf("%q: %v, %v, want len(hits) %v and no error", text, ids(hits), err, search.DefaultLimit)
			}
			times = append(times, time.Since(start))
		}
		slices.Sort(times)
		t.Logf("%q: p50 %s", text, times[len(times)/2])
		if p50 := times[len(times)/2]; p50 > 250*time.Millisecond { // on a slow and busy machine
			t.Errorf("%q takes %s, want at most %s", text, p50, 250*time.Millisecond)
		}
	}
}
