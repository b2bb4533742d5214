package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// A program that embeds the runner is protected by the policy as mcprun is: this script never starts.
func ExampleRunner_Launch() {
	rules, err := policy.New(&config.Policy{PolicyPart: config.PolicyPart{Level: "read_only"}}, nil)
	if err != nil {
		panic(err)
	}
	r, err := runner.New(nil)
	if err != nil {
		panic(err)
	}
	s := &runner.Script{Name: "list.ts", Code: `import { execSync } from "node:child_process"; execSync("ls")`, Language: sandbox.LangTypeScript}
	_, err = r.Launch(context.Background(), s, runner.LaunchOptions{Sandboxes: machine("process docker"), Policy: rules})
	fmt.Println(err)
	// Output: policy refused to run list.ts: the script runs a command "ls" (list.ts:1): the level allows none (rule "level read_only")
}

func newPolicy(t *testing.T, part config.PolicyPart) *policy.Policy {
	t.Helper()
	p, err := policy.New(&config.Policy{PolicyPart: part}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// working returns the sandboxes of words, each with a guest that takes its job and ends; ran notes their names.
func working(words string, ran *[]string) []sandbox.Backend {
	list := machine(words)
	for _, b := range list {
		fake := b.(*fakeBackend)
		fake.guest = func(g *guest) sandbox.Exit {
			*ran = append(*ran, fake.name)
			g.begin()
			g.done(nil)
			return sandbox.Exit{}
		}
	}
	return list
}

const command = `import { execSync } from "node:child_process"; execSync("ls")`

// TestLaunchRefuses: what forbids a script does so wherever it is launched from, and before anything of it runs.
func TestLaunchRefuses(t *testing.T) {
	for _, c := range []struct {
		name, code string
		script     runner.Script
		opt        runner.LaunchOptions
		want       string
		exit       int
	}{
		{"no sandbox", "1", runner.Script{}, runner.LaunchOptions{Sandboxes: nil}, "has no sandbox for it", 127},
		{"level", command, runner.Script{}, runner.LaunchOptions{Policy: newPolicy(t, config.PolicyPart{Level: "write_restricted", Ceilings: config.PolicyCeilings{Risk: "critical"}})}, "the script runs a command \"ls\" (s.ts:1): the level allows none", 126},
		{"level, writes", `import fs from "node:fs"; fs.writeFileSync("a", "b")`, runner.Script{}, runner.LaunchOptions{Policy: newPolicy(t, config.PolicyPart{Level: "read_only"})}, "the script writes a file \"a\" (s.ts:1)", 126},
		{"risk", command, runner.Script{}, runner.LaunchOptions{Policy: newPolicy(t, config.PolicyPart{Ceilings: config.PolicyCeilings{Risk: "high"}})}, "risk is critical; the policy allows at most high", 126},
		{"risk that was set", "1", runner.Script{Risk: risk.Assessment{Set: risk.High}}, runner.LaunchOptions{Policy: newPolicy(t, config.PolicyPart{Ceilings: config.PolicyCeilings{Risk: "low"}})}, "risk is high", 126},
		{"restricted", `eval("1")`, runner.Script{Restricted: true}, runner.LaunchOptions{}, "restricted scripts may not do", 126},
		{"a sandbox for the author", "1", runner.Script{}, runner.LaunchOptions{Sandbox: "process", Trust: runner.TrustStranger}, "too weak for code of critical risk", 126},
		{"a sandbox for the risk", "1", runner.Script{Risk: risk.Assessment{Set: risk.Medium}}, runner.LaunchOptions{Sandbox: "process"}, "too weak for code of medium risk", 126},
		{"not a script", `import "./missing"`, runner.Script{}, runner.LaunchOptions{Policy: newPolicy(t, config.PolicyPart{Level: "read_only"})}, "missing", 1},
		{"not a restricted script", `import "./missing"`, runner.Script{Restricted: true}, runner.LaunchOptions{}, "missing", 1},
	} {
		var ran []string
		if c.name != "no sandbox" {
			c.opt.Sandboxes = working("process docker gvisor", &ran)
		}
		s := c.script
		s.Name, s.Code, s.Language = "s.ts", c.code, ts
		_, err := newRunner(t, nil).Launch(t.Context(), &s, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) || ran != nil {
			t.Errorf("%s: error %v, want %q; ran in %v", c.name, err, c.want, ran)
			continue
		}
		if coder, ok := errors.AsType[interface {
			error
			ExitCode() int
		}](err); !ok || coder.ExitCode() != c.exit {
			t.Errorf("%s: %v has another exit code than %d", c.name, err, c.exit)
		}
	}
}

// answering is a person who gives one answer, and keeps what was asked.
type answering struct {
	answer approve.Answer
	err    error
	asked  []*approve.Question
}

func (a *answering) Approve(_ context.Context, q *approve.Question) (approve.Answer, error) {
	a.asked = append(a.asked, q)
	return a.answer, a.err
}

// TestLaunchAsks before a script starts, and runs nothing of it without a yes.
func TestLaunchAsks(t *testing.T) {
	yes, no := approve.Answer{Scope: approve.Once, By: "ann"}, approve.Answer{By: "ann"}
	full, high := newPolicy(t, config.PolicyPart{Level: "execute_full"}), newPolicy(t, config.PolicyPart{Rules: []config.PolicyRule{{Name: "high", Ask: config.Globs{"scripts"}, Risk: "high"}}})
	for _, c := range []struct {
		name, code string
		script     runner.Script
		policy     *policy.Policy
		person     *answering
		want       string // the error; empty: it runs
		asked      int
	}{
		{"low risk", "1", runner.Script{}, nil, &answering{answer: no}, "", 0},
		{"critical", command, runner.Script{}, nil, &answering{answer: no}, `policy refused to run s.ts: not approved by ann: a script that shows a critical risk asks before it starts (rule "critical scripts ask")`, 1},
		{"critical, approved", command, runner.Script{}, nil, &answering{answer: yes}, "", 1},
		{"critical, nobody", command, runner.Script{}, nil, nil, "approval is needed, but nobody can be asked here", 0},
		{"critical, nobody after all", command, runner.Script{}, nil, &answering{err: approve.ErrNobody}, "approval is needed, but nobody can be asked here", 1},
		{"critical, asking fails", command, runner.Script{}, nil, &answering{answer: yes, err: errors.New("no screen")}, "asking failed: no screen", 1},
		{"execute_full", "1", runner.Script{}, full, &answering{answer: no}, `(rule "level execute_full")`, 1},
		{"a rule", "1", runner.Script{Risk: risk.Assessment{Set: risk.High}}, high, &answering{answer: no}, `not approved by ann (rule "high"`, 1},
		{"a rule for a higher risk", "1", runner.Script{}, high, &answering{answer: no}, "", 0},
		{"confirm", "1", runner.Script{Confirm: true}, nil, &answering{answer: no}, runner.ConfirmRule, 1},
		{"confirm, approved", "1", runner.Script{Confirm: true}, nil, &answering{answer: yes}, "", 1},
	} {
		var ran []string
		s := c.script
		s.Name, s.Code, s.Language = "s.ts", c.code, ts
		if c.person != nil {
			s.Calls.Approver = c.person
		}
		res, err := newRunner(t, nil).Launch(t.Context(), &s, runner.LaunchOptions{Sandboxes: working("process docker gvisor", &ran), Policy: c.policy})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || (ran != nil) != (c.want == "") {
			t.Errorf("%s: error %v, want %q; ran in %v", c.name, err, c.want, ran)
		}
		if bad, ok := errors.AsType[*policy.RunError](err); err != nil && (!ok || bad.ExitCode() != exit.Refused) {
			t.Errorf("%s: %v is not a *policy.RunError", c.name, err)
		}
		if c.person == nil {
			continue
		}
		if len(c.person.asked) != c.asked {
			t.Errorf("%s: %d questions, want %d", c.name, len(c.person.asked), c.asked)
		}
		if err == nil && c.asked > 0 && (res.Start == nil || res.Start.By != "ann" || s.Calls.Tokens != c.person.asked[0].Tokens) {
			t.Errorf("%s: the result has the decision %+v", c.name, res.Start)
		}
		if c.code == command && c.asked > 0 {
			if q := c.person.asked[0]; q.Start == nil || !slices.Equal(q.Start.Commands, []string{"ls"}) || q.Risk != risk.Critical || q.Start.Reversible == "" || q.Code != command {
				t.Errorf("%s: asked %+v, %+v", c.name, q, q.Start)
			}
		}
	}
}

// TestLaunchDecidesAboutCalls by the policy of the options, if the script has none.
func TestLaunchDecidesAboutCalls(t *testing.T) {
	b := &fakeBackend{status: sandbox.Status{Usable: true, Languages: []sandbox.Language{py}}, guest: func(g *guest) sandbox.Exit {
		g.begin()
		g.done(object{"result": string(g.call(1, "calculator__add", object{"numbers": []int{1, 2}})["error"])})
		return sandbox.Exit{}
	}}
	up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Structured: []byte(`{"result":3}`)}}}
	deny := newPolicy(t, config.PolicyPart{Rules: []config.PolicyRule{{Deny: config.Globs{"calculator__*"}}}})
	res, err := newRunner(t, up).Launch(t.Context(), &runner.Script{Name: "s.py", Language: py}, runner.LaunchOptions{Sandboxes: []sandbox.Backend{b}, Policy: deny})
	if err != nil || !strings.Contains(string(res.Value), "policy: refused") || up.seen != nil {
		t.Errorf(`%s, error %v, calls %q, want "policy: refused" in it, nil and no error`, res.Value, err, up.seen)
	}
}

