package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Place is what a process has from those who started it, and what the same command line can mean something else with:
// names and digests of values. A daemon works only for clients whose place is its own.
type Place map[string]string

// PlaceOf is this process's own. Variables are those that libraries read from the process itself, whoever the work is
// for; the rest is the umask and, where the system has them, namespaces, limits, groups and privileges.
func PlaceOf(lookup func(name string) (value string, ok bool), variables []string) (Place, error) {
	p := Place{}
	for _, name := range variables {
		if value, ok := lookup(name); ok {
			p["the variable "+name] = digest(value)
		}
	}
	facts, err := facts()
	if err != nil {
		return nil, fmt.Errorf("find out where this process stands: %w", err)
	}
	for name, value := range facts {
		p[name] = digest(value)
	}
	return p, nil
}

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

// differs names what is not the same in two places, sorted; empty when nothing is.
func (p Place) differs(other Place) string {
	var names []string
	for name, value := range p {
		if other[name] != value {
			names = append(names, name)
		}
	}
	for name := range other {
		if _, ok := p[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
