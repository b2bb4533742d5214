package runner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/internal/clock"
	"github.com/mcpgen/mcpgen/runner/internal/output"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/workspace"
	"github.com/mcpgen/mcpgen/templates"
)

// DefaultTimeout is the timeout of a run when Script.Timeout is zero.
const DefaultTimeout = 30 * time.Second

// startTimeout bounds the time from the start of a sandbox until its guest is ready, not counting the wait for other starts. It does not
// count against the run's timeout.
const startTimeout = 60 * time.Second

var errStart = errors.New("the sandbox did not become ready in time")

// Script is code to run, with its settings.
type Script struct {
	Name     string // shown in errors: a file name without folder
	Code     string
	Language sandbox.Language
	Dir      string   // absolute folder for relative imports; empty: none
	Args     []string // passed to the script

	Backend   sandbox.Backend // where it runs; Launch sets it
	Limits    sandbox.Limits  // zero fields: defaults
	Timeout   time.Duration   // zero: DefaultTimeout
	Workspace string          // created if missing; empty: none, and files that the script writes are lost

	// Vars become variables of the script, by name; the values are JSON.
	Vars map[string]json.RawMessage
	// Risk is how much harm the script can do. The caller gives Risk.Set: a sandbox that is too weak for it is refused. [Runner.Launch]
	// fills in what the script shows. The policy of its calls decides by the greater of them.
	Risk risk.Assessment
	// Confirm makes [Runner.Launch] ask a person before the script starts, whatever the policy says.
	Confirm bool
	// Continues says that a person has let the script start, in an earlier part of its workflow. Nobody is asked again.
	Continues bool
	// Start is the policy's decision whether the script starts, with who approved it. [Runner.Launch] sets it.
	Start policy.Decision
	// Restricted refuses a script that uses anything but safe functions and modules. Where that is simple, the sandbox also refuses code
	// generated at run time.
	Restricted bool
	// Network asks for the network that LaunchOptions.Network allows. The proxy decides about each connection.
	Network bool
	// MaxBranches bounds the branches of each function, and of the code outside functions. [Runner.Judge] finds a script with more too
	// complex. Zero: judge.DefaultMaxBranches.
	MaxBranches int
	// Calls are the settings of its tool calls. A nil Calls.Policy stands for LaunchOptions.Policy.
	Calls chain.Settings
	// Answers are the methods that the script may call on the host besides tools, by name, such as "tools/search". An answer is one JSON
	// value of at most 16 MiB. Only an error that is a *call.Error is shown to the script. Answers are not recorded: a replay calls the
	// methods again.
	Answers map[string]func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	// Methods are further ones, which may call tools and ask a person in the name of the script. Their calls are recorded and replayed like its own.
	Methods map[string]chain.Method
	// Elicit answers elicitations of servers during the run. Nil: each is declined.
	Elicit upstream.ElicitFunc
	// Watch is called with the events of the run and its calls, one at a time. It must return soon. May be nil.
	Watch func(chain.Event)
	// Trouble is called after the script with the reason why some personal data was replaced by something that cannot be restored. The reason is
	// for whoever operates the host, and has no personal data. May be nil.
	Trouble func(error)
	// Checkers says where to find a type checker for a run that went wrong: the script failed, printed a missing value (undefined, None),
	// or left no trace. Its type errors are then in the Result. It runs after the script, on the host, within five seconds. Nil: types are
	// not checked.
	Checkers *check.Places
	// MaxOutput bounds, in characters, how much of standard output and standard error together is passed to the writers and the Result. A
	// longer stream goes to a file in the workspace, and a last line says how much was cut and where it is. For standard error, its last
	// 2,000 characters follow. Zero: no limit other than Capture's.
	MaxOutput int

	Stdin          io.Reader // nil: empty
	Stdout, Stderr io.Writer // output as it comes; may be nil
	// Capture keeps up to 8 MiB of each stream in the Result, and counts tokens.
	Capture bool

	was   *reading // the script as read, until it is launched; nil: not read yet
	trail *trail   // what the record has of its run; nil: nothing

	launched bool
	release  func(*Result) // passes on the output that was held until the end; nil: it was not held
}

