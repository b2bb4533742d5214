package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

// maxStoredFile bounds a file below [MetaDir]. Indenting can make a definition several times larger than it was sent.
const maxStoredFile = 1 << 30

// stored is the form of .mcpgen/<folder>.json.
type stored struct {
	Server       string            `json:"server"`
	Title        string            `json:"title,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools"`
	// Resources reports whether the server offers resources. Prompts is nil where it offers none, else their list.
	Resources bool              `json:"resources,omitempty"`
	Prompts   []json.RawMessage `json:"prompts,omitzero"`
}

// StoredPath is the file that keeps what the server of a folder listed.
func StoredPath(dir string) string { return MetaDir + "/" + dir + ".json" }

// MarshalServer writes a server's tools and prompts as it listed them: every value as it was sent, down to the digits of
// numbers and the order of keys. White space is ours, and characters that a reviewer would not see are escaped.
func MarshalServer(s *Server) ([]byte, error) {
	file := stored{Server: s.Key, Title: s.Title, Instructions: s.Instructions, Tools: make([]json.RawMessage, len(s.Tools)), Resources: s.Resources}
	for i, t := range s.Tools {
		file.Tools[i] = t.Raw
	}
	if s.HasPrompts {
		file.Prompts = make([]json.RawMessage, len(s.Prompts))
	}
	for i, p := range s.Prompts {
		file.Prompts[i] = p.Raw
	}
	var compact, out bytes.Buffer
	enc := json.NewEncoder(&compact)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(file); err != nil {
		return nil, fmt.Errorf("write the tools of %q: %w", s.Key, err)
	}
	if err := json.Indent(&out, bytes.TrimSpace(compact.Bytes()), "", "  "); err != nil {
		return nil, fmt.Errorf("write the tools of %q: %w", s.Key, err)
	}
	out.WriteByte('\n')
	return escapeHidden(out.Bytes()), nil
}

// UnmarshalServer is the inverse of [MarshalServer]. The server has no folder and its tools have no ids.
func UnmarshalServer(b []byte) (Server, []Warning, error) {
	var file stored
	if err := json.Unmarshal(b, &file); err != nil {
		return Server{}, nil, unread(b, err)
	}
	if file.Server == "" {
		return Server{}, nil, errors.New("it does not name its server")
	}
	wireSize(file.Tools)
	wireSize(file.Prompts)
	s, warnings := NewServer(file.Server, file.Title, file.Instructions, file.Tools)
	return s, append(warnings, file.offers(&s)...), nil
}

// wireSize brings definitions back to the size they had on the wire: the limits count those bytes.
func wireSize(definitions []json.RawMessage) {
	for i, raw := range definitions {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) == nil {
			definitions[i] = compact.Bytes()
		}
	}
}

// offers gives a server what it offers beside tools.
func (f *stored) offers(s *Server) []Warning {
	s.Resources = f.Resources
	if f.Prompts == nil {
		return nil
	}
	return s.SetPrompts(f.Prompts)
}

// Stored is what a tree keeps of its servers, to the extent that it can be read.
type Stored struct {
	// Lock is nil when there is none, or none that can be read.
	Lock *Lock
	// Servers are the stored tool lists by server key, with Dir set.
	Servers map[string]Server
	// Altered are the keys of servers whose stored lists are not the ones that a lock was made with, though there is a
	// lock: somebody changed the file, or a merge joined two that don't fit together. White space does not count.
	Altered map[string]bool
	// Problems are files that could not be read, each with its reason. A sync repairs them.
	Problems []string
}

// ReadStored reads a tree that a sync is about to write: what is damaged or missing is skipped and named in Problems. Only a lock of another version is an error. A root that isn't there is an empty tree.
func ReadStored(dir string) (*Stored, error) {
	out := &Stored{Servers: map[string]Server{}, Altered: map[string]bool{}}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	defer func() { _ = root.Close() }()
	if out.Lock, err = out.readLock(root, LockPath); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(root.FS(), MetaDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	var dirs []string
	for _, entry := range entries {
		name := MetaDir + "/" + entry.Name()
		if dir, isJSON := strings.CutSuffix(entry.Name(), ".json"); isJSON && name != LockPath && name != PhrasesPath {
			dirs = append(dirs, dir)
		}
	}
	out.readServers(root, dirs)
	return out, nil
}

// readServers reads the stored lists of some folders, several at once.
func (s *Stored) readServers(root *os.Root, dirs []string) {
	type result struct {
		server  Server
		altered bool
		err     error
	}
	results := make([]result, len(dirs))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, dir := range dirs {
		group.Go(func() error {
			r := &results[i]
			r.server, r.altered, r.err = s.readServer(root, dir)
			return nil
		})
	}
	_ = group.Wait() // the errors are in results
	for i, r := range results {
		other, twice := s.Servers[r.server.Key]
		if r.err == nil && twice {
			r.err = fmt.Errorf("it is a second list of server %q beside %s", r.server.Key, StoredPath(other.Dir))
		}
		if r.err != nil {
			s.Problems = append(s.Problems, fmt.Sprintf("%s: %v", StoredPath(dirs[i]), r.err))
			continue
		}
		s.Servers[r.server.Key] = r.server
		if r.altered {
			s.Altered[r.server.Key] = true
		}
	}
}

func (s *Stored) readLock(root *os.Root, name string) (*Lock, error) {
	b, err := readFile(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var lock *Lock
	if err == nil {
		lock, err = ParseLock(b)
	}
	if _, other := errors.AsType[*VersionError](err); other {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		s.Problems = append(s.Problems, fmt.Sprintf("%s: %v", name, err))
		return nil, nil
	}
	return lock, nil
}

// readServer reads the stored list of a folder, and reports whether it differs from the one that the lock was made with.
func (s *Stored) readServer(root *os.Root, dir string) (Server, bool, error) {
	b, err := readFile(root, StoredPath(dir))
	if err != nil {
		return Server{}, false, err
	}
	server, _, err := UnmarshalServer(b)
	if err != nil {
		return Server{}, false, err
	}
	server.Dir = dir
	if s.locked(StoredPath(dir), b) {
		return server, false, nil
	}
	// An editor or a formatter may have changed its white space, which does not count.
	plain, err := MarshalServer(&server)
	return server, err != nil || !s.locked(StoredPath(dir), plain), nil
}

// locked reports whether a file has the digest that the lock pins, or there is no lock.
func (s *Stored) locked(name string, content []byte) bool {
	return s.Lock == nil || s.Lock.Files[name] == FileDigest(content)
}

// readFile reads a regular file below root; a symbolic link is refused, wherever it leads.
func readFile(root *os.Root, name string) ([]byte, error) {
	for p := name; p != "."; p = path.Dir(p) {
		info, err := root.Lstat(p)
		if err != nil {
			return nil, err
		}
		if (p == name) != info.Mode().IsRegular() || (p != name && !info.IsDir()) {
			return nil, fmt.Errorf("%s is not a plain file in a plain folder", p)
		}
		if info.Size() > maxStoredFile && p == name {
			return nil, fmt.Errorf("it has %d bytes; the limit is %d", info.Size(), maxStoredFile)
		}
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}
