package soundness

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// loaded holds the cases with their values, because several tests use them.
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
		suite, err := LoadSuite(filepath.Join(root, "testdata", "jsonschema", s.draft), s.draft, s.dialect)
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
	return slices.Concat(cases, tools, Random(int(*randomCases), *seed)), nil
}

// corpusDir returns the folder of recorded tool lists of real servers: MCPGEN_TEST_CORPUS, or a folder beside the repository. It
// is empty if there are none.
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

// suite is one draft of the official test suite.
type suite struct{ draft, dialect string }

func suites() []suite {
	return []suite{
		{"draft2020-12", "https://json-schema.org/draft/2020-12/schema"},
		{"draft2019-09", "https://json-schema.org/draft/2019-09/schema"},
		{"draft7", "http://json-schema.org/draft-07/schema#"},
		{"draft6", "http://json-schema.org/draft-06/schema#"},
		{"draft4", "http://json-schema.org/draft-04/schema#"},
	}
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

// mypy returns Debian's mypy, or the one on PATH.
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
