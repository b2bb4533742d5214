package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestSettle: a flag goes before the environment, that before mcpgen.yaml, and that before the default.
func TestSettle(t *testing.T) {
	file := config.RunSettings{Sandbox: "docker", Image: "img", Memory: "64MB", Workspace: "work", Timeout: 7 * time.Second}
	p := &project{settings: config.Settings{Path: "mcpgen.yaml", Run: file}, dir: "/proj"}
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
		o, err := settled(t, p, c.env, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{o.sandbox, o.timeout.String(), byteSize{&o.limits.Memory, 0}.String(), filepath.ToSlash(o.workspace)}, " "); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.args, c.env, got, c.want)
		}
		if o.defaultImage != "img" || o.image != "" {
			t.Errorf("image %q, default %q", o.image, o.defaultImage)
		}
	}
}

// settled is what a command line comes to in a project with an environment.
func settled(t *testing.T, p *project, env map[string]string, args ...string) (*runOptions, error) {
	t.Helper()
	o := &runOptions{app: &cli.App{LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}}
	cmd := newScriptCmd(o.app, cold{}, "mcprun", "")
	cmd.ResetFlags()
	o.bind(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return o, o.settle(p)
}

// TestEveryLimitCanBeSet: by a flag, by a variable and by a setting, each to what it says.
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
	file := config.RunSettings{
		Memory: "64", CPU: 5 * time.Second, Processes: 20, OpenFiles: 99, FileSize: "3MB", OutputLimit: "4MiB", Disk: "2GiB", DiskFiles: 7, Tmp: "16MiB",
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
		o, err := settled(t, &project{settings: config.Settings{Run: c.file}}, c.env, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, o.bounds()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name := range flags {
		_, err := settled(t, &project{}, map[string]string{"MCPRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")): "0"})
		if err == nil || !strings.Contains(err.Error(), "MCPRUN_") {
			t.Errorf("%s of 0: error %v", name, err)
		}
	}
}

// TestEverySettingOfCalls can be set by a flag, by a variable and by a setting, each to what it says.
func TestEverySettingOfCalls(t *testing.T) {
	on, dir := true, t.TempDir()
	flags := map[string]string{
		"call-timeout": "9s", "parallel": "3", "max-result": "2MB", "max-output": "700", "allow-drift": "true", "strict-output": "true",
		"elicit": "decline", "daemon": "auto", "skills": "/skills", "tsc": "mytsc", "pyright": "/bin/mypyright",
	}
	var args []string
	env := map[string]string{}
	for name, value := range flags {
		args = append(args, "--"+name+"="+value)
		env["MCPRUN_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	}
	file := config.RunSettings{
		CallTimeout: 9 * time.Second, Parallel: 3, MaxResult: "2MB", MaxOutput: 700, AllowDrift: &on, StrictOutput: &on,
		Elicit: "decline", Daemon: "auto", Skills: "/skills", TSC: "mytsc", Pyright: "/bin/mypyright",
	}
	type settings struct {
		Calls                                callPlan
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
		o, err := settled(t, &project{settings: config.Settings{Run: c.file}, dir: dir}, c.env, c.args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := o.plan(&source{}, &project{})
		if err != nil {
			t.Fatal(err)
		}
		got := settings{Calls: p.Calls, MaxOutput: p.MaxOutput, Elicit: o.elicit, Daemon: o.daemon, Skills: o.skills, TSC: o.tsc, Pyright: o.pyright}
		want := settings{Daemon: "off"}
		if c.set {
			want = settings{
				callPlan{AllowDrift: true, StrictOutput: true, Timeout: 9 * time.Second, Parallel: 3, MaxResult: 2_000_000},
				700, "decline", "auto", "/skills", "mytsc", "/bin/mypyright",
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	o, err := settled(t, &project{settings: config.Settings{Run: config.RunSettings{Elicit: "a.json", TSC: "bin/tsc", Skills: "s"}}, dir: dir}, nil)
	if err != nil || o.elicit != filepath.Join(dir, "a.json") || o.tsc != filepath.Join(dir, "bin/tsc") || o.skills != filepath.Join(dir, "s") {
		t.Errorf("paths of mcpgen.yaml: %q, %q, %q, %v", o.elicit, o.tsc, o.skills, err)
	}
	for name := range flags {
		if name == "elicit" || name == "skills" || name == "tsc" || name == "pyright" {
			continue // any text may be the name of a file
		}
		_, err := settled(t, &project{}, map[string]string{"MCPRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")): "x"})
		if err == nil || !strings.Contains(err.Error(), "MCPRUN_") {
			t.Errorf("%s of x: error %v", name, err)
		}
	}
}

// TestOutputBound: whoever reads one object gets what a model can read, a stream is whole; what is said goes before both.
func TestOutputBound(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{{nil, 0}, {[]string{"--json"}, 30_000}, {[]string{"--json", "--max-output", "none"}, 0}, {[]string{"--max-output", "900"}, 900}} {
		o, err := settled(t, &project{}, nil, c.args...)
		if err != nil || o.outputBound() != c.want {
			t.Errorf("%v: %d, %v; want %d", c.args, o.outputBound(), err, c.want)
		}
	}
}

// TestRiskIsAFloor: the greatest that was said anywhere counts.
func TestRiskIsAFloor(t *testing.T) {
	for _, c := range []struct{ flag, env, file, want string }{
		{"", "", "", ""}, {"low", "", "", "low"}, {"", "medium", "", "medium"}, {"", "", "critical", "critical"},
		{"low", "", "high", "high"}, {"critical", "low", "high", "critical"}, {"low", "high", "medium", "high"},
	} {
		o, err := settled(t, &project{settings: config.Settings{Run: config.RunSettings{Risk: c.file}}}, map[string]string{"MCPRUN_RISK": c.env}, "--risk", c.flag)
		if err != nil || string(o.risk) != c.want {
			t.Errorf("%+v: %q, %v", c, o.risk, err)
		}
	}
	if _, err := settled(t, &project{}, nil, "--risk", "none"); err == nil || !strings.Contains(err.Error(), "--risk: unknown risk") {
		t.Errorf("error %v", err)
	}
}

// TestRunReadsTheSettings runs the command with settings that cannot be followed.
func TestRunReadsTheSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".mcp.json", `{"mcpServers": {}}`)
	for yaml, want := range map[string]string{
		"run: {sandbox: vm}":                  `"vm"`,
		"run: {memory: 1KB}":                  "mcpgen.yaml:2: run.memory: 1KB is too little",
		"run: {disk: much}":                   `mcpgen.yaml:2: run.disk: "much" is no size`,
		"run: {open_files: 3}":                "mcpgen.yaml:2: run.open_files: 3 is too little: at least 64",
		"run: {risk: high, sandbox: process}": `sandbox "process" is too weak for code of high risk`,
		"run: {timeout: none}":                "mcpgen.yaml:2: run.timeout: it is not a time above zero",
	} {
		write("mcpgen.yaml", "version: 1\n"+yaml+"\n")
		code, _, stderr := mcprun(t, "--config", filepath.Join(dir, ".mcp.json"), "-e", "1")
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q", yaml, code, stderr)
		}
	}
}
