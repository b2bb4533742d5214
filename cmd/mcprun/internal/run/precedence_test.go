package run

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestApplyDefaults: the precedence is flag, environment, mcpgen.yaml, default.
func TestApplyDefaults(t *testing.T) {
	file := runSettings("sandbox", "docker", "image", "img", "memory", "64MB", "workspace", "/proj/work", "timeout", "7s")
	p := &project.Project{Settings: config.Settings{Path: "mcpgen.yaml", Run: file}}
	cases := []struct {
		args []string
		env  map[string]string
		want string
	}{
		{nil, nil, "docker 7s 64MB /proj/work"},
		{nil, map[string]string{"MCPRUN_SANDBOX": "process", "MCPRUN_TIMEOUT": "9", "MCPRUN_MEMORY": "128", "MCPRUN_WORKSPACE": "w"}, "process 9s 128MB w"},
		{[]string{"--sandbox", "auto", "--timeout", "11", "--memory", "256", "--workspace", "x"}, map[string]string{"MCPRUN_SANDBOX": "process"}, "auto 11s 256MB x"},
	}
	for _, c := range cases {
		o, err := applied(t, p, c.env, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{o.sandbox, o.Base.Timeout.String(), flags.Size(&o.Base.Limits.Memory, 0).String(), o.Base.Workspace}, " "); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.args, c.env, got, c.want)
		}
		if o.Image != "img" || o.sandboxName() != o.sandbox {
			t.Errorf("%v: image %q in sandbox %q, want img, which selects no sandbox", c.args, o.Image, o.sandboxName())
		}
	}
}

// runSettings returns settings from alternating keys and values.
func runSettings(pairs ...string) config.RunSettings {
	out := config.RunSettings{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = config.RunSetting{Value: pairs[i+1]}
	}
	return out
}

