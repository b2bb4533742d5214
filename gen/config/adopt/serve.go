package adopt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/edit"
)

// ServerName is the name of mcprun serve in hosts' files.
const ServerName = "mcprun"

// Serve are the settings for moving servers.
type Serve struct {
	// Launch returns how the host of a file starts mcprun serve.
	Launch func(*config.File) config.Launch
	// Variables are those of the project's .env. A secret gets one of these names only if it has the same value.
	Variables map[string]string
	// Unwanted reports whether mcpgen.yaml disables a server, which then stays with its host.
	Unwanted func(key string) bool
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
	for _, f := range files {
		var moved []string
		for _, s := range f.Servers {
			out := Outcome{Key: s.Key, Host: s.Host, Source: s.Source}
			if out.Why = m.whyStay(f, s); out.Why != "" {
				out.Action = Stays
			} else {
				m.moveServer(s, forms, &out)
			}
			if out.Action == Moved {
				moved = append(moved, s.Key)
			}
			m.plan.Outcomes = append(m.plan.Outcomes, out)
		}
		if len(moved) == 0 {
			continue
		}
		change, err := edit.ReplaceServers(f, moved, ServerName, m.opts.Serve.Launch(f))
		if err != nil {
			return err
		}
		m.plan.Hosts = append(m.plan.Hosts, change)
		m.plan.hunks = append(m.plan.hunks, hunk(change, forms))
	}
	return nil
}

// whyStay returns the reason why a server cannot be moved; it is empty for one that can.
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

// moveServer plans one server, unless the project has a different one of the same name. forms are the project's servers.
func (m *maker) moveServer(s config.Server, forms map[string]string, out *Outcome) {
	before := m.naming.clone()
	own := m.portable(s)
	text := formText(own)
	known, there := forms[s.Key]
	from, taken := m.taken[s.Key]
	switch {
	case there && known == text:
		out.Action, out.Why = Moved, "the project has the same"
	case taken || there && !m.opts.Force:
		m.naming = before
		out.Action, out.Why = Stays, "the project has another of that name; rename one of them, or replace the project's with --force"
		if taken {
			out.Why = "the one of that name in " + from + " is another; rename one of them"
		}
	default:
		out.Action = Moved
		forms[s.Key], m.taken[s.Key] = text, s.Source
		if there {
			old := &portable{naming: &naming{}, server: s.Key, dir: m.opts.Dir, home: m.opts.Home} // hides its secrets too
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

// Diff returns the changes of the plan, server by server. settings is the path of mcpgen.yaml, and name returns the text for a
// path. A moved server is shown as it is written for the project, with variables in place of secrets. Nothing else of a file
// is shown, because other tools keep credentials in these files, and a diff may end up in a log.
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
		add(h.Path, false, p.hunks[i])
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
