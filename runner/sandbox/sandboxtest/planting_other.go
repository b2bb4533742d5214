//go:build !unix

package sandboxtest

import (
	"os"
	"testing"
)

// given creates nothing: there are no such files on this system.
func given(*testing.T, string, string) {}

// inheritable does nothing: on this system children get only what is named.
func inheritable(*testing.T, string) {}

// blocks returns the space that a file takes on the disk, in bytes.
func blocks(info os.FileInfo) int64 { return info.Size() }
