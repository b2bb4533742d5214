package run

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/hostapi"
	"github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// Options are the flags of a run. Those that the runner knows are fields of base, which flags, environment and mcpgen.yaml
// set directly; a run starts as a copy of it.
type Options struct {
	App       *cli.App
	Resources resources.Provider
	Base      runner.Script
	project.LocationFlags
	backends.SandboxFlags
	callFlags
	varFlags
	skills.CheckFlags
	outputFlags
	customers.Flags
	planFlags
	// State says where state is kept, and whether runs are recorded.
	State state.Flags

	// task is what mcprun task adds; nil for other commands.
	task *taskRun

	shared *state.Shared // the project's
	// flow is what its workflow has printed; nil: it is not part of one.
	flow     *printed
	workflow string    // the id; empty: it is not part of one
	kept     *settings // of the workflow; nil: it is not part of one
	// own has the flags that a command adds to those of the script, and without names those that it has no use for.
	own     *pflag.FlagSet
	without []string

	// schedule is the run's schedule; nil: it has none.
	schedule *Schedule

	code     string
	language string
	sandbox  string
	plan     string // an id
	riskFlag string
	trust    string
	elicit   string
	daemon   string

	// Shared are the flags that mcprun serve has too.
	Shared Shared

	risk     risk.Risk           // the highest of flag, environment and mcpgen.yaml
	author   runner.Trust        // the least trusted of them
	shown    []hostapi.ImageFile // by the script, once it has run
	logged   *customers.Logged   // nil: nothing is logged
	network  *runner.Network     // what runs may have of a network
	personal *chain.Personal     // what is done with personal data in the run; nil: nothing
	// installed returns the packages that runs may import, which it opens the first time.
	installed func() (*packages.Set, error)
	digest    string // of the script and what it imports; only for a plan
	// planned is what plan does after its dry run. It is nil for other commands.
	planned func(*project.Project, *runner.Script, *runner.Result) error
	Cmd     *cobra.Command
	args    []string // the script's file, unless code is set, and its own arguments
}

// Shared are the flags that runs and mcprun serve have in common, by the groups of its help.
type Shared struct{ Customers, Sandbox, Calls, Limits, Kept, Output *pflag.FlagSet }

// bindShared registers the flags that runs and mcprun serve have in common.
func (o *Options) bindShared() {
	o.sandbox = runner.Auto
	o.Shared = Shared{
		Customers: flags.Set(o.FolderFlags.Bind),
		Sandbox: flags.Set(func(f *pflag.FlagSet) {
			f.Var(flags.Text(&o.sandbox, "name"), "sandbox", "auto, or one of "+strings.Join(backends.Names(), ", "))
			f.Var(flags.Text(&o.trust, "author"), "trust", "who wrote the code: "+words(runner.Trusts())+"; a sandbox that is too weak for it is refused")
			f.Var(flags.Text(&o.riskFlag, "level"), "risk", "assume at least this risk for the script: "+words(risk.All()))
			flags.BindSwitch(f, &o.Base.Restricted, "restricted", "refuse scripts that use anything but safe functions and modules")
			flags.BindSwitch(f, &o.Base.Confirm, "confirm", "ask a person before the script starts, whatever its risk")
			bindMaxBranches(f, &o.Base)
			flags.BindSwitch(f, &o.Base.Network, "network", "let the script connect to the hosts that network: in mcpgen.yaml allows")
			o.SandboxFlags.Bind(f)
			f.Var(flags.Text(&o.Base.Workspace, "folder"), "workspace", "folder the script may write to, created if missing (default: workspace/, next to the tree)")
		}),
		Calls: flags.Set(func(f *pflag.FlagSet) {
			o.LocationFlags.Bind(f)
			o.BindForms(f)
			o.callFlags.bindShared(f)
		}),
		Limits: flags.Set(func(f *pflag.FlagSet) { bindLimits(f, &o.Base) }),
		Kept:   flags.Set(o.State.Bind),
		Output: flags.Set(func(f *pflag.FlagSet) { o.outputFlags.bindShared(f, &o.Debug) }),
	}
}

