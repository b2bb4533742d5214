//go:build !linux && !darwin

package daemon

import (
	"errors"
	"os"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

func launchDaemon(*cli.App, string, *os.File) error {
	return errors.New("there is no daemon on this system")
}

func readyFile() *os.File { return nil }
