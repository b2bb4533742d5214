package adopt

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Variable is a variable that the adopted servers need.
type Variable struct {
	Name string
	// Server and Field are the first place that needs it.
	Server, Field string
	// value is the secret in the host's file; empty if the host also uses a variable there.
	value string
}

// Value returns the secret. It may only be written to a file that is not checked in.
func (v Variable) Value() string { return v.value }

// String does not show the value.
func (v Variable) String() string { return v.Name }

// GoString does not show the value.
func (v Variable) GoString() string { return v.Name }

// naming chooses names of variables for secrets. Each name has one value.
type naming struct {
	variables []Variable
	byName    map[string]int
	present   map[string]string // existing variables
}

// clone returns a copy that changes independently.
func (n naming) clone() naming {
	return naming{slices.Clone(n.variables), maps.Clone(n.byName), n.present}
}

// secret returns a reference to a variable with the value.
func (n *naming) secret(server, field, base, value string) string {
	for i := 0; ; i++ {
		name := candidate(server, base, i)
		at, taken := n.byName[name]
		other, present := n.present[name]
		switch {
		case present && other != value:
			continue
		case !taken:
			n.add(Variable{Name: name, Server: server, Field: field, value: value})
		case n.variables[at].value != value:
			continue // another secret has it, or it is a variable that the host reads too
		}
		return "${" + name + "}"
	}
}

// candidate returns the i-th name to try.
func candidate(server, base string, i int) string {
	prefix := name(server) + "_"
	switch {
	case i == 0:
		return base
	case i == 1 && !strings.HasPrefix(base, prefix):
		return prefix + base
	}
	return fmt.Sprintf("%s_%d", base, i+1)
}

func (n *naming) add(v Variable) {
	if n.byName == nil {
		n.byName = map[string]int{}
	}
	if _, known := n.byName[v.Name]; known {
		return
	}
	n.byName[v.Name] = len(n.variables)
	n.variables = append(n.variables, v)
}

// name converts a text to the name of a variable.
func name(s string) string {
	out := strings.Trim(regexp.MustCompile(`[^A-Z0-9]+`).ReplaceAllString(strings.ToUpper(s), "_"), "_")
	if out == "" || out[0] >= '0' && out[0] <= '9' {
		out = "MCP_" + out
	}
	return strings.TrimRight(out, "_")
}

// portable converts a server to one that may be checked in: without secrets and, to the extent possible, without paths of
// this machine.
type portable struct {
	*naming
	server    string
	dir, home string
}

func (p *portable) apply(s config.Server) config.Server {
	cwd := p.path(s.Cwd)
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		s.Env[key] = p.env("env."+key, key, s.Env[key], cwd)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
		s.Headers[key] = p.header("headers."+key, key, s.Headers[key])
	}
	s.URL = p.url("url", s.URL)
	s.Args = p.args(s.Args, cwd)
	s.Command, s.EnvFile = p.path(s.Command), p.path(s.EnvFile)
	if s.Cwd = cwd; cwd == "." {
		s.Cwd = ""
	}
	if s.OAuth != nil {
		o := *s.OAuth
		if o.ClientSecret != "" && !hasVariable(o.ClientSecret) {
			o.ClientSecret = p.secret(p.server, "oauth.clientSecret", name(p.server)+"_CLIENT_SECRET", o.ClientSecret)
		}
		s.OAuth = &o
	}
	p.references(s)
	return s
}