func (s *Script) timeout() time.Duration {
	if s.Timeout == 0 {
		return DefaultTimeout
	}
	return s.Timeout
}

// reading is what was read of a script.
type reading struct {
	src     script.Source
	opt     script.Options
	program *script.Program
	err     error // why the program cannot run; nil: it can
}

// Read reads a script once, so the code that was judged and digested is the code that runs. It reads again if the script or the options
// have changed. A program that cannot run comes with an error; see [script.Bundler.Read].
func (s *Script) Read(ctx context.Context, b *script.Bundler, opt script.Options) (*script.Program, error) {
	src := script.Source{Name: s.Name, Code: s.Code, Language: s.Language, Dir: s.Dir, Args: s.Args}
	if s.was == nil || !reflect.DeepEqual(s.was.src, src) || !reflect.DeepEqual(s.was.opt, opt) {
		program, err := b.Read(ctx, src, opt)
		s.was = &reading{src, opt, program, err}
	}
	return s.was.program, s.was.err
}

// Reread makes the next use of the script read its files again.
func (s *Script) Reread() { s.was = nil }

func (r *Runner) read(ctx context.Context, s *Script) (*script.Program, error) {
	return s.Read(ctx, r.opt.Bundler, r.opt.Reading())
}

// run runs a script in its backend, as it was read, and returns when nothing of it is left. For a script that fails, is killed or times
// out, it returns a Result; an error means that the run could not start. When ctx ends, the run ends with CauseInterrupted.
func (r *Runner) run(ctx context.Context, s Script, program *script.Program, reach *granted) (*Result, error) {
	began := time.Now()
	rt, ok := s.Backend.Runtime(s.Language)
	if !ok {
		return nil, &BackendError{Name: s.Backend.Name(), Message: fmt.Sprintf("sandbox %q does not run %s", s.Backend.Name(), s.Language)}
	}
	run := &run{script: &s, id: newID("run-"), runtime: rt, runner: r, began: began}
	if s.trail != nil {
		run.id = s.trail.id
	}
	before := workspace.Snapshot{}
	if s.Workspace != "" {
		var err error
		if before, err = run.openWorkspace(); err != nil {
			return nil, err
		}
		defer run.closeWorkspace()
	}
	var err error
	if run.network, err = run.openNetwork(reach); err != nil {
		return nil, err
	}
	if err := run.do(ctx, program); err != nil {
		run.network.close()
		return nil, err
	}
	res := run.result(ctx)
	if s.Workspace != "" {
		res.changed = run.changed(before)
		res.Files = run.own(res.changed)
	}
	nothing := run.showedNothing(res)
	if res.Message == "" && nothing {
		res.Message = "the script printed nothing and has no result: write console.log(…), or export const result = …"
		if s.Language == sandbox.LangPython {
			res.Message = "the script printed nothing and has no result: write print(…), or result = …"
		}
		if res.CallCount == 0 && function().MatchString(s.Code) {
			res.Message = "the script did nothing: it called no tool, printed nothing and has no result; a function that it defines must also be called"
		}
	}
	res.TypeErrors = run.typeErrors(ctx, res, program, nothing)
	res.hide(s.Calls.Personal)
	if s.Capture {
		res.Tokens = r.countTokens(&s, run.summary, append(slices.Clone(res.TypeErrors), res.Stdout, res.Stderr, string(res.Value))...)
	}
	return res, nil
}

// newID returns an id that nobody can guess.
func newID(prefix string) string { return prefix + rand.Text()[:12] }

// openWorkspace makes the workspace ready for the run, and returns what is in it.
func (x *run) openWorkspace() (workspace.Snapshot, error) {
	s, none := x.script, workspace.Snapshot{}
	if abs, err := filepath.Abs(s.Workspace); err == nil { // before it is created: links can be resolved only in an existing path
		if err := x.runner.guard(resolved(abs)); err != nil {
			return none, err
		}
	}
	var err error
	if s.Workspace, err = workspace.Open(s.Workspace); err != nil {
		return none, err
	}
	if err := x.runner.guard(s.Workspace); err != nil {
		return none, err
	}
	x.endSharing = x.runner.sharing.begin(x)
	before, err := workspace.Take(s.Workspace)
	if err != nil {
		x.endSharing()
		return none, err
	}
	disk := s.limits().Disk
	x.store = workspace.NewStore(s.Workspace, disk-before.Bytes())
	if over := before.Bytes() - disk/2; over > 0 {
		x.store.Relieve(over)
	}
	x.reserved = workspace.HasReserved(s.Workspace)
	return before, nil
}

