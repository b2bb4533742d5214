package gen

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// UpstreamOptions are the settings of [UpstreamLister].
type UpstreamOptions struct {
	// LookupEnv finds the variables of the configuration. Variables that it does not have are looked up in a .env beside the configuration.
	LookupEnv func(name string) (string, bool)
	// Logger receives tolerated protocol errors of servers. Nil logs nothing.
	Logger *slog.Logger
	// Stderr returns the writer for a server's standard error. Nil discards it.
	Stderr func(server string) io.Writer
	// Logins has the tokens of the remote servers to which a person has logged in. It may be nil.
	Logins *upstream.Logins
	// Version is the version of mcpgen reported to servers.
	Version string
}

// options returns the options for one server.
func (o UpstreamOptions) options(server config.Server) (*upstream.Options, error) {
	variables, err := server.DotEnv()
	if err != nil {
		return nil, err
	}
	return &upstream.Options{
		Lookup: config.WithDotEnv(o.LookupEnv, variables),
		Logger: o.Logger, Stderr: o.Stderr, Logins: o.Logins,
		ClientName: "mcpgen", ClientVersion: o.Version,
		// Some servers list certain tools only to clients that can ask a person. Nobody can be asked here, so all questions are declined.
		Elicit: true,
	}, nil
}

// UpstreamLister asks real servers: it starts or dials each one, and ends the session when the server has listed its tools.
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
		out, err := listAll(ctx, session)
		// The listing is complete. How the server exits changes nothing, and is not awaited here.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = session.Close()
		}()
		if err != nil {
			<-ended
			return nil, err
		}
		out.Ended = ended
		return out, nil
	}
}

// ListServer asks one configured server for its tools, over a session that stays open. It returns the catalog of a tree with this server
// alone: the same ids, and only the tools that the configuration allows.
func ListServer(ctx context.Context, cfg *config.Config, key string, session *upstream.Session) (*catalog.Catalog, []catalog.Warning, error) {
	listing, err := listAll(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	server, warnings := catalog.NewServer(key, listing.Title, listing.Instructions, listing.Tools)
	server.Tools = slices.DeleteFunc(server.Tools, func(t catalog.Tool) bool { return !cfg.Allows(key, t.Name) })
	server.Resources, server.Dir = listing.Resources, dirsOf(cfg)[key]
	c, err := catalog.New([]catalog.Server{server})
	return c, warnings, err
}

// methodNotFound is JSON-RPC's code for a method that a server does not have.
const methodNotFound = -32601

// listAll asks for tools and prompts. Prompts that cannot be listed do not make it fail.
func listAll(ctx context.Context, session *upstream.Session) (*Listing, error) {
	info, offers := session.Info(), session.Offers()
	out := &Listing{
		Title: session.Conceal(info.Title), Instructions: session.Conceal(info.Instructions),
		Resources: offers.Resources, HasPrompts: offers.Prompts,
	}
	var group sync.WaitGroup
	if offers.Prompts {
		group.Go(func() { out.Prompts, out.PromptsErr = session.ListPrompts(ctx) })
	}
	var err error
	out.Tools, err = session.ListTools(ctx)
	group.Wait()
	if err != nil {
		return nil, err
	}
	if refused, ok := errors.AsType[*upstream.ProtocolError](out.PromptsErr); ok && refused.Code == methodNotFound {
		out.HasPrompts, out.PromptsErr = false, nil // it declares the capability but lacks the method
	}
	out.Omitted = session.Omitted()
	// The tree is checked in, so it must not contain values of variables.
	for _, list := range [][]json.RawMessage{out.Tools, out.Prompts} {
		for i := range list {
			list[i] = session.ConcealIn(list[i])
		}
	}
	return out, nil
}

// SweepUpstreams ends what servers of dead programs have left running, on Linux. It leaves servers of running programs alone, and may be
// called alongside other work. Processes that cannot be ended are left to the next sweep.
func SweepUpstreams(ctx context.Context) error { return upstream.Sweep(ctx) }
