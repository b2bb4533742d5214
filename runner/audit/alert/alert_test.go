package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/egress"
)

// sent keeps what the program was told.
type sent struct {
	mu    sync.Mutex
	list  []string
	times []time.Time
}

func (s *sent) tell(_ context.Context, message any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := message.(*Alert)
	s.list = append(s.list, fmt.Sprintf("%s %s +%d", a.Kind, a.Run, a.More))
	s.times = append(s.times, time.Now())
	return nil
}

func TestObserve(t *testing.T) {
	program := audit.Program{Name: "a.ts", Risk: "high"}
	ok := audit.RunEnd{Sandbox: "docker", Success: true, Program: audit.Program{Risk: "low"}}
	tests := map[string]struct {
		entries []audit.Entry
		want    []string
	}{
		"harmless": {[]audit.Entry{{Kind: audit.KindRun, Body: audit.RunStart{Program: audit.Program{Risk: "medium"}}}, {Kind: audit.KindRunEnd, Body: ok}}, []string{"code_execution r +0"}},
		"high risk once": {[]audit.Entry{
			{Kind: audit.KindRun, Body: audit.RunStart{Program: program}}, {Kind: audit.KindRunEnd, Body: audit.RunEnd{Program: program, Sandbox: "docker", Success: true}},
		}, []string{"code_execution r +0", "high_risk r +0"}},
		"refused": {[]audit.Entry{{Kind: audit.KindRunEnd, Body: &audit.RunEnd{Program: audit.Program{Risk: "critical"}, Sandbox: "none", Violations: []string{"eval"}}}},
			[]string{"code_execution r +0", "failure r +0", "high_risk r +0", "violation r +0"}},
		"call without a script": {[]audit.Entry{{Kind: audit.KindRunEnd, Body: audit.RunEnd{Program: audit.Program{Action: "call_tool"}, Sandbox: "none"}}}, []string{"failure r +0"}},
		"blocked":               {[]audit.Entry{{Kind: audit.KindConnection, Body: egress.Event{Check: egress.ByRange}}}, []string{"blocked r +0"}},
		"not on the list":       {[]audit.Entry{{Kind: audit.KindConnection, Body: &egress.Event{Check: egress.ByAllowList}}}, nil},
		"call that fails":       {[]audit.Entry{{Kind: audit.KindCallEnd, Body: audit.CallEnd{Outcome: "tool"}}}, nil},
		"schedule":              {[]audit.Entry{{Kind: audit.KindSchedule, Body: audit.Schedule{Event: "failed", Error: "no script"}}, {Kind: audit.KindSchedule, Body: audit.Schedule{Event: "missed"}}}, []string{"failure r +0"}},
		"run without a risk":    {[]audit.Entry{{Kind: audit.KindRun, Body: audit.RunStart{}}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var s sent
			a, err := start(Options{Kinds: []string{"high_risk", "violation", "blocked", "failure", "code_execution"}}, s.tell)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range test.entries {
				e.Run = "r"
				a.Observe(e)
			}
			a.Close()
			slices.Sort(s.list)
			if !slices.Equal(s.list, test.want) {
				t.Errorf("alerts = %q, want %q", s.list, test.want)
			}
		})
	}
}

// TestMany checks that many alerts are sent one a second, that the rest is counted, and that another kind does not wait for them.
func TestMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sent
		a, err := start(Options{}, s.tell)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		fail := func(run string) {
			a.Observe(audit.Entry{Kind: audit.KindRunEnd, Run: run, Body: audit.RunEnd{Sandbox: "docker"}})
		}
		fail("0")
		synctest.Wait() // it is sent
		for i := range 20 {
			fail(fmt.Sprint(i + 1))
		}
		a.Observe(audit.Entry{Kind: audit.KindConnection, Run: "c", Body: egress.Event{Check: egress.ByRange}})
		time.Sleep(10 * time.Second)
		want := []string{"failure 0 +0", "blocked c +0", "failure 1 +0", "failure 2 +0", "failure 3 +0", "failure 4 +0", "failure 5 +0", "failure 6 +0", "failure 7 +0", "failure 8 +12"}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.Equal(s.list, want) {
			t.Errorf("alerts = %q, want %q", s.list, want)
		}
		if after := s.times[1].Sub(begin); after != 0 {
			t.Errorf("the alert of another kind was sent after %v, want at once", after)
		}
		if after := s.times[9].Sub(begin); after != 8*time.Second {
			t.Errorf("the ninth failure was sent after %v, want 8s", after)
		}
		a.Close()
	})
}

// TestCloseSendsTheRest checks that what waits is sent at the end, without a pause.
func TestCloseSendsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sent
		a, err := start(Options{}, s.tell)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for i := range 5 {
			a.Observe(audit.Entry{Kind: audit.KindRunEnd, Run: fmt.Sprint(i), Body: audit.RunEnd{Sandbox: "docker"}})
		}
		a.Close()
		a.Close()
		if len(s.list) != 5 || time.Since(begin) != 0 {
			t.Errorf("%d alerts were sent in %v, want 5 at once", len(s.list), time.Since(begin))
		}
	})
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	var warned []error
	a, err := New(Options{Args: []string{"sh", "-c", `cat >"$NAME"; exit 3`}, Dir: dir, Env: append(os.Environ(), "NAME=alert.json"), Warn: func(err error) { warned = append(warned, err) }})
	if err != nil {
		t.Fatal(err)
	}
	a.Observe(audit.Entry{Kind: audit.KindRunEnd, Run: "r1", Who: audit.Who{Customer: "acme"}, Body: audit.RunEnd{Program: audit.Program{Name: "a.ts", Risk: "low"}, Sandbox: "docker", Error: "no", DurationMS: 12}})
	a.Close()
	data, err := os.ReadFile(filepath.Join(dir, "alert.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"kind": "failure", "run": "r1", "risk": "low", "success": false, "durationMs": 12.0, "error": "no", "connection": nil, "violations": nil, "more": 0.0} {
		if v, ok := got[key]; !ok || v != want {
			t.Errorf("%s = %v (present: %v), want %v", key, v, ok, want)
		}
	}
	if got["who"].(map[string]any)["customer"] != "acme" {
		t.Errorf("who = %v, want the customer acme", got["who"])
	}
	if len(warned) != 1 || !strings.Contains(warned[0].Error(), "kind failure") {
		t.Errorf("warnings = %v, want one that names the kind", warned)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, opt := range map[string]Options{
		"need a program": {}, `no kind of alerts "loud"`: {Args: []string{"true"}, Kinds: []string{"loud"}},
	} {
		if _, err := New(opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v): %v, want an error with %q", opt, err, want)
		}
	}
}

func TestNil(t *testing.T) {
	var a *Alerts
	a.Observe(audit.Entry{})
	a.Close()
}
