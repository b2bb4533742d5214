package gen

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
)

// SearchOptions returns the settings of a search from the configuration: categories, use cases, and the endpoint for embeddings, which
// variables may name too. lookup finds the variable with the endpoint's key; variables that it does not have are looked up in a .env beside
// the configuration. A missing key is not an error: searches then use words only, and say why. cacheDir is for [search.Options]. The errors
// are *[search.EndpointError], and those of reading the .env.
func SearchOptions(cfg *config.Config, lookup func(name string) (string, bool), cacheDir string) (*search.Options, error) {
	opt := &search.Options{Categories: map[string]string{}, About: cfg.Settings.Categories, UseCases: map[string]map[string][]string{}, CacheDir: cacheDir}
	for name, server := range cfg.Settings.Servers {
		opt.Categories[name], opt.UseCases[name] = server.Category, server.UseCases
	}
	e := cfg.Settings.Embeddings(lookup)
	if e == nil {
		return opt, nil
	}
	opt.EmbedTime = e.Timeout
	key := ""
	if e.KeyEnv != "" {
		variables, err := config.DotEnv(cfg.Dir)
		if err != nil {
			return nil, err
		}
		if key, _ = config.WithDotEnv(lookup, variables)(e.KeyEnv); key == "" {
			opt.Embedder = keyless{e.KeyEnv}
			return opt, nil
		}
	}
	endpoint, err := search.NewEndpoint(search.EndpointOptions{
		URL: e.URL, Model: e.Model, API: search.API(e.API), APIVersion: e.APIVersion, Key: key, Dimensions: e.Dimensions,
	})
	if err != nil && cfg.Settings.Search.Embeddings == nil {
		return nil, fmt.Errorf("variables AZURE_OPENAI_…: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Settings.Path, err)
	}
	opt.Embedder = endpoint
	return opt, nil
}

// OpenSearch opens the tree that opts names, as [Open] does, and builds its index with the settings of the configuration. Without a
// configuration, the tree is searched by words, and each server is a category.
func OpenSearch(ctx context.Context, opts Options, lookup func(name string) (string, bool), cacheDir string) (*Tree, *search.Index, error) {
	tree, err := Open(opts)
	if err != nil {
		return nil, nil, err
	}
	var opt *search.Options
	cfg, err := LoadConfig(opts)
	var none *config.NotFoundError
	switch {
	case errors.As(err, &none) && opts.Out != "":
	case err != nil:
		return nil, nil, err
	default:
		if cfg.Settings.Embeddings(lookup) != nil { // it receives the queries, and a key
			if err := opts.consent(ctx, cfg); err != nil {
				return nil, nil, err
			}
		}
		if opt, err = SearchOptions(cfg, lookup, cacheDir); err != nil {
			return nil, nil, err
		}
	}
	return tree, tree.Index(opt), nil
}

// keyless replaces an endpoint whose key is in a variable that is not set.
type keyless struct{ variable string }

func (k keyless) Name() string { return "" }

func (k keyless) Embed(context.Context, []string) ([][]float32, error) {
	return nil, fmt.Errorf("the variable %s, which has the key of the endpoint for embeddings, is not set", k.variable)
}
