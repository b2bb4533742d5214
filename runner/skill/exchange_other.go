//go:build !linux

package skill

import (
	"errors"
	"os"
)

// exchange cannot be done in one step here.
func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }
