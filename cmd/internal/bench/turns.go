package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// turnPart says, in the environment of a process that measures turns started, what it is.
const turnPart = "BENCH_TURN"

const (
	turnEcho   = "echo" // sends back what it gets
	turnAsk    = "ask"  // asks, and says at the end how long the answers took
	turnLength = 100    // bytes of a message
)

// runTurn never returns in a process that was started by [bench.turns].
func runTurn() {
	var err error
	switch os.Getenv(turnPart) {
	case "":
		return
	case turnEcho:
		err = echo(os.Stdin, os.Stdout)
	case turnAsk:
		var samples []float64
		if samples, err = ask(os.Stdout, os.Stdin); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(samples)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// echo sends messages back until there are no more.
func echo(from io.Reader, to io.Writer) error {
	message := make([]byte, turnLength)
	for {
		if _, err := io.ReadFull(from, message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := to.Write(message); err != nil {
			return err
		}
	}
}

// ask measures messages and their answers, in microseconds.
func ask(to io.Writer, from io.Reader) (samples []float64, err error) {
	message := make([]byte, turnLength)
	for i := range warmUp + callRuns {
		start := time.Now()
		if err := pass(to, from, message); err != nil {
			return nil, err
		}
		if i >= warmUp {
			samples = append(samples, micros(time.Since(start)))
		}
	}
	return samples, nil
}

// pass sends a message and reads the answer.
func pass(to io.Writer, from io.Reader, message []byte) error {
	if _, err := to.Write(message); err != nil {
		return err
	}
	_, err := io.ReadFull(from, message)
	return err
}

// turns measures what no program can save: a message to another process and back, and what it adds when a third process
// asks by way of this one, as a script does.
func (b *bench) turns(ctx context.Context) error {
	const there = "message to another process and back, nothing else"
	var before, around, after []float64
	err := b.part(ctx, turnEcho, func(server io.ReadWriter) (err error) {
		if before, err = ask(server, server); err != nil {
			return err
		}
		err = b.part(ctx, turnAsk, func(guest io.ReadWriter) error {
			message := make([]byte, turnLength)
			for range warmUp + callRuns {
				if _, err := io.ReadFull(guest, message); err != nil {
					return err
				}
				if err := pass(server, server, message); err != nil {
					return err
				}
				if _, err := guest.Write(message); err != nil {
					return err
				}
			}
			return json.NewDecoder(guest).Decode(&around)
		})
		if err != nil {
			return err
		}
		after, err = ask(server, server)
		return err
	})
	if err != nil {
		return err
	}
	beside := append(before, after...)
	b.table.add(there, "µs", "", beside)
	b.table.addOnTop("what a third process in turn adds to it, nothing else", "µs", there, around, beside)
	return nil
}

// part starts this program as a part of a turn, for as long as f takes.
func (b *bench) part(ctx context.Context, part string, f func(io.ReadWriter) error) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), turnPart+"="+part), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = f(struct {
		io.Reader
		io.Writer
	}{out, in})
	return errors.Join(err, in.Close(), cmd.Wait())
}
