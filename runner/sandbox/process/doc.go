// Package process is the sandbox made of Linux namespaces: the machine's own node and python3 in a jail that shows
// them little but themselves. It needs no daemon and no image. Start with [New]; the program's main begins with [Init].
//
// What a script sees: the interpreter with its libraries and standard library, at paths that say nothing about the
// machine, read-only; the generated tree, read-only; its workspace, a private /tmp, five harmless devices and its own
// processes. No network, no capability, no environment but three names, no package that somebody installed.
//
// It is a wall of the one shared kernel: right for scripts of one's own agents, not between customers.
package process
