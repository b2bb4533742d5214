package soundness

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	pyrender "github.com/mcpgen/mcpgen/gen/render/python"
	"github.com/mcpgen/mcpgen/gen/render/typescript"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// Flags for work on one case: go test ./cmd/internal/eval/soundness -run TestTypeScript -v -case 'suite/draft7: ref'.
var (
	onlyCase    = flag.String("case", "", "check only cases whose source and name match this `expression`, and describe each in full")
	randomCases = flag.Uint("random", 400, "number `N` of random cases")
	seed        = flag.Uint64("seed", 1, "the `seed` of the random cases")
	describe    = flag.String("describe", "", "write all that is wrong, case by case, to FOLDER/{typescript,pyright,mypy}.txt")
)

const (
	root = "../../../.."
	// maxOfSource bounds the cases of one source for which wrappers are generated.
	maxOfSource = 300
)

// TestCasesAreTrue checks with the validator that the files are right.
func TestCasesAreTrue(t *testing.T) {
	cases, err := LoadCases(filepath.Join(root, "testdata", "schemas"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.Name] {
			t.Errorf("two cases are called %q", c.Name)
		}
		names[c.Name] = true
		if c.NoValidate {
			continue
		}
		v, err := validate.Compile(c.Schema)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for _, value := range c.Accept {
			if err := v.Validate(value); err != nil {
				t.Errorf("%s: %s should fit its schema: %v", c.Name, value, err)
			}
		}
		for _, value := range slices.Concat(c.Refuse, c.RefuseTS, c.Wide) {
			if v.Validate(value) == nil {
				t.Errorf("%s: %s should not fit its schema", c.Name, value)
			}
		}
	}
}

// TestTypeScript checks all cases with one run of tsc.
func TestTypeScript(t *testing.T) {
	cases := allCases(t)
	tools := Tools{TSC: npmTool(t, "tsc")}
	modules := Print(cases, typescript.Language())
	start := time.Now()
	verdicts, err := CheckTypeScript(t.Context(), tools, t.TempDir(), modules)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("tsc: %s", time.Since(start).Round(10*time.Millisecond))
	report(t, "typescript", verdicts, true)
	if *onlyCase == "" {
		checkFloors(t, verdicts, floorsTS())
	}
}

// TestPython checks all cases with one run of pyright and one of mypy.
func TestPython(t *testing.T) {
	cases := allCases(t)
	tools := Tools{Pyright: npmTool(t, "pyright"), Mypy: mypy(t)}
	modules := Print(cases, pyrender.Language())
	start := time.Now()
	byPyright, byMypy, err := CheckPython(t.Context(), tools, t.TempDir(), modules)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("pyright and mypy: %s", time.Since(start).Round(10*time.Millisecond))
	report(t, "pyright", byPyright, true)
	report(t, "mypy", byMypy, false) // mypy does not know open objects, so types have to be wider for it
	if *onlyCase == "" {
		checkFloors(t, byPyright, floorsPyright())
		checkFloors(t, byMypy, floorsMypy())
	}
}

