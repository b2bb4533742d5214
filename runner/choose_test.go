package runner_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/risk"
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
		risk     string
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
		least, err := risk.Parse(c.risk)
		if err != nil {
			t.Fatal(err)
		}
		got, err := runner.Choose(t.Context(), machine(c.backends), runner.Need{Name: c.ask, Language: c.lang, Risk: risk.Assessment{Set: least}})
		name := strings.Join([]string{c.backends, c.ask, string(c.lang), c.risk}, ", ")
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
	_, err := runner.Choose(t.Context(), machine("no-embedded no-process no-docker no-gvisor"), runner.Need{Name: "auto", Language: py, Risk: risk.Assessment{Set: risk.Medium}})
	b, ok := errors.AsType[*runner.BackendError](err)
	if !ok || b.Hint() != "docker: mend docker\ngvisor: mend gvisor" {
		t.Errorf("%v, hint %q", err, b.Hint())
	}
	_, err = runner.Choose(t.Context(), machine("process-ts no-docker"), runner.Need{Name: "auto", Language: py})
	if b, ok = errors.AsType[*runner.BackendError](err); !ok || b.Hint() != "docker: mend docker\nprocess: install python 3.11 or newer" {
		t.Errorf("%v, hint %q", err, b.Hint())
	}
	_, err = runner.Choose(t.Context(), machine("process docker no-gvisor"), runner.Need{Name: "process", Language: py, Risk: risk.Assessment{Set: risk.High}})
	if b, ok = errors.AsType[*runner.BackendError](err); !ok || !strings.Contains(b.Hint(), "--sandbox docker or gvisor") {
		t.Errorf("%v, hint %q", err, b.Hint())
	}
}

// TestJudgedRiskOnlyRaises: what a script shows selects a stronger sandbox where one is usable, and refuses none.
func TestJudgedRiskOnlyRaises(t *testing.T) {
	for _, c := range []struct {
		backends, ask string
		judged, least risk.Risk
		want          string
	}{
		{"embedded process docker gvisor", "auto", risk.Low, risk.None, "docker"},
		{"embedded process docker gvisor", "auto", risk.Medium, risk.None, "docker"},
		{"embedded process docker gvisor", "auto", risk.High, risk.None, "docker"},
		{"embedded process docker gvisor", "auto", risk.Critical, risk.None, "gvisor"},
		{"embedded process docker no-gvisor", "auto", risk.Critical, risk.None, "docker"},
		{"embedded process no-docker gvisor", "auto", risk.Medium, risk.None, "process"},
		{"embedded process no-docker gvisor", "auto", risk.High, risk.None, "gvisor"},
		{"embedded process no-docker no-gvisor", "auto", risk.Critical, risk.None, "process"},
		{"embedded process docker gvisor", "auto", risk.High, risk.Low, "docker"},
		{"embedded process docker gvisor", "auto", risk.Low, risk.Critical, "gvisor"},
		{"embedded process docker gvisor", "process", risk.Critical, risk.None, "process"},
	} {
		got, err := runner.Choose(t.Context(), machine(c.backends), runner.Need{Name: c.ask, Language: py, Risk: risk.Assessment{Set: c.least, Shown: c.judged}})
		if err != nil || got.Backend.Name() != c.want {
			t.Errorf("%+v: %v, %v", c, got.Backend, err)
		}
	}
}

func TestTrust(t *testing.T) {
	all := runner.Trusts()
	for i, a := range all {
		if got, err := runner.ParseTrust(string(a)); err != nil || got != a {
			t.Errorf("%q reads as %q, %v", a, got, err)
		}
		if a.Least(runner.TrustUnset) != a || runner.TrustUnset.Least(a) != a {
			t.Errorf("%q beside none", a)
		}
		if i > 0 && (all[i-1].Least(a) != a || a.Risk() != all[i-1].Risk()+1) {
			t.Errorf("%q is not trusted less than %q", a, all[i-1])
		}
	}
	if _, err := runner.ParseTrust("me"); err == nil || !strings.Contains(err.Error(), "own, model, exposed or stranger") {
		t.Errorf(`error %v, want an error and "own, model, exposed or stranger" in it`, err)
	}
}
