// Package process is the sandbox that uses Linux namespaces: the machine's own node and python3, in a jail that shows them little else. It
// needs no daemon and no image. Start with [New]; the program's main begins with [Init].
//
// A script sees the interpreter with its libraries and standard library, at paths that say nothing about the machine, read-only; the
// generated tree, read-only; and its workspace, a private /tmp, five harmless devices and its own processes. It has no network, no
// capabilities, no environment except three variables, and no installed packages.
//
// The script shares the machine's kernel. This is enough for scripts of one's own agents, but not between customers.
package process