// TestLaunchLowersLimits to the ceilings, those too that the script leaves to the defaults.
func TestLaunchLowersLimits(t *testing.T) {
	top := config.PolicyCeilings{Timeout: 5 * time.Second, CPU: 3 * time.Second, Memory: "100MB", Disk: "2MiB", Processes: 20}
	var ran, lowered []string
	var got sandbox.Limits
	list := working("docker", &ran)
	b := list[0].(*fakeBackend)
	guest0 := b.guest
	b.guest = func(g *guest) sandbox.Exit { got = g.spec.Limits; return guest0(g) }
	s := &runner.Script{Name: "s.ts", Language: ts}
	_, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{
		Sandboxes: list, Policy: newPolicy(t, config.PolicyPart{Ceilings: top}),
		Starting: func(_ runner.Choice, l []string) error { lowered = l; return nil },
	})
	want := sandbox.Limits{CPU: 3 * time.Second, Memory: 100_000_000, Disk: 2 << 20, Processes: 20}.WithDefaults()
	if err != nil || got != want || s.Timeout != top.Timeout {
		t.Errorf("limits %+v, timeout %s, error %v; want %+v", got, s.Timeout, err, want)
	}
	if want := []string{"timeout", "processes", "memory", "disk"}; !slices.Equal(lowered, want) {
		t.Errorf("lowered %q, want %q", lowered, want)
	}
	if _, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: list, Policy: newPolicy(t, config.PolicyPart{Ceilings: config.PolicyCeilings{Memory: "much"}})}); err == nil || !strings.Contains(err.Error(), "policy.ceilings.memory") {
		t.Errorf(`a ceiling that is no size: %v, want an error and "policy.ceilings.memory" in it`, err)
	}
}

