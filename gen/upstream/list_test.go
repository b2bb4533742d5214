package upstream

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

func TestListTools(t *testing.T) {
	all := upstreamtest.ToolNames()
	cases := []struct {
		mode  upstreamtest.Mode
		count int
		names []string // nil: only the count
		err   string
	}{
		{mode: pages, count: len(all), names: all},
		{mode: repeatedCursor, err: `gave the cursor "again" a second time`},
		{mode: endlessPages, err: "more than 1000 pages"},
		{mode: nullTools, count: 2, names: []string{"null_schema", "echo"}},
		{mode: duplicateNames, count: 3, names: []string{"echo", "echo", "ECHO"}},
		{mode: manyTools, count: 10_000},
		{mode: tooManyTools, err: "more than 10000 tools"},
		{mode: hugeDescription, count: 1},
		{mode: badList, err: `"tools" in its answer is not a list`},
	}
	for _, v := range variants() {
		for _, c := range cases {
			t.Run(v.name+"/"+string(c.mode), func(t *testing.T) {
				t.Parallel()
				s := open(t, v.start(t, c.mode), testOptions())
				tools, err := s.ListTools(testContext(t))
				if c.err != "" {
					wantProtocolError(t, err, CodeBadAnswer, c.err)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(tools) != c.count {
					t.Errorf("%d tools, want %d", len(tools), c.count)
				}
				if got := names(t, tools); c.names != nil && !slices.Equal(got, c.names) {
					t.Errorf("tools %q, want %q", got, c.names)
				}
			})
		}
	}
}

func TestListsAreFetchedAnew(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, pages), testOptions())
	for range 2 {
		tools, err := s.ListTools(testContext(t))
		if err != nil || len(tools) != len(upstreamtest.ToolNames()) {
			t.Fatalf("%d tools, %v", len(tools), err)
		}
	}
}

func TestHeaderTools(t *testing.T) {
	t.Parallel()
	log := &record{}
	opts := testOptions()
	opts.Logger = log.logger()
	s := open(t, upstreamtest.HTTPServer(t, toolsWithHeaders, nil), opts)
	// Not listed yet: the server refuses the call, the list is fetched, the call made again.
	if got := field[string](t, mustCall(t, s, upstreamtest.ToolRegion, `{"where":"eu"}`), "region"); got != "eu" {
		t.Errorf(`region %q, want "eu"`, got)
	}
	tools, err := s.ListTools(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, tools); !slices.Equal(got, []string{"echo", "region"}) {
		t.Errorf("tools %q", got)
	}
	if !strings.Contains(log.String(), "bad_header") {
		t.Error(`nothing is said of the tool that was left out, want "bad_header" in it`)
	}

	pipe := open(t, upstreamtest.Server(t, toolsWithHeaders), testOptions())
	if tools, err := pipe.ListTools(testContext(t)); err != nil || len(tools) != 3 {
		t.Errorf("over stdio: %d tools, %v, want 3 and no error", len(tools), err)
	}
}
