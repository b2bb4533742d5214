package main

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
)

// byteSize is a flag value in bytes. A plain number is megabytes (10⁶ bytes); KiB, MiB and GiB are powers of 1024,
// kB, MB and GB powers of 1000.
type byteSize struct {
	bytes *int64
	least int64
}

const (
	minMemory = 32_000_000 // the least a runtime can start with
	minSize   = 1_000
	maxSize   = 1 << 50 // more than any machine has; far below where sums would overflow
)

func (s byteSize) String() string {
	switch n := s.value(); {
	case n == 0:
		return ""
	case n%1_000_000 == 0:
		return units.CustomSize("%.4g%s", float64(n), 1000, []string{"B", "kB", "MB", "GB", "TB", "PB"})
	default:
		return units.BytesSize(float64(n))
	}
}

// value is 0 for the zero byteSize, which the flag library makes to see what a default looks like.
func (s byteSize) value() int64 {
	if s.bytes == nil {
		return 0
	}
	return *s.bytes
}

func (byteSize) Type() string { return "size" }

func (s byteSize) Set(text string) error {
	bytes, err := parseSize(text)
	if err != nil || bytes < 0 || bytes > maxSize { // the parser of units does not notice an overflow
		return fmt.Errorf("%q is no size: write megabytes, or for example 512MiB", text)
	}
	if bytes < s.least {
		return fmt.Errorf("%s is too little: at least %s", text, units.HumanSize(float64(s.least)))
	}
	*s.bytes = bytes
	return nil
}

func parseSize(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 40); err == nil {
		return n * 1_000_000, nil
	}
	if len(text) > 3 && text[len(text)-2] == 'i' {
		return units.RAMInBytes(text)
	}
	return units.FromHumanSize(text)
}

// byteCount shows a size for people.
func byteCount(n int) string { return units.HumanSize(float64(n)) }

// runTime is a flag value: whole seconds, or a Go duration. It is more than zero.
type runTime time.Duration

func (d *runTime) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func (d *runTime) Type() string { return "time" }

func (d *runTime) Set(text string) error {
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no time: write seconds, or for example 90s or 2m", text)
	}
	if v <= 0 {
		return errors.New("a run needs some time, for example 90s")
	}
	*d = runTime(v)
	return nil
}

// count is a flag value: a whole number of things, at least least.
type count struct {
	n     *int
	least int
}

func (c count) String() string {
	if c.n == nil || *c.n == 0 {
		return ""
	}
	return strconv.Itoa(*c.n)
}

func (count) Type() string { return "number" }

func (c count) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt32 {
		return fmt.Errorf("%q is no number of them", text)
	}
	if int(n) < c.least {
		return fmt.Errorf("%s is too little: at least %d", text, c.least)
	}
	*c.n = int(n)
	return nil
}

// word is a flag value that is a text; kind says in the help what it is.
type word struct {
	s    *string
	kind string
}

func (w word) String() string {
	if w.s == nil {
		return ""
	}
	return *w.s
}

func (w word) Type() string { return w.kind }

func (w word) Set(text string) error {
	*w.s = text
	return nil
}

// choice is a flag value: one of a few words.
type choice struct {
	s     *string
	among []string
}

func (c *choice) String() string {
	if c.s == nil {
		return ""
	}
	return *c.s
}

func (c *choice) Type() string { return strings.Join(c.among, "|") }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.among, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(c.among, ", "))
	}
	*c.s = text
	return nil
}

// toggle is a flag value for a switch that can be set from anywhere; its zero value is off.
type toggle struct{ on *bool }

func (t toggle) String() string { return strconv.FormatBool(t.on != nil && *t.on) }
func (toggle) Type() string     { return "bool" }

func (t toggle) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*t.on = on
	return nil
}

// bind registers the switch; on the command line it needs no value.
func (t toggle) bind(f *pflag.FlagSet, name, usage string) {
	f.VarPF(t, name, "", usage).NoOptDefVal = "true"
}
