package run

import (
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
)

// jsonOutput is the default bound of the output in --json, in characters.
const jsonOutput = 30_000

// outputFlags are the flags that say what a run prints, and how.
type outputFlags struct {
	JSON      bool
	verbose   bool
	Quiet     bool
	maxOutput int // characters; 0: no bound, flags.Unset: the default
	trace     string

	checkRuns bool // check the types of runs that went wrong
}

const traceTerminal = "terminal" // the value of --trace without one

// minOutput leaves space for the line about what was cut.
const minOutput = 500

// bindShared registers the flags that mcprun serve has too.
func (o *outputFlags) bindShared(f *pflag.FlagSet, debug *bool) {
	o.maxOutput = flags.Unset
	f.Var(flags.Characters(&o.maxOutput, minOutput), "max-output", "print at most this many characters of output; the rest goes to a file (default 30000 with --json, else none)")
	o.checkRuns = true
	flags.BindSwitch(f, &o.checkRuns, "type-errors", "check the types of a script whose run went wrong (=false: do not)")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "print nothing but errors to stderr")
	f.BoolVar(debug, "debug", false, "print to stderr what servers print and what connections do")
	f.BoolP("help", "h", false, "show this help")
}

func (o *outputFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&o.JSON, "json", false, "print one JSON object with output, calls and tokens instead of streaming")
	f.VarPF(flags.Text(&o.trace, ""), "trace", "", "show the calls as a waterfall on stderr, or as an HTML page with =FILE.html").NoOptDefVal = traceTerminal
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print to stderr what was called and how many tokens that saved")
}

// OutputBound returns [runner.Script].MaxOutput.
func (o *outputFlags) OutputBound() int {
	switch {
	case o.maxOutput != flags.Unset:
		return o.maxOutput
	case o.JSON:
		return jsonOutput
	}
	return 0
}
