// Package oauth logs a person in to remote MCP servers and keeps the login: authorization code with PKCE over a loopback
// redirect, discovery, client registration, token refresh and storage. Start with [Store.Login] and [Store.Source]. Where
// there is no person, [Credentials] gets tokens for the client alone.
//
// It follows the authorization part of MCP 2026-07-28 and, for older servers, those of 2025-11-25 and 2025-03-26:
// protected resource metadata (RFC 9728), authorization server metadata (RFC 8414 and OpenID Connect Discovery), client
// ids by metadata document, registered beforehand or dynamically (RFC 7591), resource indicators (RFC 8707), the issuer
// in the answer (RFC 9207), PKCE (RFC 7636), native apps (RFC 8252), revocation (RFC 7009).
//
// Tokens leave this package only in the Authorization header: no error, log line or method of a stored login shows one.
// Answers of servers are hostile: they are bounded in size and time, come over TLS or from this machine, and never from
// an address inside a network that the MCP server is not in (see network.go).
package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// Server is a remote MCP server, variables expanded. It is never written anywhere.
type Server struct {
	// Name is its key in the configuration: any text.
	Name string
	// URL is where it is; an http or https address.
	URL string
	// ClientID and ClientSecret belong to a client registered beforehand; they may be empty.
	ClientID, ClientSecret string
	// ClientMetadataURL is the https address of a client metadata document; it may be empty.
	ClientMetadataURL string
	// Scopes replace those that the server names, unless empty.
	Scopes []string
	// Resource is the resource indicator; empty means the server's own, else its URL.
	Resource string
	// ByClient says that tokens are given to the client alone, without a person: see [Credentials].
	ByClient bool
	// TokenEndpoint is where such a client gets them; empty means that it is discovered.
	TokenEndpoint string
}

// String returns the name only: the rest may hold an address or a secret.
func (s Server) String() string { return fmt.Sprintf("server %q", s.Name) }

// GoString is [Server.String].
func (s Server) GoString() string { return s.String() }

// id returns the name under which a login is stored. It depends on the address too: another project's server of the
// same name must not get the token. It is a hash, because addresses may hold secrets.
func (s Server) id() string { return hash("login", s.Name, s.URL) }

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// origin returns scheme and host of the address, the part that may be shown.
func (s Server) origin() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// LoginError says that only a new login helps. Its text holds no secret.
type LoginError struct {
	// Server is the configured name.
	Server string
	// Reason completes "server x: …".
	Reason string
}

func (e *LoginError) Error() string { return fmt.Sprintf("server %q: %s", e.Server, e.Reason) }

// Hint returns the command that logs in.
func (e *LoginError) Hint() string { return Remedy(e.Server) }

// ExitCode returns exit.Unreachable: the server could not be used.
func (e *LoginError) ExitCode() int { return exit.Unreachable }

// Remedy returns the command that logs in to a server, as the second half of a sentence.
func Remedy(server string) string {
	return fmt.Sprintf("run \"mcpgen login %s\"", argument(server))
}

// argument quotes a name for a shell.
func argument(name string) string {
	plain := name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/:@+", r)
	})
	if plain {
		return name
	}
	return "'" + strings.ReplaceAll(ident.Printable(name, 200), "'", `'\''`) + "'"
}

// union returns the scopes of both lists, in order, each once.
func union(lists ...[]string) []string {
	var out []string
	for _, list := range lists {
		for _, scope := range list {
			if scope != "" && !slices.Contains(out, scope) {
				out = append(out, scope)
			}
		}
	}
	return out
}
