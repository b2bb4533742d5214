package adopt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/edit"
)

// ServerName is the name of mcprun serve in hosts' files.
const ServerName = "mcprun"

// Serve are the settings for moving servers.
//
// A file that is for all projects of the user is changed only if the user named it, or if its host has no file for a single project.
// Otherwise its servers are copied, and mcprun serve is added to the host's file for the project. If that file has servers already, they
// are moved, and the other file is left alone.
type Serve struct {
	// Reach returns for whom a file is.
	Reach func(*config.File) Reach
	// Own reads a host's file for the project alone. If the file is missing, the result has a path, but no text and no servers. It is nil
	// if the host has no such file.
	Own func(config.Host) (*config.File, error)
	// OnlyNamed leaves a file alone that is for all projects and was not named, even if its host has no other file.
	OnlyNamed bool
	// Launch returns how the host of a file starts mcprun serve.
	Launch func(*config.File) config.Launch
	// Variables are those of the project's .env. A secret gets one of these names only if it has the same value.
	Variables map[string]string
	// Unwanted reports whether mcpgen.yaml disables a server, which then stays with its host.
	Unwanted func(key string) bool
}

// Reach describes for whom a host's file is.
type Reach struct {
	// Shared reports whether the file is for all projects of the user, and Named whether the user named it.
	Shared, Named bool
}

// move plans which servers are removed from their files. A server that cannot be adopted stays.
func (m *maker) move(files []*config.File, text []byte) error {
	m.naming.present = m.opts.Serve.Variables
	project, err := config.ParseFile(m.opts.Path, text, m.opts.Dir)
	if err != nil {
		return err
	}
	forms := map[string]string{}
	for _, s := range project.Servers {
		forms[s.Key] = formText(s)
		m.old[s.Key] = s
	}
	sources, err := m.sources(files)
	if err != nil {
		return err
	}
	for i := range sources {
		if err := m.moveFile(&sources[i], forms); err != nil {
			return err
		}
	}
	return nil
}

// moveFile plans what happens to the servers of one file.
func (m *maker) moveFile(f *source, forms map[string]string) error {
	var taken []string
	for _, s := range f.Servers {
		out := Outcome{Key: s.Key, Host: s.Host, Source: s.Source, Action: Stays}
		local := slices.Contains(f.Local(), s.Key)
		if out.Why = m.whyStay(f.File, s); out.Why == "" && !local {
			out.Why = f.stays
		}
		if out.Why == "" {
			out.Action = Moved
			if f.own != nil {
				out.Action = Copied
			}
			m.moveServer(s, forms, &out)
		}
		if out.Action != Stays {
			taken = append(taken, s.Key)
		}
		m.plan.Outcomes = append(m.plan.Outcomes, out)
	}
	if len(taken) == 0 {
		return nil
	}
	if f.own != nil {
		m.plan.Loaded = append(m.plan.Loaded, Loaded{f.File, taken})
		return m.serveFrom(f.own, forms)
	}
	change, err := edit.ReplaceServers(f.File, taken, ServerName, m.opts.Serve.Launch(f.File))
	if err != nil {
		return err
	}
	if m.opts.Serve.Reach(f.File).Shared && !onlyLocal(change) {
		m.plan.Shared = append(m.plan.Shared, f.File)
	}
	m.addHost(change, forms)
	return nil
}

// serveFrom plans that mcprun serve is added to a host's file for the project.
func (m *maker) serveFrom(own *config.File, forms map[string]string) error {
	if slices.ContainsFunc(m.plan.Hosts, func(h *edit.FileEdit) bool { return h.Path == own.Path }) {
		return nil // for another file of the host
	}
	change, err := edit.AddServer(own, ServerName, m.opts.Serve.Launch(own))
	if err == nil && change != nil {
		m.addHost(change, forms)
	}
	return err
}

func (m *maker) addHost(change *edit.FileEdit, forms map[string]string) {
	m.plan.Hosts = append(m.plan.Hosts, change)
	m.plan.hunks = append(m.plan.hunks, hunk(change, forms))
}

// onlyLocal reports whether a change of a user's file concerns the project alone.
func onlyLocal(change *edit.FileEdit) bool {
	return !slices.ContainsFunc(change.Lists, func(l edit.ListEdit) bool { return l.At[0] != "projects" })
}

// source is a file with servers to move.
type source struct {
	*config.File
	// own is the file that gets mcprun serve while this one stays as it is. Nil: this one is changed.
	own *config.File
	// stays says why servers that are not for the project alone stay. It is empty if they do not stay.
	stays string
}

