//go:build !linux

package docker

import "github.com/moby/moby/api/types/system"

// sameMachine is always unknown: containers need Linux.
func sameMachine(system.Info) (same, known bool) { return false, false }