// references records the variables without a default that a server refers to.
func (p *portable) references(s config.Server) {
	reference := regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}`)
	note := func(field, text string) {
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			p.add(Variable{Name: m[1], Server: p.server, Field: field})
		}
	}
	note("command", s.Command)
	note("cwd", s.Cwd)
	note("url", s.URL)
	for i, a := range s.Args {
		note(fmt.Sprintf("args[%d]", i), a)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		note("env."+key, s.Env[key])
	}
	for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
		note("headers."+key, s.Headers[key])
	}
	if s.OAuth != nil {
		note("oauth", s.OAuth.ClientID+s.OAuth.ClientSecret)
	}
}

func (p *portable) env(field, key, value, cwd string) string {
	switch {
	case secretNamed(key, value):
		return p.secret(p.server, field, key, plain(value))
	case strings.Contains(value, "://"):
		return p.urlNamed(field, key, value)
	}
	return p.fromCwd(value, cwd)
}

func (p *portable) header(field, key, value string) string {
	base := name(p.server) + "_" + strings.TrimPrefix(name(key), "X_")
	if strings.EqualFold(key, "Authorization") || strings.EqualFold(key, "Proxy-Authorization") {
		if hasVariable(value) || value == "" {
			return value
		}
		scheme, token, found := strings.Cut(value, " ")
		if !found {
			scheme, token = "", value
		} else {
			scheme += " "
		}
		return scheme + p.secret(p.server, field, name(p.server)+"_TOKEN", plain(token))
	}
	if secretNamed(key, value) || !trivial(value) && len(words(key)) > 0 && words(key)[len(words(key))-1] == "KEY" {
		return p.secret(p.server, field, base, plain(value))
	}
	return value
}

// plain replaces the escaped form of $ by $, because values of variables are not expanded again.
func plain(s string) string { return strings.ReplaceAll(s, "${:-$}", "$") }

func (p *portable) url(field, address string) string {
	return p.urlNamed(field, name(p.server), address)
}

// urlNamed replaces the secrets in an address: the password, parts of the path, and parameters.
func (p *portable) urlNamed(field, base, address string) string {
	if at := userinfo().FindStringSubmatchIndex(address); at != nil && !hasVariable(address[at[2]:at[3]]) {
		address = address[:at[2]] + p.secret(p.server, field, base+"_PASSWORD", plain(address[at[2]:at[3]])) + address[at[3]:]
	}
	place, query, hasQuery := strings.Cut(address, "?")
	if scheme, rest, ok := strings.Cut(place, "://"); ok {
		parts := strings.Split(rest, "/")
		for i := 1; i < len(parts); i++ {
			if !hasVariable(parts[i]) && looksSecret(parts[i]) {
				parts[i] = p.secret(p.server, field, base+"_URL_TOKEN", plain(parts[i]))
			}
		}
		place = scheme + "://" + strings.Join(parts, "/")
	}
	if !hasQuery {
		return place
	}
	params := strings.Split(query, "&")
	for i, param := range params {
		key, value, _ := strings.Cut(param, "=")
		if secretNamed(key, value) {
			params[i] = key + "=" + p.secret(p.server, field, base+"_"+name(key), plain(value))
		}
	}
	return place + "?" + strings.Join(params, "&")
}

// args replaces the secrets in a command line: values of options, assignments, headers, addresses, and bare tokens.
func (p *portable) args(args []string, cwd string) []string {
	args = slices.Clone(args)
	option := ""
	for i, arg := range args {
		field := fmt.Sprintf("args[%d]", i)
		args[i] = p.arg(field, option, arg, cwd)
		if option = ""; strings.HasPrefix(arg, "-") {
			option = arg
		}
	}
	return args
}

func (p *portable) arg(field, option, arg, cwd string) string {
	own := name(p.server) + "_"
	if key, value, ok := strings.Cut(arg, "="); ok && (strings.HasPrefix(key, "-") || config.IsVariableName(key)) {
		base := key
		if strings.HasPrefix(key, "-") {
			base = own + name(key)
		}
		return key + "=" + p.value(field, key, base, value, cwd)
	}
	if key, value, ok := strings.Cut(arg, ":"); ok && !strings.Contains(arg, "://") && regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`).MatchString(key) && len(key) > 1 {
		trimmed := strings.TrimLeft(value, " ")
		if header := p.header(field, key, trimmed); header != trimmed {
			return key + ":" + value[:len(value)-len(trimmed)] + header
		}
	}
	if strings.HasPrefix(arg, "-") {
		return arg
	}
	return p.value(field, option, own+nameOr(option, "ARG"), arg, cwd)
}

func nameOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return name(s)
}

func (p *portable) value(field, key, base, value, cwd string) string {
	switch {
	case strings.Contains(value, "://"):
		return p.urlNamed(field, base, value)
	case secretNamed(key, value):
		return p.secret(p.server, field, base, plain(value))
	}
	return p.fromCwd(value, cwd)
}

// path returns a path of this machine relative to the project's folder or to the home folder.
func (p *portable) path(s string) string {
	if rest, ok := below(s, p.dir); ok {
		if rest == "" {
			return "."
		}
		return "./" + filepath.ToSlash(rest)
	}
	return p.fromHome(s)
}

// fromCwd is path for paths that the server itself reads. They are made relative only if the server starts in the project's folder.
func (p *portable) fromCwd(s, cwd string) string {
	if cwd == "" || cwd == "." {
		return p.path(s)
	}
	return p.fromHome(s)
}

func (p *portable) fromHome(s string) string {
	if rest, ok := below(s, p.home); ok {
		variable := "${HOME}"
		if runtime.GOOS == "windows" {
			variable = "${USERPROFILE}"
		}
		if rest == "" {
			return variable
		}
		return variable + "/" + filepath.ToSlash(rest)
	}
	return s
}

// below returns the part of path after dir, and whether path is dir or below it.
func below(path, dir string) (string, bool) {
	if dir == "" || dir == string(filepath.Separator) || !filepath.IsAbs(path) {
		return "", false
	}
	if filepath.Clean(path) == filepath.Clean(dir) {
		return "", true
	}
	return strings.CutPrefix(path, filepath.Clean(dir)+string(filepath.Separator))
}
