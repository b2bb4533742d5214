package egress

import (
	"context"
	"log/slog"
	"sync"

	"github.com/mcpgen/mcpgen/runner/internal/notify"
)

// Command is a program that is told of alerts: each starts it once, with the alert as JSON on standard input. Its output is discarded.
type Command struct {
	// Args are the program and its arguments. Dir is its working directory, and Env its environment.
	Args []string
	Dir  string
	Env  []string
	// Logger gets failures. Nil: discarded.
	Logger *slog.Logger

	running sync.WaitGroup
	turn    sync.Mutex
}

// Alert starts the program once those of earlier alerts have ended, and returns at once.
func (c *Command) Alert(a Alert) {
	c.running.Go(func() {
		c.turn.Lock()
		defer c.turn.Unlock()
		p := &notify.Program{Args: c.Args, Dir: c.Dir, Env: c.Env}
		if err := p.Tell(context.Background(), a); err != nil && c.Logger != nil {
			c.Logger.Warn("the program of network.alerts failed", "error", err)
		}
	})
}

// Wait waits until all started programs have ended.
func (c *Command) Wait() { c.running.Wait() }
