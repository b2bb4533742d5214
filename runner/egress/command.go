package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os/exec"
	"sync"
	"time"
)

// alertTime bounds a program that is told of an alert.
const alertTime = 10 * time.Second

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
		text, err := json.Marshal(a)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), alertTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = c.Dir, c.Env, bytes.NewReader(text), time.Second
		if err := cmd.Run(); err != nil && c.Logger != nil {
			c.Logger.Warn("the program of network.alerts failed", "error", err)
		}
	})
}

// Wait waits until all started programs have ended.
func (c *Command) Wait() { c.running.Wait() }
