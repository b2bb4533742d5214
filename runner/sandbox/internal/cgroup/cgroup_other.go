//go:build !linux

package cgroup

// IsGroup returns false: this system has no control groups.
func IsGroup(path string) bool { return false }

// Remove does nothing on this system.
func Remove(dirs ...string) error { return nil }
