package run

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
)

// callFlags are the flags that say how tools are called.
type callFlags struct {
	Calls chain.Settings
	approveFlags
	pii         customers.PIIFlag
	allow       []string
	policy      *policy.Policy // of the project; nil: the default
	guardrails  config.Guardrails
	record      string
	replay      string
	replayMatch string
}

// Values of --replay-match.
const (
	matchStrict = "strict"
	matchLoose  = "loose"
)

// bindShared registers the flags that mcprun serve has too.
func (o *callFlags) bindShared(f *pflag.FlagSet) {
	f.Var(flags.Duration(&o.Calls.Timeout), "call-timeout", "time limit of one call; each progress message restarts it (default: the server's timeout, else 60s)")
	f.Var(flags.Size(&o.Calls.MaxResult, flags.MinSize), "max-result", "a larger result becomes a file in the workspace, and the script gets a handle (default 1MiB)")
	flags.BindSwitch(f, &o.Calls.StrictOutput, "strict-output", "a result that does not match its tool's output schema is an error, not a warning")
	flags.BindSwitch(f, &o.Calls.NoCache, "no-cache", "ask the servers, although cache: in mcpgen.yaml keeps results, and keep what they answer")
	flags.BindSwitch(f, &o.Calls.AllowDrift, "allow-drift", "call tools that have changed since the tree was generated")
	f.StringArrayVar(&o.allow, "allow", nil, "call tools that match this `glob`, such as crm__delete_*, without asking; calls that the policy denies stay denied")
	o.approveFlags.bind(f)
	o.pii.Bind(f)
	flags.BindSwitch(f, &o.Calls.DryRun, "dry-run", "call read-only tools only, and list the other calls instead")
}

func (o *callFlags) bind(f *pflag.FlagSet) {
	o.replayMatch = matchStrict
	f.Var(flags.Count(&o.Calls.Parallel, 1), "parallel", "calls in flight at once; others wait (default 64)")
	f.Var(flags.Text(&o.record, "file"), "record", "write each call and its answer to this file, without secrets and personal data")
	f.Var(flags.Text(&o.replay, "file"), "replay", "call nothing; answer each call from this file")
	f.Var(flags.Choice(&o.replayMatch, matchStrict, matchLoose), "replay-match", "strict: each tool's calls come in the recorded order; loose: in any order")
}

// setPolicy makes the project's policy and plugins decide about calls.
func (o *callFlags) setPolicy(p *project.Project) {
	o.guardrails, o.Calls.Plugins, o.Calls.Unguarded = p.Guardrails, p.Plugins, p.Guardrails.AreOff()
	if o.policy = p.Policy; p.Policy != nil {
		o.Calls.Policy = policy.WithConsent(p.Policy, o.allow)
	}
}

// WarnMisspelt reports names in the policy that match nothing in the tree.
func (o *callFlags) WarnMisspelt(at *Host, say func(line string)) {
	for _, line := range at.Runner.Misspelt(o.policy) {
		say(cli.EscapeLine(line))
	}
}

// validate reports conflicting flags.
func (o *callFlags) validate(app *cli.App, p *project.Project) error {
	if _, err := o.words(); err != nil {
		return err
	}
	switch {
	case o.replay != "" && o.Calls.DryRun:
		return flags.Usage("--replay calls nothing, so --dry-run has no effect: give one of the two")
	case o.replay != "" && app.Path(o.record) == app.Path(o.replay):
		return flags.Usage("--record and --replay name the same file, %q: it would be emptied before it is read", o.record)
	}
	return p.CheckOutput("--record", app.Path(o.record))
}

// openFiles opens the files of --record and --replay for the calls of a run. The caller closes what it returns.
func (o *callFlags) openFiles(app *cli.App, s *chain.Settings) (files, error) {
	var open files
	s.ReplayLoose = o.replayMatch == matchLoose
	if o.replay != "" {
		f, err := os.Open(app.Path(o.replay))
		if err != nil {
			return nil, fmt.Errorf("open the recording to replay: %w", err)
		}
		open, s.Replay = append(open, f), f
	}
	if o.record != "" {
		f, err := create(app.Path(o.record))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("begin the recording: %w", err), open.Close())
		}
		open, s.Record = append(open, f), f
	}
	return open, nil
}

// Approver returns who is asked in a run of mcprun serve. client asks the client; it is nil if the client cannot be asked.
func (o *callFlags) Approver(app *cli.App, p *project.Project, workspace string, say func(string), client approve.Approver) (approve.Approver, error) {
	ways := approverWays{}
	if client != nil {
		ways[approveMCP] = func() (approve.Approver, error) { return client, nil }
	}
	return o.approver(app, p, workspace, say, ways)
}
