package soundness

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	// The official test suite is not released for Go; these carry it as their test data, one pinned copy a draft.
	_ "github.com/google/jsonschema-go/jsonschema"
	_ "github.com/qri-io/jsonschema"
	_ "github.com/xeipuuv/gojsonschema"

	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// Flags for work on one case: go test ./cmd/internal/soundness -run TestTypeScript -v -case 'suite/draft7: ref'.
var (
	onlyCase = flag.String("case", "", "check only cases whose source and name match this `expression`, and describe each in full")
	chances  = flag.Uint("random", 600, "make `N` cases by chance")
	seed     = flag.Uint64("seed", 1, "the `seed` of the cases that are made by chance")
	describe = flag.String("describe", "", "write all that is wrong, case by case, to FOLDER/{typescript,pyright,mypy}.txt")
)

const root = "../../.."

// TestCasesAreTrue asks the validator what the files say.
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
		v, err := schema.Compile(c.Schema)
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
	modules := Print(cases, render.TypeScript())
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
	modules := Print(cases, render.Python())
	start := time.Now()
	byPyright, byMypy, err := CheckPython(t.Context(), tools, t.TempDir(), modules)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("pyright and mypy: %s", time.Since(start).Round(10*time.Millisecond))
	report(t, "pyright", byPyright, true)
	report(t, "mypy", byMypy, false) // it knows no objects that are open, so that types have to be wider for it
	if *onlyCase == "" {
		checkFloors(t, byPyright, floorsPy())
		checkFloors(t, byMypy, floorsPy())
	}
}

// TestWrappers has whole trees checked, as people get them, and every wrapper called: those of the golden servers, of
// recorded ones, and of servers that are made of the cases.
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
			delete(inputs, id)
		}
	}
	for _, source := range []string{"schemas", "random"} {
		some := slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool { return c.Source != source })
		if len(some) > 0 {
			server, more := CaseServer(source, some)
			servers = append(servers, server)
			maps.Copy(inputs, more)
		}
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
		t.Errorf("python3: %v\n%s", err, clip(string(out), 4000))
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
		case *onlyCase != "" && !v.Sound(): // told enough of
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

// checkFloors fails where fewer cases of a source are exact than were before, in percent.
func checkFloors(t *testing.T, verdicts []*Verdict, floors map[string]float64) {
	t.Helper()
	_, scores := BySource(verdicts)
	for source, floor := range floors {
		if s, there := scores[source]; there && s.ExactShare() < floor {
			t.Errorf("%s: %.2f %% of the schemas have exact types; it has to be %.2f %%", source, s.ExactShare(), floor)
		}
	}
}

// loaded is the cases with their values: several tests use them.
var loaded = sync.OnceValues(loadAll)

// allCases returns the cases that the flag asks for.
func allCases(t *testing.T) []*Case {
	t.Helper()
	start := time.Now()
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > time.Second {
		t.Logf("load and fill %d cases: %s", len(cases), took.Round(10*time.Millisecond))
	}
	wanted := regexp.MustCompile(*onlyCase)
	cases = slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool { return !wanted.MatchString(c.ID()) })
	if len(cases) == 0 {
		t.Fatalf("no case matches %q", *onlyCase)
	}
	return cases
}

func loadAll() ([]*Case, error) {
	cases, err := LoadCases(filepath.Join(root, "testdata", "schemas"))
	if err != nil {
		return nil, err
	}
	for _, s := range suites() {
		dir, err := moduleDir(s.module)
		if err != nil {
			return nil, err
		}
		suite, err := LoadSuite(filepath.Join(dir, filepath.FromSlash(s.path)), s.draft, s.dialect)
		if err != nil {
			return nil, err
		}
		cases = append(cases, suite...)
	}
	tools, err := LoadTools(filepath.Join(root, "testdata", "golden"), "golden")
	if err != nil {
		return nil, err
	}
	if dir := corpusDir(); dir != "" {
		recorded, err := LoadTools(dir, "corpus")
		if err != nil {
			return nil, err
		}
		tools = append(tools, recorded...)
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, 4)
	errs := make([]error, len(tools))
	for i, c := range tools {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = Fill(c)
		})
	}
	wait.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return slices.Concat(cases, tools, Random(int(*chances), *seed)), nil
}

// corpusDir is where recorded tool lists of real servers are: MCPGEN_TEST_CORPUS, or beside the repository. Empty:
// there are none.
func corpusDir() string {
	dir := os.Getenv("MCPGEN_TEST_CORPUS")
	if dir == "" {
		dir = filepath.Join(root, "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// suite is one draft of the official test suite, as a Go module carries it.
type suite struct{ draft, dialect, module, path string }

func suites() []suite {
	return []suite{
		{"draft2020-12", "https://json-schema.org/draft/2020-12/schema", "github.com/google/jsonschema-go", "jsonschema/testdata/draft2020-12"},
		{"draft2019-09", "https://json-schema.org/draft/2019-09/schema", "github.com/qri-io/jsonschema", "testdata/draft2019-09"},
		{"draft7", "http://json-schema.org/draft-07/schema#", "github.com/google/jsonschema-go", "jsonschema/testdata/draft7"},
		{"draft6", "http://json-schema.org/draft-06/schema#", "github.com/xeipuuv/gojsonschema", "testdata/draft6"},
		{"draft4", "http://json-schema.org/draft-04/schema#", "github.com/xeipuuv/gojsonschema", "testdata/draft4"},
	}
}

// moduleDir is where the go command keeps a module of go.mod.
func moduleDir(module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return "", fmt.Errorf("find the module %s: %w (run go mod download)", module, err)
	}
	return dir, nil
}

// npmTool returns a checker of testdata/npm. Without it the test fails in CI and is skipped elsewhere.
func npmTool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "testdata", "npm", "node_modules", ".bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		missing(t, name, "npm ci --prefix testdata/npm --ignore-scripts")
	}
	return path
}

// mypy is Debian's, or whichever is on PATH.
func mypy(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("mypy")
	if err != nil {
		missing(t, "mypy", "apt-get install mypy")
	}
	return path
}

func missing(t *testing.T, name, remedy string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("the test needs %s: run %q", name, remedy)
	}
	t.Skipf("skipped because %s is not installed; run %q", name, remedy)
}

// The floors are percentages of cases with exact types, a little below what is reached: they may rise, not fall.
func floorsTS() map[string]float64 { return map[string]float64{} }
func floorsPy() map[string]float64 { return map[string]float64{} }
