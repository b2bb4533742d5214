// Package notify tells a program of something that happened. Start with [Program].
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"time"
)

// Time bounds a program that is told of something.
const Time = 10 * time.Second

// Program is started for each message. Its output is discarded.
type Program struct {
	// Args are the program and its arguments, Dir is its working directory, and Env its environment.
	Args []string
	Dir  string
	Env  []string
}

// Tell starts the program with a message as one JSON value on standard input, and waits until it has ended, at most for [Time].
func (p *Program) Tell(ctx context.Context, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Time)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = p.Dir, p.Env, bytes.NewReader(text), time.Second
	return cmd.Run()
}
