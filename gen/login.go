package gen

import (
	"context"
	"slices"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// The parts of package upstream that are needed to log in.
type (
	// Logins keeps the tokens of the servers to which a person has logged in; see [NewLogins].
	Logins = upstream.Logins
	// Person is the person who logs in.
	Person = upstream.Person
	// LoginOptions are the settings of [Login].
	LoginOptions = upstream.LoginOptions
	// LoginResult describes a completed login.
	LoginResult = upstream.LoginResult
	// StoredLogin is a stored login, without its secrets.
	StoredLogin = upstream.StoredLogin
)

// NewLogins opens the logins in an absolute folder. With keyring set, their secrets are in the system's keyring.
func NewLogins(dir string, keyring bool) *Logins { return upstream.NewLogins(dir, keyring) }

// Login logs a person in to one configured server. It uses only Configs and Dir of opts; up must have Logins.
func Login(ctx context.Context, opts Options, up UpstreamOptions, server string, how LoginOptions) (*LoginResult, error) {
	srv, options, err := configured(ctx, opts, up, server)
	if err != nil {
		return nil, err
	}
	return upstream.Login(ctx, srv, options, how)
}

// Logout forgets the login to one configured server. found reports whether there was one. told says why its authorization server could not
// be informed; it is nil if the authorization server was informed or has no endpoint for that.
func Logout(ctx context.Context, opts Options, up UpstreamOptions, server string) (found bool, told, err error) {
	srv, options, err := configured(ctx, opts, up, server)
	if err != nil {
		return false, nil, err
	}
	return upstream.Logout(ctx, srv, options)
}

// configured finds a server in the configuration, and what is needed to connect to it, if the configuration may be used.
func configured(ctx context.Context, opts Options, up UpstreamOptions, key string) (config.Server, *upstream.Options, error) {
	cfg, err := LoadConfig(opts)
	if err != nil {
		return config.Server{}, nil, err
	}
	srv, ok := cfg.Server(key)
	if !ok {
		var known []string
		for _, s := range cfg.Servers {
			known = append(known, s.Key)
		}
		slices.Sort(known)
		return config.Server{}, nil, &UnknownServerError{Key: key, Known: known}
	}
	if err := opts.consent(ctx, cfg); err != nil {
		return config.Server{}, nil, err
	}
	options, err := up.options(srv)
	return srv, options, err
}
