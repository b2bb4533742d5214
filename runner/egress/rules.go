package egress

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Rules decide where a run may connect to. A nil Rules allows nothing.
type Rules struct {
	entries []entry
	// level is the policy's level, and hosts those that it lets scripts reach. An entry that is not of the level counts only for these.
	level string
	hosts []string
	ask   bool
	rate  int
	bytes int64
	file  string
}

// entry is one line of the allow list.
type entry struct {
	*config.NetworkEntry
	key     string // where it is, as in network.allow[0]
	ofLevel bool   // it widens the level
	own     bool   // the level has it without being told so in mcpgen.yaml
	methods []string
	paths   []*regexp.Regexp
}

// RulesOptions say for whom rules are.
type RulesOptions struct {
	// Network are the settings. File is where they are from, for messages.
	Network *config.Network
	File    string
	// Customer may be empty.
	Customer string
	// Level is the policy's level for the run, and Hosts are the hosts that the level lets scripts reach. An empty level has no say.
	Level string
	Hosts []string
}

// NewRules returns the rules for a run. They are nil if the settings have no key network, even if the level has hosts.
func NewRules(opt RulesOptions) (*Rules, error) {
	n := opt.Network
	if !n.Present {
		return nil, nil
	}
	r := &Rules{level: opt.Level, hosts: opt.Hosts, ask: n.Default == "ask", rate: n.Rate, bytes: DefaultBytes, file: filepath.Base(opt.File)}
	if r.rate == 0 {
		r.rate = DefaultRate
	}
	if n.Bytes != "" {
		size, err := config.ParseSize(n.Bytes)
		if err != nil {
			return nil, fmt.Errorf("network.bytes: %w", err)
		}
		r.bytes = size
	}
	r.add(n.Levels[opt.Level].Allow, "network.levels."+opt.Level+".allow", true)
	r.add(n.Customers[opt.Customer].Allow, "network.customers."+opt.Customer+".allow", false)
	r.add(n.Allow, "network.allow", false)
	for i := range opt.Hosts { // what the level allows by itself, over the protocols of the web
		e := &config.NetworkEntry{Host: opt.Hosts[i], Protocols: []string{"https", "http"}, Ports: []int{443, 80}}
		r.entries = append(r.entries, entry{NetworkEntry: e, key: "level " + opt.Level, ofLevel: true, own: true})
	}
	for i := range r.entries {
		e := &r.entries[i]
		if t, err := ParseTarget(e.Host, 0); err == nil && (t.address.IsValid() && blocked(t.address) != nil || isLocal(t.Host)) {
			return nil, fmt.Errorf("%s: no script ever reaches %s, which is in a blocked range; remove it", r.rule(e), e.Host)
		}
	}
	return r, nil
}

func (r *Rules) add(entries []config.NetworkEntry, key string, ofLevel bool) {
	for i := range entries {
		e := entry{NetworkEntry: &entries[i], key: fmt.Sprintf("%s[%d]", key, i), ofLevel: ofLevel}
		for _, method := range e.Methods {
			e.methods = append(e.methods, strings.ToUpper(method))
		}
		for _, path := range e.Paths {
			e.paths = append(e.paths, pathPattern(path))
		}
		r.entries = append(r.entries, e)
	}
}

// pathPattern compiles a glob of paths: ** is any text, * any text without a slash.
func pathPattern(glob string) *regexp.Regexp {
	text := regexp.QuoteMeta(glob)
	text = strings.ReplaceAll(text, `\*\*`, `.*`)
	text = strings.ReplaceAll(text, `\*`, `[^/]*`)
	return regexp.MustCompile(`^` + text + `$`)
}

// fits reports whether an entry is about a host and port.
func (e *entry) fits(t Target) bool {
	return slices.Contains(e.Ports, t.Port) && config.FitsHost(e.Host, t.Host)
}

func (e *entry) inspects() bool { return e.TLS == config.InspectTLS }

// IsEmpty reports whether the rules allow nothing and ask nobody.
func (r *Rules) IsEmpty() bool { return r == nil || len(r.entries) == 0 && !r.ask }

// Hosts returns the hosts of the entries that count, in their order, each once.
func (r *Rules) Hosts() []string {
	var out []string
	for i := 0; r != nil && i < len(r.entries); i++ {
		e := &r.entries[i]
		reached := e.ofLevel || r.level == "" || slices.ContainsFunc(r.hosts, func(h string) bool { return config.FitsHost(h, strings.TrimPrefix(e.Host, "*.")) })
		if reached && !slices.Contains(out, e.Host) {
			out = append(out, e.Host)
		}
	}
	return out
}

