//go:build !linux

package term

import "os"

// dropTyped does nothing: an unfinished line of input stays.
func dropTyped(*os.File) {}