// applied parses a command line in a project with an environment.
func applied(t *testing.T, p *project.Project, env map[string]string, args ...string) (*Options, error) {
	t.Helper()
	o := &Options{App: &cli.App{LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}}
	cmd := NewCommand(o.App, resources.Cold{}, "mcprun", "")
	cmd.ResetFlags()
	o.Bind(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return o, o.ApplyDefaults(p)
}

// TestEveryLimitCanBeSet checks that each limit can be set by a flag, by a variable and by a setting.
func TestEveryLimitCanBeSet(t *testing.T) {
	want := sandbox.Limits{
		Memory: 64_000_000, CPU: 5 * time.Second, Processes: 20, Files: 99, FileSize: 3_000_000, Output: 4 << 20, Disk: 2 << 30, DiskFiles: 7, Tmp: 16 << 20,
	}
	flags := map[string]string{
		"memory": "64", "cpu": "5s", "processes": "20", "open-files": "99", "file-size": "3MB", "output-limit": "4MiB", "disk": "2GiB", "disk-files": "7", "tmp": "16MiB",
	}
	var args []string
	env := map[string]string{}
	for name, value := range flags {
		args = append(args, "--"+name, value)
		env["MCPRUN_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	}
	file := config.RunSettings{}
	for name, value := range flags {
		file[strings.ReplaceAll(name, "-", "_")] = config.RunSetting{Value: value}
	}
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		file config.RunSettings
		want sandbox.Limits
	}{
		"flags":       {args: args, want: want},
		"environment": {env: env, want: want},
		"mcpgen.yaml": {file: file, want: want},
		"nothing":     {want: sandbox.Limits{}.WithDefaults()},
	} {
		o, err := applied(t, &project.Project{Settings: config.Settings{Run: c.file}}, c.env, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, o.Base.Limits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name := range flags {
		_, err := applied(t, &project.Project{}, map[string]string{"MCPRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")): "0"})
		if err == nil || !strings.Contains(err.Error(), "MCPRUN_") {
			t.Errorf(`%s of 0: error %v, want an error and "MCPRUN_" in it`, name, err)
		}
	}
}

// TestEverySettingOfCalls checks that each setting of calls can be set by a flag, by a variable and by a setting.
func TestEverySettingOfCalls(t *testing.T) {
	flags := map[string]string{
		"call-timeout": "9s", "parallel": "3", "max-result": "2MB", "max-output": "700", "allow-drift": "true", "strict-output": "true", "no-cache": "true",
		"elicit": "decline", "daemon": "auto", "skills": "/skills", "tsc": "mytsc", "pyright": "/bin/mypyright",
	}
	var args []string
	env := map[string]string{}
	for name, value := range flags {
		args = append(args, "--"+name+"="+value)
		env["MCPRUN_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	}
	file := config.RunSettings{}
	for name, value := range flags {
		file[strings.ReplaceAll(name, "-", "_")] = config.RunSetting{Value: value}
	}
	type settings struct {
		Calls                                chain.Settings
		MaxOutput                            int
		Elicit, Daemon, Skills, TSC, Pyright string
	}
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		file config.RunSettings
		set  bool
	}{
		"flags": {args, nil, config.RunSettings{}, true}, "environment": {nil, env, config.RunSettings{}, true}, "mcpgen.yaml": {nil, nil, file, true},
		"nothing": {},
	} {
		o, err := applied(t, &project.Project{Settings: config.Settings{Run: c.file}}, c.env, c.args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var s runner.Script
		if err := o.Complete(&s, &project.Project{}); err != nil {
			t.Fatal(err)
		}
		got := settings{Calls: s.Calls, MaxOutput: s.MaxOutput, Elicit: o.elicit, Daemon: o.daemon, Skills: o.Skills, TSC: o.TSC, Pyright: o.Pyright}
		want := settings{Daemon: "off"}
		if c.set {
			want = settings{
				chain.Settings{AllowDrift: true, StrictOutput: true, NoCache: true, Timeout: 9 * time.Second, Parallel: 3, MaxResult: 2_000_000},
				700, "decline", "auto", "/skills", "mytsc", "/bin/mypyright",
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name := range flags {
		if name == "elicit" || name == "skills" || name == "tsc" || name == "pyright" {
			continue // any text may be the name of a file
		}
		_, err := applied(t, &project.Project{}, map[string]string{"MCPRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")): "x"})
		if err == nil || !strings.Contains(err.Error(), "MCPRUN_") {
			t.Errorf(`%s of x: error %v, want an error and "MCPRUN_" in it`, name, err)
		}
	}
}

// TestOutputBound checks that a reader of one object gets what a model can read, and that a stream is whole. An explicit bound
// overrides both.
func TestOutputBound(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{{nil, 0}, {[]string{"--json"}, 30_000}, {[]string{"--json", "--max-output", "none"}, 0}, {[]string{"--max-output", "900"}, 900}} {
		o, err := applied(t, &project.Project{}, nil, c.args...)
		if err != nil || o.OutputBound() != c.want {
			t.Errorf("%v: %d, %v; want %d", c.args, o.OutputBound(), err, c.want)
		}
	}
}

// TestRiskIsAFloor checks that the greatest risk given anywhere counts.
func TestRiskIsAFloor(t *testing.T) {
	for _, c := range []struct{ flag, env, file, want string }{
		{"", "", "", ""}, {"low", "", "", "low"}, {"", "medium", "", "medium"}, {"", "", "critical", "critical"},
		{"low", "", "high", "high"}, {"critical", "low", "high", "critical"}, {"low", "high", "medium", "high"},
	} {
		o, err := applied(t, &project.Project{Settings: config.Settings{Run: runSettings("risk", c.file)}}, map[string]string{"MCPRUN_RISK": c.env}, "--risk", c.flag)
		if err != nil || o.risk.String() != c.want {
			t.Errorf("%+v: %q, %v", c, o.risk, err)
		}
	}
	if _, err := applied(t, &project.Project{}, nil, "--risk", "none"); err == nil || !strings.Contains(err.Error(), "--risk: unknown risk") {
		t.Errorf(`error %v, want an error and "--risk: unknown risk" in it`, err)
	}
}

// TestCustomersSettings checks the precedence: flag, environment, mcpgen.yaml, default.
func TestCustomersSettings(t *testing.T) {
	dir := t.TempDir()
	p := &project.Project{Settings: config.Settings{Run: runSettings("workspaces", filepath.Join(dir, "file"), "quota", "5MB")}}
	env := map[string]string{"MCPRUN_WORKSPACES": "env", "MCPRUN_QUOTA": "6MB"}
	for _, c := range []struct {
		p     *project.Project
		env   map[string]string
		args  []string
		at    string
		quota int64
	}{
		{&project.Project{}, nil, nil, filepath.Join(dir, "workspaces"), 1 << 30},
		{p, nil, nil, filepath.Join(dir, "file"), 5e6},
		{p, env, nil, filepath.Join(dir, "env"), 6e6},
		{p, env, []string{"--workspaces", "flag", "--quota", "7MB"}, filepath.Join(dir, "flag"), 7e6},
	} {
		o, err := applied(t, c.p, c.env, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		o.App.Dir = dir
		if got := o.Folder(o.App, dir); got != c.at || o.Quota != c.quota {
			t.Errorf("%v %v: %s, %d, want %s and %d", c.env, c.args, got, o.Quota, c.at, c.quota)
		}
	}
}
