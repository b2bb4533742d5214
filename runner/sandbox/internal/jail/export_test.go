//go:build linux && (amd64 || arm64)

package jail

// Pause is what the watcher of the disk does.
func (c *Child) Pause() (resume func()) { return c.pause() }

// Stands tells whether the pause has come about.
func (c *Child) Stands() bool { return c.stands() }

// PIDs is for tests.
func (c *Child) PIDs() []int { return c.pids() }
