//go:build !unix

package script

const nonblock = 0
