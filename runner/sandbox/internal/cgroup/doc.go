//go:build !linux

// Package cgroup makes control groups. There are none on this system.
package cgroup
