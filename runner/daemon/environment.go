package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Environment is what a process has inherited that can change the meaning of a command line: names, with digests of values. A daemon serves
// only clients with the same environment.
type Environment map[string]string

// EnvironmentOf returns the environment of this process: the given variables, which are those that libraries read from the process itself,
// the umask, users and groups, and on Linux also namespaces, limits and privileges.
func EnvironmentOf(lookup func(name string) (value string, ok bool), variables []string) (Environment, error) {
	e := Environment{}
	for _, name := range variables {
		if value, ok := lookup(name); ok {
			e["the variable "+name] = digest(value)
		}
	}
	values, err := inherited()
	if err != nil {
		return nil, fmt.Errorf("read what this process inherited: %w", err)
	}
	for name, value := range values {
		e[name] = digest(value)
	}
	return e, nil
}

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

// differs returns the names that differ between two environments, sorted, or "" if none do.
func (e Environment) differs(other Environment) string {
	var names []string
	for name, value := range e {
		if other[name] != value {
			names = append(names, name)
		}
	}
	for name := range other {
		if _, ok := e[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
