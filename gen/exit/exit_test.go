package exit_test

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/mcpgen/mcpgen/gen/exit"
)

type coded int

func (coded) Error() string   { return "coded" }
func (c coded) ExitCode() int { return int(c) }

func TestOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("plain"), exit.Runner},
		{coded(exit.Refused), exit.Refused},
		{fmt.Errorf("outer: %w", coded(exit.NoBackend)), exit.NoBackend},
		{&exec.ExitError{}, exit.Runner},
	} {
		if got := exit.Of(c.err, exit.Runner); got != c.want {
			t.Errorf("Of(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

type helped string

func (helped) Error() string  { return "helped" }
func (h helped) Hint() string { return string(h) }

func TestHint(t *testing.T) {
	for _, c := range []struct {
		err        error
		hint, text string
	}{
		{errors.New("plain"), "", "plain"},
		{helped(""), "", "helped"},
		{fmt.Errorf("outer: %w", helped("wait")), "wait", "outer: helped; wait"},
	} {
		if hint, text := exit.Hint(c.err), exit.Hinted(c.err).Error(); hint != c.hint || text != c.text {
			t.Errorf("Hint(%v) = %q, Hinted: %q, want %q and %q", c.err, hint, text, c.hint, c.text)
		}
	}
}
