package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// checks measures what a type checker on the machine costs a run that goes well, and one that prints a missing value, whose types
// are checked afterwards.
func (b *bench) checks(ctx context.Context) error {
	places := &check.Places{LookPath: exec.LookPath, Project: filepath.Join(b.root, "testdata", "npm")}
	for _, m := range []struct {
		lang       sandbox.Language
		well, ill  string
		sandboxes  []string // the first that works
		sampleSize int
	}{
		{sandbox.LangTypeScript, `import { add } from "./servers/calculator"; const r = await add({ numbers: [1, 2] }); console.log(r.result)`,
			`import { add } from "./servers/calculator"; const r = await add({ numbers: [1, 2] }); console.log(r.reslut)`, []string{"embedded"}, 40},
		{sandbox.LangPython, "from servers.calculator import add\nr = add(numbers=[1, 2])\nprint(r['result'])\n",
			"from servers.calculator import add\nr = add(numbers=[1, 2])\nprint(r['result'], None)\n", []string{"process", "docker", "gvisor"}, 20},
	} {
		if _, err := places.Find(m.lang); err != nil {
			b.skip(fmt.Sprintf("type checks of %s: %v", m.lang, err))
			continue
		}
		for _, name := range m.sandboxes {
			if be := b.backend(name); be != nil {
				if err := b.checkCost(ctx, be, m.lang, m.well, m.ill, places, m.sampleSize); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// backend returns a sandbox by name, or nil if it is not usable.
func (b *bench) backend(name string) sandbox.Backend {
	for _, be := range b.backends {
		if _, ok := b.usable[name]; ok && be.Name() == name {
			return be
		}
	}
	return nil
}

// checkCost measures the three kinds of runs in turn, so that all of them meet the same load.
func (b *bench) checkCost(ctx context.Context, be sandbox.Backend, lang sandbox.Language, well, ill string, places *check.Places, n int) error {
	kinds := []struct {
		code     string
		checkers *check.Places
		took     []float64
	}{{code: well}, {code: well, checkers: places}, {code: ill, checkers: places}}
	for i := range n + 2 {
		for k := range kinds {
			s := &runner.Script{Name: scriptName(lang), Code: kinds[k].code, Language: lang, Timeout: 2 * time.Minute, Stdout: io.Discard, Stderr: io.Discard, Checkers: kinds[k].checkers}
			began := time.Now()
			res, err := b.runner.Launch(ctx, s, runner.LaunchOptions{Sandboxes: []sandbox.Backend{be}, Sandbox: be.Name()})
			if err == nil && res.ExitCode != 0 {
				err = fmt.Errorf("exit code %d (%s): %s", res.ExitCode, res.Cause, res.Message)
			}
			if err != nil {
				return err
			}
			if i >= 2 { // the first ones warm up
				kinds[k].took = append(kinds[k].took, millis(time.Since(began)))
			}
		}
	}
	alone := fmt.Sprintf("a run that went well, %s", lang)
	b.table.add(alone, "ms", "", kinds[0].took)
	b.table.add(alone+", a type checker installed", "ms", alone, kinds[1].took)
	b.table.add(fmt.Sprintf("a run that printed a missing value, %s, its types checked", lang), "ms", alone, kinds[2].took)
	return nil
}
