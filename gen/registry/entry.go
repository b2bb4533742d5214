package registry

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Entry is a server as .mcp.json lists it.
type Entry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// String returns the command line or the address.
func (e *Entry) String() string {
	if e.URL != "" {
		return e.URL
	}
	return strings.Join(append([]string{e.Command}, e.Args...), " ")
}

// Note says something of an entry to the person who adds it.
type Note struct {
	// Variable is to be set before the server can start, in the environment or in .env. Empty: nothing is required.
	Variable string
	// Text says what for, or what was left out. It is foreign text, on one line.
	Text string
}

// kind is how packages of one registry are started.
type kind struct {
	home                string // the domain below .org of the registry of packages that the command asks; empty: the identifier names it
	identifier, version *regexp.Regexp
	launch              func(b *builder, p *Package)
}

var version = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,99}$`)

// Arguments of the commands that an entry may have, and their values. Any other could load something else, or open the machine to the server. A
// folder of the machine must be one that the person names in a variable, to which foreign text cannot refer.
var (
	flag   = regexp.MustCompile(`^$`)
	user   = regexp.MustCompile(`^[0-9]+(:[0-9]+)?$`)
	setsTo = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	volume = regexp.MustCompile(`^\$\{[A-Z0-9_]+\}:/[^:]*(:ro)?$`)
	mount  = regexp.MustCompile(`^type=bind,(src|source)=\$\{[A-Z0-9_]+\},(dst|destination|target)=/[^,]*(,ro|,readonly)?$`)

	ofNPX    = map[string]*regexp.Regexp{"-y": flag, "--yes": flag, "-q": flag, "--quiet": flag}
	ofUVX    = map[string]*regexp.Regexp{"-q": flag, "--quiet": flag, "--python": regexp.MustCompile(`^3(\.[0-9]+)*$`)}
	ofDocker = map[string]*regexp.Regexp{
		"-i": flag, "--interactive": flag, "--rm": flag, "--init": flag, "--read-only": flag, "--network": regexp.MustCompile(`^none$`), "-u": user, "--user": user,
		"-e": setsTo, "--env": setsTo, "-v": volume, "--volume": volume, "--mount": mount,
	}
)

// kinds are the types of packages that an entry can start.
func kinds() map[string]kind {
	return map[string]kind{
		"npm": {"npmjs", regexp.MustCompile(`^(@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$`), version, func(b *builder, p *Package) {
			b.entry.Command = "npx"
			b.arguments(p.RuntimeArguments, ofNPX)
			if !slices.Contains(b.entry.Args, "-y") && !slices.Contains(b.entry.Args, "--yes") {
				b.entry.Args = append(b.entry.Args, "-y")
			}
			b.entry.Args = append(b.entry.Args, p.Identifier+"@"+p.Version)
		}},
		"pypi": {"pypi", regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`), version, func(b *builder, p *Package) {
			b.entry.Command = "uvx"
			b.arguments(p.RuntimeArguments, ofUVX)
			b.entry.Args = append(b.entry.Args, p.Identifier+"@"+p.Version)
		}},
		"oci": {"", regexp.MustCompile(`^[a-z0-9][A-Za-z0-9._:/@-]*$`), regexp.MustCompile(`^([0-9A-Za-z][0-9A-Za-z._-]{0,127})?$`), func(b *builder, p *Package) {
			b.entry.Command, b.entry.Args = "docker", []string{"run", "-i", "--rm"}
			b.arguments(p.RuntimeArguments, ofDocker)
			for _, name := range slices.Sorted(maps.Keys(b.entry.Env)) {
				b.entry.Args = append(b.entry.Args, "-e", name)
			}
			image := p.Identifier
			if p.Version != "" && !strings.ContainsAny(image[strings.LastIndexByte(image, '/')+1:], ":@") {
				image += ":" + p.Version
			}
			b.entry.Args = append(b.entry.Args, image)
		}},
	}
}

