//go:build !linux

package cli

import "os"

// dropTyped does nothing: an unfinished line of input stays.
func dropTyped(*os.File) {}
