package document

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// continued runs a document again and again as a workflow is continued, until a run ends by itself. Each run gets a context that a call can end.
func continued(t *testing.T, up *servers, c *Compiled, end *context.CancelFunc, change func(*runner.Script)) *runner.Result {
	t.Helper()
	state, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	for {
		ctx, cancel := context.WithCancel(t.Context())
		*end = cancel
		res := launch(t, ctx, up, c, "{}", func(s *runner.Script) {
			s.Calls.Suspend = time.Millisecond
			if s.Calls.Journal, err = journal.Open(t.Context(), state, store.Key{Kind: "journal", Name: "run-1"}, make([]byte, 32)); err != nil {
				t.Fatal(err)
			}
			if change != nil {
				change(s)
			}
		}, "*")
		ended := ctx.Err() == nil && res.Cause != runner.CauseSuspended
		if cancel(); ended {
			return res
		}
	}
}

// TestUnknownIsNotRetried ends a run while a call is made, and continues it: the call is not made again, whatever is to be tried again.
func TestUnknownIsNotRetried(t *testing.T) {
	const handle = "do: [{handled: {set: \"${ error.type.split('/')[6] }\"}}]"
	const retry = "retry: {limit: {attempt: {count: 3}}}"
	for name, test := range map[string]struct{ catch, want string }{
		"retry":               {retry, ""},
		"retry of a type":     {"errors: {with: {type: communication}}, " + retry, ""},
		"retry and do":        {retry + ", " + handle, ""},
		"do":                  {handle, `"unknown"`},
		"do of the type":      {"errors: {with: {type: unknown}}, " + handle, `"unknown"`},
		"retry around a fork": {"", ""},
		"retry around a race": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			charge := "{call: crm.create_record, with: {object_type: Lead, data: {Name: Ann}}}"
			body := "{try: [{charge: " + charge + "}], catch: {" + test.catch + "}}"
			failing := "{fail: {raise: {error: {type: runtime, status: 500}}}}"
			switch name {
			case "retry around a fork":
				body = "{fork: {branches: [" + failing + ", {charge: " + charge + "}]}}"
			case "retry around a race":
				body = "{fork: {compete: true, branches: [" + failing + ", {charge: " + charge + "}]}}"
			}
			if strings.HasPrefix(name, "retry around") {
				body = "{try: [{inner: " + body + "}], catch: {" + retry + "}}"
			}
			var end context.CancelFunc
			up := &servers{answer: func(string, map[string]any) (string, error) {
				end() // the process dies after the call was sent
				return "hang", nil
			}}
			res := continued(t, up, compile(t, "test.yaml", do("  - pay: "+body+"\n")), &end, nil)
			if len(up.seen) != 1 || string(res.Value) != test.want || test.want == "" && !strings.Contains(res.Stderr, "unknown whether the call was made") {
				t.Errorf("%d calls, result %s, want 1 and %s\n%s", len(up.seen), res.Value, test.want, res.Stderr)
			}
		})
	}
}

// TestSameLoss has branches that compete and all fail, and a later wait in which the run ends: what was caught is caught again.
func TestSameLoss(t *testing.T) {
	t.Parallel()
	c := compile(t, "test.yaml", do(`
  - any:
      try:
        - both: {fork: {compete: true, branches: [{a: {call: crm.describe_objects}}, {b: {call: crm.describe_objects}}]}}
      catch:
        errors: {with: {type: communication}}
        do: [{instead: {set: caught}}]
  - pause: {wait: 1s}
output: {as: "${ tasks.any }"}
`))
	up := &servers{answer: func(string, map[string]any) (string, error) { return "!", nil }}
	var end context.CancelFunc
	if res := continued(t, up, c, &end, nil); string(res.Value) != `"caught"` {
		t.Errorf("result %s, want caught\n%s", res.Value, res.Stderr)
	}
}

// TestSameWinner has branches that compete, and a later wait in which the run ends: the branch that has won wins again, though the other one ends
// first when they are repeated, and that one does no more than it did.
func TestSameWinner(t *testing.T) {
	t.Parallel()
	c := compile(t, "test.yaml", do(`
  - both:
      fork:
        compete: true
        branches:
          - slow:
              do:
                - s1: {call: crm.get_record, with: {object_type: Lead, record_id: "s01"}}
                - s2: {call: crm.get_record, with: {object_type: Lead, record_id: "s02"}}
          - quick:
              do:
                - q1: {set: "${ 'q0' + string(1) }"}
                - q2: {set: "${ 'q0' + string(2) }"}
                - q3: {set: "${ 'q0' + string(3) }"}
  - early: {set: "early ${ tasks.both }"}
  - pause: {wait: 1s}
  - late: {call: crm.get_record, with: {object_type: Lead, record_id: "${ tasks.both }"}}
output: {as: "${ tasks.both }"}
`))
	decided := make(chan bool)
	up := &servers{answer: func(_ string, args map[string]any) (string, error) {
		if args["record_id"] == "s01" {
			<-decided
		}
		return `{"object_type": "Lead", "id": "1", "record": {}}`, nil
	}}
	var once sync.Once
	var end context.CancelFunc
	res := continued(t, up, c, &end, func(s *runner.Script) {
		eval := s.Answers[methodEval]
		s.Answers = map[string]Method{methodEval: func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
			if strings.Contains(string(params), "early") {
				once.Do(func() { close(decided) })
			}
			return eval(ctx, params)
		}}
	})
	var ids []string
	for _, call := range up.seen {
		var args struct {
			ID string `json:"record_id"`
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(call, "get_record ")), &args); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, args.ID)
	}
	replayed := slices.ContainsFunc(res.Steps, func(s chain.StepRecord) bool { return s.Replayed })
	if string(res.Value) != `"q03"` || !slices.Equal(ids, []string{"s01", "q03"}) || !replayed {
		t.Errorf("%s wins, calls of %v, steps %+v; want q3, calls of s1 and q3\n%s", res.Value, ids, res.Steps, res.Stderr)
	}
}