// Bind registers the flags of a run on cmd, which is the root command, `run` and `session resume`.
func (o *Options) Bind(cmd *cobra.Command) {
	o.Cmd = cmd
	groups := flags.NewGroups(cmd)
	o.daemon = daemonOff
	o.bindShared()
	groups.Add("The script", func(f *pflag.FlagSet) {
		if o.task != nil {
			o.task.bind(f)
			f.Var(flags.Text(&o.language, "name"), "language", "language of the script: typescript or python (default typescript, or the one that the tree has)")
			o.varFlags.bind(f)
			o.CheckFlags.BindCheckers(f)
			return
		}
		if o.own != nil {
			f.AddFlagSet(o.own)
		}
		f.VarP(flags.Text(&o.code, "code"), "eval", "e", "run this code instead of a file")
		f.Var(flags.Text(&o.language, "name"), "language", "language of -e, standard input and files without an extension: typescript or python (default: detected)")
		o.varFlags.bind(f)
		o.CheckFlags.Bind(f)
	})
	groups.Add("Customer", func(f *pflag.FlagSet) {
		o.Flags.Bind(f)
		f.AddFlagSet(o.Shared.Customers)
	})
	groups.Add("Where it runs", func(f *pflag.FlagSet) {
		f.AddFlagSet(o.Shared.Sandbox)
		if o.task != nil { // the daemon has no model
			return
		}
		f.Var(flags.Choice(&o.daemon, daemonOff, daemonAuto), "daemon", "auto: run in a background process that keeps servers and sandboxes ready")
	})
	groups.Add("What it calls", func(f *pflag.FlagSet) {
		f.AddFlagSet(o.Shared.Calls)
		o.callFlags.bind(f)
		if o.task == nil { // whose --plan stops before the run
			f.Var(flags.Text(&o.plan, "id"), "plan", "make the calls of this plan without asking (see mcprun plan)")
		}
		if o.makes {
			o.planFlags.bind(f)
		}
		f.Var(flags.Text(&o.elicit, "how"), "elicit", "who answers servers' questions: prompt, decline, or a file of answers (default prompt in a terminal)")
	})
	groups.Add("Limits", func(f *pflag.FlagSet) { f.AddFlagSet(o.Shared.Limits) })
	groups.Add("What is kept", func(f *pflag.FlagSet) { f.AddFlagSet(o.Shared.Kept) })
	groups.Add("Output", func(f *pflag.FlagSet) {
		o.outputFlags.bind(f)
		f.AddFlagSet(o.Shared.Output)
	})
	first := []string{"eval", "var", "check"}
	if o.task != nil {
		first = []string{"plan", "save", "save-skill", "repairs", "language", "var"}
	}
	if o.own != nil {
		o.own.VisitAll(func(f *pflag.Flag) { first = append(first, f.Name) })
	}
	usual := append(first, "customer", "sandbox", "risk", "workspace", "config", "dry-run", "timeout", "memory",
		"json", "trace", "verbose", "quiet")
	if o.Resumes {
		usual = append(usual, "restore")
	}
	groups.Usual(usual...)
	for _, name := range o.without {
		cmd.Flags().Lookup(name).Hidden = true
	}
	cli.CompleteFlag(cmd, "sandbox", cli.FixedWords(append(backends.Names(), runner.Auto)...))
	cli.CompleteFlag(cmd, "risk", cli.FixedWords(names(risk.All())...))
	cli.CompleteFlag(cmd, "trust", cli.FixedWords(names(runner.Trusts())...))
	customers.CompleteCustomer(o.App, cmd, &o.LocationFlags, &o.FolderFlags, &o.State.PlaceFlag)
	cli.CompleteFlag(cmd, "language", cli.FixedWords(string(sandbox.LangTypeScript), string(sandbox.LangPython)))
}

// words lists names.
func words[T any](all []T) string { return strings.Join(names(all), ", ") }

func names[T any](all []T) []string {
	var out []string
	for _, each := range all {
		out = append(out, fmt.Sprint(each))
	}
	return out
}

// bindMaxBranches registers the bound of the check for complexity.
func bindMaxBranches(f *pflag.FlagSet, s *runner.Script) {
	s.MaxBranches = judge.DefaultMaxBranches
	f.Var(flags.Count(&s.MaxBranches, 1), "max-branches", "branches of a function, or of the script outside of functions, above which it counts as too complex (medium risk)")
}

// bindLimits registers the flags that bound a run.
func bindLimits(f *pflag.FlagSet, s *runner.Script) {
	s.Limits, s.Timeout = sandbox.Limits{}.WithDefaults(), runner.DefaultTimeout
	s.Limits.CPU = 0 // the runner derives it from the timeout
	f.Var(flags.Duration(&s.Timeout), "timeout", "stop the script after this time, such as 90s or 2m")
	f.Var(flags.Size(&s.Limits.Memory, sandbox.MinMemory), "memory", "memory limit: megabytes, or with a unit such as 512MiB")
	f.Var(flags.Duration(&s.Limits.CPU), "cpu", "processor time of all processes together (default four times --timeout)")
	f.Var(flags.Count(&s.Limits.Processes, 16), "processes", "processes and threads at once")
	f.Var(flags.Count(&s.Limits.Files, 64), "open-files", "open files of one process")
	f.Var(flags.Size(&s.Limits.FileSize, flags.MinSize), "file-size", "size of one file")
	f.Var(flags.Size(&s.Limits.Output, flags.MinSize), "output-limit", "size of stdout and stderr together")
	f.Var(flags.Size(&s.Limits.Disk, flags.MinSize), "disk", "size of the workspace")
	f.Var(flags.Count(&s.Limits.DiskFiles, 1), "disk-files", "files and folders in the workspace")
	f.Var(flags.Size(&s.Limits.Tmp, flags.MinSize), "tmp", "size of /tmp")
}

// Values of --daemon.
const (
	daemonAuto = "auto"
	daemonOff  = "off"
)
