//go:build !unix

package safeopen

// nonblock has no effect on systems without named pipes in folders.
const nonblock = 0
