package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/tokens"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// aSet has packages of both languages.
func aSet() *packages.Set {
	return &packages.Set{Digest: "d", Dir: "/cache/d", Pythons: []string{"3.11"}, Preload: []string{"pandas"}, Packages: []packages.Package{
		{Language: sandbox.LangPython, Name: "PyYAML", Version: "6.0", Imports: []string{"_yaml", "yaml"}},
		{Language: sandbox.LangPython, Name: "pandas", Version: "2.0", Imports: []string{"pandas"}},
		{Language: sandbox.LangTypeScript, Name: "@own/lib", Version: "1.0.0"},
		{Language: sandbox.LangTypeScript, Name: "deep", Version: "1.0.0", Indirect: true},
		{Language: sandbox.LangTypeScript, Name: "zod", Version: "4.0.0", Imports: []string{"zod"}},
	}}
}

func TestOfferPackages(t *testing.T) {
	many := aSet()
	for i := range 300 {
		many.Packages = append(many.Packages, packages.Package{Language: sandbox.LangPython, Name: fmt.Sprintf("types-antlr4-%d-xqzv", i)},
			packages.Package{Language: sandbox.LangTypeScript, Name: fmt.Sprintf("@kjhgx/package-%d", i)})
	}
	both := []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
	for _, c := range []struct {
		set   *packages.Set
		image []string
		langs []sandbox.Language
		want  string // its beginning
	}{
		{nil, nil, both, ""},
		{&packages.Set{}, nil, both, ""},
		{aSet(), nil, both, "TypeScript: @own/lib, zod; Python: pandas, yaml"},
		{aSet(), []string{"numpy 1.24.2", "pandas 1.5.3"}, both[1:], "Python: pandas, yaml, numpy"},
		{nil, []string{"numpy 1.24.2"}, both, "Python: numpy"},
		{many, nil, both, "TypeScript: @own/lib, zod, @kjhgx/package-0"},
		{many, nil, both[1:], "Python: pandas, yaml, types-antlr4-0-xqzv"},
	} {
		got := runner.OfferPackages(c.set, c.image, c.langs...)
		if !strings.HasPrefix(got, c.want) || c.set != many && got != c.want {
			t.Errorf("OfferPackages(%v) = %q, want %q", c.langs, got, c.want)
		}
		if n := tokens.Count(got); n > 60 {
			t.Errorf("OfferPackages(%v) = %q has %d tokens, want at most 60", c.langs, got, n)
		}
		if c.set == many && strings.Count(got, " more") != len(c.langs) {
			t.Errorf("OfferPackages(%v) = %q, want how many there are more of each language", c.langs, got)
		}
	}
}

// withPython is a fake sandbox that says which Python it has.
type withPython struct {
	*fakeBackend
	version string
	asked   int
}

func (b *withPython) PythonVersion(context.Context) (string, error) {
	b.asked++
	if b.version == "" {
		return "", errors.New("it has none")
	}
	return b.version, nil
}

func TestRunsGetThePackagesOfTheirPython(t *testing.T) {
	var got sandbox.Spec
	fake := &fakeBackend{status: sandbox.Status{Usable: true, Languages: []sandbox.Language{sandbox.LangPython}, Packages: []string{"numpy 1.24.2"}}}
	fake.guest = func(g *guest) sandbox.Exit {
		got = g.spec
		g.begin()
		g.done(object{"error": object{"name": "ModuleNotFoundError", "message": "No module named 'scipy'", "stack": ""}})
		return sandbox.Exit{Code: 1}
	}
	r, err := runner.New(&runner.Options{Packages: aSet()})
	if err != nil {
		t.Fatal(err)
	}
	launch := func(b sandbox.Backend, code string) (*runner.Result, error) {
		return r.Launch(t.Context(), &runner.Script{Name: "script.py", Code: code, Language: sandbox.LangPython}, runner.LaunchOptions{Sandboxes: []sandbox.Backend{b}})
	}
	b := &withPython{fakeBackend: fake, version: "3.11"}
	for range 2 {
		res, err := launch(b, "import scipy")
		if err != nil {
			t.Fatal(err)
		}
		if got.Packages != "/cache/d/python3.11" || !slices.Equal(got.Preload, []string{"pandas"}) {
			t.Errorf("the sandbox got packages %q and preload %q", got.Packages, got.Preload)
		}
		if want := "and the files beside it; the installed packages are pandas, yaml, numpy"; !strings.Contains(res.Message, want) {
			t.Errorf("message %q, want %q in it", res.Message, want)
		}
	}
	if b.asked != 1 {
		t.Errorf("the version of Python was asked for %d times, want 1", b.asked)
	}
	if r, err = runner.New(&runner.Options{Packages: aSet()}); err != nil {
		t.Fatal(err)
	}
	other := &withPython{fakeBackend: fake, version: "3.13"}
	if _, err := launch(other, "import scipy"); err != nil || got.Packages != "" || got.Preload != nil {
		t.Errorf("a script without packages: error %v, packages %q, preload %q, want none", err, got.Packages, got.Preload)
	}
	_, err = launch(other, "def main():\n    import yaml.parser\n")
	if bad, ok := errors.AsType[*runner.PackagesError](err); !ok || !strings.Contains(bad.Error(), "runs Python 3.13, and the packages of run.packages are installed for 3.11") ||
		!strings.Contains(bad.Hint(), "mcprun packages install") || exit.Of(err, 0) != exit.Refused {
		t.Errorf("error %v, want a *PackagesError", err)
	}
	if r, err = runner.New(&runner.Options{Packages: aSet()}); err != nil {
		t.Fatal(err)
	}
	if _, err = launch(fake, "import scipy"); err != nil {
		t.Error(err)
	}
	if _, err = launch(fake, "from yaml import load"); err == nil || !strings.Contains(err.Error(), "has no packages of Python") {
		t.Errorf("error %v, want that the sandbox has no packages", err)
	}
}

// TestInstalledPackagesAreKnown judges imports of packages that are installed, and of others.
func TestInstalledPackagesAreKnown(t *testing.T) {
	set := aSet()
	set.Dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(set.JavaScript(), "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(&runner.Options{Packages: set})
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string][3]bool{ // is it a finding; with a list of allowed modules; in a restricted script
		`import { x } from "@own/lib/deep"; console.log(x)`: {false, true, true},
		`import { z } from "zod"; console.log(z)`:           {false, false, false},
		`import x from "other"; console.log(x)`:             {true, true, true},
	} {
		for i, opt := range []judge.Options{{}, {Imports: []string{"zod"}}, {Imports: []string{"zod"}, Restricted: true}} {
			report, err := r.Judge(t.Context(), &runner.Script{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript}, nil, opt)
			if report == nil {
				t.Fatal(err)
			}
			if got := report.Has("import") || report.Has("restricted-import"); got != want[i] {
				t.Errorf("%s with %+v: findings %v, want any: %v", code, opt, report.Findings, want[i])
			}
		}
	}
}
