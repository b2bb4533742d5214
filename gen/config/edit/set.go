// Package edit changes lists of servers and mcpgen.yaml in their own form: everything that an edit does not concern, including comments,
// stays byte by byte. It computes texts and writes no files.
package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// Entry is one server to write to a .mcp.json.
type Entry struct {
	Key string
	// Value is marshalled to JSON.
	Value any
}

// EmptyServers is a .mcp.json without servers.
const EmptyServers = "{\n  \"mcpServers\": {}\n}\n"

// ServerNames returns the names of the servers in a .mcp.json without reading their entries. path is for errors.
func ServerNames(path string, text []byte) ([]string, error) {
	f := &node.File{Name: path, Text: bytes.TrimPrefix(text, []byte("\ufeff"))}
	root, err := f.ParseJSON()
	if err != nil {
		return nil, err
	}
	list, _ := root.Get("mcpServers")
	return list.Names(), nil
}

// SetServers returns the text of a .mcp.json with the entries: existing keys are replaced, and new ones added at the end. Everything else,
// including comments, stays byte by byte. path is for errors.
func SetServers(path string, text []byte, entries []Entry) ([]byte, error) {
	for _, e := range entries {
		var err error
		if text, err = setServer(path, text, []string{"mcpServers"}, e); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// setServer writes an entry to the object to which the keys in at lead.
func setServer(path string, text []byte, at []string, entry Entry) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	f := &node.File{Name: path, Text: text}
	if _, err := f.ParseJSON(); err != nil { // for its errors, which give the place
		return nil, err
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	list := root.Find(pointer(at...))
	if list == nil || list.Value.Kind() != '{' {
		return nil, f.ErrorAt(1, strings.Join(at, "."), "it is missing, or not an object", fmt.Sprintf("write {%q: {}}", at[len(at)-1]))
	}
	object := list.Value.(*hujson.Object)
	indent, n := "    ", len(object.Members)
	if n > 0 {
		indent = indentOf(text, object.Members[n-1].Name.StartOffset)
	}
	value, err := parseValue(entry.Value, indent)
	if err != nil {
		return nil, err
	}
	if old := root.Find(pointer(append(slices.Clone(at), entry.Key)...)); old != nil {
		old.Value = value
		return root.Pack(), nil
	}
	key, err := parseValue(entry.Key, "")
	if err != nil {
		return nil, err
	}
	// A comment after the last member stays before the new one.
	comments := bytes.TrimRight(object.AfterExtra, " \t\r\n")
	rest := object.AfterExtra[len(comments):]
	if n == 0 && !bytes.Contains(object.AfterExtra, []byte("\n")) {
		rest = hujson.Extra("\n" + indentOf(text, list.StartOffset))
	}
	added := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra(string(comments) + "\n" + indent), Value: key},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	if n > 0 && object.Members[n-1].Value.AfterExtra != nil { // a comma follows it
		added.Value.AfterExtra = hujson.Extra{}
	}
	object.Members, object.AfterExtra = append(object.Members, added), rest
	return root.Pack(), nil
}

// pointer returns the JSON pointer (RFC 6901) of a path of keys.
func pointer(keys ...string) string {
	out := ""
	for _, key := range keys {
		out += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	}
	return out
}

// parseValue returns v as JSON, indented by two blanks more than indent.
func parseValue(v any, indent string) (hujson.ValueTrimmed, error) {
	text, err := marshalIndented(v, indent)
	if err != nil {
		return nil, err
	}
	value, err := hujson.Parse([]byte(text))
	return value.Value, err
}

// indentOf returns the white space at the beginning of the line that contains an offset.
func indentOf(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func marshalIndented(v any, indent string) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, "  ")
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("write a server: %w", err)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// SettingsEntry is the settings of one server, to be written to mcpgen.yaml.
type SettingsEntry struct {
	Key   string
	Value config.ServerSettings
}

// String returns the entry as YAML.
func (e SettingsEntry) String() string {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	_ = enc.Encode(map[string]config.ServerSettings{e.Key: e.Value}) // strings, numbers and booleans can always be marshalled
	return out.String()
}

// AddSettings returns the text of a mcpgen.yaml with the entries added below servers. It skips entries whose key is present, and returns
// these keys. Everything else stays, including comments. path is for errors.
func AddSettings(path string, text []byte, entries []SettingsEntry) (_ []byte, present []string, _ error) {
	f := &node.File{Name: path, Text: text}
	root, err := f.ParseYAML()
	if err != nil {
		return nil, nil, err
	}
	servers := node.Value(root, "servers")
	lines := strings.SplitAfter(string(text), "\n")
	indent, at := "  ", len(lines) // the line, counted from 0, before which to insert
	switch {
	case servers == nil && len(lines[at-1]) > 0:
		lines[at-1] += "\n"
	case servers == nil:
	case servers.Tag == "!!null":
		at = servers.Line
	case servers.Kind == yaml.MappingNode && servers.Style&yaml.FlowStyle == 0:
		first := servers.Content[0]
		indent, at = strings.Repeat(" ", first.Column-1), first.Line-1
	default:
		return nil, nil, f.ErrorAt(servers.Line, "servers", "it does not have one server to a line", "write one server to a line, and run the command again")
	}
	var added strings.Builder
	for _, e := range entries {
		if node.Value(servers, e.Key) != nil {
			present = append(present, e.Key)
			continue
		}
		for line := range strings.Lines(e.String()) {
			added.WriteString(indent + line)
		}
	}
	if added.Len() == 0 {
		return text, present, nil
	}
	block := added.String()
	if servers == nil {
		block = "\nservers:\n" + block
	}
	return []byte(strings.Join(lines[:at], "") + block + strings.Join(lines[at:], "")), present, nil
}