// TestSandboxByRisk: a script of low risk runs in a process, one of medium and high risk in a container, one of critical risk in the
// strongest sandbox, and one of unknown risk in a container.
func TestSandboxByRisk(t *testing.T) {
	for _, c := range []struct {
		risk risk.Risk
		want string
	}{{risk.Low, "process"}, {risk.Medium, "docker"}, {risk.High, "docker"}, {risk.Critical, "gvisor"}, {risk.None, "docker"}} {
		var ran []string
		s := &runner.Script{Name: "s.py", Code: "print(1)", Language: py, Risk: risk.Assessment{Set: c.risk}}
		res, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: working("gvisor docker process", &ran)})
		if err != nil || res.Sandbox != c.want || ran[len(ran)-1] != c.want {
			t.Errorf("risk %q ran in %v, error %v, want %s", c.risk, ran, err, c.want)
		}
	}
	var ran []string // the risk that a script itself shows
	s := &runner.Script{Name: "s.ts", Code: command, Language: ts}
	s.Calls.Approver = &answering{answer: approve.Answer{Scope: approve.Once}}
	if res, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: working("process docker gvisor", &ran)}); err != nil || res.Sandbox != "gvisor" || res.Risk != risk.Critical {
		t.Errorf(`a script that runs a command: %+v, error %v, want Sandbox "gvisor", Risk %v and no error`, res, err, risk.Critical)
	}
}

