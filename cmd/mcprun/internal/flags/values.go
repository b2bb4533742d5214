// Package flags has the flag values of mcprun, the groups of its help, and the one place where flags are set from the
// environment and from mcpgen.yaml.
//
// A command binds its flags to the fields of the struct that it hands on; [ApplyDefaults] then sets those that the command line does
// not. Precedence: flag, environment variable, .env, run: in mcpgen.yaml, default.
package flags

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// value is a [pflag.Value] made of two functions.
type value struct {
	kind string
	get  func() string
	set  func(text string) error
}

// New returns a flag value: kind stands for the value in the help, get returns its text, and set parses one.
func New(kind string, get func() string, set func(text string) error) pflag.Value {
	return &value{kind, get, set}
}

func (v *value) String() string        { return v.get() }
func (v *value) Set(text string) error { return v.set(text) }
func (v *value) Type() string          { return v.kind }

// Text returns a flag value that is any text.
func Text(p *string, kind string) pflag.Value {
	return New(kind, func() string { return *p }, func(text string) error { *p = text; return nil })
}

// ID returns a flag value that is the id of a customer, a session or a checkpoint. It refuses the empty text, which a program may
// pass by mistake.
func ID(p *string, what, kind string) pflag.Value {
	return New(kind, func() string { return *p }, func(text string) error {
		if err := customer.CheckID(what, text); err != nil {
			return err
		}
		*p = text
		return nil
	})
}

// Choice returns a flag value that is one of a few words.
func Choice(p *string, among ...string) pflag.Value {
	return New(strings.Join(among, "|"), func() string { return *p }, func(text string) error {
		if !slices.Contains(among, text) {
			return fmt.Errorf("%q is not one of %s", text, strings.Join(among, ", "))
		}
		*p = text
		return nil
	})
}

// BindSwitch registers a boolean flag that the environment and mcpgen.yaml can set too; on the command line it needs no value.
func BindSwitch(f *pflag.FlagSet, p *bool, name, usage string) {
	v := New("bool", func() string { return strconv.FormatBool(*p) }, func(text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		*p = on
		return nil
	})
	f.VarPF(v, name, "", usage).NoOptDefVal = "true"
}

// Count returns a flag value that is a whole number of things, at least least. Zero stands for no default.
func Count(p *int, least int) pflag.Value {
	get := func() string {
		if *p == 0 {
			return ""
		}
		return strconv.Itoa(*p)
	}
	return New("number", get, func(text string) error { return setCount(p, least, text) })
}

func setCount(p *int, least int, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt32 {
		return fmt.Errorf("%q is not a whole number", text)
	}
	if int(n) < least {
		return fmt.Errorf("%s is too little: at least %d", text, least)
	}
	*p = int(n)
	return nil
}

// Unset is the value of [Characters] without a default.
const Unset = -1

// Characters returns a flag value that is a number of characters, at least least, or none, which is 0.
func Characters(p *int, least int) pflag.Value {
	get := func() string {
		switch *p {
		case Unset:
			return ""
		case 0:
			return "none"
		}
		return strconv.Itoa(*p)
	}
	return New("characters", get, func(text string) error {
		if text == "none" {
			*p = 0
			return nil
		}
		return setCount(p, least, text)
	})
}

const day = 24 * time.Hour

// Duration returns a flag value that is a time of more than zero: a Go duration, whole days such as 30d, or whole seconds without
// a unit. Zero stands for no default.
func Duration(p *time.Duration) pflag.Value {
	return New("time", func() string { return FormatDuration(*p) }, func(text string) error {
		d, err := parseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a time: write for example 90s, 2m, 12h or 30d", text)
		}
		if d <= 0 {
			return errors.New("the time must be more than zero, for example 90s")
		}
		*p = d
		return nil
	})
}

// WithUnit is [Duration] for times of days. A plain number is an error: it would mean seconds, but a user who writes 30 there means days.
func WithUnit(p *time.Duration) pflag.Value {
	v := Duration(p)
	return New(v.Type(), v.String, func(text string) error {
		if _, err := strconv.Atoi(text); err == nil {
			return fmt.Errorf("%q has no unit: write for example %sd", text, text)
		}
		return v.Set(text)
	})
}

func parseDuration(text string) (time.Duration, error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		return time.Duration(n) * day, err
	}
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	return time.ParseDuration(text)
}

// Rate is how many things may happen in a time. The zero value is no bound.
type Rate struct {
	Count  int
	Period time.Duration
}

// NewRate returns a flag value that is a Rate, such as 100/1m.
func NewRate(p *Rate) pflag.Value {
	get := func() string {
		if p.Count == 0 {
			return ""
		}
		return strconv.Itoa(p.Count) + "/" + FormatDuration(p.Period)
	}
	return New("number/time", get, func(text string) error {
		number, period, _ := strings.Cut(text, "/")
		var r Rate
		if setCount(&r.Count, 1, number) != nil || Duration(&r.Period).Set(period) != nil {
			return fmt.Errorf("%q is not a number in a time: write for example 100/1m", text)
		}
		*p = r
		return nil
	})
}

// FormatDuration writes a time as [Duration] reads it, without units of zero: 10m, 30d. Zero is empty.
func FormatDuration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	}
	return config.FormatDuration(d)
}

// MinSize is the least size in bytes that most flags take.
const MinSize = 1_000

// Size returns a flag value in bytes, at least least, as config.ParseSize reads it. Zero stands for no default.
func Size(p *int64, least int64) pflag.Value {
	get := func() string {
		switch n := *p; {
		case n == 0:
			return ""
		case n%1_000_000 == 0:
			return units.CustomSize("%.4g%s", float64(n), 1000, []string{"B", "kB", "MB", "GB", "TB", "PB"})
		default:
			return units.BytesSize(float64(n))
		}
	}
	return New("size", get, func(text string) error {
		bytes, err := config.ParseSize(text)
		if err != nil {
			return err
		}
		if bytes < least {
			return fmt.Errorf("%s is too little: at least %s", text, units.HumanSize(float64(least)))
		}
		*p = bytes
		return nil
	})
}

// Bytes formats a size.
func Bytes(n int) string { return units.HumanSize(float64(n)) }

// Usage returns an error of the command line of a run.
func Usage(format string, args ...any) error {
	return &cli.UsageError{Err: fmt.Errorf(format, args...), Command: "mcprun"}
}
