//go:build !unix

package stdio

import (
	"os"
	"syscall"
)

// There are no process groups here: only the server's own process is ended.

func groupLeader() *syscall.SysProcAttr { return nil }
func waitExit(_ int, reap func())       { reap() }
func terminateGroup(p *os.Process)      { _ = p.Kill() }
func killGroup(p *os.Process)           { _ = p.Kill() }

// hasUnread cannot be known here.
func (p *process) hasUnread() bool { return false }
