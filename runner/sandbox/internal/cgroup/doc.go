// Package cgroup makes control groups (versions 1 and 2) for sandboxes. Processes are born in their group: nothing that
// runs there is ever outside of it. Start with [New].
//
// It is a package of our own because containerd/cgroups moves processes into a group after they have started. With version 1
// such a move waits for the whole system, up to some tens of milliseconds, and what was used until then counts elsewhere.
package cgroup
