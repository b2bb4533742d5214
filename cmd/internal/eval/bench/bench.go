package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// bench is the state that the measurements share.
type bench struct {
	env      func(name string) string
	table    table
	skipped  []string // what could not be measured on this machine, and why
	root     string   // the repository
	temp     string   // a folder for trees, removed at the end; see [bench.folder]
	backends []sandbox.Backend
	usable   map[string]sandbox.Status
	pool     *upstream.Pool
	runner   *runner.Runner
}

// latency is the time that the slow weather server adds to each call.
const latency = 100 * time.Millisecond

// newBench finds the sandboxes that work on this machine. If only is not empty, it considers only the sandboxes that it names.
func newBench(ctx context.Context, only []string) (*bench, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	list, err := backends.List(backends.Options{LookupEnv: os.LookupEnv})
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "mcpgen-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{root: root, temp: temp, backends: list, usable: map[string]sandbox.Status{}}
	for _, be := range list {
		if len(only) > 0 && !slices.Contains(only, be.Name()) {
			continue
		}
		st := be.Probe(ctx)
		if st.Usable {
			b.usable[be.Name()] = st
			for _, lang := range languages() {
				if _, runs := be.Runtime(lang); runs && !slices.Contains(st.Languages, lang) {
					b.skip(fmt.Sprintf("%s in sandbox %s: %s", lang, be.Name(), st.Detail))
				}
			}
			continue
		}
		b.skip(fmt.Sprintf("sandbox %s: %s", be.Name(), st.Detail))
	}
	cfg, err := config.Load(filepath.Join(root, ".mcp.json"))
	if err != nil {
		return nil, err
	}
	for i, s := range cfg.Servers {
		if s.Key == "weather" {
			cfg.Servers[i].Args = append(append([]string{}, s.Args...), "--latency", latency.String())
		}
	}
	b.pool = upstream.NewPool(cfg.Servers, &upstream.Options{Lookup: os.LookupEnv, ClientName: "bench"})
	b.runner, err = runner.New(&runner.Options{Tree: filepath.Join(root, "servers"), Upstreams: b.pool})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Close ends servers and connections.
func (b *bench) Close() {
	_ = b.pool.Close()
	_ = os.RemoveAll(b.temp)
	for _, be := range b.backends {
		_ = be.Close()
	}
}

// folder creates a folder. It is removed at the end of the whole run, because some file systems create files slowly in the
// minutes after many were removed.
func (b *bench) folder() (string, error) { return os.MkdirTemp(b.temp, "") }

// skip records, once, that something could not be measured.
func (b *bench) skip(what string) {
	if !slices.Contains(b.skipped, what) {
		b.skipped = append(b.skipped, what)
	}
}

// each calls f for every usable sandbox and every language that it runs on this machine.
func (b *bench) each(f func(be sandbox.Backend, lang sandbox.Language) error) error {
	for _, be := range b.backends {
		for _, lang := range b.usable[be.Name()].Languages {
			if err := f(be, lang); err != nil {
				return fmt.Errorf("%s, %s: %w", be.Name(), lang, err)
			}
		}
	}
	return nil
}

// scriptName returns the name of a script file of a language.
func scriptName(lang sandbox.Language) string {
	if lang == sandbox.LangPython {
		return "bench.py"
	}
	return "bench.ts"
}

// run runs a script that must succeed and decodes its result into result, unless result is nil.
func (b *bench) run(ctx context.Context, be sandbox.Backend, lang sandbox.Language, code string, stdout io.Writer, result any) error {
	res, err := b.runner.Launch(ctx, &runner.Script{Name: scriptName(lang), Code: code, Language: lang, Timeout: 2 * time.Minute, Stdout: stdout, Stderr: os.Stderr},
		runner.LaunchOptions{Sandboxes: []sandbox.Backend{be}, Sandbox: be.Name()})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("exit code %d (%s): %s", res.ExitCode, res.Cause, res.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(res.Value, result)
}

//go:embed scripts
var scriptFiles embed.FS

// scriptText returns a script of this package in a language. pairs alternates placeholders and their replacements.
func scriptText(lang sandbox.Language, name string, pairs ...any) string {
	words := make([]string, len(pairs))
	for i, p := range pairs {
		words[i] = fmt.Sprint(p)
	}
	ending := ".ts"
	if lang == sandbox.LangPython {
		ending = ".py"
	}
	return strings.NewReplacer(words...).Replace(readScript(name + ending))
}

// readScript returns an embedded file of the folder scripts.
func readScript(name string) string {
	text, err := scriptFiles.ReadFile("scripts/" + name)
	if err != nil {
		panic(err) // embedded above
	}
	return string(text)
}

// sample measures n runs of f, after warmUps runs that do not count. f gets the number of the run, from 0.
func sample(warmUps, n int, unit func(time.Duration) float64, f func(i int) error) ([]float64, error) {
	samples := make([]float64, 0, n)
	for i := range warmUps + n {
		began := time.Now()
		if err := f(i); err != nil {
			return nil, err
		}
		if took := time.Since(began); i >= warmUps {
			samples = append(samples, unit(took))
		}
	}
	return samples, nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// interpreter names the program that runs a language outside of a sandbox.
func interpreter(lang sandbox.Language) string {
	if lang == sandbox.LangPython {
		return "python3"
	}
	return "node"
}
