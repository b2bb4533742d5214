// Package registry finds servers in a registry of MCP servers and says how a configuration would start them. It speaks version 0.1 of the
// registry's API and reads server.json of 2025-12-11.
//
// What a registry answers is foreign: answers are bounded, names and versions of packages are checked before they become arguments of a
// program, and a text that would read a variable of the environment is refused. The package starts nothing and writes nothing.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/endpoint"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// Official is the address of the registry of the Model Context Protocol.
const Official = "https://registry.modelcontextprotocol.io"

const (
	// MaxFound bounds the servers that a search returns.
	MaxFound = 100

	pageSize  = 100
	maxWords  = 5
	maxPages  = 5
	maxAnswer = 4 << 20 // bytes
	askTime   = 20 * time.Second
)

// Error reports a registry that cannot be asked, or a server that it does not have or that cannot be added.
type Error struct {
	Problem, Remedy string
	Err             error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Problem + ": " + e.Err.Error()
	}
	return e.Problem
}

// Hint says what to do.
func (e *Error) Hint() string { return e.Remedy }

// ExitCode is [exit.Usage].
func (e *Error) ExitCode() int { return exit.Usage }

func (e *Error) Unwrap() error { return e.Err }

// Registry is one registry.
type Registry struct {
	base   *url.URL
	client *http.Client
}

// New returns the registry at an address, by https or on this machine. The error is an *[Error].
func New(address string) (*Registry, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !endpoint.IsLocal(u.Hostname())) {
		return nil, &Error{Problem: fmt.Sprintf("%q is not the address of a registry", address), Remedy: "write an https address without a password, such as " + Official}
	}
	return &Registry{base: u, client: &http.Client{Timeout: askTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it redirects, which is not followed")
	}}}, nil
}

// Server is the latest version of a server, as its server.json describes it. Its texts are foreign.
type Server struct {
	Name        string    `json:"name"`
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description"`
	Version     string    `json:"version"`
	Status      string    `json:"status,omitempty"` // in the registry; empty: active
	Packages    []Package `json:"packages,omitempty"`
	Remotes     []Remote  `json:"remotes,omitempty"`
}

// Package is one way to start a server.
type Package struct {
	RegistryType         string  `json:"registryType"` // "npm", "pypi", "oci" or others
	RegistryBaseURL      string  `json:"registryBaseUrl,omitempty"`
	Identifier           string  `json:"identifier"`
	Version              string  `json:"version,omitempty"`
	Transport            Remote  `json:"transport"`
	RuntimeArguments     []Input `json:"runtimeArguments,omitempty"`
	PackageArguments     []Input `json:"packageArguments,omitempty"`
	EnvironmentVariables []Input `json:"environmentVariables,omitempty"`
}

