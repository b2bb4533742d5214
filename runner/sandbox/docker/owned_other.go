//go:build !unix

package docker

import "io/fs"

// There is no engine with unix sockets here whose folders could be judged.

func ownedBy(fs.FileInfo, int) bool { return false }

func inGroup(fs.FileInfo, int) bool { return false }

func sameOwner(a, b fs.FileInfo) bool { return true }
