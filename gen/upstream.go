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
	// Logins has the tokens of those remote servers that a person has logged in to. Nil: there are none.
	Logins *upstream.Logins
	// Version is what servers are told of us.
	Version string
}

// options are those for one server.
func (o UpstreamOptions) options(server config.Server) (*upstream.Options, error) {
	variables, err := server.DotEnv()
	if err != nil {
		return nil, err
	}
	return &upstream.Options{
		Lookup: config.WithDotEnv(o.LookupEnv, variables),
		Logger: o.Logger, Stderr: o.Stderr, Logins: o.Logins,
		ClientName: "mcpgen", ClientVersion: o.Version,
	}, nil
}

// UpstreamLister asks real servers: it starts or dials each, and ends the session when the server has listed its tools.
func UpstreamLister(opts UpstreamOptions) Lister {
	return func(ctx context.Context, server config.Server) (*Listing, error) {
		options, err := opts.options(server)
		if err != nil {
			return nil, err
		}
		session, err := upstream.Connect(ctx, server, options)
		if err != nil {
			return nil, err
		}
		tools, err := session.ListTools(ctx)
		info := session.Info()
		// The server has said what was asked; how it takes its leave changes nothing, and is not waited for here.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = session.Close()
		}()
		if err != nil {
			<-ended
			return nil, err
		}
		// What goes into the tree is checked in: no value of a variable may be in it.
		for i := range tools {
			tools[i] = session.ConcealIn(tools[i])
		}
		return &Listing{
			Title: session.Conceal(info.Title), Instructions: session.Conceal(info.Instructions), Tools: tools,
			Omitted: session.Omitted(), Ended: ended,
		}, nil
	}
}

// SweepUpstreams ends what servers of programs that died have left running, on Linux. It touches nothing of the living
// and may be called beside other work. What can't be ended is left to the next sweep.
func SweepUpstreams(ctx context.Context) error { return upstream.Sweep(ctx) }
