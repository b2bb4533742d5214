//go:build !linux && !darwin

package daemon

import (
	"errors"
	"os"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

func launchDaemon(*cli.App, string, *os.File) error {
	return errors.New("the daemon is not supported on this system")
}

func readyFile() *os.File { return nil }
