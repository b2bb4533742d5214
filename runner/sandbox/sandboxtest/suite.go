// Package sandboxtest is the conformance suite of sandbox backends. [Run] runs scripts in a backend exactly as the runner does, with the
// real guest programs and the real bridge but its own tools, and checks what they could do and what they left behind.
//
// A case is one script per language and one check ([cases]). Attacks are files below programs: each tries what a hostile script would,
// prints a line with LEAK for each attempt that worked, and "checked" at its end. An attempt for which a language has no means counts as
// refused. If a backend gives a script no means for a whole case, its column says so. After each case the suite also checks the host: files
// outside of the workspace, connections, processes, mounts and control groups.
//
// [Columns] lists the cases in which a backend does not hold, with reasons. Such a case still runs, and must fail. The table in
// docs/internals/attacks.md is generated from the same data, and a test keeps it up to date.
//
// The suite must be able to fail: cases that look for a leak first check that the host itself can see the secret.
package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Options configure [Run].
type Options struct {
	// Languages are the languages to test; nil: all that the backend has a runtime for.
	Languages []sandbox.Language
	// Column names the backend in [Columns], where its exceptions are. Empty: the backend's own name.
	Column string
	// Warm runs each case in a guest that was started ahead; the backend must be a sandbox.Warmer. It leaves out what a warm
	// start cannot change, and tries each attack in one language only.
	Warm bool
	// WorksOnly leaves out all attacks.
	WorksOnly bool
	// Pooled means that guests wait for other runs, and have the packages of the runs before.
	Pooled bool
	// Leftovers lists what a run left behind that only the backend's test can see, such as containers. It may be nil.
	Leftovers func(runID string) []string
	// NoSockets means that scripts have no sockets, but only fetch.
	NoSockets bool
	// Elsewhere means that guests run on another machine or in their own kernel, so that the host's processes and mounts do not show them.
	Elsewhere bool
}

// maxHeavy bounds the heavy cases that run at the same time, however many cores there are.
const maxHeavy = 2

var heavy = make(chan struct{}, maxHeavy)

// Run runs every case in every language against b. Cases that don't disturb each other run at the same time, as many as
// the test's -parallel flag allows.
func Run(t *testing.T, b sandbox.Backend, opt Options) {
	t.Helper()
	if opt.Column == "" {
		opt.Column = b.Name()
	}
	col, ok := Named(opt.Column)
	if !ok {
		t.Fatalf("there is no column %q", opt.Column)
	}
	if st := b.Probe(t.Context()); !st.Usable {
		t.Fatalf("backend %q is not usable: %s; %s", b.Name(), st.Detail, st.Remedy)
	}
	langs := opt.Languages
	if langs == nil {
		langs = []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
	}
	langs = slices.DeleteFunc(slices.Clone(langs), func(l sandbox.Language) bool { _, ok := b.Runtime(l); return !ok })
	secret := newSecret()
	t.Setenv(canaryVariable, secret)
	for _, lang := range langs {
		t.Run(string(lang), func(t *testing.T) {
			for _, c := range cases() {
				if !slices.Contains(opt.languages(c, langs), lang) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					if !c.serial {
						t.Parallel()
					}
					if c.heavy {
						heavy <- struct{}{}
						defer func() { <-heavy }()
					}
					x := &execution{t: t, backend: b, opt: opt, lang: lang, secret: secret}
					x.judge(c, col.exception(c.name, lang))
				})
			}
		})
	}
}

// languages returns the languages in langs in which a case runs.
func (o Options) languages(c testCase, langs []sandbox.Language) []sandbox.Language {
	langs = slices.DeleteFunc(slices.Clone(langs), func(l sandbox.Language) bool { _, ok := c.code[l]; return !ok })
	if c.works && c.network && o.NoSockets {
		return nil
	}
	switch {
	case !c.works && (o.WorksOnly || o.Warm && c.coldOnly):
		return nil
	case !c.works && o.Warm && len(langs) > 1: // Python reaches more of the kernel
		return []sandbox.Language{sandbox.LangPython}
	}
	return langs
}

// execution runs one case.
type execution struct {
	t       *testing.T
	backend sandbox.Backend
	opt     Options
	lang    sandbox.Language
	secret  string
}

// judge runs the case and compares its problems with the expected ones.
func (x *execution) judge(c testCase, expected *Exception) {
	x.t.Helper()
	j, last := x.try(c)
	found := false
	for _, p := range j.problems {
		if expected.expects(p) {
			found = true
			x.t.Logf("as expected (%s): %s", expected.Reason, p)
			continue
		}
		x.t.Error(p)
	}
	if expected != nil && !found && !expected.Varies {
		x.t.Errorf("this holds, although it is listed as an exception (%s): remove it from the list", expected.Reason)
	}
	if x.t.Failed() {
		x.t.Logf("%v\n%s", last, strings.Join(j.notes, "\n"))
	}
}

// try performs the runs of a case and checks the host after each.
func (x *execution) try(c testCase) (*recorder, *result) {
	x.t.Helper()
	w := newWorld(x.t, x.secret)
	w.pooled = x.opt.Pooled
	if c.setup != nil {
		c.setup(x.t, w)
	}
	before := w.outside(x.t)
	j := &recorder{}
	var end func() *result
	if c.neighbour {
		end = x.neighbour(w)
	}
	r := x.execute(j, c, w)
	j.hold(c.check, c.mayRefuse, w, r)
	if c.then != nil {
		x.checkHost(j, w, r, before)
		r = x.execute(j, *c.then, w)
		j.hold(c.then.check, c.then.mayRefuse, w, r)
	}
	x.checkHost(j, w, r, before)
	if end != nil {
		if other := end(); other.stdout != "ready\nalive\n" || other.exit.Code != 0 {
			j.Errorf("the neighbour was disturbed: %v", other)
		}
	}
	return j, r
}

// checkHost checks that a run changed nothing on the host, and left nothing behind.
func (x *execution) checkHost(j *recorder, w *world, r *result, before []string) {
	x.t.Helper()
	for _, left := range w.leftovers(x.opt) {
		j.Errorf("left behind: %s", left)
	}
	if after := w.outside(x.t); !slices.Equal(before, after) {
		j.Errorf("files outside of the workspace changed:\n%v\n%v", before, after)
	}
	if n := w.connections.Load(); n > 0 {
		j.Errorf("%d connections reached the host", n)
	}
	if strings.Contains(r.report(), w.secret) {
		j.Errorf("the canary was read")
	}
	if _, err := os.Lstat(filepath.Join(w.workspace, "ran")); err == nil {
		j.Errorf("a planted program ran")
	}
}

// report returns everything that a user or a model sees of a run.
func (r *result) report() string {
	text := fmt.Sprint(r.stdout, r.stderr, r.refused, r.notStarted, r.bridgeErr)
	if r.outcome != nil {
		text += string(r.outcome.Result)
		if e := r.outcome.Error; e != nil {
			text += fmt.Sprint(e.Name, e.Message, e.Stack)
		}
	}
	return text
}
