package config

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// PIIMode says what is done with personal data. The modes are ordered: each hides more than the one before.
type PIIMode string

const (
	// PIIOff passes it on as it is.
	PIIOff PIIMode = "off"
	// PIIOutput gives scripts real values, and replaces them by tokens in what leaves for a model.
	PIIOutput PIIMode = "output"
	// PIIBridge gives scripts tokens too. Arguments are restored before a server gets them.
	PIIBridge PIIMode = "bridge"
)

// PIIModes returns all modes, in their order.
func PIIModes() []PIIMode { return []PIIMode{PIIOff, PIIOutput, PIIBridge} }

// Hides reports whether the mode hides at least as much as another one. An empty mode hides nothing.
func (m PIIMode) Hides(as PIIMode) bool {
	return slices.Index(PIIModes(), m) >= slices.Index(PIIModes(), as)
}

// PII is the key pii of mcpgen.yaml: what is done with personal data. The zero value leaves it to the command.
type PII struct {
	PIIPart `yaml:",inline"`
	// Customers are the settings of runs for one customer, by id. They take precedence over those above.
	Customers map[string]PIIPart
	// Detector finds more in texts. It may be nil.
	Detector *PIIDetector
	// Retention is the time after which a value that has not been seen again is forgotten, in days, such as 90d. Empty: it is kept.
	Retention string
}

// PIIPart is what may differ between customers.
type PIIPart struct {
	// Mode is that of servers that are not in Servers. Empty: the command decides.
	Mode PIIMode
	// Servers are the modes of single servers, by their names in the configuration.
	Servers map[string]PIIMode
	// Fields are the types of the values of members, by the name of the member in structured data. [PIIOff] means that the value is no personal data.
	Fields map[string]string
}

// PIIDetector is a service with the API of Presidio's analyzer.
type PIIDetector struct {
	// URL is the service's address, without /analyze.
	URL string
	// Timeout bounds one request. 0: a default.
	Timeout time.Duration
	// OnError is [PIIOpen], or empty for closed: what the service could not check does not leave.
	OnError string `yaml:"on_error"`
	// Language is the language of the texts. Empty: en.
	Language string
}

// PIIOpen is the value of the key on_error with which texts leave unchecked while the detector fails.
const PIIOpen = "open"

// For returns the settings for a customer; the empty id is the project itself.
func (p *PII) For(customer string) PIIPart {
	out, own := p.PIIPart, p.Customers[customer]
	override(&out.Mode, own.Mode)
	out.Servers, out.Fields = joined(p.Servers, own.Servers), joined(p.Fields, own.Fields)
	return out
}

// Effective returns the settings for a customer with the mode that counts: the one that was given by whoever started the program, else that of
// the file, else otherwise. A given mode is the least that is hidden of any server or customer, and off switches everything off.
func (p *PII) Effective(customer string, given, otherwise PIIMode) PIIPart {
	out := p.For(customer)
	for name, mode := range out.Servers {
		if given == PIIOff || !mode.Hides(given) {
			delete(out.Servers, name)
		}
	}
	out.Mode = cmp.Or(given, out.Mode, otherwise, PIIOff)
	if own := p.Customers[customer].Mode; given != PIIOff && own.Hides(out.Mode) {
		out.Mode = own
	}
	return out
}

// Strictest returns the mode that hides most of those in the settings, or "" without any.
func (p *PII) Strictest() (strictest PIIMode) {
	parts := append(slices.Collect(maps.Values(p.Customers)), p.PIIPart)
	for _, part := range parts {
		for _, mode := range append(slices.Collect(maps.Values(part.Servers)), part.Mode) {
			if !strictest.Hides(mode) {
				strictest = mode
			}
		}
	}
	return strictest
}

// IsOff reports whether personal data of all servers is passed on as it is. The mode must be that of Effective.
func (p *PIIPart) IsOff() bool {
	for _, mode := range p.Servers {
		if mode != PIIOff {
			return false
		}
	}
	return p.Mode == PIIOff
}

// joined returns the entries of both maps; those of the second take precedence.
func joined[V any](first, second map[string]V) map[string]V {
	out := make(map[string]V, len(first)+len(second))
	maps.Copy(out, first)
	maps.Copy(out, second)
	return out
}

// RetentionTime returns Retention as a time. 0: values are kept.
func (p *PII) RetentionTime() time.Duration { return daysOf(p.Retention) }

// complete makes the checks that the schema cannot make.
func (p *PII) complete(file *node.File, root *yaml.Node, servers []Server) error {
	if p.Detector != nil && p.Detector.OnError != PIIOpen {
		p.Detector.OnError = ""
	}
	parts := map[string]*yaml.Node{"pii": root}
	for id, part := range node.Pairs(node.Value(root, "customers")) {
		parts["pii.customers."+id.Value] = part
	}
	for _, key := range sortedKeys(parts) {
		for name := range node.Pairs(node.Value(parts[key], "servers")) {
			if !slices.ContainsFunc(servers, func(s Server) bool { return s.Key == name.Value }) {
				return file.ErrorAt(name.Line, key+".servers."+name.Value, "no such server is configured", "correct the name, or remove the entry")
			}
		}
	}
	return nil
}
