package main

import (
	"strconv"

	"github.com/spf13/pflag"
)

// modelOutput is how many characters of output a caller that reads one object gets, unless it says otherwise.
const modelOutput = 30_000

// sayOptions are about what a run tells.
type sayOptions struct {
	json      bool
	verbose   bool
	quiet     bool
	maxOutput int // characters; unset or 0
	trace     string
}

const (
	unset     = -1
	traceHere = "terminal" // the value of --trace without one
)

func (o *sayOptions) bind(f *pflag.FlagSet, debug *bool) {
	o.maxOutput = unset
	f.BoolVar(&o.json, "json", false, "print one JSON object with output, calls and tokens instead of streaming")
	f.Var(characters{&o.maxOutput}, "max-output", "of what it prints, hand on so many characters; the rest goes to a file (default 30000 with --json, else none)")
	f.VarPF(word{&o.trace, ""}, "trace", "", "show the calls as a waterfall on stderr, or write that as a page to =FILE.html").NoOptDefVal = traceHere
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say on stderr what was called and what it saved")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	f.BoolVar(debug, "debug", false, "say on stderr what servers print and what connections do")
	f.BoolP("help", "h", false, "show this help")
}

// outputBound is the runner's MaxOutput.
func (o *sayOptions) outputBound() int {
	switch {
	case o.maxOutput != unset:
		return o.maxOutput
	case o.json:
		return modelOutput
	}
	return 0
}

// characters is a flag value: a number of characters, or none for no bound.
type characters struct{ n *int }

// leastOutput leaves room for the line that says what was cut.
const leastOutput = 500

func (c characters) String() string {
	switch {
	case c.n == nil || *c.n == unset:
		return ""
	case *c.n == 0:
		return "none"
	}
	return strconv.Itoa(*c.n)
}

func (characters) Type() string { return "characters" }

func (c characters) Set(text string) error {
	if text == "none" {
		*c.n = 0
		return nil
	}
	return count{c.n, leastOutput}.Set(text)
}
