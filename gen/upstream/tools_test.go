package upstream

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

func lists(t *testing.T, s *Session) int {
	t.Helper()
	return field[int](t, mustCall(t, s, upstreamtest.ToolLists, ""), "count")
}

func TestDefinitionIsListedOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Session) {
		const definition = `{"name":"echo","description":"The tool echo.","inputSchema":{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}},"additionalProperties":true},"outputSchema":{"type":"object","additionalProperties":true}}`
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if got, err := s.Definition(testContext(t), upstreamtest.ToolEcho); err != nil || string(got) != definition {
					t.Errorf("definition %s, %v, want %v and no error", got, err, definition)
				}
			})
		}
		wg.Wait()
		if _, err := s.Definition(testContext(t), "nobody"); !errors.Is(err, ErrUnknownTool) {
			t.Errorf("error %v, want %v", err, ErrUnknownTool)
		}
		if n := lists(t, s); n != 1 {
			t.Errorf("listed %d times, want 1", n)
		}
	})
}

func TestDefinitionFollowsChanges(t *testing.T) {
	for _, w := range ways() {
		if w.name == "http legacy" { // there the list is too old after a while
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, w.start(t), asking())
			ctx := testContext(t)
			s.awaitListening(ctx)
			before := ""
			for range 3 {
				for { // the notification may come after the answer, and the first change before it is asked for
					got, err := s.Definition(ctx, upstreamtest.ToolEcho)
					if err != nil || ctx.Err() != nil {
						t.Fatalf("definition %s, %v", got, err)
					}
					if string(got) != before {
						before = string(got)
						break
					}
					mustCall(t, s, upstreamtest.ToolChange, "")
					time.Sleep(5 * time.Millisecond)
				}
			}
			if !strings.Contains(before, "Changed") {
				t.Errorf(`definition %s, want "Changed" in it`, before)
			}
		})
	}
}

func TestDefinitionGetsTooOld(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.HTTPServer(t, upstreamtest.RichLegacy, nil), testOptions())
	read := func() string {
		got, err := s.Definition(testContext(t), upstreamtest.ToolEcho)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	before := read()
	mustCall(t, s, upstreamtest.ToolChange, "") // nobody hears of it
	if read() != before {
		t.Error("listed again at once")
	}
	if age := time.Until(s.tools.until); age < minListAge/2 || age > maxListAge {
		t.Errorf("it is kept for %v, want at least %v and at most %v", age, minListAge/2, maxListAge)
	}
	s.tools.until = time.Now()
	if got := read(); !strings.Contains(got, "Changed 1 times") {
		t.Errorf(`definition %s, want "Changed 1 times" in it`, got)
	}
}

func TestDefinitionConcealsAsTheTreeDoes(t *testing.T) {
	t.Parallel()
	opts := testOptions()
	opts.Lookup = func(name string) (string, bool) { return "The tool echo.", name == "TOKEN" }
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	srv.Env["SECRET"] = "${TOKEN}"
	s := open(t, srv, opts)
	tools, err := s.ListTools(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Definition(testContext(t), upstreamtest.ToolEcho)
	if want := s.ConcealIn(tools[0]); err != nil || string(got) != string(want) || !strings.Contains(string(got), "[TOKEN]") {
		t.Errorf(`definition %s, %v, want %v, "[TOKEN]" in it and no error`, got, err, string(want))
	}
}

func TestTimeToLive(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{}`: 0, `{"ttlMs":0}`: 0, `{"ttlMs":-5}`: 0, `{"ttlMs":"x"}`: 0, `{"ttlMs":1500}`: 1500 * time.Millisecond, `{"ttlMs":1e300}`: maxListAge,
	} {
		if p, err := parsePage(json.RawMessage(text), listing{}); err != nil || p.ttl != want {
			t.Errorf("%s: %v, %v, want %v", text, p.ttl, err, want)
		}
	}
}
