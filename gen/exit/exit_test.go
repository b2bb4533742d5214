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
