package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Bounds of what is kept of a checker's output, in bytes.
const (
	maxOutput = 8 << 20
	maxErrors = 16 << 10
)

// maxMemory bounds the data of each of a checker's processes, in bytes, where the system can: types can be written that need any amount.
// For a usual script tsc takes some 50 MB, and pyright 130 MB.
const maxMemory = 2 << 30

// run starts the checker and returns its output. A checker that finds problems exits with 1 or 2, which run reports as failed.
func (c *checker) run(ctx context.Context, args ...string) (out string, failed bool, err error) {
	cmd := exec.CommandContext(ctx, c.program.Command[0], slices.Concat(c.program.Command[1:], args)...)
	cmd.Dir = c.mirror.dir
	stdout, stderr := &bounded{most: maxOutput}, &bounded{most: maxErrors}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	group(cmd)
	cmd.WaitDelay = 2 * time.Second
	if err = cmd.Start(); err == nil {
		limitMemory(cmd.Process.Pid)
		err = cmd.Wait()
	}
	if ctx.Err() != nil {
		return "", false, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 2) {
		err = nil
	}
	if err != nil {
		return "", false, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.data.String()+"\n"+cut(stdout.data.String())))
	}
	if stdout.over {
		return "", false, fmt.Errorf("it printed more than %d bytes", maxOutput)
	}
	if exit != nil && stdout.data.Len() == 0 {
		if stderr.data.Len() == 0 {
			return "", false, fmt.Errorf("it ended with %w and printed nothing", exit)
		}
		return "", false, errors.New(strings.TrimSpace(stderr.data.String()))
	}
	return stdout.data.String(), exit != nil, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	data bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.data.Len(); len(p) > room {
		b.data.Write(p[:room])
		b.over = true
	} else {
		b.data.Write(p)
	}
	return len(p), nil
}
