package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/idna"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Network is the key network of mcpgen.yaml: where scripts may connect to. The zero value means that there is no network.
type Network struct {
	NetworkPart `yaml:",inline"`
	// Present says that the key is there. Without it, the hosts of the policy's levels count for nothing.
	Present bool `yaml:"-"`
	// Default is deny, ask or empty, for connections that no entry allows. Empty means deny.
	Default string
	// Rate is the number of requests that a run may make to one host in a minute. 0 means [DefaultNetworkRate].
	Rate int
	// Bytes is how much a run may exchange with one host, as a size. Empty means [DefaultNetworkBytes].
	Bytes string
	// Customers are additions for runs of one customer, by id, and Levels additions for runs at one level, by its name.
	Customers map[string]NetworkPart
	Levels    map[string]NetworkPart
	// Log is [LogRefused] or empty, for all connections.
	Log string
	// Alerts says who is told of suspicious connections. Nil: nobody.
	Alerts *NetworkAlerts
}

// Defaults of rate and bytes.
const (
	DefaultNetworkRate  = 100     // requests and connections to one host in a minute
	DefaultNetworkBytes = 1 << 30 // to and from one host in a run
)

// LogRefused is the value of the key log with which only refused connections are recorded.
const LogRefused = "refused"

// NetworkPart is a list of what is allowed.
type NetworkPart struct{ Allow []NetworkEntry }

// NetworkEntry allows connections to one host, or to all hosts below a domain.
type NetworkEntry struct {
	// Host is an exact name, *.DOMAIN for all names below a domain, or an IP address.
	Host string
	// Ports may be nil: the usual ports of the protocols.
	Ports []int
	// Protocols are https, http, ssh and tcp. Nil means https.
	Protocols []string
	// TLS is [InspectTLS], or empty for connections that are passed on unread.
	TLS string
	// Methods and Paths bound the requests. Nil means any. In a path, * is any text without a slash, ** any text.
	Methods, Paths Globs
	// Credentials are put into requests.
	Credentials []Credential
	At          Position `yaml:"-"`
}

// InspectTLS is the value of the key tls with which mcprun reads the requests inside a TLS connection.
const InspectTLS = "inspect"

// Credential is a secret that the host puts into requests, so that no script holds it.
type Credential struct {
	Secret Secret
	// Header is a line of a request's head with {secret} in place of the secret, such as "Authorization: Bearer {secret}". Basic is a user
	// name for basic authentication, with the secret as the password. One of them is set.
	Header, Basic string
	// Variable is the environment variable in which scripts find a placeholder for the secret. If it is empty, they find none.
	Variable string
}

// Secret says where a secret is. One field is set.
type Secret struct {
	// Text has variables such as ${NAME}, which are expanded when the secret is used.
	Text string `yaml:"-"`
	// Keyring is the name of an entry of the system's keyring; File a file that holds the secret, relative to mcpgen.yaml; Command a
	// program and its arguments that print it.
	Keyring string
	File    string
	Command []string
}

// NetworkAlerts are what a program is started for, with the event as JSON on standard input.
type NetworkAlerts struct {
	Command []string
	// Blocked is false to leave out connections to blocked ranges.
	Blocked *bool
	// Volume is the number of bytes to one host in a run, as a size, from which on the volume is unusual. Empty means the default, and 0
	// that no volume is.
	Volume string
}

// Bounds reports whether the entry allows only some requests. What a level of the policy allows by itself does not count for its host then.
func (e *NetworkEntry) Bounds() bool { return e.Methods != nil || e.Paths != nil }

// FitsHost reports whether a host's name is the one of an entry, or lies below its domain: *.example.com stands for all names below
// example.com, * for all hosts. Names in Unicode are the same as those in ASCII: bücher.example is xn--bcher-kva.example.
func FitsHost(entry, name string) bool {
	name = asciiName(name)
	if domain, ok := strings.CutPrefix(entry, "*."); ok {
		return strings.HasSuffix(name, "."+asciiName(domain))
	}
	return entry == "*" || asciiName(entry) == name
}

// asciiName returns a host's name as name servers know it, in lower case and without a final dot.
func asciiName(name string) string {
	name = strings.TrimSuffix(name, ".")
	if isASCII := !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }); !isASCII {
		if ascii, err := idna.Lookup.ToASCII(name); err == nil {
			return ascii
		}
	}
	return strings.ToLower(name)
}

// UnmarshalYAML reads an entry with its position. A text alone is its host.
func (e *NetworkEntry) UnmarshalYAML(n *yaml.Node) error {
	type plain NetworkEntry
	if n.Kind == yaml.ScalarNode {
		e.Host = n.Value
	} else if err := n.Decode((*plain)(e)); err != nil {
		return err
	}
	e.At = Position{n.Line, n.Column}
	return nil
}

// UnmarshalYAML reads a text with variables, or one of the other sources.
func (s *Secret) UnmarshalYAML(n *yaml.Node) error {
	type plain Secret
	if n.Kind == yaml.ScalarNode {
		s.Text = n.Value
		return nil
	}
	return n.Decode((*plain)(s))
}

// UsualPorts are the ports of an entry without ports, by protocol.
var UsualPorts = map[string]int{"https": 443, "http": 80, "ssh": 22}

