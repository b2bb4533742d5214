//go:build !unix

package guest

const nonblock = 0
