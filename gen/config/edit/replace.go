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
	// Removed are the names of servers. Added is the entry that replaces them, in the host's form; nil for none.
	Removed []string
	Added   any
}

// ReplaceServers replaces servers of a file by one: it removes those in remove, and adds an entry for launch under the name,
// unless mcprun serve is in the file already. Everything else stays, comments too. The error is a [*node.FileError] if the
// file has a form that cannot be edited safely.
func ReplaceServers(f *config.File, remove []string, name string, launch config.Launch) (*FileEdit, error) {
	bom := []byte("\ufeff")
	text, hasBOM := bytes.CutPrefix(f.Text, bom)
	replace := replaceJSON
	if config.IsTOML(f.Path, text) {
		replace = replaceTOML
	}
	out := text
	var err error
	var lists []ListEdit
	for _, list := range f.Lists {
		gone := slices.DeleteFunc(slices.Clone(list.Names), func(key string) bool { return !slices.Contains(remove, key) })
		if list.At[0] != "projects" { // of two servers of one name, the project's own was read
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
			return nil, &node.FileError{File: f.Path, Key: node.Join(strings.Join(list.At, "."), by), Problem: "the name is taken by another server", Remedy: "rename that server"}
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

func replaceJSON(f *config.File, text []byte, at, gone []string, by string, launch config.Launch) ([]byte, error) {
	want, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	out := text
	entry := f.Host.Entry(launch)
	if slices.Contains(gone, by) { // a server of that name is removed first
		if out, err = removeJSON(out, at, []string{by}); err != nil {
			return nil, err
		}
	}
	if by != "" {
		if out, err = setServer(f.Path, out, at, Entry{Key: by, Value: entry}); err != nil {
			return nil, err
		}
	}
	out, err = removeJSON(out, at, slices.DeleteFunc(slices.Clone(gone), func(key string) bool { return key == by }))
	if err != nil {
		return nil, err
	}
	got, err := decodeJSON(out)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(entry)
	if err != nil {
		return nil, err
	}
	value, err := decodeJSON(encoded)
	if err != nil {
		return nil, err
	}
	return out, verify(f.Path, want, got, at, gone, by, value)
}

func removeJSON(text []byte, at, keys []string) ([]byte, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	type operation struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}
	patch := []operation{}
	for _, key := range keys {
		patch = append(patch, operation{"remove", pointer(append(slices.Clone(at), key)...)})
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	if err := root.Patch(encoded); err != nil {
		return nil, err
	}
	return root.Pack(), nil
}

// decodeJSON returns the values of JSON with comments, with numbers as written.
func decodeJSON(text []byte) (any, error) {
	plain, err := hujson.Standardize(slices.Clone(text))
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.UseNumber()
	var out any
	err = dec.Decode(&out)
	return out, err
}

// replaceTOML removes the tables and lines of the servers, and adds the new table at the end of the file.
func replaceTOML(f *config.File, text []byte, at, gone []string, by string, launch config.Launch) ([]byte, error) {
	var want, got, value map[string]any
	if err := toml.Unmarshal(text, &want); err != nil {
		return nil, err
	}
	out := removeTOML(text, at, gone)
	if by != "" {
		entry, err := toml.Marshal(launch)
		if err != nil {
			return nil, err
		}
		if err := toml.Unmarshal(entry, &value); err != nil {
			return nil, err
		}
		if out = bytes.TrimRight(out, " \t\r\n"); len(out) > 0 {
			out = append(out, "\n\n"...)
		}
		out = fmt.Appendf(out, "[%s.%s]\n%s", strings.Join(at, "."), by, entry)
	}
	if err := toml.Unmarshal(out, &got); err != nil {
		got = nil
	}
	return out, verify(f.Path, want, got, at, gone, by, value)
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
	next := 0 // the first line that is not copied yet
	for i, e := range all {
		if !e.gone {
			continue
		}
		end := len(lines)
		if i+1 < len(all) {
			end = all[i+1].line
		}
		for end > e.line+1 && blankOrComment(lines[end-1]) { // comments before the next table belong to that
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

// verify compares the content of an edited file, got, with the original, want, to which it applies the same change.
func verify(path string, want, got any, at, gone []string, by string, value any) error {
	list := want
	for _, key := range at {
		object, _ := list.(map[string]any)
		list = object[key]
	}
	object, ok := list.(map[string]any)
	if ok {
		for _, key := range gone {
			delete(object, key)
		}
		if by != "" {
			object[by] = value
		}
	}
	if !ok || !reflect.DeepEqual(want, got) {
		return &node.FileError{File: path, Key: strings.Join(at, "."), Problem: "its servers are written in a form that cannot be edited here", Remedy: "remove them by hand, and add mcprun serve"}
	}
	return nil
}
