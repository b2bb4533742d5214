package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

const day = 24 * time.Hour

// maxDays is more than anything is kept, and far from what a duration can hold.
const maxDays = 36_500

// days is a flag value: a number of days such as 30d, or a Go duration. It is more than zero.
type days time.Duration

func (d *days) String() string {
	switch v := time.Duration(*d); {
	case v == 0:
		return ""
	case v%day == 0:
		return fmt.Sprintf("%dd", v/day)
	default:
		return v.String()
	}
}

func (*days) Type() string { return "time" }

func (d *days) Set(text string) error {
	var v time.Duration
	if number, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(number, 64)
		if err == nil && n <= maxDays { // NaN is not
			v = time.Duration(n * float64(day))
		}
	} else if parsed, err := time.ParseDuration(text); err == nil {
		v = parsed
	}
	if v <= 0 {
		return fmt.Errorf("%q is no time: write days, such as 30d, or a duration, such as 12h", text)
	}
	*d = days(v)
	return nil
}

// ago says when something was, in the words of people.
func ago(now, at time.Time) string {
	d := now.Sub(at)
	switch {
	case at.IsZero():
		return "never"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return cli.Count(int(d/time.Minute), "minute") + " ago"
	case d < day:
		return cli.Count(int(d/time.Hour), "hour") + " ago"
	case d < 60*day:
		return cli.Count(int(d/day), "day") + " ago"
	}
	return at.Local().Format(time.DateOnly)
}
