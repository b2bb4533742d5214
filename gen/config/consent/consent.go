// Package consent records what a person has agreed to: everything in a configuration that starts a program, is connected to, or decides
// what scripts may do. A cloned repository, or a server that writes into the project, can change a configuration. Changes that nobody has
// agreed to are not used.
//
// [List] returns the configuration as items. A [Store] keeps a digest of each item outside the project, and the text of the policy, so that
// a later change shows only the difference. The content of plugins that are files of the project counts; that of other programs and scripts does
// not.
package consent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Item is one thing that a configuration starts, connects to or decides.
type Item struct {
	// Place is the server or file to which it belongs, such as `server "crm"` or "mcpgen.yaml".
	Place string
	// Key is its name there, such as command, env.NODE_OPTIONS or policy.rules. Several rules have the same key.
	Key string
	// Value is the text there, with variables unexpanded. It may contain a secret, and anything else that its author likes.
	Value string
	// Hidden means that the value comes from a file of variables and must not be shown.
	Hidden bool
}

// name returns the item's place and key.
func (i Item) name() string { return i.Place + ": " + i.Key }

func (i Item) digest() string {
	text, _ := json.Marshal([]string{i.Place, i.Key, i.Value}) // strings can always be marshalled
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// text returns the value of an item of the policy, which contains no secret, or "" for other items.
func (i Item) text() string {
	if i.Place == config.SettingsName && strings.HasPrefix(i.Key, "policy.") {
		return i.Value
	}
	return ""
}

// List returns the items of a configuration in a stable order. A configuration that starts and decides nothing has no items. lookup finds
// variables of the environment, which take precedence over those in the project's .env. A nil lookup is an empty environment.
func List(cfg *config.Config, lookup config.Lookup) ([]Item, error) {
	var items []Item
	for _, listed := range cfg.ServersWith(&config.Settings{}) {
		used, ok := cfg.Server(listed.Key)
		if !ok {
			continue // it is switched off, and nothing in it is used
		}
		items = append(items, server(listed)...)
		given, err := variables(used, lookup)
		if err != nil {
			return nil, err
		}
		items = append(items, given...)
	}
	items = append(append(append(items, settings(cfg)...), plugins(cfg)...), ownVariables(cfg)...)
	return append(items, checkers(cfg.Dir)...), nil
}

// checkers returns the type checkers that the project contains, which are started to check scripts and skills.
func checkers(dir string) []Item {
	l := &list{place: "type checks"}
	for _, name := range []string{"tsc", "tsc.cmd", "pyright", "pyright.cmd"} {
		own := filepath.Join("node_modules", ".bin", name)
		if info, err := os.Stat(filepath.Join(dir, own)); err == nil && !info.IsDir() {
			l.add("program", filepath.ToSlash(own))
		}
	}
	return l.items
}

// plugins returns the digests of the plugins' files in the project.
func plugins(cfg *config.Config) []Item {
	l := &list{place: config.SettingsName}
	for i := range cfg.Settings.Plugins {
		p := &cfg.Settings.Plugins[i]
		for _, file := range p.Files(cfg.Dir) {
			if rel, err := filepath.Rel(cfg.Dir, file); err == nil && filepath.IsLocal(rel) {
				l.add("content of "+filepath.ToSlash(rel), config.FileDigest(file))
			}
		}
	}
	return l.items
}

// server returns the items of one server in the list of servers.
func server(s config.Server) []Item {
	l := &list{place: fmt.Sprintf("server %q", s.Key)}
	if s.Command != "" {
		l.add("command", words(append([]string{s.Command}, s.Args...)))
	}
	l.add("cwd", s.Cwd)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		l.add("env."+name, s.Env[name])
	}
	l.add("env_file", s.EnvFile)
	l.add("pass_env", words(s.PassEnv))
	l.add("url", s.URL)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		l.add("headers."+name, s.Headers[name])
	}
	if o := s.OAuth; o != nil {
		l.add("oauth.grant", o.Grant)
		l.add("oauth.client_id", o.ClientID)
		l.add("oauth.client_secret", o.ClientSecret)
		l.add("oauth.scopes", words(o.Scopes))
		l.add("oauth.client_metadata_url", o.ClientMetadataURL)
		l.add("oauth.resource", o.Resource)
		l.add("oauth.token_endpoint", o.TokenEndpoint)
	}
	l.add("include", words(s.Include))
	l.add("exclude", words(s.Exclude))
	if s.Trusted {
		l.add("trusted", "true")
	}
	return l.items
}

// list collects the items of one place.
type list struct {
	place string
	items []Item
}

