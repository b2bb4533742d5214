//go:build !linux

package acl

import "errors"

// Grant is for Linux only.
func Grant(dir string, uid int) error {
	return errors.New("access control lists are supported on Linux only")
}

// Reads finds no list.
func Reads(name string, uid int) bool { return false }
