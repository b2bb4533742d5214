package sandboxtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

const (
	document   = "../../../docs/internals/attacks.md"
	tableBegin = "<!-- table of attacks: begin -->\n"
	tableEnd   = "<!-- table of attacks: end -->\n"
)

// TestDocument checks that the table in the documentation is up to date. With -update it writes the table.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), tableBegin)
	present, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", document)
	}
	if want := Table(); present != want {
		if *update {
			must(t, os.WriteFile(document, []byte(before+tableBegin+want+tableEnd+after), 0o644))
			return
		}
		t.Errorf("the table in %s is not that of the suite; renew it with: go test ./runner/sandbox/sandboxtest -run TestDocument -update", document)
	}
}

var update = flag.Bool("update", false, "write the table into docs/internals/attacks.md")

// TestSuite checks the suite itself: each case has programs and a unique name, and each program belongs to a case.
func TestSuite(t *testing.T) {
	names := map[string]bool{}
	perLanguage := map[sandbox.Language]int{}
	for _, g := range groups() {
		if len(g.cases) == 0 {
			t.Errorf("nothing is tried about %q", g.threat)
		}
		for _, c := range g.cases {
			if names[c.name] {
				t.Errorf("two cases are called %q", c.name)
			}
			names[c.name] = true
			c = complete(c)
			if len(c.code) == 0 || c.then != nil && len(c.then.code) == 0 {
				t.Errorf("case %q has no program", c.name)
			}
			for lang, code := range c.code {
				if code == "" {
					t.Errorf("case %q has no program in %s", c.name, lang)
				}
				if !g.works {
					perLanguage[lang]++
				}
			}
		}
	}
	for lang, n := range perLanguage {
		if n < 60 {
			t.Errorf("only %d attacks are tried in %s, want at least 60", n, lang)
		}
	}
	t.Logf("%v", perLanguage)
	used := []string{"prelude", "neighbour", "after-planted-loaders", "the-places-of-the-mounts", "after-the-places-of-the-mounts", "raw-frames", "forged-results", "planted-for-the-host"}
	files, err := programFiles.ReadDir("programs")
	must(t, err)
	for _, f := range files {
		base, _, _ := strings.Cut(f.Name(), ".")
		if !slices.Contains(used, base) && !names[strings.ReplaceAll(base, "-", " ")] && !hyphened(names, base) {
			t.Errorf("program %s belongs to no case", f.Name())
		}
	}
}

// hyphened reports whether this program belongs to a case, whose name may contain a '-'.
func hyphened(names map[string]bool, base string) bool {
	for name := range names {
		if strings.ReplaceAll(name, " ", "-") == base {
			return true
		}
	}
	return false
}

// TestChecksCanFail checks that a leak is a problem.
func TestChecksCanFail(t *testing.T) {
	for name, tt := range map[string]struct {
		check func(*recorder, *world, *result)
		r     result
		fails bool
	}{
		"a leak":       {nothing, result{stdout: "LEAK x\nchecked\n"}, true},
		"not the end":  {nothing, result{stdout: "x\n"}, true},
		"nothing":      {nothing, result{stdout: "checked\n"}, false},
		"refused":      {nothing, result{refused: os.ErrInvalid}, true},
		"no limit":     {limit(sandbox.LimitMemory), result{stdout: "running\n", exit: sandbox.Exit{Code: 137}}, true},
		"other limit":  {limit(sandbox.LimitMemory), result{stdout: "running\n", exit: sandbox.Exit{Code: 137, Killed: "cpu", Hit: []string{"cpu"}}}, true},
		"output lost":  {limit(sandbox.LimitMemory), result{exit: sandbox.Exit{Code: 137, Killed: "memory", Hit: []string{"memory"}}}, true},
		"the limit":    {limit(sandbox.LimitMemory), result{stdout: "running\n", exit: sandbox.Exit{Code: 137, Killed: "memory", Hit: []string{"memory"}}}, false},
		"no violation": {brokeOff, result{stdout: "speaking\n"}, true},
		"no means":     {brokeOff, result{stdout: "speaking\nthere is no such descriptor\n"}, true},
		"no end":       {ended, result{stdout: "speaking\nthere is no such descriptor\n", outcome: &bridge.Outcome{}}, true},
		"no bridge":    {held, result{stdout: "speaking\n[Errno 9] Bad file descriptor\n"}, true},
		"held":         {held, result{stdout: "speaking\n"}, false},
	} {
		j := &recorder{}
		j.hold(tt.check, false, &world{}, &tt.r)
		if (len(j.problems) > 0) != tt.fails {
			t.Errorf("%s: %q", name, j.problems)
		}
	}
	for err, holds := range map[error]bool{
		os.ErrPermission: false,
		errors.New("error during connect: is the docker daemon running?"):                         false,
		fmt.Errorf("start: %w", context.DeadlineExceeded):                                         false,
		fmt.Errorf("open /w/workspace: %w", &net.OpError{Op: "dial", Err: os.ErrNotExist}):        false,
		&folder.Error{Path: "/w/tree", Reason: "is not a folder"}:                                 false,
		fmt.Errorf("start: %w", &folder.Error{Path: "/w/workspace/servers", Reason: "is a file"}): true,
		fmt.Errorf("enter /w/workspace: %w", syscall.EACCES):                                      true,
		errors.New(`mount "/w/tree" at "/w/workspace/servers": not a directory`):                  true,
	} {
		for mayRefuse, want := range map[bool]bool{false: false, true: holds} {
			j := &recorder{}
			j.hold(nothing, mayRefuse, &world{workspace: "/w/workspace"}, &result{notStarted: err})
			if (len(j.problems) == 0) != want {
				t.Errorf("a sandbox that did not start (may refuse: %v) for %q: %q", mayRefuse, err, j.problems)
			}
		}
	}
}

