package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

// NewLogins opens the logins in an absolute folder, which need not exist yet. With keyring, their secrets go to the
// system's keyring if there is one, and otherwise to files that only their owner may read.
func NewLogins(dir string, keyring bool) *Logins {
	if !keyring {
		return oauth.NewStore(dir, nil)
	}
	return oauth.NewStore(dir, oauth.System{})
}

// LoginOptions are the settings of [Login].
type LoginOptions struct {
	// Person is the person who logs in.
	Person Person
	// Scopes are requested instead of the scopes that the configuration and the server name, unless empty.
	Scopes []string
	// Port is the port of the redirect address; 0: the configured one, else any.
	Port int
	// Localhost uses the name localhost in the redirect address instead of 127.0.0.1.
	Localhost bool
}

// LoginResult describes a successful login.
type LoginResult struct {
	oauth.Result
	// Tools is the number of tools that the server lists with this login.
	Tools int
}

// LoginFailure is the error of a login that failed, or whose token the server refuses. Its text names the server and holds
// no secret.
type LoginFailure struct {
	Server string
	Err    error
	hint   string
}

func (e *LoginFailure) Error() string { return fmt.Sprintf("log in to %q: %v", e.Server, e.Err) }

// Unwrap returns the cause.
func (e *LoginFailure) Unwrap() error { return e.Err }

// Hint returns what to do about the error; it may be empty.
func (e *LoginFailure) Hint() string { return e.hint }

// ExitCode returns exit.Unreachable: the server can't be used.
func (e *LoginFailure) ExitCode() int { return exit.Unreachable }

// loginRounds is how often a person is sent to an authorization server: a second time when the server wants more than
// it said at first, or names another authorization server by then.
const loginRounds = 2

// Login logs a person in to a server, as it is configured, and lists its tools to see that the login works. opts needs
// Logins. The error is a *LoginFailure, a *config.ExpandError or the context's.
func Login(ctx context.Context, srv config.Server, opts *Options, how LoginOptions) (*LoginResult, error) {
	opts = opts.withDefaults()
	expanded, secret, err := redact.Expand(srv, opts.Lookup)
	if err != nil {
		return nil, err
	}
	fail := &errorMaker{server: srv.Key, secret: secret}
	switch {
	case opts.Logins == nil:
		return nil, fail.login(errors.New("there is no folder for stored logins"), "")
	case srv.Transport == config.TransportStdio:
		return nil, fail.login(errors.New("it is started by a command, and logs in by itself if at all"), "look up credentials in the server's own documentation")
	case expanded.OAuth != nil && expanded.OAuth.Grant == config.GrantClient:
		return nil, fail.login(errors.New("its configuration has the grant client_credentials, which needs no login"), "use the server; the client gets its tokens itself")
	case hasCredentials(expanded):
		return nil, fail.login(errors.New("the configuration gives it an Authorization header"), "remove the header to log in instead")
	}
	server := oauthServer(expanded)
	if len(how.Scopes) > 0 {
		server.Scopes = how.Scopes
	}
	without := *opts
	without.Logins = nil
	_, challenge, err := listTools(ctx, srv, &without)
	if err != nil && (challenge == nil || ctx.Err() != nil) {
		return nil, err
	}
	options := oauth.LoginOptions{Guess: challenge != nil, Port: how.Port}
	if challenge != nil {
		options.Challenge = *challenge
	}
	if options.Port == 0 && expanded.OAuth != nil {
		options.Port = expanded.OAuth.CallbackPort
	}
	if how.Localhost {
		options.Host = "localhost"
	}
	for round := 1; ; round++ {
		made, err := opts.Logins.Login(ctx, server, how.Person, options)
		if err != nil {
			return nil, fail.loginError(ctx, err)
		}
		tools, missing, err := listTools(ctx, srv, opts)
		if err == nil {
			return &LoginResult{Result: *made, Tools: tools}, nil
		}
		if missing == nil || round == loginRounds {
			return nil, fail.login(fmt.Errorf("the server refuses the new token: %w", err), "")
		}
		options.Challenge = *missing // the stored login notes these scopes as wanted, so that the next round asks for them
	}
}

// listTools counts the tools of a server in a session of its own. missing is what the server asks for if it refuses the
// session for lack of a login or of a scope.
func listTools(ctx context.Context, srv config.Server, opts *Options) (tools int, missing *oauth.Challenge, err error) {
	var mu sync.Mutex
	with := *opts
	with.challenged = func(status int, got oauth.Challenge) {
		mu.Lock()
		defer mu.Unlock()
		if status == http.StatusUnauthorized || got.InsufficientScope && len(got.Scopes) > 0 {
			missing = &got
		}
	}
	s, err := Connect(ctx, srv, &with)
	if err == nil {
		defer s.Close()
		var list []json.RawMessage
		list, err = s.ListTools(ctx)
		tools = len(list)
	}
	mu.Lock()
	defer mu.Unlock()
	return tools, missing, err
}

// login makes a LoginFailure without secrets.
func (m *errorMaker) login(err error, hint string) *LoginFailure {
	return &LoginFailure{Server: m.server, Err: &cleaned{text: m.secret.Clean(ident.Printable(err.Error(), 1024)), err: err}, hint: hint}
}

// loginError explains the error of an authorization.
func (m *errorMaker) loginError(ctx context.Context, err error) error {
	if stopped := interrupted(ctx, fmt.Sprintf("log in to %q", m.server)); stopped != nil {
		return stopped
	}
	hint := ""
	switch {
	case errors.Is(err, oauth.ErrUnknownClient):
		hint = "register a client with it, with the redirect address http://127.0.0.1:PORT/callback, and configure oauth with its clientId, callbackPort and, if it has one, clientSecret"
	case errors.Is(err, oauth.ErrNoLogin):
		hint = "the server can be used as it is"
	}
	return m.login(err, hint)
}

// cleaned is an error that reads as a text without secrets.
type cleaned struct {
	text string
	err  error
}

func (e *cleaned) Error() string { return e.text }
func (e *cleaned) Unwrap() error { return e.err }

// Logout removes the stored login of a server. found reports whether there was one; told is why the authorization server
// could not revoke its tokens, nil if it did or does not support that.
func Logout(ctx context.Context, srv config.Server, opts *Options) (found bool, told, err error) {
	opts = opts.withDefaults()
	expanded, _, err := redact.Expand(srv, opts.Lookup)
	if err != nil {
		return false, nil, err
	}
	return opts.Logins.Logout(ctx, oauthServer(expanded))
}
