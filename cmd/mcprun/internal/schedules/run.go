package schedules

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/pii"
)

// maxMessage bounds the message of an outcome, in bytes.
const maxMessage = 2000

// arguments returns what mcprun runs a schedule with. base is the folder of mcpgen.yaml.
func arguments(base, name string, s *config.Schedule) ([]string, error) {
	var args []string
	for _, v := range slices.Sorted(maps.Keys(s.Vars)) {
		value, err := json.Marshal(s.Vars[v])
		if err != nil {
			return nil, err
		}
		args = append(args, "--var", v+"="+string(value))
	}
	if s.Customer != "" {
		args = append(args, "--customer="+s.Customer)
	}
	if s.Timeout > 0 {
		args = append(args, "--timeout="+s.Timeout.String())
	}
	if s.Network {
		args = append(args, "--network")
	}
	if s.Input != nil {
		value, err := json.Marshal(s.Input)
		if err != nil {
			return nil, err
		}
		args = append(args, "--input="+string(value))
	}
	args = append(args, "--")
	if s.Skill == "" {
		key, file := "script", s.Script
		if s.Workflow != "" {
			key, file = "workflow", s.Workflow
		}
		path := filepath.Join(base, filepath.FromSlash(file))
		if err := check(base, name, key, file, path); err != nil {
			return nil, err
		}
		args = append(args, path)
	}
	return append(args, s.Args...), nil
}

// check returns why the file of a schedule cannot run: it is missing, or a link leads out of the project.
func check(base, name, key, file, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return cli.WithHint(fmt.Errorf("the %s of the schedule %s cannot be read: %w", key, name, err), "correct schedules."+name+"."+key+" in "+config.SettingsName)
	case info.IsDir() || !project.IsBelow(path, base):
		return cli.WithHint(fmt.Errorf("the %s of the schedule %s, %q, is not a file in the folder of %s", key, name, file, config.SettingsName), "copy it there")
	}
	return nil
}

// Check returns the problems of schedules that can be found without running them.
func Check(base string, schedules map[string]config.Schedule) (problems []error) {
	for _, name := range slices.Sorted(maps.Keys(schedules)) {
		s := schedules[name]
		if _, err := arguments(base, name, &s); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// Command is the command line of mcprun in whose project schedules run.
type Command struct {
	App   *cli.App // its folder and environment
	At    resources.Provider
	Flags []string // of all runs
	// Checked is that of [run.Schedule].
	Checked bool
}

// Run runs a schedule of the project in the folder base, as mcprun runs its script. Nobody is at a terminal. An error means that it did not
// start, and that the record has no row of it.
func (c *Command) Run(ctx context.Context, base, name string, s config.Schedule, flow Flow) (Outcome, error) {
	args, err := arguments(base, name, &s)
	if err != nil {
		return Outcome{}, err
	}
	var stdout bytes.Buffer // of one JSON object, which --max-output bounds
	stderr := &tail{}
	app := &cli.App{
		Name: c.App.Name, FailCode: exit.Runner, Dir: c.App.Dir, LookupEnv: c.App.LookupEnv,
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: stderr,
	}
	all := append(slices.Clone(c.Flags), "--json")
	schedule := &run.Schedule{Name: name, Skill: s.Skill, Checked: c.Checked}
	if s.Workflow != "" {
		schedule.Workflow, schedule.Turn = flow.ID, flow.Turn
	}
	cmd := run.NewScheduleCommand(app, c.At, schedule)
	out := Outcome{ExitCode: app.Run(ctx, cmd, append(all, args...))}
	switch {
	case out.ExitCode == 0:
		return out, nil
	case !schedule.Begun:
		text := strings.TrimPrefix(strings.TrimSpace(string(stderr.text)), "mcprun: ")
		return Outcome{}, errors.New(private(strings.ReplaceAll(text, "\nhint: ", "; ")))
	}
	var res struct {
		Message string
		Stderr  string
		Error   *struct{ Name, Message string }
	}
	if json.Unmarshal(stdout.Bytes(), &res) != nil {
		res.Stderr = string(stderr.text)
	}
	if out.Message = res.Message; out.Message == "" && res.Error != nil {
		out.Message = res.Error.Name + ": " + res.Error.Message
	}
	out.Message = private(cmp.Or(out.Message, res.Stderr))
	return out, nil
}

// private returns a text without personal data, clipped.
func private(text string) string {
	return ident.Clip(pii.NewPrivate().Mask(strings.TrimSpace(text)), maxMessage)
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxMessage):]
	return len(p), nil
}
