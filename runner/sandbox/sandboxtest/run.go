package sandboxtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/templates"
)

// Options say what to test.
type Options struct {
	// Languages are those to test; nil: all the backend has a runtime for.
	Languages []sandbox.Language
	// Skip names cases that this backend documents as exceptions, with the reason. An unknown name fails the suite.
	Skip map[string]string
	// Leftovers lists what a run left behind that only the backend's test can see: containers. Nil: nothing.
	Leftovers func(runID string) []string
}

// Run runs every case in every language against b.
func Run(t *testing.T, b sandbox.Backend, opt Options) {
	t.Helper()
	if st := b.Probe(t.Context()); !st.Usable {
		t.Fatalf("backend %q is not usable: %s; %s", b.Name(), st.Detail, st.Remedy)
	}
	all := cases()
	for name := range opt.Skip {
		if !has(all, name) {
			t.Errorf("skipped case %q does not exist", name)
		}
	}
	langs := opt.Languages
	if langs == nil {
		langs = []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
	}
	for _, lang := range langs {
		if _, ok := b.Runtime(lang); !ok {
			continue
		}
		t.Run(string(lang), func(t *testing.T) {
			for _, c := range all {
				code, ok := c.code[lang]
				if !ok {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					if why, ok := opt.Skip[c.name]; ok {
						t.Skipf("documented exception of %s: %s", b.Name(), why)
					}
					runCase(t, b, opt, lang, c, code)
				})
			}
		})
	}
}

func has(all []testCase, name string) bool {
	for _, c := range all {
		if c.name == name {
			return true
		}
	}
	return false
}

// testCase is one script and what must come of it.
type testCase struct {
	name   string
	code   map[sandbox.Language]string // @NAME@ stands for the world's values
	args   []string
	stdin  string
	limits sandbox.Limits
	// timeout ends the run's context; zero: a minute, which no case should need.
	timeout time.Duration
	// noWorkspace runs without one, noTree without a tree.
	noWorkspace, noTree bool
	setup               func(t *testing.T, w *world)
	// check looks at the result. Nil: ok must hold.
	check func(t *testing.T, w *world, r *result)
}

// result is what came of a run.
type result struct {
	exit           sandbox.Exit
	stdout, stderr string
	outcome        *bridge.Outcome
	bridgeErr      error
	began          time.Time     // when the guest had its job
	elapsed        time.Duration // from then to the end
	refused        error         // the script could not even be prepared
}

func (r *result) String() string {
	return fmt.Sprintf("exit %+v, outcome %+v, bridge: %v, %v\nstdout: %.2000s\nstderr: %.2000s", r.exit, r.outcome, r.bridgeErr, r.elapsed, r.stdout, r.stderr)
}

func runCase(t *testing.T, b sandbox.Backend, opt Options, lang sandbox.Language, c testCase, code string) {
	t.Helper()
	w := newWorld(t)
	if c.setup != nil {
		c.setup(t, w)
	}
	r := execute(t, b, lang, c, w, w.fill(code))
	for _, left := range w.leftovers(t, opt) {
		t.Errorf("left behind: %s", left)
	}
	if c.check == nil {
		c.check = ok
	}
	c.check(t, w, r)
	if strings.Contains(r.stdout+r.stderr, w.secret) {
		t.Errorf("the canary was read:\n%v", r)
	}
	if t.Failed() {
		t.Logf("%v", r)
	}
}

// execute makes one run as the runner does.
func execute(t *testing.T, b sandbox.Backend, lang sandbox.Language, c testCase, w *world, code string) *result {
	t.Helper()
	rt, _ := b.Runtime(lang)
	src := script.Source{Name: "script" + map[sandbox.Language]string{sandbox.LangTypeScript: ".ts", sandbox.LangPython: ".py"}[lang],
		Code: code, Language: lang, Args: c.args}
	tree := w.tree
	if c.noTree {
		tree = ""
	}
	job, err := script.Prepare(t.Context(), src, script.Options{Runtime: rt, Tree: tree})
	if err != nil {
		return &result{refused: err, outcome: &bridge.Outcome{}}
	}
	timeout := c.timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	spec := sandbox.Spec{
		ID: w.id, Runtime: rt, Args: templates.RuntimeArgs(string(rt)), Guest: templates.Guest(string(rt)), Secret: rand.Text(),
		Tree: tree, Limits: c.limits, Stdin: strings.NewReader(c.stdin),
		Stdout: io.MultiWriter(&stdout, w.watch), Stderr: &stderr,
	}
	if !c.noWorkspace {
		spec.Workspace = w.workspace
	}
	p, err := b.Start(ctx, spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	r := &result{outcome: &bridge.Outcome{}}
	conn, err := p.Bridge(ctx)
	if err == nil {
		w.drop = func() { conn.Close() }
		r.outcome, r.bridgeErr = bridge.Serve(ctx, conn, bridge.Options{Secret: p.Secret(), Job: *job, Handler: w.handle,
			Started: func() { r.began = time.Now() }})
	}
	r.bridgeErr = errors.Join(err, r.bridgeErr)
	r.exit, err = p.Wait()
	if err != nil {
		t.Errorf("wait: %v", err)
	}
	if !r.began.IsZero() {
		r.elapsed = time.Since(r.began)
	}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	return r
}

// ok: the script ran to its end and all was well.
func ok(t *testing.T, _ *world, r *result) {
	t.Helper()
	if r.refused != nil {
		t.Fatalf("the script was refused: %v", r.refused)
	}
	if r.exit.Code != 0 || !r.outcome.Done || r.outcome.Error != nil || r.exit.Killed != "" {
		t.Errorf("the script did not end well")
	}
}

// prints checks the standard output, after ok.
func prints(want string) func(*testing.T, *world, *result) {
	return func(t *testing.T, w *world, r *result) {
		t.Helper()
		ok(t, w, r)
		if r.stdout != want {
			t.Errorf("stdout is %.500q, want %.500q", r.stdout, want)
		}
	}
}

// nothing checks a script that tries forbidden things: it prints LEAK and what for each that worked, and "checked" at
// the end. A script that can't be prepared could do none of them.
func nothing(t *testing.T, _ *world, r *result) {
	t.Helper()
	if r.refused != nil {
		t.Logf("refused before it ran: %v", r.refused)
		return
	}
	if strings.Contains(r.stdout, "LEAK") {
		t.Errorf("a forbidden thing worked")
	}
	if !strings.Contains(r.stdout, "checked") {
		t.Errorf("the script did not get to its end")
	}
}
