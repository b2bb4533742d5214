//go:build !linux

package term

import "os"

// dropTyped does nothing: what was typed on a line that is not ended stays.
func dropTyped(*os.File) {}
