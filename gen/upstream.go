package gen

import (
	"context"
	"io"
	"log/slog"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// UpstreamOptions are the settings of [UpstreamLister].
type UpstreamOptions struct {
	// LookupEnv finds the variables of the configuration; a .env beside it is asked for what it does not have.
	LookupEnv func(name string) (string, bool)
	// Logger gets what servers did wrong and were forgiven. Nil logs nothing.
	Logger *slog.Logger
	// Stderr returns where a server's standard error goes. Nil drops it.
	Stderr func(server string) io.Writer
	// Version is what servers are told of us.
	Version string
}

// UpstreamLister asks real servers: it starts or dials each, and ends the session when the server has listed its tools.
func UpstreamLister(opts UpstreamOptions) Lister {
	return func(ctx context.Context, server config.Server) (*Listing, error) {
		variables, err := config.DotEnv(server.Dir)
		if err != nil {
			return nil, err
		}
		session, err := upstream.Connect(ctx, server, &upstream.Options{
			Lookup: config.WithDotEnv(opts.LookupEnv, variables),
			Logger: opts.Logger, Stderr: opts.Stderr,
			ClientName: "mcpgen", ClientVersion: opts.Version,
		})
		if err != nil {
			return nil, err
		}
		// The server has said what was asked; how it takes its leave changes nothing.
		defer func() { _ = session.Close() }()
		tools, err := session.ListTools(ctx)
		if err != nil {
			return nil, err
		}
		// What goes into the tree is checked in: no value of a variable may be in it.
		for i := range tools {
			tools[i] = session.ConcealIn(tools[i])
		}
		info := session.Info()
		return &Listing{Title: session.Conceal(info.Title), Instructions: session.Conceal(info.Instructions), Tools: tools}, nil
	}
}
