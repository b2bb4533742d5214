package audits

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
)

// period are the flags --from and --to.
type period struct{ from, to time.Time }

func (p *period) bind(f *pflag.FlagSet) {
	f.Var(moment(&p.from, 0), "from", "since this time: a date, an RFC 3339 time, or how long ago, such as 24h or 7d")
	f.Var(moment(&p.to, 1), "to", "before this time, written alike; a date includes that day")
}

// check refuses a period that is empty.
func (p *period) check(cmd *cobra.Command) error {
	if !p.to.IsZero() && !p.from.Before(p.to) {
		return cli.Usage(cmd, "--from %s is not before --to %s", p.from.Format(time.RFC3339), p.to.Format(time.RFC3339))
	}
	return nil
}

// moment returns a flag value that is a time. A date is the beginning of the day in the user's time zone, days later.
func moment(t *time.Time, days int) pflag.Value {
	get := func() string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	return flags.New("time", get, func(text string) error {
		if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
			*t = day.AddDate(0, 0, days)
			return nil
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			*t = at
			return nil
		}
		var ago time.Duration
		if err := flags.Duration(&ago).Set(text); err != nil {
			return fmt.Errorf("%q is not a time: write for example 2026-11-30, 2026-11-30T09:00:00Z, 24h or 7d", text)
		}
		*t = time.Now().Add(-ago)
		return nil
	})
}
