package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// entry is one server of a file while the file is read.
type entry struct {
	*serverFile
	vars *translator
	s    Server
	path string
	kind string // the type, in lower case
	// Lines of keys that later checks report; 0 means that the key is missing.
	kindLine, commandLine, urlLine int
	httpURL                        bool   // the key of the address implies streamable HTTP
	sse                            bool   // the key of the address implies SSE
	leaveOut                       string // why the server is left out; empty if it is used
	leaveMinor                     bool   // the note about leaving it out is minor
}

// setter reads one key of a server.
type setter func(e *entry, n node.Node, key string) error

// finish sets the transport and checks what depends on several keys.
func (e *entry) finish(m node.Member, d dialect) error {
	s := &e.s
	hasCommand, hasURL := e.commandLine > 0, e.urlLine > 0
	if e.leaveOut == "" && !hasCommand && !hasURL && e.host == OpenCode {
		e.leaveOut, e.leaveMinor = "it only switches a server of another file", true
	}
	switch {
	case e.leaveOut != "":
		return nil
	case hasCommand && hasURL:
		return e.ErrorAt(m.Line, e.path, `it has both "command" and "url"`, "keep one: command for a program to start, url for a remote server")
	case !hasCommand && !hasURL:
		return e.ErrorAt(m.Line, e.path, `it has neither "command" nor "url"`, "give it one: command for a program to start, url for a remote server")
	case hasCommand && strings.TrimSpace(s.Command) == "":
		return e.ErrorAt(e.commandLine, node.Join(e.path, "command"), "it is empty", "name the program to start")
	case hasURL && strings.TrimSpace(s.URL) == "":
		return e.ErrorAt(e.urlLine, node.Join(e.path, "url"), "it is empty", "write the server's http(s) address")
	}
	if hasURL {
		if scheme, _, found := strings.Cut(s.URL, "://"); found && (strings.EqualFold(scheme, "unix") || strings.EqualFold(scheme, "pipe")) {
			e.leaveOut = "it listens on a socket of this machine, which mcpgen cannot dial"
			return nil
		}
	}
	if err := e.transport(hasCommand, d); err != nil || e.leaveOut != "" {
		return err
	}
	if hasCommand {
		if err := e.splitCommand(); err != nil {
			return err
		}
	}
	if o := s.OAuth; o != nil && o.ClientID+o.ClientSecret+o.ClientMetadataURL+o.Resource+o.Grant+o.TokenEndpoint == "" && len(o.Scopes) == 0 && o.CallbackPort == 0 {
		s.OAuth = nil
	}
	return e.checkNames(m)
}

func (e *entry) transport(hasCommand bool, d dialect) error {
	s := &e.s
	if e.kind == "" {
		switch {
		case hasCommand:
			s.Transport = TransportStdio
		case e.sse:
			s.Transport = TransportSSE
		default:
			s.Transport, s.Inferred = TransportHTTP, !e.httpURL && e.host != Codex
		}
		return nil
	}
	switch e.kind {
	case "stdio", "local":
		s.Transport = TransportStdio
	case "http", "streamable-http", "streamablehttp", "streamable_http":
		s.Transport, s.Inferred = TransportHTTP, d.fallsBack
	case "remote":
		s.Transport, s.Inferred = TransportHTTP, true
	case "sse":
		s.Transport = TransportSSE
	case "ws", "websocket":
		e.leaveOut = "it uses WebSocket, which mcpgen does not support"
		return nil
	default:
		return e.ErrorAt(e.kindLine, node.Join(e.path, "type"), "the transport is not known", "use stdio, http (streamable HTTP) or sse")
	}
	if (s.Transport == TransportStdio) != hasCommand {
		given := "url"
		if hasCommand {
			given = "command"
		}
		return e.ErrorAt(e.kindLine, node.Join(e.path, "type"), fmt.Sprintf("it is %s, but the server has %q", s.Transport, given), "change the one or the other")
	}
	return nil
}

// checkNames refuses names of variables and headers that cannot be sent.
func (e *entry) checkNames(m node.Member) error {
	for name := range e.s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return e.ErrorAt(m.Line, node.Join(e.path, "env"), fmt.Sprintf("%q cannot name a variable", name), "rename it")
		}
	}
	for name := range e.s.Headers {
		if !httpguts.ValidHeaderFieldName(name) {
			return e.ErrorAt(m.Line, node.Join(e.path, "headers"), fmt.Sprintf("%q cannot name a header", name), "rename it")
		}
	}
	return nil
}

// splitCommand splits a command line in "command" at its blanks. A path may contain blanks, so it splits only a line that begins with a
// bare name or contains options.
func (e *entry) splitCommand() error {
	words := strings.Fields(e.s.Command)
	isOption := func(word string) bool { return strings.HasPrefix(word, "-") }
	if len(e.s.Args) > 0 || len(words) < 2 || strings.ContainsAny(words[0], `/\`) && !slices.ContainsFunc(words, isOption) {
		return nil
	}
	if strings.ContainsAny(e.s.Command, `"'`) {
		return e.ErrorAt(e.commandLine, node.Join(e.path, "command"), "it holds arguments in quotes", "put each argument into args")
	}
	e.s.Command, e.s.Args = words[0], words[1:]
	e.NoteMinor(e.commandLine, e.s.Key, "command", "it holds arguments, and was split at its blanks")
	return nil
}

// into returns a setter that stores the result of read.
func into[T any](field func(*Server) *T, read func(*entry, node.Node, string) (T, error)) setter {
	return func(e *entry, n node.Node, key string) (err error) {
		*field(&e.s), err = read(e, n, key)
		return err
	}
}

func text(field func(*Server) *string) setter { return into(field, (*entry).variable) }

func startup(s *Server) *time.Duration { return &s.StartupTimeout }
func timeout(s *Server) *time.Duration { return &s.Timeout }

func (e *entry) seconds(n node.Node, key string) (time.Duration, error) {
	return e.Number(n, key, time.Second)
}
func (e *entry) millis(n node.Node, key string) (time.Duration, error) {
	return e.Number(n, key, time.Millisecond)
}