func (x *run) closeWorkspace() {
	x.endSharing()
	_, _ = workspace.SetAside(x.script.Workspace, x.reserved) // for a run without a result; result has done it otherwise
	x.store.Close()
}

// setAside renames files in the workspace that the script wrote and that mcpgen or mcprun would read as configuration.
func (x *run) setAside() {
	if x.script.Workspace == "" {
		return
	}
	moved, err := workspace.SetAside(x.script.Workspace, x.reserved)
	for _, name := range slices.Sorted(maps.Keys(moved)) {
		x.calls.Warn("the script wrote %s to the workspace, a name that mcpgen and mcprun read as configuration: it is now %s", name, moved[name])
	}
	if err != nil {
		x.calls.Warn("the script wrote configuration to the workspace, which later runs refuse: %v; remove it", err)
	}
}

// changed lists the files of the workspace that changed during the run.
func (x *run) changed(before workspace.Snapshot) []string {
	after, err := workspace.Take(x.script.Workspace)
	if err != nil { // the workspace was deleted during the run; that must not cost the run its result
		x.runner.log.Warn("cannot list the files that the script wrote", "error", err)
		after = before
	}
	made := x.store.Made()
	return slices.DeleteFunc(workspace.Written(before, after), func(f string) bool { return slices.Contains(made, f) })
}

// run is the state of one run.
type run struct {
	runner         *Runner
	script         *Script
	id             string
	job            bridge.Job
	runtime        sandbox.Runtime
	calls          *chain.Calls
	store          *workspace.Store // nil: no workspace
	endSharing     func()           // of the workspace, with other runs
	reserved       []string         // reserved names that were in the workspace before the run
	network        *network         // nil: none
	output         *output.Output
	outlet         outlet
	stdout, stderr *output.Capture // nil: not captured
	began, ready   time.Time
	clock          *clock.Clock // the script's timeout; nil until it has started

	cause   error           // why the run's context ended; nil: it has not ended
	exit    sandbox.Exit    // how the guest ended
	outcome *bridge.Outcome // what the script reported; never nil after do
	broken  error           // why the bridge ended early
	closed  bool            // the guest closed the bridge without reporting how its script ended
	// toldMember reports that a warning names a member of a result that is not there.
	toldMember bool
	summary    *chain.Summary // set when the guest has ended
	lost       error          // the error of a sandbox that failed after the script had started; the calls until then are known
}

// prepare sets up the host's side of the bridge.
func (x *run) prepare(ctx context.Context, program *script.Program, suspend func()) error {
	s := x.script
	s.Calls.Masker() // also of questions about connections
	x.job = *program.Job
	x.job.Vars, x.job.Lines = s.variables(program), s.Calls.Details || s.Calls.Approver != nil
	if x.job.Restricted = s.Restricted; s.Restricted && s.Language == sandbox.LangTypeScript {
		x.job.Code = templates.Restrict() + x.job.Code
	}
	if s.Capture {
		x.stdout, x.stderr = &output.Capture{}, &output.Capture{}
	}
	x.output = output.New(s.MaxOutput, x.store, x.id, output.Tee(s.Stdout, x.stdout), output.Tee(s.Stderr, x.stderr))
	x.openOutlet()
	s.Calls.Subject.Risk = max(s.Calls.Subject.Risk, s.Risk.Overall())
	var err error
	x.calls, err = x.runner.chain.NewCalls(ctx, chain.Run{
		ID: x.id, Script: s.Name, Code: s.Code, Settings: s.Calls, Store: x.store, Elicit: s.Elicit, Watch: s.Watch, Suspend: suspend, Answers: x.network.answers(s.Answers), Methods: s.Methods, Import: program.Import, Source: program.Source, CountTokens: s.Capture,
	})
	if err == nil && s.Network && s.Calls.DryRun {
		x.calls.Warn("a dry run has no network, because a request may change something")
	}
	return err
}

