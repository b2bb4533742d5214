//go:build !linux

// Package thread calls functions on threads of their own. On this system nobody needs that.
package thread
