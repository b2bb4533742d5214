package runner_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// machine makes backends from words: each is usable with every language it runs, unless its name begins with "no-" (not
// usable) or ends with "-ts" (TypeScript only).
func machine(words string) []sandbox.Backend {
	var out []sandbox.Backend
	for _, name := range strings.Fields(words) {
		languages := []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
		if bad, ok := strings.CutPrefix(name, "no-"); ok {
			out = append(out, &fakeBackend{name: bad, status: sandbox.Status{Detail: bad + " is broken", Remedy: "mend " + bad}})
			continue
		}
		if only, ok := strings.CutSuffix(name, "-ts"); ok {
			name, languages = only, languages[:1]
		}
		out = append(out, &fakeBackend{name: name, status: sandbox.Status{Usable: true, Languages: languages}})
	}
	return out
}

const ts, py = sandbox.LangTypeScript, sandbox.LangPython

func TestChoose(t *testing.T) {
	const all = "embedded process docker gvisor"
	for _, c := range []struct {
		backends string
		ask      string
		lang     sandbox.Language
		risk     runner.Risk
		want     string // the backend, or a part of the error
		code     int    // of the error; 0 means none
	}{
		{all, "auto", py, "", "docker", 0},
		{all, "auto", ts, "", "docker", 0},
		{"embedded process no-docker gvisor", "auto", py, "", "process", 0},
		{"embedded process no-docker gvisor", "auto", ts, "", "embedded", 0},
		{"no-embedded process no-docker", "auto", ts, "", "process", 0},
		{"embedded no-process no-docker gvisor", "auto", py, "", "gvisor", 0},
		{"process-ts no-docker", "auto", py, "", "it has no python here", 127},
		{"no-embedded no-docker", "auto", ts, "", "embedded is broken", 127},

		{all, "auto", ts, "low", "embedded", 0},
		{all, "auto", py, "low", "process", 0},
		{"embedded no-process docker", "auto", py, "low", "docker", 0},
		{"no-process no-docker gvisor", "auto", py, "low", "gvisor", 0},
		{all, "auto", ts, "medium", "docker", 0},
		{all, "auto", py, "high", "docker", 0},
		{"embedded process no-docker gvisor", "auto", py, "high", "gvisor", 0},
		{"embedded process no-docker no-gvisor", "auto", py, "medium", "no sandbox here can run python of medium risk: docker is not usable: docker is broken; gvisor is not usable", 127},
		{all, "auto", py, "critical", "gvisor", 0},
		{"embedded process docker no-gvisor", "auto", ts, "critical", "gvisor is broken", 127},
		{"embedded process docker", "auto", ts, "critical", "has no sandbox for it", 127},

		{"no-process docker", "process", py, "", "process", 0},
		{"no-process", "vm", py, "", `unknown sandbox "vm"`, 127},
		{"embedded", "embedded", py, "", "does not run python", 127},
		{all, "process", py, "low", "process", 0},
		{all, "process", py, "medium", `sandbox "process" is too weak for code of medium risk: it is good for low risk`, 126},
		{all, "embedded", ts, "critical", "too weak", 126},
		{all, "docker", ts, "high", "docker", 0},
		{all, "docker", ts, "critical", "too weak", 126},
		{all, "gvisor", ts, "low", "gvisor", 0},
	} {
		got, err := runner.Choose(t.Context(), machine(c.backends), runner.Need{Name: c.ask, Language: c.lang, Risk: c.risk})
		name := strings.Join([]string{c.backends, c.ask, string(c.lang), string(c.risk)}, ", ")
		var b *runner.BackendError
		switch {
		case err == nil && (c.code != 0 || got.Backend.Name() != c.want):
			t.Errorf("%s: chose %s, want %s", name, got.Backend.Name(), c.want)
		case err == nil && (got.Reason == "") == (c.ask == "auto"):
			t.Errorf("%s: reason %q", name, got.Reason)
		case err != nil && (!errors.As(err, &b) || b.ExitCode() != c.code || !strings.Contains(err.Error(), c.want) || b.Hint() == ""):
			t.Errorf("%s: error %v, want %q with code %d and a hint", name, err, c.want, c.code)
		}
	}
}

// TestRefusalSaysWhatToInstall: the remedies of all that would have done are there, and no others.
func TestRefusalSaysWhatToInstall(t *testing.T) {
	_, err := runner.Choose(t.Context(), machine("no-embedded no-process no-docker no-gvisor"), runner.Need{Name: "auto", Language: py, Risk: "medium"})
	b, ok := errors.AsType[*runner.BackendError](err)
	if !ok || b.Hint() != "docker: mend docker\ngvisor: mend gvisor" {
		t.Errorf("%v, hint %q", err, b.Hint())
	}
	_, err = runner.Choose(t.Context(), machine("process-ts no-docker"), runner.Need{Name: "auto", Language: py})
	if b, ok = errors.AsType[*runner.BackendError](err); !ok || b.Hint() != "docker: mend docker\nprocess: install python 3.11 or newer" {
		t.Errorf("%v, hint %q", err, b.Hint())
	}
	_, err = runner.Choose(t.Context(), machine("process docker no-gvisor"), runner.Need{Name: "process", Language: py, Risk: "high"})
	if b, ok = errors.AsType[*runner.BackendError](err); !ok || !strings.Contains(b.Hint(), "--sandbox docker or gvisor") {
		t.Errorf("%v, hint %q", err, b.Hint())
	}
}

func TestRisk(t *testing.T) {
	risks := runner.Risks()
	for i, r := range risks {
		if got, err := runner.ParseRisk(string(r)); err != nil || got != r {
			t.Errorf("%q reads as %q, %v", r, got, err)
		}
		if r.Max(runner.RiskUnset) != r || runner.RiskUnset.Max(r) != r {
			t.Errorf("%q beside an unset risk", r)
		}
		if i > 0 && (risks[i-1].Max(r) != r || r.Max(risks[i-1]) != r) {
			t.Errorf("%q is not above %q", r, risks[i-1])
		}
	}
	if _, err := runner.ParseRisk("High"); err == nil || !strings.Contains(err.Error(), "low, medium, high or critical") {
		t.Errorf("error %v", err)
	}
}
