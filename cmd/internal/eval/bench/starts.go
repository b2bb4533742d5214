package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const startRuns = 15

// languages returns the languages in the order of the table.
func languages() []sandbox.Language {
	return []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
}

// bareCommand returns the command that runs code of a language without a sandbox; the code is its last argument.
func bareCommand(ctx context.Context, lang sandbox.Language) ([]string, error) {
	if lang != sandbox.LangPython {
		return []string{"node", "-e"}, nil
	}
	python, err := exec.CommandContext(ctx, "python3", "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil {
		return nil, fmt.Errorf("find the interpreter behind python3 on PATH: %w", err)
	}
	return []string{string(python), "-c"}, nil
}

var scripts atomic.Int64

// hello returns a script that prints one line. Each one is new, so that nothing kept of earlier scripts helps it.
func hello(lang sandbox.Language) string {
	if lang == sandbox.LangPython {
		return fmt.Sprintf(`print("hello", flush=True) # %d`, scripts.Add(1))
	}
	return fmt.Sprintf(`console.log("hello"); // %d`, scripts.Add(1))
}

// withoutSandbox names the baseline of a language's starts.
func withoutSandbox(lang sandbox.Language) string {
	return "start " + interpreter(lang) + " without a sandbox"
}

// firstByte records when the first byte arrives.
type firstByte struct{ at time.Time }

func (f *firstByte) Write(p []byte) (int, error) {
	if f.at.IsZero() && len(p) > 0 {
		f.at = time.Now()
	}
	return len(p), nil
}

// untilOutput returns the time from the call of start to the first byte that it writes to its argument.
func untilOutput(start func(stdout io.Writer) error) (time.Duration, error) {
	var first firstByte
	began := time.Now()
	if err := start(&first); err != nil {
		return 0, err
	}
	if first.at.IsZero() {
		return 0, fmt.Errorf("it printed nothing")
	}
	return first.at.Sub(began), nil
}

// command measures starts of a program that prints a line, in milliseconds, after one that fills caches. An empty dir is
// the current folder, and a nil environ the current environment.
func command(ctx context.Context, dir string, environ []string, words ...string) (samples []float64, err error) {
	for i := range startRuns + 1 {
		took, err := untilOutput(func(stdout io.Writer) error {
			cmd := exec.CommandContext(ctx, words[0], words[1:]...)
			cmd.Stdout, cmd.Env, cmd.Dir = stdout, environ, dir
			return cmd.Run()
		})
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", words[0], err)
		}
		if i > 0 {
			samples = append(samples, millis(took))
		}
	}
	return samples, nil
}

// starts runs new scripts, one after the other. It calls before, unless that is nil, before each run, outside of the measured time.
func (b *bench) starts(ctx context.Context, be sandbox.Backend, lang sandbox.Language, before func() error) (samples []float64, err error) {
	for range startRuns {
		if before != nil {
			if err := before(); err != nil {
				return nil, err
			}
		}
		took, err := untilOutput(func(stdout io.Writer) error { return b.run(ctx, be, lang, hello(lang), stdout, nil) })
		if err != nil {
			return nil, err
		}
		samples = append(samples, millis(took))
	}
	return samples, nil
}

// coldStarts measures from a new script's source to its first line of output, beside starts of the bare interpreters.
func (b *bench) coldStarts(ctx context.Context) error {
	for _, lang := range languages() {
		words, err := bareCommand(ctx, lang)
		if err != nil {
			return err
		}
		samples, err := command(ctx, "", nil, append(words, hello(lang))...)
		if err != nil {
			return err
		}
		b.table.add(withoutSandbox(lang), "ms", "", samples)
	}
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		samples, err := b.starts(ctx, be, lang, nil)
		if err != nil {
			return err
		}
		b.table.add(fmt.Sprintf("cold start %s %s", be.Name(), lang), "ms", withoutSandbox(lang), samples)
		return nil
	})
}
