// Package models opens the language model of a project, and has the command model.
package models

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/model"
)

// ErrNone says that neither the settings of the project nor variables name a model.
var ErrNone error = cli.WithHint(errors.New("no model is configured"),
	"write model: {provider: anthropic, name: claude-sonnet-5} into mcpgen.yaml and set ANTHROPIC_API_KEY, or set MCPRUN_MODEL=openai/NAME and OPENAI_API_KEY; Azure needs AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY and AZURE_OPENAI_CHAT_DEPLOYMENT_NAME")

// Open opens the model that the settings of a project, the environment or .env name, or returns [ErrNone]. It reads the key, and sends nothing.
// The project must be one that a person has agreed to: its settings say where the key goes. Its state counts what models use. Open a client for
// each run, since its budget for a run begins with it.
func Open(ctx context.Context, app *cli.App, p *project.Project) (model.Client, error) {
	m, err := p.Settings.ModelEndpoint(p.Lookup)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, ErrNone
	}
	if p.ToRead && p.Cfg != nil {
		return nil, errors.New("the project was opened to read it: its model is not asked")
	}
	o := model.Options{
		Provider: model.Provider(m.Provider), Model: m.Name, URL: m.URL, API: model.API(m.API), APIVersion: m.APIVersion,
		MaxTokens: m.MaxTokens, Timeout: m.Timeout,
		Budget: model.Budget{Run: model.Limit(m.Budget.Run), Day: model.Limit(m.Budget.Day), State: p.State},
	}
	if m.Prices != nil {
		o.Prices = &model.Prices{Input: m.Prices.Input, Output: m.Prices.Output}
	}
	switch {
	case m.Auth == config.AuthEntra:
		if o.Token, err = entra(http.DefaultClient); err != nil {
			return nil, fmt.Errorf("model.auth: %w", err)
		}
	case m.Key != nil:
		if o.Key, err = readKey(ctx, app, &p.Settings, m); err != nil {
			return nil, err
		}
	}
	c, err := model.New(o)
	if err != nil {
		return nil, fmt.Errorf("the model of the project: %w", err)
	}
	return c, nil
}

// readKey reads the key of a model.
func readKey(ctx context.Context, app *cli.App, settings *config.Settings, m *config.Model) (string, error) {
	from, err := state.Secrets(app, settings)
	if err != nil {
		return "", err
	}
	key, err := m.Key.Read(ctx, from)
	if err != nil {
		return "", cli.WithHint(fmt.Errorf("the key of the model: %w", err), "set the variable in the environment or in .env, or name another place with model.key in mcpgen.yaml")
	}
	return key, nil
}
