package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// version is the version of the suite that the baseline is written for.
const version = "0.2.0-alpha.12"

// suite is where the suite is, set by TestMain.
type suite struct{ root, bin, node, index string }

func TestMain(m *testing.M) {
	if os.Getenv(binVariable) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(toolsVariable) != "" {
		if err := serveTools(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// need finds the suite and builds the programs. In CI both must be possible.
func need(t *testing.T) *suite {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{root: root, bin: t.TempDir()}
	modules := filepath.Join(s.root, "testdata", "npm", "node_modules")
	s.index = filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	nodes, _ := filepath.Glob(filepath.Join(modules, "node-*", "bin", "node")) // the suite wants a newer one than some systems have
	if _, err := os.Stat(s.index); err != nil || len(nodes) == 0 {
		const why = "the conformance suite is not installed: npm ci --prefix testdata/npm --ignore-scripts"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	s.node = nodes[0]
	if got := strings.TrimSpace(s.output(t, "--version")); got != version {
		t.Fatalf("the conformance suite is version %q, not %s", got, version)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", s.bin+string(filepath.Separator), "./cmd/mcpgen", "./cmd/mcprun")
	cmd.Dir, cmd.Env = s.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v\n%s", err, out)
	}
	return s
}

// output runs the suite's own command and returns what it prints.
func (s *suite) output(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(s.node, append([]string{s.index}, args...)...).Output()
	if err != nil {
		t.Fatalf("conformance %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// scenario is one scenario at one revision of the protocol; the revision is empty for extensions.
type scenario struct{ name, revision string }

func (s scenario) String() string {
	if s.revision == "" {
		return s.name
	}
	return s.name + "@" + s.revision
}

// scenarios returns all of the suite's scenarios for clients, at each revision that it lists them for.
func (s *suite) scenarios(t *testing.T) (all []scenario) {
	t.Helper()
	_, list, found := strings.Cut(s.output(t, "list"), "Client scenarios")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range regexp.MustCompile(`(?m)^\s+- (\S+) \[(.+)\]$`).FindAllStringSubmatch(list, -1) {
		if m[2] == "extension" {
			all = append(all, scenario{name: m[1]})
			continue
		}
		for _, revision := range strings.Split(m[2], ",") {
			all = append(all, scenario{m[1], revision})
		}
	}
	if !found || len(all) < 50 {
		t.Fatalf("the suite lists %d scenarios", len(all))
	}
	return all
}

// baseline reads the scenarios that are expected to fail: name, reason.
func baseline(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "baseline.txt"))
	if err != nil {
		t.Fatal(err)
	}
	expected := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, found := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); !found || reason == "" || expected[name] != "" {
			t.Fatalf("baseline.txt:%d: want a scenario, named once, and the reason why it fails", i+1)
		}
		expected[name] = reason
	}
	return expected
}

// TestClient runs every scenario of the suite through mcpgen and mcprun.
func TestClient(t *testing.T) {
	s := need(t)
	expected := baseline(t)
	all := s.scenarios(t)
	for name := range expected {
		if !slices.ContainsFunc(all, func(s scenario) bool { return s.String() == name || s.name == name }) {
			t.Errorf("the baseline names %q, which the suite does not have", name)
		}
	}
	t.Run("scenarios", func(t *testing.T) {
		for _, sc := range all {
			t.Run(sc.String(), func(t *testing.T) {
				t.Parallel()
				passed, said := s.run(t, sc)
				reason, fails := expected[sc.String()]
				if !fails {
					reason, fails = expected[sc.name]
				}
				switch {
				case !passed && !fails:
					t.Errorf("failed:\n%s", said)
				case passed && fails:
					t.Errorf("passed, and the baseline says that it fails because %q: take it out", reason)
				case fails:
					t.Logf("fails as expected: %s", reason)
				}
			})
		}
	})
}

// run runs one scenario and returns whether it passed, and its output.
func (s *suite) run(t *testing.T, sc scenario) (bool, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adapterTime+20*time.Second)
	defer cancel()
	args := []string{s.index, "client", "--command", os.Args[0], "--scenario", sc.name, "--timeout", fmt.Sprint(adapterTime.Milliseconds())}
	if sc.revision != "" {
		args = append(args, "--spec-version", sc.revision)
	}
	cmd := exec.CommandContext(ctx, s.node, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.TempDir(), append(os.Environ(), binVariable+"="+s.bin), 5*time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("the suite itself: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "SKIPPED: scenario") {
		t.Fatalf("the suite skipped it, want no \"SKIPPED: scenario\" in it:\n%s", out)
	}
	checked := regexp.MustCompile(`(?m)^Passed: \d+/[1-9]`).Match(out) // without checks nothing was tested, which is no success
	return err == nil && checked, string(out)
}