// sources decides which files are changed.
func (m *maker) sources(files []*config.File) ([]source, error) {
	has := map[config.Host]bool{} // servers for the project alone
	for _, f := range files {
		enabled := slices.ContainsFunc(f.Servers, func(s config.Server) bool { return !s.Disabled })
		has[f.Host] = has[f.Host] || enabled && !m.opts.Serve.Reach(f).Shared || len(f.Local()) > 0
	}
	var out []source
	for _, f := range files {
		s := source{File: f}
		if reach := m.opts.Serve.Reach(f); reach.Shared && !reach.Named {
			own, err := m.opts.Serve.Own(f.Host)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("to move it too, name its file: --from %s:%s", f.Host, f.Path)
			switch {
			case own == nil && m.opts.Serve.OnlyNamed:
				s.stays = "it is for all your projects, because this program has no file for one; " + name
			case own != nil && own.Path == m.opts.Path:
				s.stays = "mcprun cannot go to " + filepath.Base(own.Path) + ", which is the project's own list: rename that to " + config.OwnName
			case own != nil && has[f.Host]:
				s.stays = "it is for all your projects; " + name
			default:
				s.own = own
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// whyStay returns the reason why a server cannot be moved, or "" if it can be.
func (m *maker) whyStay(f *config.File, s config.Server) string {
	switch {
	case s.ServesTree():
		return "it is mcprun serve"
	case s.Disabled:
		return "it is disabled there"
	case m.opts.Serve.Unwanted(s.Key):
		return config.SettingsName + " disables it"
	case slices.ContainsFunc(f.Notes, func(n config.Note) bool { return n.Server == s.Key && n.Key == "headersHelper" }):
		return "its headers come from a program, which only the host runs"
	}
	return ""
}

// moveServer plans one server. If the project has a different one of the same name, it stays. forms are the project's servers.
func (m *maker) moveServer(s config.Server, forms map[string]string, out *Outcome) {
	before := m.naming.clone()
	own := m.portable(s)
	text := formText(own)
	known, there := forms[s.Key]
	from, taken := m.taken[s.Key]
	switch {
	case there && known == text:
		out.Why = "the project has the same"
	case taken || there && !m.opts.Force:
		m.naming = before
		out.Action, out.Why = Stays, "the project has another of that name; rename one of them, or replace the project's with --force"
		if taken {
			out.Why = "the one of that name in " + from + " is another; rename one of them"
		}
	default:
		forms[s.Key], m.taken[s.Key] = text, s.Source
		if there {
			old := &portable{naming: &naming{}, server: s.Key, dir: m.opts.Dir, home: m.opts.Home} // to hide its secrets too
			m.plan.config += diffLine("-", s.Key, formText(old.apply(m.old[s.Key])))
		}
		m.plan.config += diffLine("+", s.Key, text)
		m.add(own)
	}
}

// formText returns a server as it is written, for comparison.
func formText(s config.Server) string { return jsonText(form(s)) }

// jsonText returns v as JSON on one line, without escapes for HTML.
func jsonText(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings can always be marshalled
	return strings.TrimSuffix(out.String(), "\n")
}

// Diff returns the changes of the plan, server by server. settings is the path of mcpgen.yaml, and name returns the text for a path. A
// moved server is shown as it is written for the project, with variables in place of secrets. Nothing else in a file is shown, because
// other tools keep credentials in these files, and a diff may end up in a log.
func (p *Plan) Diff(opts Options, settings string, name func(path string) string) []byte {
	var out bytes.Buffer
	add := func(path string, created bool, lines string) {
		if lines == "" {
			return
		}
		from := name(path)
		if created {
			from = "/dev/null"
		}
		fmt.Fprintf(&out, "--- %s\n+++ %s\n%s", from, name(path), lines)
	}
	for i, h := range p.Hosts {
		add(h.Path, h.Before == nil, p.hunks[i])
	}
	add(opts.Path, opts.Config == nil, p.config)
	add(settings, opts.Settings == nil, p.settings)
	return out.Bytes()
}

// hunk returns the changes in the lists of a host's file.
func hunk(change *edit.FileEdit, forms map[string]string) string {
	var out strings.Builder
	for _, list := range change.Lists {
		fmt.Fprintf(&out, "@@ %s @@\n", strings.TrimSuffix(strings.TrimPrefix(jsonText(strings.Join(list.At, ".")), `"`), `"`))
		for _, key := range list.Removed {
			out.WriteString(diffLine("-", key, forms[key]))
		}
		if list.Added != nil {
			out.WriteString(diffLine("+", ServerName, jsonText(list.Added)))
		}
	}
	return out.String()
}

func diffLine(sign, key, form string) string { return sign + jsonText(key) + ": " + form + "\n" }