// TestExceptions checks that a column excuses no more than it says.
func TestExceptions(t *testing.T) {
	var none *Exception
	if none.expects("x") || (&Exception{}).expects(worked+"LEAK x") || (&Exception{}).expects("x") {
		t.Error("nothing is expected, and something excused")
	}
	e := &Exception{Finds: []string{"nice"}, Problems: []string{"the limits hit are []"}}
	for problem, want := range map[string]bool{
		worked + "LEAK nice -5": true, worked + "LEAK the canary nice": false, worked + "LEAK": false, "left behind: process 7 LEAK nice": false,
		"the limits hit are [], without memory": true, "the limits hit are [cpu], without memory": false,
	} {
		if e.expects(problem) != want {
			t.Errorf("%q is expected: %v", problem, !want)
		}
	}
	said := &recorder{}
	said.hold(brokeOff, false, &world{}, &result{stdout: "speaking\nthere is no such descriptor\n"})
	for _, col := range Columns() {
		if wrong := col.unknown(); wrong != nil {
			t.Errorf("%s: no such case: %q, want nil", col.Name, wrong)
		}
		for _, e := range col.Exceptions {
			if !col.tries(e.Case) || col.means(e.Case) != nil {
				t.Errorf("%s: nothing tries the exception %q", col.Name, e.Case)
			}
			if e.Finds == nil && e.Problems == nil {
				t.Errorf("%s: the exception %q does not say what is found", col.Name, e.Case)
			}
		}
		for _, c := range cases() {
			for _, lang := range col.languages(c) {
				e := col.exception(c.name, lang)
				for _, problem := range []string{"left behind: process 1", "files outside of the workspace changed:", "1 connections reached the host", "the canary was read", "a planted program ran",
					"a forged call was made", "start: x", "wait: x", "the neighbour was disturbed: x", "the script did not end well"} {
					if e.expects(problem) {
						t.Errorf("%s: an exception of %q covers %q", col.Name, c.name, problem)
					}
				}
				// Having no means is an excuse only where a column says so.
				if lacks := strings.HasPrefix(col.Name, "embedded") && strings.HasPrefix(c.name, "bridge:"); strings.HasPrefix(c.name, "bridge:") && e.expects(said.problems[0]) != lacks {
					t.Errorf("%s: having no means for %q is excused: %v", col.Name, c.name, !lacks)
				}
			}
		}
	}
}

// unknown lists the entries of a column that name no case.
func (c Column) unknown() (list []string) {
	all := cases()
	look := func(what, name string, is func(testCase) bool) {
		if !slices.ContainsFunc(all, is) {
			list = append(list, fmt.Sprintf("the %s %q", what, name))
		}
	}
	for _, e := range c.Exceptions {
		look("exception", e.Case, func(t testCase) bool { return t.name == e.Case })
	}
	for _, name := range c.Cases {
		look("case", name, func(t testCase) bool { return t.name == name })
	}
	for _, n := range c.NoMeans {
		for _, name := range n.Cases {
			look("lack", name, func(t testCase) bool { return NoMeans{Cases: []string{name}}.has(t.name) })
		}
	}
	return list
}

// TestCells checks that the table claims no more than is tried.
func TestCells(t *testing.T) {
	either, ts := testCase{name: "either", code: both("x", "x")}, testCase{name: "ts", code: only(both("x", "x"), sandbox.LangTypeScript)}
	python := []sandbox.Language{sandbox.LangPython}
	for want, cells := range map[string][]struct {
		c   testCase
		col Column
	}{
		"holds":        {{either, Column{}}, {ts, Column{}}, {either, Column{Languages: python}}, {either, Column{Cases: []string{"either"}}}},
		"–":            {{ts, Column{Languages: python}}, {ts, Column{Languages: python, Cases: []string{}}}},
		"by hand":      {{either, Column{Cases: []string{"other"}}}},
		"no means ⁽1⁾": {{either, Column{NoMeans: []NoMeans{{Cases: []string{"either"}, Reason: "r"}}}}},
		"no ⁽1⁾":       {{either, Column{Exceptions: []Exception{{Case: "either", Reason: "r"}}}}},
		"may not ⁽1⁾":  {{either, Column{Exceptions: []Exception{{Case: "either", Reason: "r", Varies: true}}}}},
	} {
		for _, x := range cells {
			if got := cell(x.c, x.col, new([]string)); got != want {
				t.Errorf("%s of %+v is %q, want %q", x.c.name, x.col, got, want)
			}
		}
	}
	col, _ := Named("podman rootless")
	if tests := col.Tests(); !slices.Contains(tests, "python/memory_limit") || slices.Contains(tests, "python/host_files") || slices.Contains(tests, "typescript/shared_memory") {
		t.Errorf(`%q are run, want "python/memory_limit" in it, no "python/host_files" in it and no "typescript/shared_memory" in it`, tests)
	}
}
