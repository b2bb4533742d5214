package skills

import (
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/config"
)

// TestPlacesWithoutConfiguration: without a configuration, nobody was asked whether the folder may start programs.
func TestPlacesWithoutConfiguration(t *testing.T) {
	app := &cli.App{LookupEnv: func(string) (string, bool) { return "", false }}
	var o CheckFlags
	if got := o.Places(app, &project.Project{Base: "/p", Workspace: "/p/workspace"}); got.Project != "" || got.Workspace != "/p/workspace" {
		t.Errorf(`Places() without a configuration = %+v, want Project "" and Workspace "/p/workspace"`, got)
	}
	if got := o.Places(app, &project.Project{Base: "/p", Cfg: &config.Config{}}); got.Project != "/p" {
		t.Errorf(`Places() = %+v, want Project "/p"`, got)
	}
}
