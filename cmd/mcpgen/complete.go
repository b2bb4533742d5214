package main

import (
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

// located is a set of flags that say where the configuration is.
type located interface {
	options(app *cli.App) gen.Options
}

// configuredServers offers the servers of the configuration.
func configuredServers(app *cli.App, at located) cli.Words {
	return func() ([]string, error) {
		cfg, err := gen.LoadConfig(at.options(app))
		if err != nil {
			return nil, err
		}
		var keys []string
		for _, s := range cfg.Servers {
			keys = append(keys, s.Key)
		}
		return keys, nil
	}
}

// generatedServers offers the servers of the tree.
func generatedServers(app *cli.App, at located) cli.Words {
	return fromTree(app, at, func(s *gen.Server) []string { return []string{s.Key} })
}

// generatedTools offers the ids of the tree's tools.
func generatedTools(app *cli.App, at located) cli.Words {
	return fromTree(app, at, func(s *gen.Server) []string {
		var ids []string
		for _, t := range s.Tools {
			ids = append(ids, t.ID)
		}
		return ids
	})
}

func fromTree(app *cli.App, at located, words func(s *gen.Server) []string) cli.Words {
	return func() ([]string, error) {
		tree, err := gen.Open(at.options(app))
		if err != nil {
			return nil, err
		}
		var all []string
		for i := range tree.Catalog.Servers {
			all = append(all, words(&tree.Catalog.Servers[i])...)
		}
		return all, nil
	}
}
