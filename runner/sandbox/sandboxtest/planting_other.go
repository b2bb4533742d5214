//go:build !unix

package sandboxtest

import (
	"os"
	"testing"
)

// given makes nothing: folders hold no such things here.
func given(*testing.T, string, string) {}

// inheritable does nothing: here children get only what is named.
func inheritable(*testing.T, string) {}

// blocks is what a file takes on the disk, in bytes.
func blocks(info os.FileInfo) int64 { return info.Size() }
