package run

import (
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/runner/cache"
)

// NewCache returns the cache of the project's results, or nil if it has none. workspace is where scripts write, and may be empty. The project must
// have its state when the cache is first used.
func NewCache(app *cli.App, p *project.Project, workspace string) *cache.Cache {
	set := p.Settings.Cache
	if set == nil {
		return nil
	}
	secret := func() ([]byte, error) { return customers.KeyFor(app, workspace) }
	return cache.New(cache.Options{State: p.OpenState, Secret: secret, Size: set.Bytes(), TTL: set.For})
}
