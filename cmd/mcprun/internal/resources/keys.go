package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
)

// setVariables holds variables of a client. A variable with a nil value is not set.
type setVariables map[string]*string

func (v setVariables) lookup(name string) (string, bool) {
	if value := v[name]; value != nil {
		return *value, true
	}
	return "", false
}

// lookUp looks up the variables of these names.
func lookUp(lookup config.Lookup, names []string) setVariables {
	v := setVariables{}
	for _, name := range names {
		v[name] = nil
		if value, ok := lookup(name); ok {
			v[name] = &value
		}
	}
	return v
}

// serversKey returns a key of everything that connections to servers depend on. It also returns the variables among that: those
// that the configuration refers to, and those that every server inherits.
func serversKey(servers []config.Server, opt *upstream.Options, state string, keyring bool) (setVariables, string) {
	known := lookUp(opt.Lookup, upstream.InheritedNames())
	var mu sync.Mutex
	noting := func(name string) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		value, ok := opt.Lookup(name)
		known[name] = nil
		if ok {
			known[name] = &value
		}
		return value, ok
	}
	var parts []any
	for _, s := range servers {
		expanded, err := s.Expand(noting) // the key includes files that it refers to
		said := ""
		if err != nil {
			said = err.Error()
		}
		parts = append(parts, plainServer(s), plainServer(expanded), said)
	}
	plain := *opt
	plain.Lookup, plain.Logger, plain.Stderr, plain.Logins = nil, nil, nil, nil
	return known, digestOf(append(parts, known, fmt.Sprintf("%#v", plain), state, keyring)...)
}

// plainServer returns a server for encoding with all its members. Encoding a config.Server hides what may be secret.
func plainServer(s config.Server) any {
	type open config.Server
	type openOAuth config.OAuth
	oauth := s.OAuth
	s.OAuth = nil
	if oauth == nil {
		return open(s)
	}
	return []any{open(s), openOAuth(*oauth)}
}

// runnerKey returns a key of a runner's options and tree.
func runnerKey(opt runner.Options) (string, error) {
	tree, err := treeState(opt.Tree)
	if err != nil {
		return "", err
	}
	pool := fmt.Sprintf("%p", opt.Upstreams) // the kept runner refers to the pool, so its address is not reused
	installed := opt.Packages
	opt.Upstreams, opt.Logger, opt.Packages = nil, nil, nil
	return digestOf(fmt.Sprintf("%#v", opt), pool, tree, installed), nil
}

// treeState returns a value that changes when the files of a tree change.
func treeState(dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	dir = filepath.Join(dir, ".mcpgen")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	state := make([]string, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		state = append(state, fmt.Sprintf("%q %d %d", e.Name(), info.Size(), info.ModTime().UnixNano()))
	}
	return state, nil
}

// TreeStamp returns a text that changes when the tree in dir changes; empty if there is no tree.
func TreeStamp(dir string) string {
	state, err := treeState(dir)
	if _, none := os.Stat(filepath.Join(dir, ".mcpgen", "lock.json")); err != nil || none != nil || dir == "" {
		return ""
	}
	return digestOf(state)
}

// digestOf returns a key of values. It is a digest, so that it reveals no secret.
func digestOf(parts ...any) string {
	sum := sha256.New()
	for _, part := range parts {
		text, err := json.Marshal(part)
		if err != nil { // a key that equals no other
			text = fmt.Appendf(nil, "%p %v", &part, err)
		}
		fmt.Fprintf(sum, "%d:", len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