// do starts the sandbox, serves its bridge and waits until it ends.
func (x *run) do(parent context.Context, program *script.Program) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if err := x.prepare(ctx, program, func() { cancel(chain.ErrSuspended) }); err != nil {
		return err
	}
	turn := sandbox.NewTurn(startTimeout, func() { cancel(errStart) })
	defer turn.Done()

	spec := sandbox.Spec{
		ID: x.id, Runtime: x.runtime, Args: templates.RuntimeArgs(string(x.runtime)), Guest: templates.Guest(string(x.runtime)), Secret: rand.Text(),
		Tree: x.runner.opt.Tree, Skills: x.runner.opt.Skills, Workspace: x.script.Workspace, Limits: x.script.limits(),
		Turn: turn, Stdin: x.script.Stdin, Stdout: x.outlet.stdout, Stderr: x.outlet.stderr,
	}
	if err := x.addPackages(ctx, &spec, program); err != nil {
		return err
	}
	x.network.offer(&spec, &x.job.Env)
	proc, err := x.script.Backend.Start(ctx, spec)
	if err != nil {
		return fmt.Errorf("start sandbox %q: %w", x.script.Backend.Name(), err)
	}
	x.outcome = &bridge.Outcome{}
	if sandbox.IsRemote(proc) {
		x.calls.KeepNothing() // the sandbox has a copy of the workspace: a file added on the host now would not be seen, and would be lost
		x.output.KeepNothing()
	}
	served := x.serve(ctx, proc, func() {
		turn.Done()
		x.ready = time.Now()
		x.clock = clock.New(x.script.timeout(), x.script.timeout(), func(bool) { cancel(chain.ErrRunTimeout) })
		x.calls.Begin(x.clock)
	})
	x.closed = errors.Is(served, bridge.ErrClosed)
	if served != nil && !x.closed {
		// The guest broke the protocol. One that only closed its end is about to exit, and its exit code is worth waiting for; the clock
		// still runs.
		x.broken = served
		proc.Kill()
	}
	exit, err := proc.Wait()
	x.exit = exit
	x.outlet.close()
	x.output.Finish()
	if x.clock != nil {
		x.clock.Stop()
	}
	if ctx.Err() != nil {
		x.cause = context.Cause(ctx)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("sandbox %q: %w", x.script.Backend.Name(), err)
		if x.ready.IsZero() {
			return err
		}
		x.lost = err
	case x.ready.IsZero() && x.cause == nil:
		return x.neverReady(served)
	}
	return nil
}

// serve accepts the guest and answers it until it disconnects.
func (x *run) serve(ctx context.Context, proc sandbox.Process, ready func()) error {
	conn, err := proc.Bridge(ctx)
	if err != nil {
		return fmt.Errorf("guest did not connect: %w", err)
	}
	var connect func(net.Conn)
	if x.network != nil {
		connect = x.network.Serve
	}
	outcome, err := bridge.Serve(ctx, conn, bridge.Options{
		Connect: connect,
		Secret:  proc.Secret(), Job: x.job, Handler: x.calls.Handler(), Answers: x.calls.Answerer(), Logger: x.runner.log, Started: ready,
		MaxParallel: x.calls.AtOnce(), HandshakeTimeout: startTimeout, // the turn's own limit is stricter
	})
	if outcome != nil {
		x.outcome = outcome
	}
	return err
}

// neverReady returns the error for a guest that ended before it accepted its job, with the end of its standard error.
func (x *run) neverReady(served error) error {
	text := ""
	if x.stderr != nil && len(x.stderr.Data) > 0 {
		text = ": " + string(x.stderr.Data[max(0, len(x.stderr.Data)-500):])
	}
	if x.exit.Killed != "" {
		return &BackendError{Name: x.script.Backend.Name(), Remedy: "raise the limit", Message: fmt.Sprintf("sandbox %q: the %s guest was killed before the script could start: %s",
			x.script.Backend.Name(), x.runtime, x.script.describeLimit(x.exit.Killed))}
	}
	return &BackendError{Name: x.script.Backend.Name(), Message: fmt.Sprintf("sandbox %q: the %s guest ended with code %d before the script could start (%v)%s",
		x.script.Backend.Name(), x.runtime, x.exit.Code, served, text)}
}
