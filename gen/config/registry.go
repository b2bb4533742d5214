package config

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// registry reads a server.json of the MCP registry, which says how others may install one server: of its packages the
// first that can be started, else of its remotes the first, becomes the server. Both spellings of its keys, that of
// 2025-07 in snake case and the later one, are read.
func (f *file) registry(root node) ([]Server, error) {
	r := &registryReader{file: f}
	name, _ := root.get("name")
	if name.kind != kindString || strings.TrimSpace(name.text) == "" {
		return nil, f.errorAt(root.line, "name", "the server has no name", "give it one, such as io.github.user/server")
	}
	// "io.github.user/weather": what comes after the slash is the server's own.
	r.s = Server{Key: path.Base(name.text), Dir: f.dir, Source: f.name, Host: Registry}
	packages, _ := root.get("packages")
	for i, p := range packages.items {
		done, err := r.install(p, fmt.Sprintf("packages[%d]", i))
		if err != nil || done {
			return r.result(), err
		}
	}
	remotes, _ := root.get("remotes")
	for i, remote := range remotes.items {
		done, err := r.remote(remote, fmt.Sprintf("remotes[%d]", i))
		if err != nil || done {
			return r.result(), err
		}
	}
	return nil, f.errorAt(root.line, "packages", "none of the packages and remotes can be used", "packages of npm, pypi, nuget and oci can be started, and remotes of type streamable-http and sse dialled")
}

type registryReader struct {
	*file
	s Server
}

func (r *registryReader) result() []Server { return []Server{r.s} }

// get finds a key in camel case, or in the snake case of older files.
func (r *registryReader) get(n node, key string) node {
	if v, ok := n.get(key); ok {
		return v
	}
	snake := regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(key, func(c string) string { return "_" + strings.ToLower(c) })
	v, _ := n.get(snake)
	return v
}

// install makes the command that starts a package.
func (r *registryReader) install(p node, key string) (bool, error) {
	kind := strings.ToLower(r.get(p, "registryType").text)
	identifier, version := r.get(p, "identifier").text, r.get(p, "version").text
	if old, ok := p.get("name"); ok && identifier == "" {
		identifier = old.text
	}
	transport := strings.ToLower(r.get(r.get(p, "transport"), "type").text)
	if transport != "" && transport != "stdio" {
		r.noteMinor(p.line, r.s.Key, key, "passed over: it has to be started apart, and then speaks over the network")
		return false, nil
	}
	if identifier == "" {
		return false, r.errorAt(p.line, key, "the package has no identifier", "write the package's name")
	}
	runtime, before, name, ok := packageCommand(kind, identifier, version)
	if !ok {
		r.noteMinor(p.line, r.s.Key, key, "passed over: packages of this kind cannot be started from here")
		return false, nil
	}
	if hint := r.get(p, "runtimeHint").text; hint != "" {
		runtime = hint
	}
	r.s.Transport, r.s.Command = TransportStdio, runtime
	env, passed, err := r.environment(r.get(p, "environmentVariables"), key)
	if err != nil {
		return false, err
	}
	r.s.Env, r.s.PassEnv = env, passed
	given, err := r.arguments(r.get(p, "runtimeArguments"), join(key, "runtimeArguments"))
	if err != nil {
		return false, err
	}
	r.s.Args = append(r.runtimeArgs(kind, before, given, env, passed), literal(name))
	own, err := r.arguments(r.get(p, "packageArguments"), join(key, "packageArguments"))
	r.s.Args = append(r.s.Args, own...)
	return err == nil, err
}

// packageCommand is the program that starts packages of a kind, what it is always told, and the package with its
// version as it wants it.
func packageCommand(kind, identifier, version string) (runtime string, args []string, name string, ok bool) {
	with := func(sep string) string {
		if version == "" || version == "latest" {
			return identifier
		}
		return identifier + sep + version
	}
	switch kind {
	case "npm":
		return "npx", []string{"-y"}, with("@"), true
	case "pypi":
		return "uvx", nil, with("=="), true
	case "nuget":
		return "dnx", []string{"--yes"}, with("@"), true
	case "oci", "docker":
		if strings.Contains(path.Base(identifier), ":") || strings.Contains(identifier, "@") {
			return "docker", []string{"run", "-i", "--rm"}, identifier, true
		}
		return "docker", []string{"run", "-i", "--rm"}, with(":"), true
	}
	return "", nil, "", false
}

// runtimeArgs joins what a runtime is always told with what the file says, each only once. A container sees a variable
// only when docker is told to hand it on.
func (r *registryReader) runtimeArgs(kind string, always, given []string, env map[string]string, passed []string) []string {
	contains := func(list []string, s string) bool {
		for _, v := range list {
			if v == s || strings.HasPrefix(v, s+"=") {
				return true
			}
		}
		return false
	}
	var args []string
	for _, a := range always {
		if !contains(given, a) {
			args = append(args, a)
		}
	}
	args = append(args, given...)
	if kind != "oci" && kind != "docker" {
		return args
	}
	for _, name := range append(sortedKeys(env), passed...) {
		if !contains(args, name) {
			args = append(args, "-e", name)
		}
	}
	return args
}