// complete makes the checks that the schema cannot make, and fills in the usual protocols and ports.
func (n *Network) complete(file *node.File, root *yaml.Node, policy *Policy) error {
	n.Present = root != nil && root.Kind == yaml.MappingNode
	for key, at := range map[string]*yaml.Node{"bytes": node.Value(root, "bytes"), "alerts.volume": node.Value(node.Value(root, "alerts"), "volume")} {
		if at == nil {
			continue
		}
		if _, err := ParseSize(at.Value); err != nil {
			return file.ErrorAt(at.Line, "network."+key, fmt.Sprintf("%q is not a size", at.Value), "write it as a number of megabytes, or with its unit: 512MiB")
		}
	}
	if err := completeEntries(file, n.Allow, "network.allow"); err != nil {
		return err
	}
	for _, id := range sortedKeys(n.Customers) {
		if err := completeEntries(file, n.Customers[id].Allow, "network.customers."+id+".allow"); err != nil {
			return err
		}
	}
	levels := node.Value(root, "levels")
	for _, name := range sortedKeys(n.Levels) {
		at := node.Value(levels, name)
		if err := policy.checkLevel(file, "network.levels."+name, name, Position{at.Line, at.Column}); err != nil {
			return err
		}
		if err := completeEntries(file, n.Levels[name].Allow, "network.levels."+name+".allow"); err != nil {
			return err
		}
	}
	return nil
}

func completeEntries(file *node.File, entries []NetworkEntry, key string) error {
	for i := range entries {
		e := &entries[i]
		wrong := func(problem, remedy string) error {
			return &FileError{File: file.Name, Line: e.At.Line, Column: e.At.Column, Key: fmt.Sprintf("%s[%d]", key, i), Problem: problem, Remedy: remedy}
		}
		if e.Protocols == nil {
			e.Protocols = []string{"https"}
		}
		if e.Ports == nil {
			for _, protocol := range e.Protocols {
				port, usual := UsualPorts[protocol]
				if !usual {
					return wrong("tcp has no usual port", "write the ports, as in ports: [5432]")
				}
				e.Ports = append(e.Ports, port)
			}
		}
		web := slices.Contains(e.Protocols, "https") || slices.Contains(e.Protocols, "http")
		reads := e.TLS == InspectTLS || !slices.Contains(e.Protocols, "https")
		switch {
		case strings.Contains(strings.TrimPrefix(e.Host, "*."), "*") && e.Host != "*":
			return wrong(fmt.Sprintf("the host %q has * in the middle", e.Host), "write *.example.com for all names below example.com, or the exact name")
		case strings.ContainsAny(e.Host, ":/@") && !strings.Contains(e.Host, "::") && strings.Count(e.Host, ":") < 2:
			return wrong(fmt.Sprintf("%q is not the name of a host", e.Host), "write the name alone, without https:// and without a path; a port goes into ports: [443]")
		case (e.Methods != nil || e.Paths != nil || e.TLS != "") && !web:
			return wrong("methods, paths and tls are about https and http", "remove them, or write protocols: [https]")
		case (e.Methods != nil || e.Paths != nil) && !reads:
			return wrong("methods and paths cannot be seen in an encrypted connection", "add tls: inspect, with which mcprun ends the encryption, or remove methods and paths")
		case (slices.Contains(e.Protocols, "tcp") || slices.Contains(e.Protocols, "ssh")) && (e.Methods != nil || e.Paths != nil || e.TLS != ""):
			return wrong("methods, paths and tls are about requests, which tcp and ssh do not have", "write two entries for the host: one with https or http, one with the other protocols")
		case len(e.Credentials) > 0 && (e.TLS != InspectTLS || !slices.Contains(e.Protocols, "https")):
			return wrong("credentials are put into encrypted requests, which mcprun must read", "add tls: inspect, and https to the protocols")
		case len(e.Credentials) > 0 && e.Host == "*":
			return wrong("credentials would be sent to every host that a script names", "write an entry with the credentials for each host that they are for")
		}
		for _, c := range e.Credentials {
			if problem, remedy := c.problem(); problem != "" {
				return wrong(problem, remedy)
			}
		}
	}
	return nil
}

// problem returns what is wrong with a credential, or nothing.
func (c *Credential) problem() (problem, remedy string) {
	name, value, isLine := strings.Cut(c.Header, ":")
	switch {
	case (c.Header == "") == (c.Basic == ""):
		return "a credential has one of header and basic", `write header: "Authorization: Bearer {secret}", or basic: USER`
	case c.Header != "" && (!isLine || strings.TrimSpace(name) == "" || strings.Count(value, "{secret}") != 1):
		return fmt.Sprintf("the header %q does not say where the secret goes", c.Header), `write it as "Authorization: Bearer {secret}"`
	case strings.ContainsAny(c.Header+c.Basic, "\r\n\x00"):
		return "the header has a line break", "write it in one line"
	case c.Secret.Text != "" && !strings.Contains(c.Secret.Text, "${"):
		return "a secret must not be in this file", "write ${NAME}, and set that variable in the environment or in .env; or name a keyring, file or command"
	}
	return "", ""
}