// asks reports whether the command asks the registry of packages at an address.
func (k *kind) asks(address string) bool {
	u, err := url.Parse(address)
	return err == nil && k.home != "" && strings.HasSuffix("."+u.Hostname(), "."+k.home+".org")
}

// Entry returns the entry for a server under a key: for its first package, or else address, that can be used. The error is an *[Error] that
// says why none can be.
func (s *Server) Entry(key string) (*Entry, []Note, error) {
	var why []string
	for i := range s.Packages {
		b := &builder{key: key}
		if b.launch(&s.Packages[i]); b.problem == "" {
			return &b.entry, b.notes, nil
		}
		why = append(why, fmt.Sprintf("the package %s: %s", line(s.Packages[i].Identifier, 200), b.problem))
	}
	for i := range s.Remotes {
		b := &builder{key: key}
		if b.remote(&s.Remotes[i]); b.problem == "" {
			return &b.entry, b.notes, nil
		}
		why = append(why, fmt.Sprintf("the address %s: %s", line(s.Remotes[i].URL, 200), b.problem))
	}
	if len(why) == 0 {
		why = append(why, "it lists no package and no address")
	}
	return nil, nil, &Error{Problem: fmt.Sprintf("%s cannot be added: %s", s.Name, strings.Join(why, "; ")), Remedy: "read its own instructions, and write the entry by hand"}
}

// Key returns the name under which a server is usually listed: the last part of its own.
func (s *Server) Key() string { return s.Name[strings.LastIndexByte(s.Name, '/')+1:] }

// builder makes one entry. After the first problem, the entry is of no use.
type builder struct {
	key     string
	entry   Entry
	notes   []Note
	problem string
}

func (b *builder) fail(format string, args ...any) {
	if b.problem == "" {
		b.problem = fmt.Sprintf(format, args...)
	}
}

func (b *builder) launch(p *Package) {
	k, ok := kinds()[p.RegistryType]
	switch {
	case !ok:
		b.fail("packages of the type %q are not started", line(p.RegistryType, 50))
	case p.Transport.Type != "stdio":
		b.fail("it does not speak over standard input and output")
	case p.RegistryBaseURL != "" && !k.asks(p.RegistryBaseURL):
		b.fail("it is in another registry of packages, %s", line(p.RegistryBaseURL, 200))
	case len(p.Identifier) > 300 || !k.identifier.MatchString(p.Identifier):
		b.fail("it is not the name of a package of the type %s", p.RegistryType)
	case !k.version.MatchString(p.Version):
		b.fail("%q is not a version of it", line(p.Version, 100))
	}
	if b.problem != "" {
		return
	}
	for _, in := range p.EnvironmentVariables {
		if !variable.MatchString(in.Name) {
			b.fail("%q is not a name of a variable", line(in.Name, 100))
			return
		}
		if steers.MatchString(in.Name) {
			b.fail("it wants the variable %s, with which it could load something else", in.Name)
			return
		}
		if value, ok := b.value(in, in.Name); ok {
			b.set(&b.entry.Env, in.Name, value)
		}
	}
	k.launch(b, p)
	b.arguments(p.PackageArguments, nil)
}

func (b *builder) remote(r *Remote) {
	types := map[string]string{"streamable-http": "http", "sse": "sse"}
	b.entry.Type = types[r.Type]
	if b.entry.Type == "" {
		b.fail("transports of the type %q are not known", line(r.Type, 50))
		return
	}
	b.entry.URL = b.fill(r.URL, r.Variables)
	if u, err := url.Parse(r.URL); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Contains(u.Host, "{") {
		b.fail("it is not an https address")
	}
	for _, in := range r.Headers {
		if !header.MatchString(in.Name) {
			b.fail("%q is not a name of a header", line(in.Name, 100))
			return
		}
		if value, ok := b.value(in, b.own(in.Name)); ok {
			b.set(&b.entry.Headers, in.Name, value)
		}
	}
}