// arguments reads positional and named arguments; optional ones without a value are left out.
func (r *registryReader) arguments(list node, key string) ([]string, error) {
	var args []string
	for i, a := range list.items {
		name, hint := r.get(a, "name").text, r.get(a, "valueHint").text
		named := r.get(a, "type").text == "named" && name != ""
		silent := r.get(a, "value").kind == kindNull && r.get(a, "default").kind == kindNull
		boolean := r.get(a, "format").text == "boolean"
		required := r.get(a, "isRequired").text == "true"
		switch {
		case named && silent && hint == "" && (!boolean || required): // an option that takes no value
			args = append(args, literal(name))
			continue
		case named:
			hint = name
		case hint == "":
			hint = name
		}
		value, given, err := r.value(a, variableName(r.s.Key+"_"+hint), fmt.Sprintf("%s[%d]", key, i))
		switch {
		case err != nil:
			return nil, err
		case !given, named && boolean && value != "true":
		case named && boolean:
			args = append(args, literal(name))
		case named:
			args = append(args, literal(name), value)
		default:
			args = append(args, value)
		}
	}
	return args, nil
}

// environment reads the variables of a package: those with a value or a default are set, required ones are read from
// the environment, and the others are handed on if they are there.
func (r *registryReader) environment(list node, key string) (map[string]string, []string, error) {
	env := map[string]string{}
	var passed []string
	for i, v := range list.items {
		name := r.get(v, "name").text
		place := fmt.Sprintf("%s.environmentVariables[%d]", key, i)
		if name == "" {
			return nil, nil, r.errorAt(v.line, place, "the variable has no name", "give it one")
		}
		value, given, err := r.value(v, name, place)
		switch {
		case err != nil:
			return nil, nil, err
		case given:
			env[name] = value
		case isName(name):
			passed = append(passed, name)
		}
	}
	return env, passed, nil
}

// remote reads an address, with its variables.
func (r *registryReader) remote(n node, key string) (bool, error) {
	kind := strings.ToLower(r.get(n, "type").text)
	if old, ok := n.get("transport_type"); ok && kind == "" {
		kind = strings.ToLower(old.text)
	}
	switch kind {
	case "sse":
		r.s.Transport = TransportSSE
	case "streamable-http", "streamable", "http", "streamablehttp", "streamable_http":
		r.s.Transport = TransportHTTP
	default:
		r.noteMinor(n.line, r.s.Key, key, "passed over: the transport is not known")
		return false, nil
	}
	url := r.get(n, "url")
	if url.kind != kindString || url.text == "" {
		return false, r.errorAt(n.line, join(key, "url"), "the remote has no url", "write its address")
	}
	r.s.URL = r.template(url.text, r.get(n, "variables"))
	for i, h := range r.get(n, "headers").items {
		name := r.get(h, "name").text
		value, given, err := r.value(h, variableName(r.s.Key+"_"+name), fmt.Sprintf("%s.headers[%d]", key, i))
		if err != nil {
			return false, err
		}
		if !given {
			r.noteMinor(h.line, r.s.Key, "headers", fmt.Sprintf("the optional header %q is left out", name))
			continue
		}
		if r.s.Headers == nil {
			r.s.Headers = map[string]string{}
		}
		r.s.Headers[name] = value
	}
	return true, nil
}

// value is what an input of the file stands for: its value with the variables in it, else, from a variable of that
// name, its default or whatever is required. Otherwise it is not given.
func (r *registryReader) value(n node, name, key string) (value string, given bool, err error) {
	if fixed := r.get(n, "value"); fixed.kind != kindNull {
		text, err := r.scalar(fixed, join(key, "value"))
		return r.template(text, r.get(n, "variables")), true, err
	}
	if !isName(name) {
		name = variableName(name)
	}
	if def := r.get(n, "default"); def.kind != kindNull {
		text, err := r.scalar(def, join(key, "default"))
		if strings.Contains(text, "}") || strings.Contains(text, "${") {
			return literal(text), true, err
		}
		return "${" + name + ":-" + text + "}", true, err
	}
	return "${" + name + "}", r.get(n, "isRequired").text == "true", nil
}

// template replaces {name} by the variable of the environment that has the name in capitals.
func (r *registryReader) template(s string, variables node) string {
	return references(s, "{", func(body string) (string, bool) {
		v, declared := variables.get(body)
		if !declared && variableName(body) == "" {
			return "", false
		}
		if def := r.get(v, "default"); def.kind == kindString && !strings.Contains(def.text, "}") {
			return "${" + variableName(body) + ":-" + def.text + "}", true
		}
		if fixed := r.get(v, "value"); fixed.kind == kindString {
			return literal(fixed.text), true
		}
		return "${" + variableName(body) + "}", true
	}, literal)
}
