package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
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

// Server is one entry of mcpServers. Its fields are as the file has them, variables unexpanded, until
// [Server.Expand]. Printing, logging or marshalling a Server shows its name and transport only.
type Server struct {
	// Key is the server's name in the file: any text but blank.
	Key       string
	Transport Transport
	// Inferred says that the file gave no type for a url: streamable HTTP is then a guess, and a client may fall
	// back to TransportSSE when the server refuses it.
	Inferred bool

	// Command, Args, Env and Cwd are those of a stdio server.
	Command string
	Args    []string
	Env     map[string]string
	Cwd     string

	// URL and Headers are those of a remote server.
	URL     string
	Headers map[string]string

	// Dir is the absolute folder of the configuration file: the base of a relative Cwd or Command, and the working
	// directory when Cwd is empty.
	Dir string
	// Source is the configuration file the server comes from, as it was named.
	Source string
}

// String shows the name and the transport, nothing that could be a secret.
func (s Server) String() string { return fmt.Sprintf("server %q (%s)", s.Key, s.Transport) }

// GoString is [Server.String], so that %#v does not leak either.
func (s Server) GoString() string { return s.String() }

// LogValue is what slog records of a server.
func (s Server) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", s.Key), slog.String("transport", string(s.Transport)))
}

// MarshalJSON shows the name and the transport; a Server is never written anywhere whole.
func (s Server) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name      string    `json:"name"`
		Transport Transport `json:"transport"`
	}{s.Key, s.Transport})
}
