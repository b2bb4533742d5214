// Package jail starts a child that sees next to nothing of the machine: own user (when we are not root), mount, PID,
// network, IPC, UTS and cgroup namespaces, a read-only root of only the files it was given, no capabilities, no new
// privileges, Landlock, a system-call filter, limits, and an empty environment.
//
// Start with [Start]. It runs the calling program's own binary again; that program's main must begin with [Init],
// which recognises such a child, builds the jail from inside, and then either starts a program in it or calls a Go
// function. Linux on amd64 and arm64 only; elsewhere Start says so.
//
// # Who is who
//
//	host ── control socket ──► init: PID 1 of the jail, our own binary, confined like its child
//	                             └── the program (Config.Program), or nothing when init runs a Go function
//
// Init outlives the program by nothing: when the program ends, init exits with its code, and the kernel kills
// whatever else runs in the PID namespace. Init dies with its host in two independent ways: the parent-death signal,
// and the control socket reading end-of-file.
//
// # Warm jails
//
// With [Config].Warm a jail is started before there is a run for it, and [Child.Bind] gives it one. Until then it holds
// nothing that is not trusted: an interpreter and a guest program of ours. That is why init may keep, until Bind, the
// right to mount and a thread that still sees the host's files; Bind ends both before it returns.
//
// # Limits
//
// A cgroup bounds memory and processes where the caller may make one. A watchdog on the host looks at the jail's
// processes twenty times a second: it bounds processor time everywhere, and memory and processes where there is no
// cgroup. Output is counted as it is copied, and the writable mounts are watched (package meter).
//
// # What it refuses
//
// A jail never starts without its namespaces, no_new_privs and the system-call filter, except that a Go function may
// run without namespaces where its caller allows that by name ([Config].AllowNoNamespaces). What is merely good to have and
// could not be had is listed by [Child.Missing].
package jail
