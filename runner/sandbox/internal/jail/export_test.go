//go:build linux && (amd64 || arm64)

package jail

// PIDs lists the jail's processes.
func (c *Child) PIDs() []int { return c.pids() }
