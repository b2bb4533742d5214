package gen

import (
	"context"
	"slices"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// The parts of package upstream that logging in needs.
type (
	// Logins keeps the tokens of those servers that a person has logged in to; see [NewLogins].
	Logins = upstream.Logins
	// Person is the person who logs in.
	Person = upstream.Person
	// LoginOptions are the settings of [Login].
	LoginOptions = upstream.LoginOptions
	// LoginResult describes a login that was made.
	LoginResult = upstream.LoginResult
	// StoredLogin is a stored login, without its secrets.
	StoredLogin = upstream.StoredLogin
)

// NewLogins opens the logins in an absolute folder, with the system's keyring for their secrets if there is to be one.
func NewLogins(dir string, keyring bool) *Logins { return upstream.NewLogins(dir, keyring) }

// Login logs a person in to one configured server. Of the options of a [Sync] it reads Configs and Dir; up needs Logins.
func Login(ctx context.Context, opts Options, up UpstreamOptions, server string, how LoginOptions) (*LoginResult, error) {
	srv, options, err := configured(ctx, opts, up, server)
	if err != nil {
		return nil, err
	}
	return upstream.Login(ctx, srv, options, how)
}

// Logout forgets the login of one configured server. found reports whether there was one; told is why its authorization
// server could not be informed, nil if it was or has no way to be.
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
