// Package adopt copies servers from other hosts to a project. It plans the changes of the project's list of servers and of mcpgen.yaml.
// Both are checked in, so a literal secret becomes a variable that [Plan] lists. With [Options.Serve] it also plans that the hosts' files
// start mcprun serve in place of the servers. It writes no file. Start with [Make].
package adopt

import (
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/edit"
)

// Options are the settings of [Make].
type Options struct {
	// Dir is the absolute folder of the project, and Home that of the user. Paths below them are written relative to them.
	Dir, Home string
	// Path is the file that lists the project's servers.
	Path string
	// Config and Settings are the current texts of that file and of mcpgen.yaml; nil if the file does not exist.
	Config, Settings []byte
	// Force replaces servers that are in Config already.
	Force bool
	// Serve moves the servers: [Plan.Hosts] puts mcprun serve in their place. Nil: they are only copied.
	Serve *Serve
}

// Plan describes what to write.
type Plan struct {
	// Config and Settings are the new texts; nil if nothing changes.
	Config, Settings []byte
	// Hosts are the new texts of hosts' files. They must be written after all others.
	Hosts []*edit.FileEdit
	// Outcomes are what happens to each server, in the order of the files.
	Outcomes []Outcome
	// Variables are the variables that the adopted servers need.
	Variables []Variable
	// Shared lists the files in Hosts that are for all projects of the user.
	Shared []*config.File
	// Loaded lists the files whose servers were copied. These files stay as they are, so their hosts still load the servers.
	Loaded []Loaded
	// hunks are the changes of the hosts' files that Diff shows, in their order; config and settings are those of the project's files.
	hunks            []string
	config, settings string
}

// Outcome is what happens to one server.
type Outcome struct {
	Key    string
	Host   config.Host
	Source string
	// Action is one of the constants, and Why an explanation, which may be empty.
	Action Action
	Why    string
}

// Loaded is a file for all projects with servers that were copied.
type Loaded struct {
	File    *config.File
	Servers []string
}

// Action is what is done with a server.
type Action string

const (
	Added    Action = "added"
	Replaced Action = "replaced"
	Kept     Action = "kept"     // the project has another server of the same name, which is kept
	LeftOut  Action = "left out" // it is not copied
	Moved    Action = "moved"
	Copied   Action = "copied" // its file is for all projects, and stays as it is
	Stays    Action = "stays"  // it cannot be moved, and stays in the host's file
)

// Changed reports whether the action changes the project.
func (a Action) Changed() bool { return a == Added || a == Replaced || a == Moved || a == Copied }

// Make plans how to adopt the servers of files. Of several servers with one name, the first is used.
func Make(files []*config.File, opts Options) (*Plan, error) {
	text := opts.Config
	if text == nil {
		text = []byte(edit.EmptyServers)
	}
	present, err := edit.ServerNames(opts.Path, text)
	if err != nil {
		return nil, err
	}
	m := &maker{opts: opts, present: present, taken: map[string]string{}, old: map[string]config.Server{}, plan: &Plan{}}
	if opts.Serve != nil {
		if err := m.move(files, text); err != nil {
			return nil, err
		}
	} else {
		for _, f := range files {
			for _, s := range f.Servers {
				m.server(s)
			}
		}
	}
	m.plan.Variables = m.naming.variables
	if len(m.entries) == 0 {
		return m.plan, nil
	}
	if m.plan.Config, err = edit.SetServers(opts.Path, text, m.entries); err != nil {
		return nil, err
	}
	return m.plan, m.addSettings()
}

type maker struct {
	opts     Options
	naming   naming
	present  []string
	taken    map[string]string        // the source of a server, by key
	old      map[string]config.Server // the project's servers
	entries  []edit.Entry
	settings []edit.SettingsEntry
	plan     *Plan
}

func (m *maker) server(s config.Server) {
	out := Outcome{Key: s.Key, Host: s.Host, Source: s.Source}
	defer func() { m.plan.Outcomes = append(m.plan.Outcomes, out) }()
	if from, taken := m.taken[s.Key]; taken {
		out.Action, out.Why = LeftOut, "the one of that name in "+from+" takes precedence"
		return
	}
	if s.Disabled {
		out.Action, out.Why = LeftOut, "it is disabled there"
		return
	}
	if s.ServesTree() {
		out.Action, out.Why = LeftOut, "it is mcprun serve"
		return
	}
	out.Action = Added
	if slices.Contains(m.present, s.Key) {
		if !m.opts.Force {
			out.Action, out.Why = Kept, "the project has one of that name"
			return
		}
		out.Action = Replaced
	}
	m.taken[s.Key] = s.Source
	m.add(m.portable(s))
}

// portable returns a server that may be checked in, and records the variables that it needs.
func (m *maker) portable(s config.Server) config.Server {
	p := &portable{naming: &m.naming, server: s.Key, dir: m.opts.Dir, home: m.opts.Home}
	return p.apply(s)
}

// add adds a portable server to the plan.
func (m *maker) add(s config.Server) {
	m.entries = append(m.entries, edit.Entry{Key: s.Key, Value: form(s)})
	if settings := settingsOf(s); !reflect.ValueOf(settings).IsZero() {
		m.settings = append(m.settings, edit.SettingsEntry{Key: s.Key, Value: settings})
	}
}

// addSettings adds to mcpgen.yaml the settings for which .mcp.json has no keys.
func (m *maker) addSettings() error {
	if len(m.settings) == 0 {
		return nil
	}
	text := m.opts.Settings
	if text == nil {
		text = []byte(config.StarterSettings)
	}
	text, present, err := edit.AddSettings(filepath.Join(m.opts.Dir, config.SettingsName), text, m.settings)
	if err != nil {
		return err
	}
	for i, o := range m.plan.Outcomes {
		if o.Action.Changed() && slices.Contains(present, o.Key) {
			m.plan.Outcomes[i].Why = "what " + config.SettingsName + " says about it stays"
		}
	}
	if len(present) < len(m.settings) {
		m.plan.Settings = text
	}
	for _, s := range m.settings {
		if !slices.Contains(present, s.Key) {
			for line := range strings.Lines(s.String()) {
				m.plan.settings += "+" + line
			}
		}
	}
	return nil
}

// entryForm is a server in the form of .mcp.json.
type entryForm struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

func form(s config.Server) entryForm {
	out := entryForm{Command: s.Command, Args: s.Args, Env: s.Env, Cwd: s.Cwd, URL: s.URL, Headers: s.Headers}
	if s.Transport != config.TransportStdio {
		out.Type = string(remoteType(s))
	}
	return out
}

// remoteType returns the transport of a remote server, which hosts that read .mcp.json require.
func remoteType(s config.Server) config.Transport {
	if !s.Inferred {
		return s.Transport
	}
	if u, err := url.Parse(s.URL); err == nil && strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/sse") {
		return config.TransportSSE
	}
	return s.Transport
}

// settingsOf returns what .mcp.json has no keys for.
func settingsOf(s config.Server) config.ServerSettings {
	out := config.ServerSettings{Include: s.Include, Exclude: s.Exclude, Timeout: s.Timeout, StartupTimeout: s.StartupTimeout,
		PassEnv: s.PassEnv, EnvFile: s.EnvFile, OAuth: s.OAuth}
	if s.Trusted {
		out.Trusted = &s.Trusted
	}
	return out
}