// TestWrappers checks whole trees, as users get them, and calls every wrapper: those of the golden servers, of recorded servers,
// and of servers made from the cases.
func TestWrappers(t *testing.T) {
	tools := Tools{TSC: npmTool(t, "tsc"), Pyright: npmTool(t, "pyright"), Mypy: mypy(t)}
	servers, inputs, err := LoadServers(filepath.Join(root, "testdata", "golden"), "golden")
	if err != nil {
		t.Fatal(err)
	}
	if dir := corpusDir(); dir != "" {
		recorded, more, err := LoadServers(dir, "corpus")
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, recorded...)
		maps.Copy(inputs, more)
	}
	cases := allCases(t)
	values := map[string]*Case{} // with values, by id
	for _, c := range cases {
		values[c.ID()] = c
	}
	for id, c := range inputs {
		if inputs[id] = values[c.ID()]; inputs[id] == nil {
			delete(inputs, id) // not asked for
		}
	}
	for _, source := range []string{"schemas", "random"} {
		some := slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool { return c.Source != source })
		some = some[:min(len(some), maxOfSource)]
		if len(some) > 0 {
			server, more := CaseServer(source, some)
			servers = append(servers, server)
			maps.Copy(inputs, more)
		}
	}
	for id, c := range inputs { // what types refuse is tested elsewhere
		few := *c
		few.Refuse, few.RefuseTS = c.Refuse[:min(len(c.Refuse), 5)], nil
		inputs[id] = &few
	}
	start := time.Now()
	dir := t.TempDir()
	verdicts, err := CheckWrappers(t.Context(), tools, dir, servers, inputs)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d servers, %d wrappers in each language: %s", len(servers), len(inputs), time.Since(start).Round(10*time.Millisecond))
	for _, checker := range slices.Sorted(maps.Keys(verdicts)) {
		report(t, checker, verdicts[checker], false)
	}
	if out, err := exec.Command("python3", "-m", "compileall", "-q", dir).CombinedOutput(); err != nil {
		t.Errorf("python3: %v\n%s", err, ident.Clip(string(out), 4000))
	}
}

// report prints the sums, and fails for each case whose types are not sound, or for a case of our own files that ought
// to be exact and is not.
func report(t *testing.T, checker string, verdicts []*Verdict, exact bool) {
	t.Helper()
	sources, scores := BySource(verdicts)
	for _, source := range sources {
		t.Logf("%-10s %-18s %s", checker, source, scores[source])
	}
	var all strings.Builder
	told := 0
	for _, v := range verdicts {
		text := v.Describe()
		bad := !v.Sound() || (exact && v.Module.Case.Source == "schemas" && !v.Exact())
		switch {
		case bad && told < 10:
			told++
			t.Errorf("%s: %s", checker, text)
		case *onlyCase != "" && !v.Sound(): // enough failures were reported
			t.Errorf("%s: %s: not sound", checker, v.Module.Case.ID())
		case *onlyCase != "":
			t.Logf("%s: exact %t: %s", checker, v.Exact(), text)
		case bad:
			t.Errorf("%s: %s: not sound, or not exact", checker, v.Module.Case.ID())
		}
		if !v.Exact() {
			all.WriteString(text + "\n")
		}
	}
	if *describe != "" {
		if err := os.WriteFile(filepath.Join(*describe, checker+".txt"), []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkFloors fails if the percentage of exact cases of a source is lower than before.
func checkFloors(t *testing.T, verdicts []*Verdict, floors map[string]float64) {
	t.Helper()
	_, scores := BySource(verdicts)
	for source, floor := range floors {
		if s, there := scores[source]; there && s.ExactShare() < floor {
			t.Errorf("%s: %.2f %% of the schemas have exact types; it has to be %.2f %%", source, s.ExactShare(), floor)
		}
	}
}

// The floors are percentages of cases with exact types, a little below what is reached: they may rise, but not fall. Much of the
// test suite is about what no type can express, such as bounds, patterns and documents that would have to be fetched.
func floorsTS() map[string]float64 {
	return map[string]float64{
		"corpus": 99, "golden": 99, "schemas": 100,
		"suite/draft2020-12": 68, "suite/draft2019-09": 68, "suite/draft7": 73, "suite/draft6": 63, "suite/draft4": 53,
	}
}

func floorsPyright() map[string]float64 {
	return map[string]float64{
		"corpus": 99, "schemas": 100,
		"suite/draft2020-12": 61, "suite/draft2019-09": 60, "suite/draft7": 67, "suite/draft6": 55, "suite/draft4": 43,
	}
}

func floorsMypy() map[string]float64 {
	return map[string]float64{"corpus": 53, "schemas": 75, "suite/draft2020-12": 56, "suite/draft7": 61}
}
