//go:build linux && (amd64 || arm64)

package jail

// Pause pauses the jail as the disk meter does.
func (c *Child) Pause() (resume func()) { return c.pause() }

// Paused reports whether the jail stands still.
func (c *Child) Paused() bool { return c.paused() }

// PIDs lists the jail's processes.
func (c *Child) PIDs() []int { return c.pids() }
