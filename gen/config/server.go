package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Transport is how a server is reached.
type Transport string

const (
	// TransportStdio starts a command and speaks over its standard input and output.
	TransportStdio Transport = "stdio"
	// TransportHTTP is streamable HTTP.
	TransportHTTP Transport = "http"
	// TransportSSE is the HTTP+SSE transport of the first protocol revision.
	TransportSSE Transport = "sse"
)

// ResultsText is the value of a server's key results with which scripts get a result that is JSON in a text as text.
const ResultsText = "text"

// Server is one entry of mcpServers. Its fields are as in the file, with variables unexpanded, until [Server.Expand]. Printing, logging or
// marshalling a Server shows only its name and transport.
type Server struct {
	// Key is the server's name in the file: any text that is not blank.
	Key       string
	Transport Transport
	// Inferred reports whether the file gives no type for a url. Streamable HTTP is then a guess, and a client may fall back to
	// TransportSSE if the server refuses it.
	Inferred bool

	// Command, Args, Env and Cwd are for a stdio server.
	Command string
	Args    []string
	Env     map[string]string
	Cwd     string

	// EnvFile is a file of variables for a stdio server, in the form of a .env. Env takes precedence. It may be empty.
	EnvFile string
	// PassEnv are variables that are passed from the environment to a stdio server if they are set. Env takes precedence.
	PassEnv []string

	// URL and Headers are for a remote server.
	URL     string
	Headers map[string]string
	// OAuth are the settings for logging in, or nil if there are none. A server may nevertheless ask for a login.
	OAuth *OAuth

	// StartupTimeout bounds connecting, and Timeout one tool call. 0 means unset.
	StartupTimeout, Timeout time.Duration
	// Include and Exclude are globs of the tools that the configuration allows; see [ServerSettings.Allows].
	Include, Exclude []string
	// Disabled reports whether the server is switched off: it is not connected to, and left out of the tree.
	Disabled bool
	// Trusted reports whether the author of the configuration vouches for the server, so that its annotations of its own tools (read-only
	// and the like) may be believed.
	Trusted bool
	// MaxTime bounds one tool call even if it makes progress. 0 means unset.
	MaxTime time.Duration
	// Parallel bounds the concurrent calls. 0 means unset.
	Parallel int
	// Idempotent and ReadOnly are globs of tools that, according to the settings, may be called twice or change nothing.
	Idempotent, ReadOnly []string
	// Arguments is [ArgumentsDeclared], or empty to allow everything that the tools' schemas allow.
	Arguments string
	// Results is [ResultsText], or empty to turn texts that are JSON objects or arrays into values.
	Results string
	// Alias replaces Key in folder names and tool ids. Empty: Key is used.
	Alias string

	// Protocol is the era of the protocol to speak. If it is empty, the first connection finds out.
	Protocol Protocol

	// Dir is the absolute folder of the project: the folder of the configuration file, or the one above if the file is in a host's own
	// folder, such as .vscode. It is the base of a relative Cwd, Command or EnvFile, and the working directory if Cwd is empty.
	Dir string
	// VarsDir is the folder of the .env from which the server's variables are read. [Load] sets it to [Config.Dir]. Empty: Dir.
	VarsDir string
	// Source is the configuration file of the server as it was named, and Host the form of that file.
	Source string
	Host   Host
}

// DotEnv reads the .env for the server's variables, as the function [DotEnv] does.
func (s Server) DotEnv() (map[string]string, error) {
	if s.VarsDir != "" {
		return DotEnv(s.VarsDir)
	}
	return DotEnv(s.Dir)
}

// Protocol is an era of the protocol.
type Protocol string

const (
	// ProtocolModern is the stateless era: revision 2026-07-28 and later.
	ProtocolModern Protocol = "modern"
	// ProtocolLegacy is the era of the initialize handshake: revisions up to 2025-11-25. Naming it helps with a server that hangs or ends
	// on the newer era's first request.
	ProtocolLegacy Protocol = "legacy"
)

// Name returns the name for folders and tool ids: Alias, or Key if Alias is empty.
func (s Server) Name() string {
	if s.Alias != "" {
		return s.Alias
	}
	return s.Key
}

// OAuth are the settings for logging in to a remote server. Every field may be empty: what is missing is discovered or registered as the
// authorization part of the protocol specifies.
type OAuth struct {
	// Grant is how tokens are obtained: by a person's login ("" or GrantLogin), or by the client alone (GrantClient), which needs ClientID
	// and ClientSecret.
	Grant string `yaml:"grant,omitempty"`
	// ClientID is the id of a client registered beforehand, and ClientSecret its secret, which is unexpanded, as ${VAR}, until
	// [Server.Expand].
	ClientID     string `yaml:"client_id,omitempty"`
	ClientSecret string `yaml:"client_secret,omitempty"`
	// Scopes are requested instead of the scopes that the server names.
	Scopes Scopes `yaml:"scopes,omitempty,flow"`
	// ClientMetadataURL is the address of a client metadata document, which then is the client's id.
	ClientMetadataURL string `yaml:"client_metadata_url,omitempty"`
	// CallbackPort is the port of 127.0.0.1 to which the browser is redirected. 0 means any free port.
	CallbackPort int `yaml:"callback_port,omitempty"`
	// Resource is the resource indicator (RFC 8707). Empty means the server's URL.
	Resource string `yaml:"resource,omitempty"`
	// TokenEndpoint is where GrantClient gets tokens. Empty: it is discovered.
	TokenEndpoint string `yaml:"token_endpoint,omitempty"`
}

// The values of [OAuth.Grant], by their names in OAuth.
const (
	GrantLogin  = "authorization_code"
	GrantClient = "client_credentials"
)

// Scopes are the scopes of a login.
type Scopes []string

// UnmarshalYAML reads a list, or one text with blanks between the scopes.
func (s *Scopes) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*s = strings.Fields(n.Value)
		return nil
	}
	return n.Decode((*[]string)(s))
}

// String shows no setting, since one may be a secret.
func (o OAuth) String() string { return "OAuth settings" }

// GoString is [OAuth.String].
func (o OAuth) GoString() string { return o.String() }

// MarshalJSON shows no setting either.
func (o OAuth) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

// String returns the name and the transport, and nothing that could be a secret.
func (s Server) String() string { return fmt.Sprintf("server %q (%s)", s.Key, s.Transport) }

// GoString is [Server.String], so that %#v shows no secret either.
func (s Server) GoString() string { return s.String() }

// LogValue returns the name and the transport for slog.
func (s Server) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", s.Key), slog.String("transport", string(s.Transport)))
}

// MarshalJSON returns the name and the transport only.
func (s Server) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name      string    `json:"name"`
		Transport Transport `json:"transport"`
	}{s.Key, s.Transport})
}