// Remote is an address at which a server is reached.
type Remote struct {
	Type      string           `json:"type"` // "streamable-http", "sse" or, of a package, "stdio"
	URL       string           `json:"url,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
	Headers   []Input          `json:"headers,omitempty"`
}

// Input is an argument, a variable or a header.
type Input struct {
	Type        string           `json:"type,omitempty"` // of arguments: "positional" or "named"
	Name        string           `json:"name,omitempty"`
	ValueHint   string           `json:"valueHint,omitempty"`
	Description string           `json:"description,omitempty"`
	Value       string           `json:"value,omitempty"`
	Default     string           `json:"default,omitempty"`
	IsRequired  bool             `json:"isRequired,omitempty"`
	IsSecret    bool             `json:"isSecret,omitempty"`
	Variables   map[string]Input `json:"variables,omitempty"`
}

// answered is a server in an answer.
type answered struct {
	Server Server `json:"server"`
	Meta   struct {
		Official struct {
			Status string `json:"status"`
		} `json:"io.modelcontextprotocol.registry/official"`
	} `json:"_meta"`
}

func (a *answered) server() Server {
	s := a.Server
	s.Name, s.Title, s.Description, s.Version = line(s.Name, 300), line(s.Title, 200), line(s.Description, 500), line(s.Version, 100)
	if s.Status = line(a.Meta.Official.Status, 50); s.Status == "active" {
		s.Status = ""
	}
	return s
}

// line returns a foreign text as one short line.
func line(text string, most int) string { return ident.Shorten(ident.CleanLine(text), most) }

// Search returns at most limit servers of which each word is in the name, title or description, and one in the name, since a registry looks
// in names only. They are in its order. Only the first [maxWords] words are looked for, and each finds at most [maxPages] pages. The error is
// an *[Error], or the context's.
func (r *Registry) Search(ctx context.Context, words []string, limit int) ([]Server, error) {
	words, limit = words[:min(len(words), maxWords)], min(limit, MaxFound)
	var found []Server
	for _, word := range words {
		query := url.Values{"search": {word}, "version": {"latest"}, "limit": {fmt.Sprint(pageSize)}}
		for range maxPages {
			page, next, err := r.page(ctx, query)
			if err != nil {
				return nil, err
			}
			for _, s := range page {
				known := func(other Server) bool { return other.Name == s.Name }
				if s.Status != "deleted" && hasWords(&s, words) && len(found) < limit && !slices.ContainsFunc(found, known) {
					found = append(found, s)
				}
			}
			if next == "" || next == query.Get("cursor") || len(found) == limit {
				break
			}
			query.Set("cursor", next)
		}
	}
	return found, nil
}

// page asks for one page of servers. One that cannot be read does not hide the others.
func (r *Registry) page(ctx context.Context, query url.Values) (servers []Server, next string, err error) {
	var page struct {
		Servers  []json.RawMessage `json:"servers"`
		Metadata struct {
			NextCursor string `json:"nextCursor"`
		} `json:"metadata"`
	}
	if err := r.get(ctx, r.base.JoinPath("v0.1", "servers"), query, &page); err != nil {
		return nil, "", err
	}
	for _, text := range page.Servers {
		var a answered
		if json.Unmarshal(text, &a) == nil {
			servers = append(servers, a.server())
		}
	}
	return servers, page.Metadata.NextCursor, nil
}

func hasWords(s *Server, words []string) bool {
	text := strings.ToLower(s.Name + " " + s.Title + " " + s.Description)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
}

// Get returns the latest version of a server. The error is an *[Error], or the context's.
func (r *Registry) Get(ctx context.Context, name string) (*Server, error) {
	var a answered
	if err := r.get(ctx, r.base.JoinPath("v0.1", "servers", url.PathEscape(name), "versions", "latest"), nil, &a); err != nil {
		return nil, err
	}
	if a.Server.Name != name {
		return nil, &Error{Problem: fmt.Sprintf("the registry answered with the server %q when it was asked for %q", line(a.Server.Name, 300), name), Remedy: "name another registry with --url"}
	}
	s := a.server()
	return &s, nil
}

// get asks for a JSON object.
func (r *Registry) get(ctx context.Context, at *url.URL, query url.Values, into any) error {
	u := *at
	u.RawQuery = query.Encode()
	failure := func(problem string, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &Error{Problem: "the registry at " + r.base.Host + " " + problem, Err: err, Remedy: "try again later, or name another registry with --url"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return failure("cannot be asked", err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := r.client.Do(req)
	if err != nil {
		return failure("cannot be asked", err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound && query == nil:
		return &Error{Problem: "the registry at " + r.base.Host + " has no such server", Remedy: "find its whole name, such as io.github.owner/name, with: mcpgen registry search WORDS"}
	case res.StatusCode != http.StatusOK:
		return failure(fmt.Sprintf("answers with status %d", res.StatusCode), nil)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("it has more than %d MiB", maxAnswer>>20)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return failure("gives an answer that cannot be read", err)
	}
	return nil
}
