// Package notify tells a program of something that happened. Start with [Program].
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"
)

// Time bounds a program that is told of something.
const Time = 10 * time.Second

// maxOutput is how much of a program's output an error has, in bytes.
const maxOutput = 400

// Program is started for each message.
type Program struct {
	// Args are the program and its arguments, Dir is its working directory, and Env its environment.
	Args []string
	Dir  string
	Env  []string
}

// Tell is Send with a message as one JSON value.
func (p *Program) Tell(ctx context.Context, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return p.Send(ctx, text)
}

// Send starts the program with a text on standard input, and waits until it has ended, at most for [Time]. If it fails, the error has the
// beginning of its output.
func (p *Program) Send(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, Time)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = p.Dir, p.Env, bytes.NewReader(text), time.Second
	var out head
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if said := bytes.TrimSpace(out); err != nil && len(said) > 0 {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// head keeps the first bytes that are written.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), maxOutput-len(*h))]...)
	return len(p), nil
}
