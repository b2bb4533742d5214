package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// ReadOptions are the settings of [ReadFile]. The zero value is valid.
type ReadOptions struct {
	// Host is the host whose form the file has. If it is empty, the file's content and name decide.
	Host Host
	// Project is the absolute folder of the project for which a user's own file is read. It replaces ${workspaceFolder}, is the base of
	// relative paths, and selects the file's entries for that project alone. If it is empty, the project is the file's own.
	Project string
}

// File is one configuration file.
type File struct {
	// Path is the file as it was named, Host the host whose form it has, and Dir the absolute folder of its project.
	Path string
	Host Host
	Dir  string
	// Servers are in the order of the file, and include disabled ones.
	Servers []Server
	Notes   []Note

	Text  []byte
	Lists []serverList
}

// serverFile is a file of servers that is being read.
type serverFile struct {
	node.File
	dir   string // the absolute folder where relative paths start
	host  Host
	lists []serverList
}

// serverList is an object in a file that contains servers.
type serverList struct {
	At    []string // the keys that lead to it
	Names []string
}

// Local returns the names of the servers that are in a user's own file for the project alone.
func (f *File) Local() []string {
	for _, list := range f.Lists {
		if list.At[0] == "projects" {
			return list.Names
		}
	}
	return nil
}

// ReadFile reads the servers of one file: .mcp.json, or the file of any of [Hosts], in JSON with comments or in TOML.
// Errors of several servers are joined; the other servers are returned with such an error.
func ReadFile(path string, opts *ReadOptions) (*File, error) {
	if opts == nil {
		opts = &ReadOptions{}
	}
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return parseFile(path, abs, text, *opts)
}

// ParseFile reads the text of a file with that absolute path, as [ReadFile] does. project is as in [ReadOptions].
func ParseFile(path string, text []byte, project string) (*File, error) {
	return parseFile(path, path, text, ReadOptions{Project: project})
}

