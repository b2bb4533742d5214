//go:build !linux

// Package thread calls functions on threads of their own. It is empty on this system.
package thread
