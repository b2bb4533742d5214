package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// need ends a test whose requirement is missing: it fails in CI and is skipped elsewhere.
func need(t testing.TB, problem error) {
	t.Helper()
	switch {
	case problem == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("the test cannot run: %v", problem)
	default:
		t.Skipf("skipped: %v", problem)
	}
}

// needNPM returns a file of an npm package of testdata/npm, and needs node as well.
func needNPM(t testing.TB, elements ...string) string {
	t.Helper()
	_, err := exec.LookPath("node")
	need(t, err)
	path := filepath.Join(append([]string{root, "testdata", "npm", "node_modules"}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		need(t, fmt.Errorf("%w: run `npm ci --prefix testdata/npm --ignore-scripts`", err))
	}
	return path
}

// needVersion fails the test if the installed version of a package is not the one that the tests are written for.
func needVersion(t testing.TB, pkg, version string) {
	t.Helper()
	text, err := os.ReadFile(needNPM(t, filepath.FromSlash(pkg), "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found struct{ Version string }
	if err := json.Unmarshal(text, &found); err != nil || found.Version != version {
		t.Fatalf("%s is version %q, not %s: %v", pkg, found.Version, version, err)
	}
}

// finding is what mcprun doctor says about a sandbox.
type finding struct {
	Name      string   `json:"name"`
	Usable    bool     `json:"usable"`
	Detail    string   `json:"detail"`
	Remedy    string   `json:"remedy"`
	Languages []string `json:"languages"`
}

// doctor asks once for all tests, and again if the machine was too busy for an answer.
var doctor = sync.OnceValues(func() (found []finding, err error) {
	for range 10 {
		out, err := exec.Command(binary("mcprun"), "doctor", "--json").Output()
		if err != nil {
			return nil, fmt.Errorf("mcprun doctor: %w", err)
		}
		var report struct{ Sandboxes []finding }
		err = json.Unmarshal(out, &report)
		if found = report.Sandboxes; err != nil || !slices.ContainsFunc(found, func(f finding) bool { return strings.Contains(f.Detail, "did not answer in time") }) {
			return found, err
		}
		time.Sleep(5 * time.Second)
	}
	return found, nil
})

// needSandbox asks mcprun whether scripts of a language run in a sandbox on this machine.
func needSandbox(t testing.TB, name, language string) {
	t.Helper()
	found, err := doctor()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(found, func(f finding) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("mcprun doctor does not know the sandbox %q", name)
	}
	f := found[i]
	if !f.Usable || !slices.Contains(f.Languages, language) {
		need(t, fmt.Errorf("the sandbox %s does not run %s: %s (%s)", name, language, f.Detail, f.Remedy))
	}
}

// place is a sandbox and the language of a script.
type place struct{ sandbox, language string }

func (p place) String() string { return p.sandbox + "-" + p.language }

// ext returns the extension of a script file.
func (p place) ext() string {
	if p.language == "python" {
		return ".py"
	}
	return ".ts"
}

func (p place) need(t testing.TB) { t.Helper(); needSandbox(t, p.sandbox, p.language) }

// places returns all pairs.
func places() []place {
	return []place{
		{"docker", "typescript"}, {"docker", "python"},
		{"process", "typescript"}, {"process", "python"},
		{"embedded", "typescript"},
		{"gvisor", "typescript"}, {"gvisor", "python"},
	}
}
