//go:build unix

package script

import "syscall"

// nonblock opens a pipe, which a script may have put where a module was, without waiting for who writes into it.
const nonblock = syscall.O_NONBLOCK
