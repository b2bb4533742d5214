//go:build !windows

package main

// terminalName is the terminal that the process belongs to.
const terminalName = "/dev/tty"
