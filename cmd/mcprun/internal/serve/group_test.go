package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/gen/config"
)

// groupOf returns the group of a server with these flags, in a project of a machine.
func groupOf(t *testing.T, home, secret string, set func(*project.Project), args ...string) string {
	t.Helper()
	base := filepath.Join(home, "work")
	env := map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state")}
	o := newCommand(&cli.App{Dir: base, LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	o.run.JSON = true
	if err := o.cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	p := &project.Project{Base: base, Cfg: &config.Config{Paths: []string{filepath.Join(base, "mcpgen.json")}}}
	if set != nil {
		set(p)
	}
	if err := o.run.ApplyDefaults(p); err != nil {
		t.Fatal(err)
	}
	group, err := o.group(p, []byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return group
}

// changed has a value for each flag that its default is not.
var changed = map[string]string{
	"tools": "all", "languages": "python", "workspaces": "w", "quota": "2GiB", "sandbox": "process", "trust": "stranger", "risk": "high",
	"max-branches": "7", "image": "node", "runsc": "/opt/runsc", "workspace": "w", "servers": "tree", "skills": "s", "call-timeout": "9s",
	"max-result": "2MiB", "allow": "crm__*", "approve": "none", "approve-command": "/bin/ask", "approve-time": "9s", "pii": "bridge",
	"max-timeout": "9m", "max-memory": "8GB", "timeout": "9s", "memory": "600MB", "cpu": "9s", "processes": "200", "open-files": "2000",
	"file-size": "2MiB", "output-limit": "2MiB", "disk": "2MiB", "disk-files": "9", "tmp": "2MiB", "max-output": "900", "type-errors": "false",
}

// TestGroup checks which flags keep servers apart: all but those that do not matter to a call.
func TestGroup(t *testing.T) {
	home := t.TempDir()
	usual := groupOf(t, home, "secret", nil)
	if !strings.HasPrefix(usual, "calls-core-") || strings.ContainsAny(usual, "./") {
		t.Errorf("the group is %s", usual)
	}
	seen := map[string]string{usual: "none"}
	newCommand(&cli.App{}).cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, name := range append(run.Indifferent, "config") { // the configuration is given by its files
			if f.Name == name {
				return
			}
		}
		value := changed[f.Name]
		if value == "" {
			value = "true"
		}
		group := groupOf(t, home, "secret", nil, "--"+f.Name+"="+value)
		if other, known := seen[group]; known {
			t.Errorf("servers with --%s=%s and with %s have the same group", f.Name, value, other)
		}
		seen[group] = "--" + f.Name
	})
	same := map[string][]string{
		"defaults":     {"--pii=output", "--approve=auto", "--timeout=30s", "--sandbox=auto"},
		"indifferent":  {"--http=127.0.0.1:1", "--no-token", "--allow-host=a", "--allow-origin=b", "--customer=acme", "--index-tokens=9", "--prices=1,2", "--quiet", "--debug", "--parallel=3", "--queue-time=9s", "--rate=1/1m", "--state=postgres://a/b", "--audit", "--trust-config", "--token-file=t"},
		"the same run": nil,
	}
	for name, args := range same {
		if got := groupOf(t, home, "secret", nil, args...); got != usual {
			t.Errorf("%s: the group is %s, want %s", name, got, usual)
		}
	}
	for name, set := range map[string]func(*project.Project){
		"a setting":           func(p *project.Project) { p.Settings.Run = config.RunSettings{"timeout": {Value: "9s"}} },
		"personal data":       func(p *project.Project) { p.Settings.PII.Mode = config.PIIOff },
		"trust":               func(p *project.Project) { p.Settings.Run = config.RunSettings{"trust": {Value: "stranger"}} },
		"other configuration": func(p *project.Project) { p.Cfg.Paths = append(p.Cfg.Paths, "/etc/mcp.json") },
	} {
		if got := groupOf(t, home, "secret", set); got == usual {
			t.Errorf("%s keeps no server apart", name)
		}
	}
	if got := groupOf(t, home, "other", nil); got == usual {
		t.Error("another secret keeps no server apart")
	}
	// Another machine, with the same folders in another home.
	there := t.TempDir()
	folders := func(home string) []string {
		return []string{"--workspace=" + filepath.Join(home, "work", "files"), "--skills", filepath.Join(home, "skills"), "--servers=tree", "--workspaces=/srv/all"}
	}
	if here, there := groupOf(t, home, "secret", nil, folders(home)...), groupOf(t, there, "secret", nil, folders(there)...); here != there || here == usual {
		t.Errorf("the groups of two machines are %s and %s, want the same", here, there)
	}
}
