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

// hello returns a script that prints one line. Each one is different, so that nothing kept from earlier scripts helps it.
func hello(lang sandbox.Language) string {
	if lang == sandbox.LangPython {
		return fmt.Sprintf(`print("hello", flush=True) # %d`, scripts.Add(1))
	}
	return fmt.Sprintf(`console.log("hello"); // %d`, scripts.Add(1))
}

// withoutSandbox names the baseline of a language's starts or ends.
func withoutSandbox(which string, lang sandbox.Language) string {
	return which + " " + interpreter(lang) + " without a sandbox"
}

// firstByte records when the first byte arrives.
type firstByte struct{ at time.Time }

func (f *firstByte) Write(p []byte) (int, error) {
	if f.at.IsZero() && len(p) > 0 {
		f.at = time.Now()
	}
	return len(p), nil
}

// times holds samples, in milliseconds, of runs that print only one line: starts is the time until the line arrives, and ends the
// time from then until the run has its result.
type times struct{ starts, ends []float64 }

// add calls run and records how long it took to write the first byte to its argument, and to return after that.
func (t *times) add(run func(stdout io.Writer) error) error {
	var first firstByte
	began := time.Now()
	if err := run(&first); err != nil {
		return err
	}
	ended := time.Now()
	if first.at.IsZero() {
		return fmt.Errorf("it printed nothing")
	}
	t.starts = append(t.starts, millis(first.at.Sub(began)))
	t.ends = append(t.ends, millis(ended.Sub(first.at)))
	return nil
}

// command measures a program that prints a line, after one run that fills caches. An empty dir is the current folder, and a
// nil environ the current environment.
func command(ctx context.Context, dir string, environ []string, words ...string) (*times, error) {
	var warmUp, t times
	for i := range startRuns + 1 {
		into := &t
		if i == 0 {
			into = &warmUp
		}
		err := into.add(func(stdout io.Writer) error {
			cmd := exec.CommandContext(ctx, words[0], words[1:]...)
			cmd.Stdout, cmd.Env, cmd.Dir = stdout, environ, dir
			return cmd.Run()
		})
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", words[0], err)
		}
	}
	return &t, nil
}

// starts runs new scripts, one after the other. Before each run it calls before, unless that is nil; this is not measured.
func (b *bench) starts(ctx context.Context, be sandbox.Backend, lang sandbox.Language, before func() error) (*times, error) {
	var t times
	for range startRuns {
		if before != nil {
			if err := before(); err != nil {
				return nil, err
			}
		}
		if err := t.add(func(stdout io.Writer) error { return b.run(ctx, be, lang, hello(lang), stdout, nil) }); err != nil {
			return nil, err
		}
	}
	return &t, nil
}

// addRuns records the starts and the ends of runs of a kind, cold or warm.
func (b *bench) addRuns(kind string, be sandbox.Backend, lang sandbox.Language, t *times) {
	b.table.add(fmt.Sprintf("%s start %s %s", kind, be.Name(), lang), "ms", withoutSandbox("start", lang), t.starts)
	b.table.add(fmt.Sprintf("end after a %s start %s %s", kind, be.Name(), lang), "ms", withoutSandbox("end", lang), t.ends)
}

// coldStarts measures the time from a new script's source to its only line of output, and from there to the result, beside the
// bare interpreters.
func (b *bench) coldStarts(ctx context.Context) error {
	for _, lang := range languages() {
		words, err := bareCommand(ctx, lang)
		if err != nil {
			return err
		}
		t, err := command(ctx, "", nil, append(words, hello(lang))...)
		if err != nil {
			return err
		}
		b.table.add(withoutSandbox("start", lang), "ms", "", t.starts)
		b.table.add(withoutSandbox("end", lang), "ms", "", t.ends)
	}
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		t, err := b.starts(ctx, be, lang, nil)
		if err != nil {
			return err
		}
		b.addRuns("cold", be, lang, t)
		return nil
	})
}
