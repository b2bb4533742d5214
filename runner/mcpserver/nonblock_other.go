//go:build !unix

package mcpserver

// nonblock is nothing where a folder holds no pipes.
const nonblock = 0
