package config

import (
	"maps"
	"strings"
	"time"
)

func (e *entry) setType(n node, key string) error {
	kind, err := e.str(n, key)
	e.kind, e.kindLine = strings.ToLower(kind), n.line
	return err
}

func (e *entry) setCommand(n node, key string) error {
	command, err := e.str(n, key)
	e.s.Command, e.commandLine = e.vars.text(command), n.line
	return err
}

// setCommandList reads a command with its arguments in one list.
func (e *entry) setCommandList(n node, key string) error {
	if n.kind == kindString {
		return e.setCommand(n, key)
	}
	words, err := e.list(n, key)
	e.commandLine = n.line
	if err != nil || len(words) == 0 {
		return err
	}
	e.s.Command = e.vars.text(words[0])
	for _, w := range words[1:] {
		e.s.Args = append(e.s.Args, e.vars.text(w))
	}
	return nil
}

// setZedCommand reads the older form too: {"path": …, "args": […], "env": {…}}.
func (e *entry) setZedCommand(n node, key string) error {
	if n.kind != kindObject {
		return e.setCommand(n, key)
	}
	for _, m := range n.members {
		var err error
		switch m.name {
		case "path":
			err = e.setCommand(m.value, join(key, m.name))
		case "args":
			err = e.setArgs(m.value, join(key, m.name))
		case "env":
			err = e.setEnv(m.value, join(key, m.name))
		default:
			e.noteMinor(m.line, e.s.Key, join("command", m.name), "the key is not known and is ignored")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setZedSource knows the servers that an extension of the editor brings: what starts them is not in the file.
func (e *entry) setZedSource(n node, _ string) error {
	if n.text == "extension" {
		e.leaveOut = "an extension of Zed starts it, and only that knows how"
	}
	return nil
}

func (e *entry) setArgs(n node, key string) error {
	list, err := e.list(n, key)
	e.s.Args = nil
	for _, arg := range list {
		e.s.Args = append(e.s.Args, e.vars.text(arg))
	}
	return err
}

func (e *entry) setEnv(n node, key string) error {
	if n.kind == kindNull {
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

func (e *entry) setHeaders(n node, key string) error {
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

// strings reads a mapping and translates its values. In VS Code null takes a variable away: there is nothing to take.
func (e *entry) strings(n node, key string) (map[string]string, error) {
	if e.host == VSCode && n.kind == kindObject {
		var kept []member
		for _, m := range n.members {
			if m.value.kind != kindNull {
				kept = append(kept, m)
			}
		}
		n.members = kept
	}
	values, err := e.mapping(n, key)
	for name, value := range values {
		values[name] = e.vars.text(value)
	}
	return values, err
}

// setPassEnv reads names of variables, or objects with a name.
func (e *entry) setPassEnv(n node, key string) error {
	if n.kind != kindList {
		_, err := e.list(n, key)
		return err
	}
	for _, item := range n.items {
		if name, ok := item.get("name"); ok {
			item = name
		}
		if item.kind != kindString || !isName(item.text) {
			return e.errorAt(item.line, key, "an entry does not name a variable", `write it as ["NAME"]`)
		}
		e.s.PassEnv = append(e.s.PassEnv, item.text)
	}
	return nil
}

func (e *entry) setURL(n node, key string) error {
	if e.httpURL { // the more exact key counts
		return nil
	}
	url, err := e.str(n, key)
	e.s.URL, e.urlLine = e.vars.text(url), n.line
	return err
}

func (e *entry) setHTTPURL(n node, key string) error {
	e.httpURL, e.sse = false, false
	err := e.setURL(n, key)
	e.httpURL = true
	return err
}

func (e *entry) setSSE(n node, key string) error {
	if !e.httpURL {
		e.sse = true
	}
	return e.setURL(n, key)
}

// setBearer reads the name of the variable that holds a token.
func (e *entry) setBearer(n node, key string) error {
	name, err := e.str(n, key)
	if err == nil && !isName(name) {
		err = e.errorAt(n.line, key, "it does not name a variable", "write the variable's name, not its value")
	}
	e.addHeaders(map[string]string{"Authorization": "Bearer ${" + name + "}"})
	return err
}

func (e *entry) setEnvHeaders(n node, key string) error {
	names, err := e.mapping(n, key)
	if err != nil {
		return err
	}
	for header, name := range names {
		if !isName(name) {
			return e.errorAt(n.line, join(key, header), "it does not name a variable", "write the variable's name, not its value")
		}
		names[header] = "${" + name + "}"
	}
	e.addHeaders(names)
	return nil
}

func (e *entry) oauth() *OAuth {
	if e.s.OAuth == nil {
		e.s.OAuth = &OAuth{}
	}
	return e.s.OAuth
}

// setOAuth reads what hosts say about logging in, in their various spellings.
func (e *entry) setOAuth(n node, key string) error {
	if n.kind == kindBool || n.kind == kindNull {
		return nil // a login by discovery, which needs no setting, or none, which the server decides
	}
	if n.kind == kindString { // Codex: the kind of login
		e.noteMinor(n.line, e.s.Key, "auth", "the key has no meaning here and is ignored")
		return nil
	}
	if n.kind != kindObject {
		return e.errorAt(n.line, key, "it is "+n.kind.String()+", not an object", `write {"clientId": …}`)
	}
	o := e.oauth()
	for _, m := range n.members {
		var err error
		place := join(key, m.name)
		switch m.name {
		case "clientId", "client_id", "CLIENT_ID":
			o.ClientID, err = e.variable(m.value, place)
		case "clientSecret", "client_secret", "CLIENT_SECRET":
			o.ClientSecret, err = e.variable(m.value, place)
		case "scopes", "scope", "SCOPES":
			o.Scopes, err = e.words(m.value, place)
		case "callbackPort", "callback_port":
			o.CallbackPort, err = e.port(m.value, place)
		case "resource":
			o.Resource, err = e.variable(m.value, place)
		case "clientMetadataUrl", "client_metadata_url":
			o.ClientMetadataURL, err = e.variable(m.value, place)
		default:
			e.noteMinor(m.line, e.s.Key, join("oauth", m.name), "the key is ignored: addresses are discovered")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *entry) variable(n node, key string) (string, error) {
	s, err := e.str(n, key)
	return e.vars.text(s), err
}

func (e *entry) setScopes(n node, key string) (err error) {
	e.oauth().Scopes, err = e.words(n, key)
	return err
}

func (e *entry) setResource(n node, key string) (err error) {
	e.oauth().Resource, err = e.variable(n, key)
	return err
}

func (e *entry) setDisabled(n node, key string) error {
	off, err := e.boolean(n, key)
	e.s.Disabled = e.s.Disabled || off
	return err
}

func (e *entry) setEnabled(n node, key string) error {
	on, err := e.boolean(n, key)
	e.s.Disabled = e.s.Disabled || !on
	return err
}

func (e *entry) setInclude(n node, key string) error {
	names, err := e.toolNames(n, key)
	if err == nil && len(names) == 0 { // an empty list lets nothing through
		e.s.Exclude = append(e.s.Exclude, "*")
	}
	e.s.Include = append(e.s.Include, names...)
	return err
}

func (e *entry) setExclude(n node, key string) error {
	names, err := e.toolNames(n, key)
	e.s.Exclude = append(e.s.Exclude, names...)
	return err
}

// toolNames reads a list of tools. Gemini allows "name(arguments)", of which the name counts.
func (e *entry) toolNames(n node, key string) ([]string, error) {
	names, err := e.list(n, key)
	for i, name := range names {
		if e.host == Gemini {
			names[i], _, _ = strings.Cut(name, "(")
		}
	}
	return names, err
}

// setTools reads a list of tools to let through; Codex has approvals of single tools there.
func (e *entry) setTools(n node, key string) error {
	if n.kind == kindObject {
		return e.ignore(n, key)
	}
	return e.setInclude(n, key)
}

func (e *entry) setStartupSeconds(n node, key string) (err error) {
	e.s.StartupTimeout, err = e.number(n, key, time.Second)
	return err
}

func (e *entry) setStartupMillis(n node, key string) (err error) {
	e.s.StartupTimeout, err = e.millis(n, key)
	return err
}

func (e *entry) setCallSeconds(n node, key string) (err error) {
	e.s.Timeout, err = e.number(n, key, time.Second)
	return err
}

func (e *entry) setCallMillis(n node, key string) (err error) {
	e.s.Timeout, err = e.millis(n, key)
	return err
}

func (e *entry) setTrust(n node, key string) (err error) {
	e.s.Trusted, err = e.boolean(n, key)
	return err
}

func (e *entry) setHeadersHelper(n node, _ string) error {
	e.note(n.line, e.s.Key, "headersHelper", "the program that makes headers is not run; the server may refuse us: give it headers with ${VAR}")
	return nil
}

func (e *entry) setTCP(node, string) error {
	e.leaveOut = "it speaks over a WebSocket, which mcpgen does not"
	return nil
}

func (e *entry) ignore(n node, key string) error {
	e.noteMinor(n.line, e.s.Key, strings.TrimPrefix(key, e.path+"."), "the key has no meaning here and is ignored")
	return nil
}
