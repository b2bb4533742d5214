package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// FileEdit is a change of a host's file: its text before and after.
type FileEdit struct {
	Path          string
	Before, After []byte
	Lists         []ListEdit
}

// ListEdit is what changes in one list of servers.
type ListEdit struct {
	// At are the keys that lead to the list.
	At []string
	// Removed are the names of servers. Added is the entry that replaces them, in the host's form, or nil if none does.
	Removed []string
	Added   any
}

// ReplaceServers replaces servers of a file by a single one: it removes the servers in remove, and adds an entry for launch under the name,
// unless mcprun serve is already in the file. Everything else stays, including comments. The error is a [*node.FileError] if the file has a
// form that cannot be edited safely.
func ReplaceServers(f *config.File, remove []string, name string, launch config.Launch) (*FileEdit, error) {
	bom := []byte("\ufeff")
	text, hasBOM := bytes.CutPrefix(f.Text, bom)
	replace := replaceJSON
	if config.IsTOML(f.Path) {
		replace = replaceTOML
	}
	out := text
	var err error
	var lists []ListEdit
	for _, list := range f.Lists {
		gone := slices.DeleteFunc(slices.Clone(list.Names), func(key string) bool { return !slices.Contains(remove, key) })
		if list.At[0] != "projects" { // the project's own of two servers with one name was read
			gone = slices.DeleteFunc(gone, func(key string) bool { return slices.Contains(f.Local(), key) })
		}
		if len(gone) == 0 {
			continue
		}
		by := name
		for _, s := range f.Servers {
			if s.ServesTree() && slices.Contains(list.Names, s.Key) {
				by = ""
			}
		}
		if by != "" && slices.Contains(list.Names, by) && !slices.Contains(gone, by) {
			return nil, nameTaken(f, list.At, by)
		}
		if out, err = replace(f, out, list.At, gone, by, launch); err != nil {
			return nil, err
		}
		edited := ListEdit{At: list.At, Removed: gone}
		if by != "" {
			edited.Added = f.Host.Entry(launch)
		}
		lists = append(lists, edited)
	}
	if hasBOM {
		out = slices.Concat(bom, out)
	}
	return &FileEdit{f.Path, f.Text, out, lists}, nil
}

// AddServer adds an entry for launch under the name to a host's file, which may be missing. If mcprun serve is already in the file, the
// result is nil. Everything else stays, including comments.
func AddServer(f *config.File, name string, launch config.Launch) (*FileEdit, error) {
	if slices.ContainsFunc(f.Servers, func(s config.Server) bool { return s.ServesTree() }) {
		return nil, nil
	}
	at := []string{f.Host.Root()}
	if slices.ContainsFunc(f.Servers, func(s config.Server) bool { return s.Key == name }) {
		return nil, nameTaken(f, at, name)
	}
	bom := []byte("\ufeff")
	text, hasBOM := bytes.CutPrefix(f.Text, bom)
	add := addJSON
	if config.IsTOML(f.Path) {
		add = addTOML
	}
	after, err := add(f, text, at, name, launch)
	if err != nil {
		return nil, err
	}
	if hasBOM {
		after = slices.Concat(bom, after)
	}
	return &FileEdit{f.Path, f.Text, after, []ListEdit{{At: at, Added: f.Host.Entry(launch)}}}, nil
}

func nameTaken(f *config.File, at []string, name string) error {
	return &node.FileError{File: f.Path, Key: node.Join(strings.Join(at, "."), name), Problem: "the name is taken by another server", Remedy: "rename that server"}
}

func addTOML(f *config.File, text []byte, at []string, name string, launch config.Launch) ([]byte, error) {
	return replaceTOML(f, text, at, nil, name, launch)
}

