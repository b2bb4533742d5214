//go:build !unix

package tree

import "os"

// lockDir does nothing where there is no advisory lock.
func lockDir(*os.Root, string) (unlock func(), err error) { return func() {}, nil }

// syncDir does nothing where folders can't be flushed.
func syncDir(*os.Root, string) error { return nil }
