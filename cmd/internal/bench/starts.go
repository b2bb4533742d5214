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

// languages in the order of the table.
func languages() []sandbox.Language {
	return []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
}

// bare is the command that runs code of a language without a sandbox, as far as the code itself.
func bare(ctx context.Context, lang sandbox.Language) ([]string, error) {
	if lang != sandbox.LangPython {
		return []string{"node", "-e"}, nil
	}
	python, err := exec.CommandContext(ctx, "python3", "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil {
		return nil, fmt.Errorf("find python3 itself, not what stands for it on PATH: %w", err)
	}
	return []string{string(python), "-c"}, nil
}

var scripts atomic.Int64

// hello is a script that prints one line, and that was never there before: nothing that was kept of another helps it.
func hello(lang sandbox.Language) string {
	if lang == sandbox.LangPython {
		return fmt.Sprintf(`print("hello", flush=True) # %d`, scripts.Add(1))
	}
	return fmt.Sprintf(`console.log("hello"); // %d`, scripts.Add(1))
}

// withoutSandbox names the baseline of a language's starts.
func withoutSandbox(lang sandbox.Language) string {
	return "start " + runtimeOf(lang) + " without a sandbox"
}

// firstLine is the time from before start until the first byte that it writes to its argument.
func firstLine(start func(stdout io.Writer) error) (time.Duration, error) {
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

// command measures starts of a program that prints a line, after one that fills caches.
func command(ctx context.Context, environ []string, words ...string) (samples []float64, err error) {
	return commandIn(ctx, "", environ, words...)
}

// commandIn is command in a folder. Empty: in ours.
func commandIn(ctx context.Context, dir string, environ []string, words ...string) (samples []float64, err error) {
	for i := range startRuns + 1 {
		took, err := firstLine(func(stdout io.Writer) error {
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

// coldStarts measures from a new script's source to its first line of output, beside what else starts one.
func (b *bench) coldStarts(ctx context.Context) error {
	if err := b.peers(ctx); err != nil {
		return err
	}
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		samples, err := b.starts(ctx, be, lang, nil, func() string { return hello(lang) })
		if err != nil {
			return err
		}
		name := fmt.Sprintf("cold start %s %s", be.Name(), lang)
		b.table.add(name, "ms", withoutSandbox(lang), samples)
		if be.Name() == "docker" && b.table.has(dockerRun(lang)) {
			b.table.add(name, "ms", dockerRun(lang), samples)
		}
		return nil
	})
}

// starts runs a script again and again. Before each run it calls before, unless that is nil, which does not count.
func (b *bench) starts(ctx context.Context, be sandbox.Backend, lang sandbox.Language, before func() error, code func() string) (samples []float64, err error) {
	for range startRuns {
		if before != nil {
			if err := before(); err != nil {
				return nil, err
			}
		}
		took, err := firstLine(func(stdout io.Writer) error { return b.run(ctx, be, lang, code(), stdout, nil) })
		if err != nil {
			return nil, err
		}
		samples = append(samples, millis(took))
	}
	return samples, nil
}

// again measures the second and later runs of one script that imports wrappers, beside the first, with nothing kept warm
// but what is kept of the script itself.
func (b *bench) again(ctx context.Context) error {
	return b.each(func(be sandbox.Backend, lang sandbox.Language) error {
		if be.Name() != "embedded" {
			return nil // elsewhere the sandbox's own start hides the difference
		}
		const imports = "import { add } from './servers/calculator';\nimport * as drive from './servers/drive';\nimport * as crm from './servers/crm';\n" +
			"console.log('hello', typeof add, typeof drive, typeof crm); // "
		first, err := b.starts(ctx, be, lang, nil, func() string { return imports + fmt.Sprint(scripts.Add(1)) })
		if err != nil {
			return err
		}
		same := imports + "the same"
		if err := b.run(ctx, be, lang, same, nil, nil); err != nil {
			return err
		}
		later, err := b.starts(ctx, be, lang, nil, func() string { return same })
		if err != nil {
			return err
		}
		const name = "first run of a script with wrappers, embedded"
		b.table.add(name, "ms", "", first)
		b.table.add("later runs of the same script, embedded", "ms", name, later)
		return nil
	})
}
