// Package frontmatter reads and writes SKILL.md: YAML between two lines of dashes, and the text after it. It refuses what other
// readers of front matter may interpret differently, and keeps keys that it does not know.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Limits of front matter.
const (
	maxFile        = 1 << 20 // bytes of SKILL.md
	maxDepth       = 8
	maxNodes       = 4000
	maxDescription = 1024 // characters

	// MaxSize limits the front matter, in bytes.
	MaxSize = 64 << 10
)

// Front is a SKILL.md.
type Front struct {
	Name        string
	Description string
	Metadata    map[string]string
	Triggers    []string // a list, or a text with commas
	Body        string   // the text after the front matter

	root *yaml.Node // a mapping
}

// New returns a SKILL.md with empty front matter.
func New(body string) *Front {
	return &Front{root: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, Metadata: map[string]string{}, Body: body}
}

// Parse parses SKILL.md. It accepts foreign keys and Windows line endings.
func Parse(text []byte) (*Front, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("it has %d bytes; at most %d are allowed", len(text), maxFile)
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it is not UTF-8 text")
	}
	head, body, err := Split(strings.TrimPrefix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\ufeff"))
	if err != nil {
		return nil, err
	}
	f := New(body)
	var doc yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(head))
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read its front matter: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("its front matter is not a mapping of keys to values")
	}
	if err := dec.Decode(&yaml.Node{}); err == nil {
		return nil, errors.New("its front matter has several documents")
	}
	f.root = doc.Content[0]
	nodes := 0
	if err := checkPlain(f.root, 0, &nodes); err != nil {
		return nil, fmt.Errorf("its front matter %w", err)
	}
	f.Name, f.Description = scalar(value(f.root, "name")), strings.TrimSpace(scalar(value(f.root, "description")))
	if m := value(f.root, "metadata"); m != nil && m.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(m.Content); i += 2 {
			f.Metadata[m.Content[i].Value] = scalar(m.Content[i+1])
		}
	}
	if t := value(f.root, "triggers"); t != nil && t.Kind == yaml.SequenceNode {
		for _, item := range t.Content {
			f.Triggers = append(f.Triggers, scalar(item))
		}
	} else {
		f.Triggers = strings.Split(scalar(t), ",")
	}
	return f, nil
}

// closing is the line after the front matter.
var closing = regexp.MustCompile(`(?m)^---[ \t]*$\n?`)

// Split splits a text into the part between its two lines of dashes and the rest.
func Split(text string) (head, body string, err error) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", errors.New("it does not begin with front matter: a line of ---, name and description, and --- again")
	}
	end := closing.FindStringIndex(rest)
	switch {
	case end == nil:
		return "", "", errors.New("its front matter does not end: a line of --- is missing")
	case end[0] > MaxSize:
		return "", "", fmt.Errorf("its front matter has more than %d bytes", MaxSize)
	}
	return rest[:end[0]], rest[end[1]:], nil
}

