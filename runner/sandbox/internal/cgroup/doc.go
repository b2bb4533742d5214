// Package cgroup creates control groups (versions 1 and 2) for sandboxes. Processes start in their group, so nothing that runs in it is
// ever outside. Start with [New].
//
// We have our own package because containerd/cgroups moves processes into a group after they have started. With version 1 such a move waits
// for the whole system, up to tens of milliseconds, and whatever the process has used before the move counts elsewhere.
package cgroup
