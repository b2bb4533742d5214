package sandboxtest

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// testCase is one script per language, and its expected result.
type testCase struct {
	// name describes the attempt in plain words for docs/internals/attacks.md. With "-" for " " it is also the name of the programs.
	name   string
	code   map[sandbox.Language]string // with placeholders such as @ID@, see [world.fill]; nil: the files in folder programs
	args   []string
	stdin  string
	beside map[string]string // files beside the script; without any, it has no folder
	limits sandbox.Limits
	// timeout ends the context of the run. Zero: a minute, which no case should need. For a script with output it counts from the first
	// output, because on a busy machine a script starts late.
	timeout time.Duration
	// noWorkspace runs without a workspace, noTree without a tree.
	noWorkspace, noTree bool
	// network runs with a network, whose proxy answers in capital letters.
	network bool
	// packages runs with the packages of the world, of which Python preloads one that works and one that does not.
	packages bool
	// serial prevents other cases from running at the same time, for a case that measures short times or uses up what all guests of a user
	// share.
	serial bool
	// heavy marks a case that uses much memory, disk or processor time: at most [maxHeavy] run at the same time.
	heavy bool
	setup func(t *testing.T, w *world)
	// check checks the result. Nil: [ok] for a script in code, [nothing] for one from a file.
	check func(t *recorder, w *world, r *result)
	// then is a second run in the same workspace. Its setup, serial, heavy, then and neighbour are ignored.
	then *testCase
	// mayRefuse allows the sandbox to refuse to start, with an error that names the reason.
	mayRefuse bool
	// neighbour runs a program of another customer at the same time, in its own sandbox.
	neighbour bool

	// coldOnly leaves the case out if guests are started ahead of runs, because the result is the same.
	coldOnly bool
	works    bool // copied from its group
}

// group is one threat, and the cases about it.
type group struct {
	threat   string // heading in docs/internals/attacks.md
	works    bool   // about what must work, and therefore not in the table
	coldOnly bool   // applies to all its cases
	cases    []testCase
}

// groups returns the whole suite.
func groups() []group {
	return []group{
		{threat: "works", works: true, cases: slices.Concat(basicCases(), callCases(), importCases(), packageCases(), fileCases(), proxyCases())},
		{threat: "The host's files, environment, processes and descriptors", cases: hostCases()},
		{threat: "The network: addresses, names, metadata services, sockets", cases: networkCases()},
		{threat: "The kernel's surface", cases: kernelCases()},
		{threat: "Integrity of the tree, the skills and the sandbox itself", cases: integrityCases()},
		{threat: "Time, memory, processors, processes, descriptors", cases: slices.Concat(limitCases(), processCases())},
		{threat: "Disk and output", cases: diskCases()},
		{threat: "Things left behind", cases: endCases()},
		{threat: "Loaders planted for later runs", cases: plantCases()},
		{threat: "Files of another kind, planted where the host reads and writes", coldOnly: true, cases: plantedCases()},
		{threat: "Other customers", cases: neighbourCases()},
		{threat: "The bridge: malformed, forged, replayed, flooding", coldOnly: true, cases: bridgeCases()},
		{threat: "Look-alike tools, polluted objects, forged results and exit codes", coldOnly: true, cases: resultCases()},
	}
}

// cases returns all cases of the suite, complete.
func cases() []testCase {
	var all []testCase
	for _, g := range groups() {
		for _, c := range g.cases {
			c.works, c.coldOnly = g.works, c.coldOnly || g.coldOnly
			all = append(all, complete(c))
		}
	}
	return all
}

// complete fills in the defaults of a case.
func complete(c testCase) testCase {
	if c.code == nil {
		c.code = programs(strings.ReplaceAll(c.name, " ", "-"))
		if c.check == nil {
			c.check = nothing
		}
	}
	if c.check == nil {
		c.check = ok
	}
	if c.then != nil {
		then := complete(*c.then)
		c.then = &then
	}
	return c
}

//go:embed programs
var programFiles embed.FS

// programs returns the scripts with that name, each after the prelude of its language.
func programs(name string) map[sandbox.Language]string {
	found := map[sandbox.Language]string{}
	for lang, ext := range map[sandbox.Language]string{sandbox.LangTypeScript: ".ts", sandbox.LangPython: ".py"} {
		text, err := programFiles.ReadFile("programs/" + name + ext)
		if err != nil {
			continue // not in this language
		}
		prelude, err := programFiles.ReadFile("programs/prelude" + ext)
		if err != nil {
			panic(err) // embedded above
		}
		found[lang] = string(prelude) + string(text)
	}
	return found
}

// both returns a script in each language.
func both(ts, py string) map[sandbox.Language]string {
	return map[sandbox.Language]string{sandbox.LangTypeScript: ts, sandbox.LangPython: py}
}

// python returns a script in Python only.
func python(py string) map[sandbox.Language]string {
	return map[sandbox.Language]string{sandbox.LangPython: py}
}

// result is the result of a run.
type result struct {
	exit           sandbox.Exit
	stdout, stderr string
	outcome        *bridge.Outcome
	bridgeErr      error
	began          time.Time     // when the guest got its job, replaced by when its first output came
	elapsed        time.Duration // from then to the end
	refused        error         // the script could not be prepared
	notStarted     error         // the sandbox did not start
}

func (r *result) String() string {
	return fmt.Sprintf("exit %+v, outcome %+v, start: %v, bridge: %v, %v\nstdout: %.2000s\nstderr: %.2000s", r.exit, r.outcome, r.notStarted, r.bridgeErr, r.elapsed, r.stdout, r.stderr)
}