// checkPlain refuses YAML features that other readers of front matter may interpret differently, or not expect.
func checkPlain(n *yaml.Node, depth int, nodes *int) error {
	if *nodes++; depth > maxDepth || *nodes > maxNodes {
		return errors.New("is nested too deeply, or too large")
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("has an anchor or an alias in line %d", n.Line)
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("has a tag in line %d", n.Line)
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Kind != yaml.ScalarNode {
				return fmt.Errorf("has a key in line %d that is not a string", c.Line)
			}
			if c.ShortTag() == "!!merge" {
				return fmt.Errorf("has a merge key << in line %d, which other readers interpret differently", c.Line)
			}
			if seen[c.Value] {
				return fmt.Errorf("has the key %.80q more than once", c.Value)
			}
			seen[c.Value] = true
		}
		if err := checkPlain(c, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// value returns the value of a key, or nil.
func value(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// scalar returns a value as text. It is empty for other values.
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// Set sets a key to a text. A new key is added at the end.
func (f *Front) Set(key, text string) { set(f.root, key, text) }

// set sets a key of a mapping to a text. An empty text removes the key.
func set(mapping *yaml.Node, key, text string) {
	switch old := value(mapping, key); {
	case text == "":
		put(mapping, key, nil)
	case old == nil || old.Kind != yaml.ScalarNode || old.Value != text:
		put(mapping, key, stringNode(text))
	}
}

// put sets a key of a mapping. A new key is added at the end. A nil value removes the key.
func put(mapping *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		switch {
		case mapping.Content[i].Value != key:
			continue
		case value == nil:
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
		default:
			mapping.Content[i+1] = value
		}
		return
	}
	if value != nil {
		mapping.Content = append(mapping.Content, stringNode(key), value)
	}
}

// stringNode returns a text as a node, quoted if YAML would read another type.
func stringNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	if looksNumeric(text) {
		n.Style = yaml.DoubleQuotedStyle // an older reader may read 12e5 as a number
	}
	return n
}

// looksNumeric reports whether a text has only characters of decimal and hexadecimal numbers.
func looksNumeric(text string) bool {
	return text != "" && strings.Trim(text, "0123456789abcdef.-+_") == ""
}

// SetMetadata removes the metadata whose keys match, and sets others to texts, in the order given. An empty text removes a key.
func (f *Front) SetMetadata(remove func(key string) bool, texts [][2]string) {
	m := value(f.root, "metadata")
	if m == nil || m.Kind != yaml.MappingNode {
		m = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		put(f.root, "metadata", m)
	}
	for i := 0; i+1 < len(m.Content); {
		if remove(m.Content[i].Value) {
			m.Content = slices.Delete(m.Content, i, i+2)
			continue
		}
		i += 2
	}
	for _, t := range texts {
		set(m, t[0], t[1])
	}
	if len(m.Content) == 0 {
		put(f.root, "metadata", nil)
	}
}

// Text returns SKILL.md.
func (f *Front) Text() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("---\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(f.root), enc.Close()); err != nil {
		return nil, fmt.Errorf("write the front matter: %w", err)
	}
	b.WriteString("---\n")
	b.WriteString(f.Body)
	return b.Bytes(), nil
}

// JSON returns the front matter as a JSON object, with its keys in order and the types of YAML.
func (f *Front) JSON() json.RawMessage {
	var b bytes.Buffer
	if err := encodeNode(jsontext.NewEncoder(&b), f.root); err != nil {
		return json.RawMessage("{}") // unreachable: keys are unique, and every text can be encoded
	}
	return bytes.TrimSpace(b.Bytes())
}

func encodeNode(enc *jsontext.Encoder, n *yaml.Node) error {
	begin, end := jsontext.BeginObject, jsontext.EndObject
	switch n.Kind {
	case yaml.MappingNode:
	case yaml.SequenceNode:
		begin, end = jsontext.BeginArray, jsontext.EndArray
	default:
		return enc.WriteValue(scalarJSON(n))
	}
	err := enc.WriteToken(begin)
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			err = errors.Join(err, enc.WriteToken(jsontext.String(c.Value)))
		} else {
			err = errors.Join(err, encodeNode(enc, c))
		}
	}
	return errors.Join(err, enc.WriteToken(end))
}

func scalarJSON(n *yaml.Node) jsontext.Value {
	switch n.ShortTag() {
	case "!!null":
		return jsontext.Value("null")
	case "!!bool":
		if v, err := strconv.ParseBool(strings.ToLower(n.Value)); err == nil {
			return strconv.AppendBool(nil, v)
		}
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return jsontext.Value(n.Value)
		}
	}
	text, _ := jsontext.AppendQuote(nil, n.Value) // SKILL.md is valid UTF-8
	return text
}

// CleanDescription converts a description to one line, and refuses one that is too long or has invisible characters.
func CleanDescription(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("the description is not UTF-8")
	}
	text = strings.Join(strings.Fields(text), " ")
	if n := utf8.RuneCountInString(text); n > maxDescription {
		return "", fmt.Errorf("the description has %d characters; at most %d are allowed", n, maxDescription)
	}
	before := ' '
	for _, r := range text {
		if invisible(before, r) {
			return "", fmt.Errorf("the description has the invisible character %U", r)
		}
		before = r
	}
	return text, nil
}

// invisible reports whether a character is invisible after another. Invisible characters can carry instructions to a model
// that its reader does not see. One variation selector for an emoji (⚠️) is common; several in a row are not.
func invisible(before, r rune) bool {
	const emojiSelector = '\uFE0F'
	if r == emojiSelector {
		return before == emojiSelector || unicode.IsSpace(before)
	}
	return !ident.Visible(r)
}
