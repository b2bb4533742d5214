package config

import (
	"fmt"
	"maps"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// commonKeys returns the keys that have the same meaning in all hosts' files. Hosts borrow keys from each other, so these are accepted
// everywhere.
func commonKeys() map[string]setter {
	return map[string]setter{
		"type": (*entry).setType, "transport": (*entry).setType,
		"command": (*entry).setCommand, "args": (*entry).setArgs, "cwd": text(func(s *Server) *string { return &s.Cwd }),
		"env": (*entry).setEnv, "environment": (*entry).setEnv, "env_vars": (*entry).setPassEnv,
		"envFile": text(func(s *Server) *string { return &s.EnvFile }),
		"url":     (*entry).setURL, "serverUrl": (*entry).setURL, "httpUrl": (*entry).setHTTPURL,
		"headers": (*entry).setHeaders, "http_headers": (*entry).setHeaders,
		"env_http_headers": (*entry).setEnvHeaders, "bearer_token_env_var": (*entry).setBearer,
		"oauth": (*entry).setOAuth, "auth": (*entry).setOAuth,
		"scopes":         into(func(s *Server) *[]string { return (*[]string)(&s.oauth().Scopes) }, func(e *entry, n node.Node, key string) ([]string, error) { return e.Words(n, key) }),
		"oauth_resource": text(func(s *Server) *string { return &s.oauth().Resource }),
		"disabled":       (*entry).setDisabled, "enabled": (*entry).setEnabled,
		"disabledTools": (*entry).setExclude, "disabled_tools": (*entry).setExclude, "excludeTools": (*entry).setExclude,
		"enabledTools": (*entry).setInclude, "enabled_tools": (*entry).setInclude, "includeTools": (*entry).setInclude, "tools": (*entry).setTools,
		"startup_timeout_sec": into(startup, (*entry).seconds), "startup_timeout_ms": into(startup, (*entry).millis), "tool_timeout_sec": into(timeout, (*entry).seconds),
		"trust":         into(func(s *Server) *bool { return &s.Trusted }, func(e *entry, n node.Node, key string) (bool, error) { return e.Boolean(n, key) }),
		"headersHelper": (*entry).setHeadersHelper, "tcp": (*entry).setTCP,
	}
}

func (e *entry) setType(n node.Node, key string) error {
	kind, err := e.Str(n, key)
	e.kind, e.kindLine = strings.ToLower(kind), n.Line
	return err
}

func (e *entry) setCommand(n node.Node, key string) error {
	command, err := e.Str(n, key)
	e.s.Command, e.commandLine = e.vars.text(command), n.Line
	return err
}

// setCommandList reads a command with its arguments in one list.
func (e *entry) setCommandList(n node.Node, key string) error {
	if n.Kind == node.KindString {
		return e.setCommand(n, key)
	}
	words, err := e.List(n, key)
	e.commandLine = n.Line
	if err != nil || len(words) == 0 {
		return err
	}
	e.s.Command = e.vars.text(words[0])
	for _, w := range words[1:] {
		e.s.Args = append(e.s.Args, e.vars.text(w))
	}
	return nil
}

// setZedSource leaves out servers that come from an extension of the editor, whose commands are not in the file.
func (e *entry) setZedSource(n node.Node, _ string) error {
	if n.Text == "extension" {
		e.leaveOut = "an extension of Zed starts it, and only that knows how"
	}
	return nil
}

func (e *entry) setArgs(n node.Node, key string) error {
	list, err := e.List(n, key)
	e.s.Args = nil
	for _, arg := range list {
		e.s.Args = append(e.s.Args, e.vars.text(arg))
	}
	return err
}

func (e *entry) setEnv(n node.Node, key string) error {
	if n.Kind == node.KindNull {
		return nil
	}
	values, err := e.strings(n, key)
	if err == nil && e.s.Env != nil {
		maps.Copy(e.s.Env, values)
	} else if err == nil {
		e.s.Env = values
	}
	return err
}

func (e *entry) setHeaders(n node.Node, key string) error {
	values, err := e.strings(n, key)
	if err == nil {
		e.addHeaders(values)
	}
	return err
}

func (e *entry) addHeaders(values map[string]string) {
	if e.s.Headers == nil {
		e.s.Headers = map[string]string{}
	}
	maps.Copy(e.s.Headers, values)
}

// strings reads a mapping and translates its values. VS Code's null, which unsets a variable, is ignored.
func (e *entry) strings(n node.Node, key string) (map[string]string, error) {
	if e.host == VSCode && n.Kind == node.KindObject {
		var kept []node.Member
		for _, m := range n.Members {
			if m.Value.Kind != node.KindNull {
				kept = append(kept, m)
			}
		}
		n.Members = kept
	}
	values, err := e.Mapping(n, key)
	for name, value := range values {
		values[name] = e.vars.text(value)
	}
	return values, err
}

// setPassEnv reads names of variables, or objects with a name.
func (e *entry) setPassEnv(n node.Node, key string) error {
	if n.Kind != node.KindList {
		_, err := e.List(n, key)
		return err
	}
	for _, item := range n.Items {
		if name, ok := item.Get("name"); ok {
			item = name
		}
		if item.Kind != node.KindString || !IsVariableName(item.Text) {
			return e.ErrorAt(item.Line, key, "an entry does not name a variable", `write it as ["NAME"]`)
		}
		e.s.PassEnv = append(e.s.PassEnv, item.Text)
	}
	return nil
}

func (e *entry) setURL(n node.Node, key string) error {
	if e.httpURL { // the more specific key is used
		return nil
	}
	url, err := e.Str(n, key)
	e.s.URL, e.urlLine = e.vars.text(url), n.Line
	return err
}

func (e *entry) setHTTPURL(n node.Node, key string) error {
	e.httpURL, e.sse = false, false
	err := e.setURL(n, key)
	e.httpURL = true
	return err
}

func (e *entry) setSSE(n node.Node, key string) error {
	if !e.httpURL {
		e.sse = true
	}
	return e.setURL(n, key)
}

// setBearer reads the name of the variable that holds a token.
func (e *entry) setBearer(n node.Node, key string) error {
	name, err := e.Str(n, key)
	if err == nil && !IsVariableName(name) {
		err = e.ErrorAt(n.Line, key, "it does not name a variable", "write the variable's name, not its value")
	}
	e.addHeaders(map[string]string{"Authorization": "Bearer ${" + name + "}"})
	return err
}

func (e *entry) setEnvHeaders(n node.Node, key string) error {
	names, err := e.Mapping(n, key)
	if err != nil {
		return err
	}
	for header, name := range names {
		if !IsVariableName(name) {
			return e.ErrorAt(n.Line, node.Join(key, header), "it does not name a variable", "write the variable's name, not its value")
		}
		names[header] = "${" + name + "}"
	}
	e.addHeaders(names)
	return nil
}

// oauth returns the OAuth settings, which it creates if there are none.
func (s *Server) oauth() *OAuth {
	if s.OAuth == nil {
		s.OAuth = &OAuth{}
	}
	return s.OAuth
}

// setOAuth reads the OAuth settings in the spellings of several hosts.
func (e *entry) setOAuth(n node.Node, key string) error {
	if n.Kind == node.KindBool || n.Kind == node.KindNull {
		return nil // discovery needs no settings, and the server decides whether a login is needed
	}
	if n.Kind == node.KindString { // the kind of login in Codex
		e.NoteMinor(n.Line, e.s.Key, "auth", "the key has no meaning here and is ignored")
		return nil
	}
	if n.Kind != node.KindObject {
		return e.ErrorAt(n.Line, key, "it is "+n.Kind.String()+", not an object", `write {"clientId": …}`)
	}
	o := e.s.oauth()
	for _, m := range n.Members {
		var err error
		place := node.Join(key, m.Name)
		switch m.Name {
		case "clientId", "client_id", "CLIENT_ID":
			o.ClientID, err = e.variable(m.Value, place)
		case "clientSecret", "client_secret", "CLIENT_SECRET":
			o.ClientSecret, err = e.variable(m.Value, place)
		case "scopes", "scope", "SCOPES":
			o.Scopes, err = e.Words(m.Value, place)
		case "callbackPort", "callback_port":
			o.CallbackPort, err = e.Port(m.Value, place)
		case "resource":
			o.Resource, err = e.variable(m.Value, place)
		case "clientMetadataUrl", "client_metadata_url":
			o.ClientMetadataURL, err = e.variable(m.Value, place)
		case "tokenEndpoint", "token_endpoint":
			o.TokenEndpoint, err = e.variable(m.Value, place)
		case "grant", "grantType", "grant_type":
			if o.Grant, err = e.Str(m.Value, place); err == nil && o.Grant != GrantLogin && o.Grant != GrantClient {
				err = e.ErrorAt(m.Line, place, fmt.Sprintf("unknown grant %q", o.Grant), "write "+GrantClient+", or leave it out if a person logs in")
			}
		default:
			e.NoteMinor(m.Line, e.s.Key, node.Join("oauth", m.Name), "the key is ignored: addresses are discovered")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// variable reads a string that may have variables.
func (e *entry) variable(n node.Node, key string) (string, error) {
	s, err := e.Str(n, key)
	return e.vars.text(s), err
}

func (e *entry) setDisabled(n node.Node, key string) error {
	off, err := e.Boolean(n, key)
	e.s.Disabled = e.s.Disabled || off
	return err
}

func (e *entry) setEnabled(n node.Node, key string) error {
	on, err := e.Boolean(n, key)
	e.s.Disabled = e.s.Disabled || !on
	return err
}

func (e *entry) setInclude(n node.Node, key string) error {
	names, err := e.toolNames(n, key)
	if err == nil && len(names) == 0 { // an empty list allows no tool
		e.s.Exclude = append(e.s.Exclude, "*")
	}
	e.s.Include = append(e.s.Include, names...)
	return err
}

func (e *entry) setExclude(n node.Node, key string) error {
	names, err := e.toolNames(n, key)
	e.s.Exclude = append(e.s.Exclude, names...)
	return err
}

// toolNames reads a list of tools. Gemini also allows "name(arguments)", of which only the name is used.
func (e *entry) toolNames(n node.Node, key string) ([]string, error) {
	names, err := e.List(n, key)
	for i, name := range names {
		if e.host == Gemini {
			names[i], _, _ = strings.Cut(name, "(")
		}
	}
	return names, err
}

// setTools reads a list of allowed tools. Codex has an object with approvals of tools there.
func (e *entry) setTools(n node.Node, key string) error {
	if n.Kind == node.KindObject {
		return e.ignore(n, key)
	}
	return e.setInclude(n, key)
}

func (e *entry) setHeadersHelper(n node.Node, _ string) error {
	e.Note(n.Line, e.s.Key, "headersHelper", "the program that makes headers is not run; the server may refuse us: give it headers with ${VAR}")
	return nil
}

func (e *entry) setTCP(node.Node, string) error {
	e.leaveOut = "it uses WebSocket, which mcpgen does not support"
	return nil
}

func (e *entry) ignore(n node.Node, key string) error {
	e.NoteMinor(n.Line, e.s.Key, strings.TrimPrefix(key, e.path+"."), "the key has no meaning here and is ignored")
	return nil
}
