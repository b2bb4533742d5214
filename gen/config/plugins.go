package config

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Plugin is an entry of the key plugins of mcpgen.yaml: a program that is asked before and after runs and calls.
type Plugin struct {
	// Name is unique among the plugins.
	Name string
	// Run is a file, relative to the folder of mcpgen.yaml, if IsFile is set; else a command and its arguments.
	Run    Command
	IsFile bool `yaml:"-"`
	// On are the hooks that it is asked in: run, run_end, call and result. Nil: all.
	On []string
	// Check is what it checks, one of [Checks].
	Check string
	// Mode is [PluginOnce] or [PluginStream].
	Mode string
	// Timeout bounds the wait for one answer.
	Timeout time.Duration
	// OnError is deny or allow: what happens when it gives no valid answer in time.
	OnError string `yaml:"on_error"`
	// Tools are globs of the ids or names of tools. Nil: it is asked about calls of all tools.
	Tools []string
}

// Modes of a plugin: a process for each event, or one process for all.
const (
	PluginOnce   = "once"
	PluginStream = "stream"
)

// PluginTimeout is the default of [Plugin.Timeout].
const PluginTimeout = 5 * time.Second

// Kinds of checks.
const (
	CheckSecurity = "security"
	CheckPrivacy  = "privacy"
	CheckBusiness = "business"
)

// Command is a program and its arguments. In YAML, one word may be written as a text.
type Command []string

// UnmarshalYAML reads either form.
func (c *Command) UnmarshalYAML(n *yaml.Node) error { return (*Globs)(c).UnmarshalYAML(n) }

// UnmarshalYAML reads a file's name, or a mapping.
func (p *Plugin) UnmarshalYAML(n *yaml.Node) error {
	*p = Plugin{Check: CheckBusiness, Mode: PluginOnce, Timeout: PluginTimeout, OnError: "deny"}
	run := n
	if n.Kind == yaml.MappingNode {
		type plain Plugin
		if err := n.Decode((*plain)(p)); err != nil {
			return err
		}
		run = node.Value(n, "run")
	} else {
		p.Run = Command{n.Value}
	}
	p.IsFile = run != nil && run.Kind != yaml.SequenceNode
	return nil
}

// NewPlugin returns a plugin that is a file, with the defaults.
func NewPlugin(file string) Plugin {
	p := Plugin{Run: Command{file}, IsFile: true, Check: CheckBusiness, Mode: PluginOnce, Timeout: PluginTimeout, OnError: "deny"}
	p.Name = p.defaultName()
	return p
}

// defaultName is the name of the file that the command names, without its extension: of the first argument with a slash, else of the program.
func (p *Plugin) defaultName() string {
	file := p.Run[0]
	if i := slices.IndexFunc(p.Run[1:], func(word string) bool { return strings.Contains(word, "/") && word[0] != '-' }); i >= 0 {
		file = p.Run[1+i]
	}
	file = path.Base(filepath.ToSlash(file))
	return strings.TrimSuffix(file, path.Ext(file))
}

// Judges reports whether the plugin is asked about calls of a tool, by its id or own name, unless guardrails switch it off.
func (p *Plugin) Judges(id, name string) bool {
	fits := func(glob string) bool { return MatchGlob(glob, id) || MatchGlob(glob, name) }
	return (p.On == nil || slices.Contains(p.On, "call") || slices.Contains(p.On, "result")) && (p.Tools == nil || slices.ContainsFunc(p.Tools, fits))
}

// Files returns the absolute paths of the files of the plugin: its file, or the words of its command that are files in the folder dir of
// mcpgen.yaml.
func (p *Plugin) Files(dir string) []string {
	if p.IsFile {
		return []string{absolute(dir, p.Run[0])}
	}
	var out []string
	for _, word := range p.Run {
		file := absolute(dir, word)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && isBelow(dir, file) {
			out = append(out, file)
		}
	}
	return out
}

// absolute returns a path of mcpgen.yaml as an absolute one.
func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

func isBelow(dir, file string) bool {
	rel, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(rel)
}

// completePlugins names the plugins and makes the checks that the schema cannot make.
func completePlugins(file *node.File, plugins []Plugin, n *yaml.Node) error {
	names := map[string]bool{}
	for i := range plugins {
		p := &plugins[i]
		if p.Name == "" {
			p.Name = p.defaultName()
		}
		place, line := fmt.Sprintf("plugins[%d]", i), n.Content[i].Line
		switch {
		case !scheduleName.MatchString(p.Name):
			return file.ErrorAt(line, place, fmt.Sprintf("a plugin cannot be called %q", p.Name), "give it a name of at most 64 letters, digits, and -, _ or . after the first one: name: limit")
		case names[p.Name]:
			return file.ErrorAt(line, place, fmt.Sprintf("another plugin is called %q too", p.Name), "give it a name of its own, as in name: limit-2")
		case p.Timeout <= 0:
			return file.ErrorAt(line, place+".timeout", "it leaves no time for an answer", "write a time such as 5s")
		}
		names[p.Name] = true
	}
	return nil
}
