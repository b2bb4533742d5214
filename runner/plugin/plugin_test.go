package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
)

// helper is the first argument of this test program when it is a plugin; the second one says how it behaves.
const helper = "be-a-plugin"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helper {
		be(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// longTimeout is for plugins that answer, on a busy machine.
const longTimeout = 2 * time.Minute

// lookup has the variables of this process, and secrets.
func lookup(name string) (string, bool) {
	if strings.HasSuffix(name, "_KEY") {
		return "secret", true
	}
	return os.LookupEnv(name)
}

// open returns a set with this program as its only plugin.
func open(t testing.TB, behaviour string, set func(*config.Plugin)) *Set {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := config.Plugin{Name: "tested", Run: config.Command{self, helper, behaviour}, Mode: config.PluginOnce, Timeout: longTimeout, OnError: "deny", Check: config.CheckBusiness}
	if set != nil {
		set(&c)
	}
	s, err := Open([]config.Plugin{c}, Options{Dir: dir, Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func callOf(amount int) *Event {
	return &Event{Hook: Call, Run: "run-1", Tool: "bank__pay", Server: "bank", Name: "pay", Arguments: json.RawMessage(fmt.Sprintf(`{"amount":%d}`, amount))}
}

// modes runs a test with both modes.
func modes(t *testing.T, test func(t *testing.T, mode string)) {
	for _, mode := range []string{config.PluginOnce, config.PluginStream} {
		t.Run(mode, func(t *testing.T) { t.Parallel(); test(t, mode) })
	}
}

func TestDecisions(t *testing.T) {
	modes(t, func(t *testing.T, mode string) {
		s := open(t, "limit", func(c *config.Plugin) { c.Mode = mode })
		for range 2 {
			if done, err := s.Ask(t.Context(), callOf(10_000), Place{}); err != nil || done != nil {
				t.Errorf("10,000: %+v, %v, want it allowed", done, err)
			}
			done, err := s.Ask(t.Context(), callOf(10_001), Place{})
			denied, ok := errors.AsType[*DeniedError](err)
			if !ok || denied.Failed || err.Error() != "plugin tested: refused: over 10,000" || len(done) != 1 || done[0].Decision != "deny" {
				t.Errorf("10,001: %+v, %v, want it refused with its reason", done, err)
			}
			e := callOf(-5)
			done, err = s.Ask(t.Context(), e, Place{})
			if err != nil || string(e.Arguments) != `{"amount":0}` || len(done) != 1 || done[0].Decision != "change" || done[0].From == done[0].To || len(done[0].To) != 64 {
				t.Errorf("-5: %s, %+v, %v, want it changed to 0", e.Arguments, done, err)
			}
		}
	})
}

// TestFailures: whatever a plugin does wrong refuses what it was asked about, or lets it pass if it was configured so, and names the plugin.
func TestFailures(t *testing.T) {
	for behaviour, want := range map[string]string{
		"crash":          `it ended with exit status 3, last line of its standard error: KeyError: 'amount'`,
		"nonsense":       `what it wrote is no answer: invalid character 'H'`,
		"array":          `what it wrote is no answer: json: cannot unmarshal array`,
		"wrong types":    `what it wrote is no answer: json: cannot unmarshal`,
		"maybe":          `its answer decides "maybe", not allow, deny or change`,
		"empty":          `its answer decides "", not allow, deny or change`,
		"flood":          `it wrote more than 16 MiB`,
		"no value":       `its answer is to change something, and has no "value" that is JSON`,
		"number":         `its changed value cannot be used: the arguments are no object`,
		"wrong id":       `it answered event`,
		"allows a value": `its answer decides "allow" and has a "value", which takes the decision change`,
		"deep":           `what it wrote is no answer: invalid character '{' exceeded max depth`,
	} {
		t.Run(behaviour, func(t *testing.T) {
			modes(t, func(t *testing.T, mode string) {
				closed := open(t, behaviour, func(c *config.Plugin) { c.Mode = mode })
				done, err := closed.Ask(t.Context(), callOf(1), Place{})
				denied, ok := errors.AsType[*DeniedError](err)
				if !ok || !denied.Failed || denied.Plugin != "tested" || !strings.Contains(denied.Reason, want) || len(done) != 1 || done[0].Decision != "failed" {
					t.Errorf("Ask() = %+v, %v, want a refusal that names the plugin and says %q", done, err, want)
				}
				allows := open(t, behaviour, func(c *config.Plugin) { c.Mode, c.OnError = mode, "allow" })
				e := callOf(1)
				if done, err = allows.Ask(t.Context(), e, Place{}); err != nil || len(done) != 1 || done[0].Decision != "failed" || !strings.Contains(string(done[0].Reason), want) || string(e.Arguments) != `{"amount":1}` {
					t.Errorf("Ask() with on_error: allow = %+v, %v, want the call as it was, and the failure recorded", done, err)
				}
			})
		})
	}
}

// TestNoise: what a plugin writes to standard error does not hold it up, and an event that it does not read does no harm.
func TestNoise(t *testing.T) {
	modes(t, func(t *testing.T, mode string) {
		s := open(t, "noise", func(c *config.Plugin) { c.Mode = mode })
		if _, err := s.Ask(t.Context(), callOf(1), Place{}); err != nil {
			t.Errorf("Ask() = %v, want it allowed", err)
		}
	})
	s := open(t, "never reads", nil)
	e := callOf(1)
	e.Arguments = json.RawMessage(`{"text":"` + strings.Repeat("x", 4<<20) + `"}`)
	if _, err := s.Ask(t.Context(), e, Place{}); err != nil {
		t.Errorf("Ask() of 4 MiB that are not read = %v, want it allowed", err)
	}
}

func TestSilence(t *testing.T) {
	once := open(t, "silent", nil)
	if _, err := once.Ask(t.Context(), callOf(1), Place{}); err == nil || !strings.Contains(err.Error(), "it wrote no answer") {
		t.Errorf("once: %v, want that it wrote no answer", err)
	}
	stays := open(t, "silent", func(c *config.Plugin) { c.Mode = config.PluginStream })
	if _, err := stays.Ask(t.Context(), callOf(1), Place{}); err == nil || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("stream: %v, want that it ended", err)
	}
}

// TestTimeout: a plugin that hangs is ended with the processes that it has started, also those that have left its process group.
func TestTimeout(t *testing.T) {
	for _, behaviour := range []string{"hang", "hang after reading", "grandchild"} {
		t.Run(behaviour, func(t *testing.T) {
			modes(t, func(t *testing.T, mode string) {
				file := filepath.Join(t.TempDir(), "pids")
				s := open(t, behaviour, func(c *config.Plugin) {
					c.Mode, c.Timeout, c.Run = mode, 2*time.Second, append(c.Run, file)
				})
				_, err := s.Ask(t.Context(), callOf(1), Place{})
				if err == nil || !strings.Contains(err.Error(), "plugin tested failed, and what it cannot check is refused: it gave no answer within 2s") {
					t.Fatalf("Ask() = %v, want that it gave no answer within 2s", err)
				}
				if err := s.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
				for _, pid := range pids(t, file) {
					if running(pid) {
						t.Errorf("process %d still runs", pid)
					}
				}
			})
		})
	}
}

// TestGrandchildHoldsOutput: a plugin that has answered and ended is not waited for, although a process of it has its output.
func TestGrandchildHoldsOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	s := open(t, "leaves", func(c *config.Plugin) { c.Run = append(c.Run, file) })
	if done, err := s.Ask(t.Context(), callOf(1), Place{}); err != nil || done != nil {
		t.Errorf("Ask() = %+v, %v, want it allowed", done, err)
	}
	for _, pid := range pids(t, file) {
		if running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
}

// TestInterrupted: the end of a run is no failure of the plugin.
func TestInterrupted(t *testing.T) {
	modes(t, func(t *testing.T, mode string) {
		s := open(t, "hang", func(c *config.Plugin) { c.Mode, c.OnError = mode, "allow" })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Ask(ctx, callOf(1), Place{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Ask() = %v, want %v", err, context.Canceled)
		}
	})
}

// TestStreamOutOfOrder: answers count by their ids.
func TestStreamOutOfOrder(t *testing.T) {
	s := open(t, "reversed", func(c *config.Plugin) { c.Mode = config.PluginStream })
	var all sync.WaitGroup
	for i := range 10 { // the plugin answers ten events at once, the last one first
		all.Go(func() {
			_, err := s.Ask(t.Context(), callOf(i*2_000), Place{})
			if refused := err != nil; refused != (i*2_000 > 10_000) {
				t.Errorf("%d: %v", i*2_000, err)
			}
		})
	}
	all.Wait()
}

// TestStreamStartsAgain: a process that has ended, after an answer or instead of one, is replaced for the next event.
func TestStreamStartsAgain(t *testing.T) {
	s := open(t, "answers once", func(c *config.Plugin) { c.Mode = config.PluginStream })
	for i := range 5 {
		if _, err := s.Ask(t.Context(), callOf(1), Place{}); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	file := filepath.Join(t.TempDir(), "crashed")
	s = open(t, "crashes at first", func(c *config.Plugin) { c.Mode, c.Run = config.PluginStream, append(c.Run, file) })
	if _, err := s.Ask(t.Context(), callOf(1), Place{}); err == nil {
		t.Error("the first event is allowed, although the plugin ended")
	}
	if _, err := s.Ask(t.Context(), callOf(1), Place{}); err != nil {
		t.Errorf("the second event: %v", err)
	}
}

// TestEnvironment: a plugin gets no secret of the environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("API_TOKEN", "secret")
	s := open(t, "environment", nil)
	_, err := s.Ask(t.Context(), callOf(1), Place{})
	if err == nil || strings.Contains(err.Error(), "TOKEN") || strings.Contains(err.Error(), "_KEY") || !strings.Contains(err.Error(), "PATH") {
		t.Errorf("the environment is %v, want PATH and no secret", err)
	}
}

// TestOrder: each plugin sees the value as the ones before it have changed it, and none after one that denies is asked.
func TestOrder(t *testing.T) {
	var asked []string
	hook := func(name string, answer Answer) Plugin {
		return Plugin{Name: name, Hook: hookFunc(func(_ context.Context, e *Event) (*Answer, error) {
			asked = append(asked, name+string(e.Arguments))
			return &answer, nil
		})}
	}
	s := New(hook("a", Answer{Decision: Change, Value: json.RawMessage(`{"amount":2}`)}), hook("b", Answer{Decision: Change, Value: json.RawMessage(`{"amount":2}`)}),
		hook("c", Answer{Decision: Deny, Reason: "no\nway"}), hook("d", Answer{Decision: Allow}))
	done, err := s.Ask(t.Context(), callOf(1), Place{Mask: func(json.RawMessage) json.RawMessage { return json.RawMessage("[X]") }})
	if err == nil || err.Error() != "plugin c: refused: no way" || len(done) != 2 || done[0].Name != "a" || done[0].Decision != "change" || done[1].Decision != "deny" {
		t.Errorf("Ask() = %+v, %v, want a change that the mask hides, none of equal values, and a denial", done, err)
	}
	if got := strings.Join(asked, " "); got != `a{"amount":1} b{"amount":2} c{"amount":2}` {
		t.Errorf("asked %s", got)
	}
}

type hookFunc func(context.Context, *Event) (*Answer, error)

func (f hookFunc) Decide(ctx context.Context, e *Event) (*Answer, error) { return f(ctx, e) }

func TestPlaces(t *testing.T) {
	change := func(value string) *Set {
		return New(Plugin{Name: "p", Hook: hookFunc(func(context.Context, *Event) (*Answer, error) {
			return &Answer{Decision: Change, Value: json.RawMessage(value)}, nil
		})})
	}
	for _, c := range []struct {
		event *Event
		value string
		want  string // in the error; empty: it is accepted
	}{
		{&Event{Hook: Run, Vars: map[string]json.RawMessage{"a": json.RawMessage("1")}}, `{"a":2}`, ""},
		{&Event{Hook: Run, Vars: map[string]json.RawMessage{"a": json.RawMessage("1")}}, `{"a":2,"b":3}`, `the script has no variable "b"`},
		{&Event{Hook: Run, Vars: map[string]json.RawMessage{"a": json.RawMessage("1")}}, `{}`, `a variable is missing`},
		{&Event{Hook: Run}, `[]`, `the variables are no object`},
		{&Event{Hook: RunEnd, Result: json.RawMessage("1")}, `null`, ""},
		{&Event{Hook: Result, Error: "it failed"}, `{}`, `the call failed, so there is no result to change`},
		{&Event{Hook: Result, Result: json.RawMessage("1")}, `{`, `has no "value" that is JSON`},
	} {
		_, err := change(c.value).Ask(t.Context(), c.event, Place{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s changed to %s: %v, want %q", c.event.Hook, c.value, err, c.want)
		}
	}
	refuses := Place{Check: func(json.RawMessage) error { return errors.New("not here") }}
	e := callOf(1)
	if _, err := change(`{"amount":2}`).Ask(t.Context(), e, refuses); err == nil || !strings.Contains(err.Error(), "not here") || string(e.Arguments) != `{"amount":1}` {
		t.Errorf("Ask() = %v, with %s, want the place's error and the arguments as they were", err, e.Arguments)
	}
}

func TestFits(t *testing.T) {
	s := New(Plugin{Name: "p", On: []Point{Call, Run}, Tools: []string{"bank__*", "delete?"}})
	for _, c := range []struct {
		point      Point
		tool, name string
		want       bool
	}{
		{Call, "bank__pay", "pay", true}, {Call, "crm__pay", "pay", false}, {Call, "crm__delete1", "delete1", true}, {Result, "bank__pay", "pay", false},
		{Run, "", "", true}, {RunEnd, "", "", false}, {Call, "bank__resources/read", "resources/read", true},
	} {
		if got := s.Fits(c.point, c.tool, c.name); got != c.want {
			t.Errorf("Fits(%s, %q, %q) = %v, want %v", c.point, c.tool, c.name, got, c.want)
		}
	}
	if (*Set)(nil).Fits(Call, "a", "a") || (*Set)(nil).Close() != nil {
		t.Error("a nil set asks plugins")
	}
}

// TestOpen: guardrails switch each kind of check by itself, and what cannot be started is an error with a remedy.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"s.py", "p.js", "b.sh", "t.ts", "x", "y.rb"} {
		mode := os.FileMode(0o644)
		if name == "x" {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	of := func(name, check string) config.Plugin {
		p := config.NewPlugin(name)
		p.Check = check
		return p
	}
	all := []config.Plugin{of("s.py", config.CheckSecurity), of("p.js", config.CheckPrivacy), of("b.sh", config.CheckBusiness)}
	for _, c := range []struct {
		set  func(*config.Guardrails)
		want string
	}{
		{func(g *config.Guardrails) { *g = config.Guardrails{} }, "s p b"},
		{func(*config.Guardrails) {}, "s p b"},
		{func(g *config.Guardrails) { g.Checks.Security = false }, "p b"},
		{func(g *config.Guardrails) { g.Checks.Privacy = false }, "s b"},
		{func(g *config.Guardrails) { g.Checks.Business = false }, "s p"},
		{func(g *config.Guardrails) { g.Enabled = false }, ""},
	} {
		g := config.DefaultGuardrails()
		c.set(&g)
		s, err := Open(all, Options{Dir: dir, Guardrails: g})
		if err != nil || strings.Join(s.Names(), " ") != c.want {
			t.Errorf("Open() with %+v = %v, %v, want %q", g, s.Names(), err, c.want)
		}
	}
	for name, want := range map[string]string{
		"none.py": `plugin none: there is no file`,
		"y.rb":    `it is not executable, and its extension is not .py, .js, .ts or .sh`,
		".":       `there is no file`,
	} {
		_, err := Open([]config.Plugin{config.NewPlugin(name)}, Options{Dir: dir})
		bad, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(err.Error(), want) || bad.Hint() == "" {
			t.Errorf("Open() of %s = %v, want %q and a remedy", name, err, want)
		}
	}
	for name, want := range map[string]string{"s.py": "/bin/py -u s.py", "p.js": "/bin/js p.js", "t.ts": "/bin/js --experimental-strip-types --disable-warning=ExperimentalWarning t.ts", "b.sh": "sh b.sh", "x": "x"} {
		words, err := starter("n", filepath.Join(dir, name), func(name string) (string, bool) {
			value, ok := map[string]string{"MCPRUN_PYTHON": "/bin/py", "MCPRUN_NODE": "/bin/js"}[name]
			return value, ok
		})
		if got := strings.ReplaceAll(strings.Join(words, " "), dir+string(filepath.Separator), ""); err != nil || got != want {
			t.Errorf("starter() of %s = %s, %v, want %s", name, got, err, want)
		}
	}
}

// TestChangedFile: a plugin whose file has changed since it was opened is not started.
func TestChangedFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.sh")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\necho '{\"decision\":\"allow\"}'\n")
	s, err := Open([]config.Plugin{config.NewPlugin("a.sh")}, Options{Dir: dir, Lookup: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	s.plugins[0].Timeout = longTimeout
	if _, err := s.Ask(t.Context(), callOf(1), Place{}); err != nil {
		t.Fatal(err)
	}
	write("#!/bin/sh\necho '{\"decision\":\"allow\"}' # changed\n")
	if _, err := s.Ask(t.Context(), callOf(1), Place{}); err == nil || !strings.Contains(err.Error(), "a.sh has changed since mcprun has read it") {
		t.Errorf("Ask() = %v, want that the file has changed", err)
	}
}

// BenchmarkAsk measures an answer of a plugin that is a small program.
func BenchmarkAsk(b *testing.B) {
	for _, mode := range []string{config.PluginOnce, config.PluginStream} {
		b.Run(mode, func(b *testing.B) {
			s := open(b, "limit", func(c *config.Plugin) { c.Mode = mode })
			for b.Loop() {
				if _, err := s.Ask(b.Context(), callOf(1), Place{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