var (
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,199}$`)
	// steers matches variables that say what the commands and their interpreters load, or whom they ask.
	steers   = regexp.MustCompile(`(?i)^(path|(npm_config|uv|pip|docker|buildkit|ld|dyld)_.*|node_(options|path|extra_ca_certs)|python(path|home|startup|warnings|breakpoint|userbase|platlibdir|executable))$`)
	header   = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}$`)
	template = regexp.MustCompile(`\{([A-Za-z0-9_.-]{1,100})\}`)
)

func (b *builder) set(to *map[string]string, name, value string) {
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[name] = value
}

// arguments adds arguments that have a value or must have one. allowed are the only ones; nil: all are.
func (b *builder) arguments(list []Input, allowed map[string]*regexp.Regexp) {
	for _, in := range list {
		hint := in.ValueHint
		if hint == "" {
			hint = strings.TrimLeft(in.Name, "-")
		}
		bare := in.Type == "named" && in.Value == "" && in.Default == "" && len(in.Variables) == 0 && in.ValueHint == "" && !in.IsRequired
		value, ok := "", bare
		if !bare {
			value, ok = b.value(in, b.own(hint))
		}
		if !ok {
			continue
		}
		if values := allowed[in.Name]; allowed != nil && (values == nil || in.Type != "named" || !values.MatchString(value)) {
			b.fail("it wants %s to have the argument %q, which could load something else or open this machine to it", b.entry.Command, line(strings.TrimSpace(in.Name+" "+value), 100))
		}
		if in.Type == "named" {
			if !strings.HasPrefix(in.Name, "-") {
				b.fail("%q is not a name of an argument", line(in.Name, 100))
			}
			b.entry.Args = append(b.entry.Args, b.literal(in.Name))
		}
		if !bare {
			b.entry.Args = append(b.entry.Args, value)
		}
	}
}

// value returns the value of an input: a fixed one, a default, or a reference to the variable name for what must be set. ok is false if the
// input is optional and has none, which a note says.
func (b *builder) value(in Input, name string) (value string, ok bool) {
	switch {
	case in.Value != "":
		return b.fill(in.Value, in.Variables), true
	case in.Default != "" && !in.IsSecret:
		return b.literal(in.Default), true
	case in.IsRequired:
		return b.reference(name, in), true
	}
	b.notes = append(b.notes, Note{Text: strings.TrimSuffix("left out, because it is optional: "+line(in.Name+in.ValueHint, 100)+": "+line(in.Description, 200), ": ")})
	return "", false
}

// fill replaces {name} in a text: by the default of the variable, or by a reference to one of the environment.
func (b *builder) fill(text string, variables map[string]Input) string {
	return template.ReplaceAllStringFunc(b.literal(text), func(match string) string {
		name := match[1 : len(match)-1]
		in, ok := variables[name]
		switch {
		case !ok:
			return match // not a variable
		case in.Value != "":
			return b.literal(in.Value)
		case in.Default != "" && !in.IsSecret:
			return b.literal(in.Default)
		}
		return b.reference(b.own(name), in)
	})
}

// reference returns a reference to a variable of the environment, and notes that it must be set.
func (b *builder) reference(name string, in Input) string {
	b.notes = append(b.notes, Note{Variable: name, Text: line(in.Description, 200)})
	return "${" + name + "}"
}

// literal returns a foreign text that must not refer to a variable, nor have invisible characters, which could hide a part of it.
func (b *builder) literal(text string) string {
	if strings.Contains(text, "${") || strings.Contains(text, "$(") || text != ident.CleanLine(text) || len(text) > 2000 {
		b.fail("the text %q refers to a variable, has invisible characters, or is too long", line(text, 100))
	}
	return text
}

// own returns a name for a variable that only this server has, so that it cannot ask for a secret of another one.
func (b *builder) own(name string) string {
	return strings.ToUpper(ident.Snake(b.key) + "_" + ident.Snake(strings.Trim(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(name, "_"), "_")))
}
