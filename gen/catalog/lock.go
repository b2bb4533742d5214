package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
)

// Where a tree keeps what it was made from, below its root.
const (
	MetaDir  = ".mcpgen"
	LockPath = MetaDir + "/lock.json"
)

// LockVersion is the version of the lock's form that this code writes, and the only one it reads.
const LockVersion = 1

// Lock records what a tree was made from. It holds no time, program version, URL, environment or path outside the tree.
type Lock struct {
	Version int `json:"version"`
	// Servers by key.
	Servers map[string]LockServer `json:"servers"`
	// Files maps each generated file but the lock itself to "sha256:" and the hex SHA-256 of its bytes.
	Files map[string]string `json:"files"`
}

// LockServer is one server of a lock.
type LockServer struct {
	Directory string `json:"directory"`
	// Tools by the server's own names for them.
	Tools map[string]LockTool `json:"tools"`
	// Resources is [Server.Resources].
	Resources bool `json:"resources,omitempty"`
	// Prompts are the digests of the server's prompts, by their names; nil where it offers none.
	Prompts map[string]string `json:"prompts,omitzero"`
}

// LockTool is one tool of a lock.
type LockTool struct {
	ID string `json:"id"`
	// Digest pins the definition, all of it, as the server sent it: [Digest] of [Tool.Raw].
	Digest string `json:"digest"`
	// Names by language.
	Names map[string]LockNames `json:"names,omitempty"`
}

// LockNames is where a tool's wrapper is.
type LockNames struct {
	File     string `json:"file"`
	Function string `json:"function"`
}

// NewLock makes the lock of a catalog and its rendered files. names maps language → tool id → names; files are all
// generated files.
func NewLock(c *Catalog, names map[string]map[string]LockNames, files map[string][]byte) *Lock {
	l := &Lock{Version: LockVersion, Servers: map[string]LockServer{}, Files: map[string]string{}}
	for _, s := range c.Servers {
		tools := make(map[string]LockTool, len(s.Tools))
		for _, t := range s.Tools {
			lt := LockTool{ID: t.ID, Digest: t.Digest}
			for language, byID := range names {
				if n, ok := byID[t.ID]; ok {
					if lt.Names == nil {
						lt.Names = map[string]LockNames{}
					}
					lt.Names[language] = n
				}
			}
			tools[t.Name] = lt
		}
		locked := LockServer{Directory: s.Dir, Tools: tools, Resources: s.Resources}
		if s.HasPrompts {
			locked.Prompts = make(map[string]string, len(s.Prompts))
		}
		for _, p := range s.Prompts {
			locked.Prompts[p.Name] = p.Digest
		}
		l.Servers[s.Key] = locked
	}
	for path, content := range files {
		l.Files[path] = FileDigest(content)
	}
	return l
}

// SamePrompts reports whether a lock pins the very prompts of a server.
func (l LockServer) SamePrompts(s *Server) bool {
	now := make(map[string]string, len(s.Prompts))
	for _, p := range s.Prompts {
		now[p.Name] = p.Digest
	}
	return maps.Equal(l.Prompts, now) && (l.Prompts != nil) == s.HasPrompts
}

// FileDigest is the form of digests in [Lock.Files].
func FileDigest(content []byte) string { return digestBytes(content) }

// Marshal returns the lock's bytes: the same lock gives the same bytes.
func (l *Lock) Marshal() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(l); err != nil { // maps are written in the order of their keys
		return nil, fmt.Errorf("write the lock: %w", err)
	}
	return escapeHidden(buf.Bytes()), nil
}

// VersionError is a lock of another version than [LockVersion].
type VersionError struct{ Version int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the lock has version %d, and only version %d is known", e.Version, LockVersion)
}

// Hint suggests a remedy.
func (e *VersionError) Hint() string {
	return "the tree was made by another version of mcpgen: use that one, or remove " + LockPath + " and run \"mcpgen sync\""
}

// unread returns why a file of the tree cannot be read: the error, or that it holds what a merge has left.
func unread(b []byte, err error) error {
	if bytes.HasPrefix(b, []byte("<<<<<<< ")) || bytes.Contains(b, []byte("\n<<<<<<< ")) {
		return errors.New("it holds the marks of a merge conflict")
	}
	return err
}

// ParseLock reads a lock and checks that its parts fit together.
func ParseLock(b []byte) (*Lock, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("read the lock: %w", unread(b, err))
	}
	if version.Version != LockVersion {
		return nil, &VersionError{Version: version.Version}
	}
	l := &Lock{}
	if err := json.Unmarshal(b, l); err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	return l, l.check()
}

func (l *Lock) check() error {
	for path := range l.Files {
		if !fs.ValidPath(path) || path == "." {
			return fmt.Errorf("read the lock: %q is not a path inside the tree", path)
		}
	}
	ids := map[string]bool{}
	for key, s := range l.Servers {
		if s.Directory == "" || s.Directory == "." || strings.ContainsAny(s.Directory, `/\`) || !fs.ValidPath(s.Directory) {
			return fmt.Errorf("read the lock: server %q: %q is not a folder's name", key, s.Directory)
		}
		for name, t := range s.Tools {
			if t.ID == "" || ids[t.ID] {
				return fmt.Errorf("read the lock: server %q: tool %q: the id %q is missing or not unique", key, name, t.ID)
			}
			ids[t.ID] = true
		}
	}
	return nil
}