// TestSandboxThatDoesNotStart: if only what the script shows has led to a sandbox that does not work after all, the usual one runs it.
func TestSandboxThatDoesNotStart(t *testing.T) {
	var ran, said []string
	list := working("docker gvisor", &ran)
	list[1].(*fakeBackend).startErr = &runner.BackendError{Name: "gvisor", Message: "it is broken"}
	s := &runner.Script{Name: "s.ts", Code: command, Language: ts}
	s.Calls.Approver = &answering{answer: approve.Answer{Scope: approve.Once}}
	res, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: list, Starting: func(c runner.Choice, _ []string) error {
		said = append(said, c.Backend.Name()+": "+c.Reason)
		return nil
	}})
	if err != nil || res.Sandbox != "docker" || len(said) != 2 || !strings.Contains(said[1], "docker: sandbox gvisor does not start here: ") {
		t.Errorf(`%+v, error %v, said %q, want Sandbox "docker", len(said) 2, "docker: sandbox gvisor does not start here: " in it and no error`, res, err, said)
	}
	failed := errors.New("no")
	_, err = newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: list[:1], Starting: func(runner.Choice, []string) error { return failed }})
	if !errors.Is(err, failed) || len(ran) != 1 {
		t.Errorf("an error of Starting: %v, ran in %v, want %v and len(ran) 1", err, ran, failed)
	}
}

// TestScriptIsReadOnce: what was judged, and whose digest was taken, is what runs, whatever happens to the files meanwhile.
func TestScriptIsReadOnce(t *testing.T) {
	for name, files := range map[string][2]string{
		"a.ts": {`import { says } from "./lib"; console.log(says);`, `export const says = "%s"`},
		"a.py": {"import lib\nprint(lib.says)", `says = "%s"`},
	} {
		t.Run(name, func(t *testing.T) {
			lib := filepath.Join(t.TempDir(), "lib"+filepath.Ext(name))
			put := func(word string) {
				t.Helper()
				if err := os.WriteFile(lib, fmt.Appendf(nil, files[1], word), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, err := runner.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			list := machine("docker")
			var job string
			list[0].(*fakeBackend).guest = func(g *guest) sandbox.Exit {
				job = fmt.Sprintf("%s", g.begin())
				g.done(nil)
				return sandbox.Exit{}
			}
			s := &runner.Script{Name: name, Code: files[0], Language: sandbox.LangTypeScript, Dir: filepath.Dir(lib)}
			if filepath.Ext(name) == ".py" {
				s.Language = sandbox.LangPython
			}
			put("first")
			program, err := s.Read(t.Context(), nil, script.Options{}) // before its Runner is there
			if err != nil {
				t.Fatal(err)
			}
			put("second")
			before, err := r.Digest(t.Context(), s)
			if err != nil || before != program.Digest {
				t.Fatalf("Digest() = %s, %v, want %s, as it was read", before, err, program.Digest)
			}
			launch := func(want string) {
				t.Helper()
				if _, err := r.Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: list, Starting: func(runner.Choice, []string) error { put("third"); return nil }}); err != nil {
					t.Fatal(err)
				}
				for _, word := range []string{"first", "second", "third"} {
					if got := strings.Contains(job, word); got != (word == want) {
						t.Errorf("the job has %s: %v, want only %s", word, got, want)
					}
				}
			}
			launch("first")
			launch("third") // again, it is read again
			if after, err := r.Digest(t.Context(), s); err != nil || after == before {
				t.Errorf("Digest() = %s, %v, want another than %s", after, err, before)
			}
		})
	}
}

// TestNobodyIsAskedInVain: a script that cannot run is refused before anybody is asked about it.
func TestNobodyIsAskedInVain(t *testing.T) {
	r, err := runner.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := &answering{answer: approve.Answer{Scope: approve.Once}}
	s := &runner.Script{Name: "s.ts", Code: `import "./missing"`, Language: sandbox.LangTypeScript, Confirm: true}
	s.Calls.Approver = asked
	if _, err := r.Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: machine("docker")}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("Launch() = %v, want the import that is missing", err)
	}
	if len(asked.asked) > 0 {
		t.Errorf("somebody was asked: %v, want len(asked.asked) at most 0", asked.asked)
	}
}