func parseFile(path, abs string, text []byte, opts ReadOptions) (*File, error) {
	f := &serverFile{File: node.File{Name: path, Text: bytes.TrimPrefix(text, []byte("\ufeff"))}, dir: opts.Project, host: opts.Host}
	if f.dir == "" {
		f.dir = projectDir(abs)
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".yaml" || ext == ".yml" {
		return nil, f.ErrorAt(1, "", "servers are read from JSON or TOML, not from YAML", "name such a file; "+SettingsName+" holds settings, and is read beside it")
	}
	parse := f.ParseJSON
	if IsTOML(path) {
		parse = f.ParseTOML
	}
	root, err := parse()
	if err != nil {
		return nil, err
	}
	if root.Kind != node.KindObject {
		return nil, f.ErrorAt(root.Line, "", "the file holds "+root.Kind.String()+", not an object", `write {"mcpServers": {…}}`)
	}
	if f.host == "" {
		f.host = detect(path, root)
	}
	servers, err := f.read(root, filepath.Dir(abs))
	if servers == nil && err != nil {
		return nil, err
	}
	return &File{Path: path, Host: f.host, Dir: f.dir, Servers: servers, Notes: f.Notes, Text: text, Lists: f.lists}, err
}

// read returns the servers. If there is an error, it returns the servers without mistakes, or nil if the mistake is not in a server.
func (f *serverFile) read(root node.Node, base string) ([]Server, error) {
	vars := &translator{dialect: dialectOf(f.host).translate, project: f.dir, base: base}
	if f.host == VSCode {
		if err := f.inputs(root, vars); err != nil {
			return nil, err
		}
	}
	d := dialectOf(f.host)
	if f.host == VSCode { // VS Code reads the common form too
		if _, ok := root.Get("servers"); !ok {
			if _, portable := root.Get("mcpServers"); portable {
				d.root = "mcpServers"
			}
		}
	}
	servers := []Server{}
	var errs []error
	add := func(list node.Node, at ...string) error {
		root := strings.Join(at, ".")
		if list.Kind != node.KindObject {
			return f.ErrorAt(list.Line, root, "it is "+list.Kind.String()+", not an object", "map each server's name to its settings")
		}
		here := d
		here.root = root
		f.lists = append(f.lists, serverList{at, list.Names()})
		for _, m := range list.Members {
			servers, errs = f.add(servers, errs, m, here, vars)
		}
		return nil
	}
	list, ok := root.Get(d.root)
	if ok {
		if err := add(list, d.root); err != nil {
			return nil, err
		}
	}
	local, err := f.project(root, add)
	if err != nil {
		return nil, err
	}
	if !ok && !local && !f.optional() {
		return nil, f.ErrorAt(root.Line, "", fmt.Sprintf("there is no %q", d.root), `write {"mcpServers": {"name": {"command": …}}}`+rootHint(root, d.root))
	}
	if f.host == Gemini {
		if err := f.allowed(root, servers); err != nil {
			return nil, err
		}
	}
	return servers, errors.Join(errs...)
}

// optional reports whether the file also holds other settings of the host, so that it may have no servers.
func (f *serverFile) optional() bool {
	return f.host != Project && f.host != VSCode && f.host != Cursor
}

// add reads one entry. If two servers have one name, the later one is used.
func (f *serverFile) add(servers []Server, errs []error, m node.Member, d dialect, vars *translator) ([]Server, []error) {
	e, err := f.server(m, d, vars, commonKeys())
	switch {
	case err != nil:
		return servers, append(errs, err)
	case e.leaveOut != "" && e.leaveMinor:
		f.NoteMinor(m.Line, m.Name, "", "left out: "+e.leaveOut)
		return servers, errs
	case e.leaveOut != "":
		f.Note(m.Line, m.Name, "", "left out: "+e.leaveOut)
		return servers, errs
	}
	if i := slices.IndexFunc(servers, func(s Server) bool { return s.Key == e.s.Key }); i >= 0 {
		f.NoteMinor(m.Line, m.Name, "", "the entry of this project replaces that of all projects")
		servers[i] = e.s
		return servers, errs
	}
	return append(servers, e.s), errs
}

// project reads the servers for the project in a user's file of Claude Code.
func (f *serverFile) project(root node.Node, add func(list node.Node, at ...string) error) (found bool, err error) {
	projects, ok := root.Get("projects")
	if f.host != ClaudeCode || !ok || projects.Kind != node.KindObject {
		return false, nil
	}
	for _, m := range projects.Members {
		if filepath.Clean(m.Name) != f.dir {
			continue
		}
		list, ok := m.Value.Get("mcpServers")
		if !ok {
			continue
		}
		if err := add(list, "projects", m.Name, "mcpServers"); err != nil {
			return false, err
		}
		found = true
	}
	return found, nil
}

// inputs reads the names and defaults of VS Code's inputs.
func (f *serverFile) inputs(root node.Node, vars *translator) error {
	vars.inputs = map[string]string{}
	list, ok := root.Get("inputs")
	if !ok {
		return nil
	}
	if list.Kind != node.KindList {
		return f.ErrorAt(list.Line, "inputs", "it is "+list.Kind.String()+", not a list", `write [{"id": …, "type": "promptString"}]`)
	}
	for _, item := range list.Items {
		id, _ := item.Get("id")
		if id.Kind != node.KindString || variableName(id.Text) == "" {
			return f.ErrorAt(item.Line, "inputs", "an input has no id", `give it an "id"`)
		}
		if def, ok := item.Get("default"); ok && def.Kind == node.KindString {
			vars.inputs[id.Text] = def.Text
		}
		description, _ := item.Get("description")
		message := fmt.Sprintf("the input %q is read from the variable %s", id.Text, InputVariable(id.Text))
		if description.Text != "" {
			message += fmt.Sprintf(" (%q)", description.Text)
		}
		f.NoteMinor(item.Line, "", "inputs", message)
	}
	return nil
}

// allowed applies Gemini's lists of allowed and excluded servers.
func (f *serverFile) allowed(root node.Node, servers []Server) error {
	mcp, ok := root.Get("mcp")
	if !ok || mcp.Kind != node.KindObject {
		return nil
	}
	var err error
	lists := map[string][]string{}
	for _, name := range []string{"allowed", "excluded"} {
		n, given := mcp.Get(name)
		if !given {
			continue
		}
		if lists[name], err = f.List(n, node.Join("mcp", name)); err != nil {
			return err
		}
	}
	for i, s := range servers {
		if len(lists["allowed"]) > 0 && !slices.Contains(lists["allowed"], s.Key) || slices.Contains(lists["excluded"], s.Key) {
			servers[i].Disabled = true
		}
	}
	return nil
}

// server reads one entry. The Server is complete only if there is no error and leaveOut is empty.
func (f *serverFile) server(m node.Member, d dialect, vars *translator, keys map[string]setter) (*entry, error) {
	e := &entry{serverFile: f, vars: vars, path: node.Join(d.root, m.Name)}
	e.s = Server{Key: m.Name, Dir: f.dir, Source: f.Name, Host: f.host}
	if strings.TrimSpace(m.Name) == "" {
		return e, f.ErrorAt(m.Line, d.root, "a server has a blank name", "give it a name")
	}
	if m.Value.Kind != node.KindObject {
		return e, f.ErrorAt(m.Value.Line, e.path, "it is "+m.Value.Kind.String()+", not an object", `write {"command": …} or {"url": …}`)
	}
	for _, k := range m.Value.Members {
		key := node.Join(e.path, k.Name)
		set, ok := d.keys[k.Name]
		if !ok {
			set, ok = keys[k.Name]
		}
		if !ok {
			set = (*entry).ignore
		}
		value := k.Value
		if value.Line == 0 {
			value.Line = k.Line
		}
		if err := set(e, value, key); err != nil {
			return e, err
		}
	}
	return e, e.finish(m, d)
}
