package run

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/approve"
)

// defaultPlanTime is how long a plan holds.
const defaultPlanTime = time.Hour

// planFlags are the flags of plan.
type planFlags struct {
	makes  bool // the command is plan
	expire time.Duration
	most   []string
	any    []string
}

func (o *planFlags) bind(f *pflag.FlagSet) {
	f.Var(flags.Duration(&o.expire), "expires", "the plan ends after this time")
	f.StringArrayVar(&o.most, "most", nil, "`TOOL=N`: allow N calls of the tool, with the values that the dry run saw in any combination")
	f.StringArrayVar(&o.any, "any", nil, "`TOOL.ARGUMENT`: allow any value of the argument")
}

// loosen returns what the plan allows besides the calls that were listed.
func (o *planFlags) loosen() (approve.Loosen, error) {
	l := approve.Loosen{Most: map[string]int{}, Any: o.any}
	for _, text := range o.most {
		tool, number, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return l, flags.Usage("--most %q is not TOOL=N", text)
		}
		l.Most[tool] = n
	}
	return l, nil
}
