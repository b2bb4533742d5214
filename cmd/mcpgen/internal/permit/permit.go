// Package permit applies the policy of a project in mcpgen. It lets the policy decide about the calls of mcpgen learn, asking a
// person at the terminal if the policy says so, and describes what the policy decides about the tools that a sync finds.
package permit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/store"
)

// New returns [gen.LearnOptions.Permit]. All calls that it decides about count as one run. A call that counts for a number that outlives it is an
// error, because these numbers are in the state, which mcpgen does not open.
func New(app *cli.App, opts gen.Options) (func(ctx context.Context, tool string, args json.RawMessage) error, error) {
	cfg, err := gen.LoadConfig(opts)
	if err != nil {
		return nil, err
	}
	tree, err := gen.Open(opts)
	if err != nil {
		return nil, err
	}
	uncounted := func(context.Context) (store.Store, error) {
		return nil, cli.WithHint(errors.New("a rule counts the calls of a session, customer or day, and mcpgen does not"),
			"call the tool with mcprun call --record FILE, and learn from that: --replies FILE")
	}
	rules, err := policy.New(&cfg.Settings.Policy, policy.NewRates().In(policy.Counts{State: uncounted}))
	if err != nil {
		return nil, &gen.ConfigError{Err: err}
	}
	ch := chain.New(chain.Options{Catalog: tree.Catalog, Servers: chain.ServersOf(cfg)})
	calls, err := ch.NewCalls(context.Background(), chain.Run{Direct: true, Settings: chain.Settings{Policy: rules, Approver: &terminal{app, atTerminal(app, cfg.Settings.Run)}}})
	if err != nil {
		return nil, err
	}
	return calls.Permit, nil
}

// atTerminal reports whether the settings of runs let a person at the terminal answer.
func atTerminal(app *cli.App, run config.RunSettings) bool {
	who := run["approve"].Value
	return app.Interactive() && app.Env("CI") == "" && run["approve_command"].Value == "" && (who == "" || who == "auto" || strings.Contains(who, "terminal"))
}

// terminal asks at the terminal.
type terminal struct {
	app *cli.App
	ask bool
}

// Approve implements [approve.Approver].
func (t *terminal) Approve(ctx context.Context, q *approve.Question) (approve.Answer, error) {
	if !t.ask {
		return approve.Answer{Reason: "nobody can be asked here"}, nil
	}
	view, err := q.View(approve.MaxTerminal)
	if err != nil {
		return approve.Answer{}, err
	}
	fmt.Fprintf(t.app.Stderr, "%s\n  %s\n", q.Title(), strings.Join(view.Lines, "\n  "))
	yes, err := t.app.Confirm(ctx, "Make this call?")
	answer := approve.Answer{By: "terminal"}
	if yes {
		answer.Scope = approve.Once
	}
	return answer, err
}
