package sandboxtest

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	document   = "../../../docs/security.md"
	tableBegin = "<!-- table of attacks: begin -->\n"
	tableEnd   = "<!-- table of attacks: end -->\n"
)

// TestDocument keeps the table in the documentation true. With -update it writes it.
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

var update = flag.Bool("update", false, "write the table into docs/security.md")

// TestSuite checks the suite itself: each case has programs, a name of its own, and each program belongs to a case.
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
			t.Errorf("only %d attacks are tried in %s", n, lang)
		}
	}
	t.Logf("%v", perLanguage)
	used := []string{"prelude", "neighbour", "after-planted-loaders", "the-places-of-the-mounts", "after-the-places-of-the-mounts", "raw-frames", "forged-results"}
	files, err := programFiles.ReadDir("programs")
	must(t, err)
	for _, f := range files {
		base, _, _ := strings.Cut(f.Name(), ".")
		if !slices.Contains(used, base) && !names[strings.ReplaceAll(base, "-", " ")] && !hyphened(names, base) {
			t.Errorf("program %s belongs to no case", f.Name())
		}
	}
}

// hyphened tells whether a case's own name, which may hold a '-', has this program.
func hyphened(names map[string]bool, base string) bool {
	for name := range names {
		if strings.ReplaceAll(name, " ", "-") == base {
			return true
		}
	}
	return false
}

// TestJudgeCanFail makes sure that a leak is one, whoever prints it.
func TestJudgeCanFail(t *testing.T) {
	for name, tt := range map[string]struct {
		check func(*judge, *world, *result)
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
	} {
		j := &judge{}
		j.hold(tt.check, false, &world{}, &tt.r)
		if (len(j.problems) > 0) != tt.fails {
			t.Errorf("%s: %q", name, j.problems)
		}
	}
	e := &Exception{Finds: []string{"nice"}}
	if !e.expects("a forbidden thing worked: LEAK nice -5") || e.expects("a forbidden thing worked: LEAK the canary nice") || e.expects("left behind: x") || (*Exception)(nil).expects("x") {
		t.Error("an exception covers more, or less, than it says")
	}
	j := &judge{}
	j.hold(nothing, false, &world{}, &result{notStarted: os.ErrPermission})
	if len(j.problems) == 0 {
		t.Error("a sandbox that did not start held")
	}
}
