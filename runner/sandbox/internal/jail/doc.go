// Package jail starts a child that sees almost nothing of the machine: its own user (unless the host is root), mount, PID,
// network, IPC, UTS and cgroup namespaces, a read-only root of only the files it was given, no capabilities, no new
// privileges, Landlock, a system-call filter, limits, and an empty environment.
//
// Start with [Start]. It runs the calling program's own binary again; that program's main must begin with [Init],
// which recognises such a child, builds the jail from inside, and then either starts a program in it or calls a Go
// function. It works on Linux on amd64 and arm64; elsewhere Start returns an error.
//
// # Processes
//
//	host ── control socket ──► init: PID 1 of the jail, our own binary, confined like its child
//	                             └── the program (Config.Program), or nothing when init runs a Go function
//
// Init does not outlive the program: when the program ends, init exits with its code, and the kernel kills
// whatever else runs in the PID namespace. Init dies with its host in two independent ways: the parent-death signal,
// and the control socket reading end-of-file.
//
// # Warm jails
//
// With [Config].Warm a jail is started before there is a run for it, and [Child.Bind] gives it one. Until then it holds
// only trusted code: an interpreter and our guest program. That is why init may keep, until Bind, the
// right to mount and a thread that still sees the host's files; Bind ends both before it returns.
//
// # Limits
//
// A cgroup bounds memory and processes if the caller may make one. A watchdog on the host checks the jail's
// processes twenty times a second: it always bounds processor time, and bounds memory and processes if there is no
// cgroup. Output is counted as it is copied, and the writable mounts are watched (package meter).
//
// # Files
//
// The host's side: start (Start), bind (Child.Bind), child (Child.Wait), watchdog. Init's side: init, warm,
// launcher, confine (the order in which rights are dropped). What isolates: namespaces, mount, capabilities, rlimits, landlock, and
// package seccomp. What they say to each other: protocol.
//
// # What it refuses
//
// A jail never starts without namespaces, no_new_privs and the system-call filter, except that a Go function may
// run without namespaces if its caller sets [Config].AllowNoNamespaces. Optional isolation that the machine
// does not support is listed by [Child.Missing].
package jail