func addJSON(f *config.File, text []byte, at []string, name string, launch config.Launch) ([]byte, error) {
	entry := Entry{Key: name, Value: f.Host.Entry(launch)}
	if len(bytes.TrimSpace(text)) == 0 {
		text = fmt.Appendf(nil, "{\n  %q: {}\n}\n", at[0])
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	if root.Find(pointer(at...)) == nil {
		return setServer(f.Path, text, nil, Entry{Key: at[0], Value: map[string]any{name: entry.Value}})
	}
	return setServer(f.Path, text, at, entry)
}

func replaceJSON(f *config.File, text []byte, at, gone []string, by string, launch config.Launch) (_ []byte, err error) {
	if slices.Contains(gone, by) { // a server with that name is removed first, so that the new one is not mistaken for it
		gone = slices.DeleteFunc(slices.Clone(gone), func(key string) bool { return key == by })
		if text, err = removeJSON(text, at, []string{by}); err != nil {
			return nil, err
		}
	}
	if by != "" {
		if text, err = setServer(f.Path, text, at, Entry{Key: by, Value: f.Host.Entry(launch)}); err != nil {
			return nil, err
		}
	}
	return removeJSON(text, at, gone)
}

func removeJSON(text []byte, at, keys []string) ([]byte, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		patch, err := json.Marshal([]map[string]string{{"op": "remove", "path": pointer(append(slices.Clone(at), key)...)}})
		if err != nil {
			return nil, err
		}
		if err := root.Patch(patch); err != nil {
			return nil, err
		}
	}
	return root.Pack(), nil
}

// replaceTOML removes the tables and lines of the servers, and adds the new table at the end of the file. It refuses a file if the result
// would mean something other than intended.
func replaceTOML(f *config.File, text []byte, at, gone []string, by string, launch config.Launch) ([]byte, error) {
	var want, got map[string]any
	if err := toml.Unmarshal(text, &want); err != nil {
		return nil, err
	}
	list, ok := want[at[0]].(map[string]any) // at is mcp_servers; other hosts' files are JSON
	if !ok {
		list = map[string]any{}
		if want == nil { // an empty file
			want = map[string]any{}
		}
		want[at[0]] = list
	}
	for _, key := range gone {
		delete(list, key)
	}
	out := removeTOML(text, at, gone)
	if by != "" {
		entry, err := toml.Marshal(launch)
		if err != nil {
			return nil, err
		}
		var value map[string]any
		if err := toml.Unmarshal(entry, &value); err != nil {
			return nil, err
		}
		list[by] = value
		if out = bytes.TrimRight(out, " \t\r\n"); len(out) > 0 {
			out = append(out, "\n\n"...)
		}
		out = fmt.Appendf(out, "[%s.%s]\n%s", strings.Join(at, "."), by, entry)
	}
	if err := toml.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(want, got) {
		return nil, &node.FileError{File: f.Path, Key: at[0], Problem: "its servers are written in a form that cannot be edited here", Remedy: "remove them by hand, and add mcprun serve"}
	}
	return out, nil
}

func removeTOML(text []byte, at, gone []string) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	index := node.NewLineIndex(text)
	type expression struct {
		line int // counted from 0
		gone bool
	}
	var all []expression
	var p unstable.Parser
	p.Reset(text)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		var path []string
		offset := -1
		for it := e.Key(); it.Next(); {
			if offset < 0 {
				offset = int(it.Node().Raw.Offset)
			}
			path = append(path, string(bytes.Clone(it.Node().Data)))
		}
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = path
		case unstable.KeyValue:
			path = append(slices.Clone(table), path...)
		default:
			continue
		}
		n := len(at)
		all = append(all, expression{index.Line(offset) - 1, len(path) > n && slices.Equal(path[:n], at) && slices.Contains(gone, path[n])})
	}
	var out []byte
	next := 0 // the first line that has not been copied
	for i, e := range all {
		if !e.gone {
			continue
		}
		end := len(lines)
		if i+1 < len(all) {
			end = all[i+1].line
		}
		for end > e.line+1 && blankOrComment(lines[end-1]) { // comments before the next table belong to that table
			end--
		}
		begin := e.line
		for begin > next && bytes.HasPrefix(bytes.TrimSpace(lines[begin-1]), []byte("#")) { // a comment right above belongs to it
			begin--
		}
		out = append(out, bytes.Join(lines[next:begin], nil)...)
		for next = end; next < len(lines) && len(bytes.TrimSpace(lines[next])) == 0; next++ {
		}
	}
	return append(out, bytes.Join(lines[next:], nil)...)
}

func blankOrComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}