// add adds an item unless its value is empty.
func (l *list) add(key, value string) {
	if value != "" {
		l.items = append(l.items, Item{Place: l.place, Key: key, Value: value})
	}
}

// words writes a list so that its elements can be told apart: those that are not plain words are quoted.
func words(list []string) string {
	out := slices.Clone(list)
	for i, word := range out {
		plain := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,~*?${}", r)
		}
		if word == "" || strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) >= 0 {
			out[i] = strconv.Quote(word)
		}
	}
	return strings.Join(out, " ")
}

// variables returns the values that reach a server's process or address from the project's .env, from its env_file and from files. Those
// from the environment belong to the user. Headers and credentials of a login are left out, because they decide nothing and change often.
func variables(s config.Server, lookup config.Lookup) ([]Item, error) {
	dotenv, err := s.DotEnv()
	if err != nil {
		return nil, err
	}
	s.Headers = nil
	if s.OAuth != nil {
		s.OAuth = &config.OAuth{ClientMetadataURL: s.OAuth.ClientMetadataURL, Resource: s.OAuth.Resource, TokenEndpoint: s.OAuth.TokenEndpoint}
	}
	own := map[string]string{} // the variables that were looked up
	environment := func(name string) (string, bool) {
		if lookup == nil {
			return "", false
		}
		value, ok := lookup(name)
		if ok {
			own[name] = value
		}
		return value, ok
	}
	found := map[Item]bool{}
	_, _ = s.ExpandNoting(config.WithDotEnv(environment, dotenv), func(name, value string) { // a server that cannot be expanded does not start
		if mine, ok := own[name]; !ok || mine != value {
			found[Item{Place: fmt.Sprintf("server %q", s.Key), Key: "value of " + name, Value: value, Hidden: true}] = true
		}
	})
	return slices.SortedFunc(maps.Keys(found), func(a, b Item) int {
		return strings.Compare(a.Key+"\x00"+a.Value, b.Key+"\x00"+b.Value)
	}), nil
}

// plainKeys are the settings that neither start nor decide anything. For a setting of a server, the server's name comes before the key.
var plainKeys = []string{"version", "languages", "config", "defaults"}

var plainServerKeys = []string{"timeout", "startup_timeout", "max_time", "parallel", "protocol", "category", "closed_inputs"}

// plainVariables are the settings of mcprun in .env that decide nothing.
var plainVariables = []string{"LOG_LEVEL", "MCPRUN_LOG_LEVEL"}

// ownVariables returns the settings of mcprun in the project's .env. They count whatever the environment says, so that an item does not come
// and go with it.
func ownVariables(cfg *config.Config) []Item {
	l := &list{place: config.DotEnvName}
	for _, name := range slices.Sorted(maps.Keys(cfg.Settings.Variables)) {
		if !slices.Contains(plainVariables, name) {
			l.items = append(l.items, Item{Place: l.place, Key: name, Value: cfg.Settings.Variables[name], Hidden: config.IsSecretVariable(name)})
		}
	}
	return l.items
}

// settings returns the items in mcpgen.yaml. Keys are left out by name, so that a new key counts until it is added to that list.
func settings(cfg *config.Config) []Item {
	l := &list{place: config.SettingsName}
	document := maps.Clone(cfg.Settings.Document())
	for _, key := range plainKeys {
		delete(document, key)
	}
	if filepath.IsLocal(cfg.Settings.Out) {
		delete(document, "out") // the folder is in the project
	}
	servers, _ := document["servers"].(map[string]any)
	delete(document, "servers")
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if own, ok := servers[name].(map[string]any); ok {
			own = maps.Clone(own)
			for _, key := range plainServerKeys {
				delete(own, key)
			}
			l.walk("servers."+name, own)
		}
	}
	l.walk("", document)
	return l.items
}

// walk adds an item for each leaf of a document, and for each mapping of a list.
func (l *list) walk(key string, value any) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			l.walk(strings.TrimPrefix(key+"."+name, "."), v[name])
		}
	case []any:
		if !slices.ContainsFunc(v, func(item any) bool { _, is := item.(map[string]any); return is }) {
			l.add(key, canonical(v))
			return
		}
		for _, item := range v {
			l.add(key, canonical(item))
		}
	case string:
		l.add(key, v)
	default:
		l.add(key, canonical(v))
	}
}

// canonical returns a value as JSON with sorted keys.
func canonical(value any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Sprintf("%#v", value) // .inf and the like, which JSON does not have
	}
	return strings.TrimSpace(out.String())
}