// inspects reports whether an entry reads encrypted requests.
func (r *Rules) inspects() bool {
	return r != nil && slices.ContainsFunc(r.entries, func(e entry) bool { return e.inspects() })
}

func (e *entry) allows(p Protocol) bool {
	return slices.Contains(e.Protocols, string(p)) || slices.Contains(e.Protocols, string(TCP)) && !e.inspects()
}

// allowsRequest reports whether an entry allows a request. The path is decoded, without a query.
func (e *entry) allowsRequest(method, path string) bool {
	return (e.methods == nil || slices.Contains(e.methods, strings.ToUpper(method))) &&
		(e.paths == nil || slices.ContainsFunc(e.paths, func(p *regexp.Regexp) bool { return p.MatchString(path) }))
}

// asks reports whether a person is asked about a target that no entry allows. Nobody can allow what the level does not reach.
func (r *Rules) asks(t Target) bool {
	return r != nil && r.ask && (r.level == "" || slices.ContainsFunc(r.hosts, func(h string) bool { return config.FitsHost(h, t.Host) }))
}

// rule names an entry, with its place.
func (r *Rules) rule(e *entry) string {
	if e.At.Line == 0 {
		return e.key
	}
	return fmt.Sprintf("%s (%s:%d)", e.key, r.file, e.At.Line)
}

// find returns the entries that allow a target. Without any, the refusal says what would have to be written for the protocol.
func (r *Rules) find(t Target, protocol Protocol) ([]*entry, *Refusal) {
	var found []*entry
	var beyond *entry // fits, but the level does not reach the host
	ports := map[int]bool{}
	inLevel := r != nil && (r.level == "" || slices.ContainsFunc(r.hosts, func(h string) bool { return config.FitsHost(h, t.Host) }))
	bounded := r != nil && slices.ContainsFunc(r.entries, func(e entry) bool { return e.Bounds() && config.FitsHost(e.Host, t.Host) })
	for i := 0; r != nil && i < len(r.entries); i++ {
		e := &r.entries[i]
		switch {
		case !config.FitsHost(e.Host, t.Host), e.own && bounded:
		case !e.fits(t):
			for _, p := range e.Ports {
				ports[p] = true
			}
		case !inLevel && !e.ofLevel:
			beyond = e
		default:
			found = append(found, e)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, r.refuse(t, protocol, beyond, len(ports) > 0)
}

// refuse returns the refusal for a target that no entry allows.
func (r *Rules) refuse(t Target, protocol Protocol, beyond *entry, otherPort bool) *Refusal {
	key := "network.allow"
	if r != nil && r.level != "" {
		key = "network.levels." + r.level + ".allow"
	}
	bad := &Refusal{Check: ByAllowList, Target: t, Remedy: fmt.Sprintf("an operator allows it below %s in mcpgen.yaml: - %s", key, suggested(t, protocol))}
	switch {
	case r == nil || len(r.entries) == 0:
		bad.Reason = "the network allows no host"
	case beyond != nil:
		bad.Reason = fmt.Sprintf("%s allows %s, but the level %s reaches only %s", r.rule(beyond), t, r.level, list(r.Hosts()))
	case otherPort:
		bad.Reason = fmt.Sprintf("%s is allowed, but not its port %d", t.Host, t.Port)
	default:
		bad.Reason = fmt.Sprintf("no entry allows %s", t)
	}
	return bad
}

// suggested returns an entry for a target.
func suggested(t Target, protocol Protocol) string {
	usual := protocol.Port() == t.Port
	switch {
	case protocol == HTTPS && usual:
		return t.Host
	case protocol == HTTPS:
		return fmt.Sprintf("{host: %s, ports: [%d]}", t.Host, t.Port)
	case usual:
		return fmt.Sprintf("{host: %s, protocols: [%s]}", t.Host, protocol)
	}
	return fmt.Sprintf("{host: %s, ports: [%d], protocols: [%s]}", t.Host, t.Port, protocol)
}

func list(hosts []string) string {
	if len(hosts) == 0 {
		return "nothing"
	}
	return strings.Join(hosts, ", ")
}
