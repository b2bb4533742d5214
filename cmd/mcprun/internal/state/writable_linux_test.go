package state

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
)

// noFolder is one in which nobody can make files.
const noFolder = "/proc/1"

// TestUnwritable names a folder that cannot be written, in which there is no state yet.
func TestUnwritable(t *testing.T) {
	i := Inspect(t.Context(), noFolder+"/state/state.db", "")
	if i.Exists || i.Answers || i.Error == nil || !strings.Contains(*i.Error, "the state cannot be used") || !strings.Contains(*i.Remedy, "writable") {
		t.Errorf("Inspect() = %+v", i)
	}
	dir := t.TempDir()
	for name, o := range map[string]*Flags{"default": {}, "named": {PlaceFlag: PlaceFlag{place: dir + "/state.db"}}} {
		app := &cli.App{Dir: dir, LookupEnv: func(name string) (string, bool) { return noFolder, name == "XDG_STATE_HOME" }}
		p := &project.Project{Base: dir}
		o.Attach(app, p)
		_, err := o.OpenLog(t.Context(), app, p, func(line string) { t.Error(line) })
		if hints := strings.Join(cli.Hints(err), "\n"); err == nil || !strings.Contains(hints, "XDG_STATE_HOME") || !strings.Contains(hints, "audit.key") {
			t.Errorf("%s: OpenLog() without a place for a key = %v, %q", name, err, hints)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
