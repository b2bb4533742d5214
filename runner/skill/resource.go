package skill

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// Scheme begins the addresses of skills: skill://NAME/SKILL.md.
const Scheme = "skill://"

// Entry is a skill as the MCP extension io.modelcontextprotocol/skills lists it.
type Entry struct {
	URI         string          `json:"uri"`         // of SKILL.md
	Frontmatter json.RawMessage `json:"frontmatter"` // as it stands in SKILL.md
	Resources   []Resource      `json:"resources"`   // all files, SKILL.md among them, sorted by path
}

// Resource is one file of a skill.
type Resource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // "sha256:" and 64 hexadecimal digits
	Size   int64  `json:"size"`   // in bytes

	Name string `json:"-"` // NAME/path
	MIME string `json:"-"`
}

// Content is what a resource holds: Text where it is UTF-8, else Blob.
type Content struct {
	Resource
	Text string
	Blob []byte // nil: it is text
}

// UnknownError says that there is no resource of an address. Over MCP its code is -32602.
type UnknownError struct{ URI string }

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no skill resource %.200q", e.URI) }

// Entries lists the skills to be served, sorted by name. Those that are broken are not among them.
func (s *Store) Entries() ([]Entry, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	entries := []Entry{}
	for _, k := range all {
		if !k.Broken {
			entries = append(entries, entryOf(k))
		}
	}
	return entries, nil
}

// Entry is one of Entries by the address of its SKILL.md. A skill that is broken is a *BrokenError, anything else that is
// not there an *UnknownError.
func (s *Store) Entry(uri string) (*Entry, error) {
	k, file, err := s.at(uri)
	if err != nil {
		return nil, err
	}
	if file != File {
		return nil, &UnknownError{URI: uri}
	}
	e := entryOf(k)
	return &e, nil
}

// ReadResource reads one file of a skill by its address. Errors are those of Entry.
func (s *Store) ReadResource(uri string) (*Content, error) {
	k, file, err := s.at(uri)
	if err != nil {
		return nil, err
	}
	data, ok := k.content.files[file]
	if !ok {
		return nil, &UnknownError{URI: uri}
	}
	for _, info := range k.content.infos {
		if info.Path != file {
			continue
		}
		c := &Content{Resource: resourceOf(k, info)}
		if utf8.Valid(data) {
			c.Text = string(data)
		} else {
			c.Blob = data
		}
		return c, nil
	}
	return nil, &UnknownError{URI: uri}
}

// at finds the skill and the file of an address.
func (s *Store) at(uri string) (k *Skill, file string, err error) {
	rest, ok := strings.CutPrefix(uri, Scheme)
	if !ok {
		return nil, "", &UnknownError{URI: uri}
	}
	name, escaped, ok := strings.Cut(rest, "/")
	file, unescapeErr := url.PathUnescape(escaped)
	if !ok || unescapeErr != nil || !kebab.MatchString(name) || len(name) > MaxName {
		return nil, "", &UnknownError{URI: uri}
	}
	k, err = s.find(name)
	if err != nil {
		return nil, "", err
	}
	if k == nil {
		return nil, "", &UnknownError{URI: uri}
	}
	if s.judge(k); k.Broken {
		return nil, "", &BrokenError{Name: k.Name, Reasons: k.Reasons}
	}
	return k, file, nil
}

func entryOf(k *Skill) Entry {
	e := Entry{URI: Scheme + k.Name + "/" + File, Frontmatter: k.Frontmatter(), Resources: []Resource{}}
	for _, info := range k.content.infos {
		e.Resources = append(e.Resources, resourceOf(k, info))
	}
	return e
}

func resourceOf(k *Skill, info FileInfo) Resource {
	parts := strings.Split(info.Path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return Resource{URI: Scheme + k.Name + "/" + strings.Join(parts, "/"), Digest: info.Digest, Size: info.Size, Name: k.Name + "/" + info.Path, MIME: mimeOf(info.Path)}
}

// mimeOf is the type of a file by its name, the same on every machine.
func mimeOf(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md":
		return "text/markdown"
	case ".ts", ".mts", ".cts", ".tsx":
		return "text/x-typescript"
	case ".js", ".mjs", ".cjs", ".jsx":
		return "text/javascript"
	case ".py":
		return "text/x-python"
	case ".json":
		return "application/json"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".csv":
		return "text/csv"
	case ".txt", "":
		return "text/plain"
	case ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".pdf", ".html", ".css", ".xml":
		t, _, err := mime.ParseMediaType(mime.TypeByExtension(strings.ToLower(path.Ext(name))))
		if err == nil {
			return t
		}
	}
	return "application/octet-stream"
}
