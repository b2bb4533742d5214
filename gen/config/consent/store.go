package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/adopt"
)

// Store keeps what was agreed to: one file for each project, in a folder that only its owner can read. It holds names and
// digests, no values.
type Store struct{ dir string }

// Open returns the store in an absolute folder, which need not exist.
func Open(dir string) *Store { return &Store{dir} }

// Change is how a configuration differs from what was agreed to.
type Change struct {
	// First reports that nothing of the project was agreed to.
	First bool
	// Added and Changed are items as they are now, Removed the names of those that are gone. What is gone counts as well: it
	// may have been a rule that denied a call.
	Added, Changed []Item
	Removed        []string
}

// None reports whether all was agreed to.
func (c *Change) None() bool { return len(c.Added)+len(c.Changed)+len(c.Removed) == 0 }

// kept is the content of a file.
type kept struct {
	Version int `json:"version"`
	// Folder and Files are for whoever reads the file.
	Folder string     `json:"folder"`
	Files  []string   `json:"files"`
	Items  []keptItem `json:"items"`
}

type keptItem struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// Compare returns how the items of a configuration differ from those that were agreed to.
func (s *Store) Compare(cfg *config.Config, items []Item) (*Change, error) {
	path, _ := s.place(cfg)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Change{First: true, Added: items}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was trusted: %w", err)
	}
	var old kept
	if err := json.Unmarshal(text, &old); err != nil || old.Version != 1 {
		return &Change{First: true, Added: items}, nil // not ours, or damaged: all is asked for again
	}
	left, names := map[string]int{}, map[string]int{} // how often each is there
	for _, i := range old.Items {
		left[i.Digest]++
	}
	out := &Change{}
	var unknown []Item
	for _, i := range items {
		if left[i.digest()] > 0 {
			left[i.digest()]--
		} else {
			unknown = append(unknown, i)
		}
	}
	var gone []string
	for _, i := range old.Items {
		if left[i.Digest] > 0 {
			left[i.Digest]--
			names[i.Name]++
			gone = append(gone, i.Name)
		}
	}
	for _, i := range unknown {
		if names[i.name()] > 0 {
			names[i.name()]--
			out.Changed = append(out.Changed, i)
		} else {
			out.Added = append(out.Added, i)
		}
	}
	for _, name := range gone {
		if names[name] > 0 {
			names[name]--
			out.Removed = append(out.Removed, name)
		}
	}
	return out, nil
}

// Agree keeps that a person has agreed to the items of a configuration.
func (s *Store) Agree(cfg *config.Config, items []Item) error {
	path, now := s.place(cfg)
	for _, i := range items {
		now.Items = append(now.Items, keptItem{i.name(), i.digest()})
	}
	text, err := json.MarshalIndent(now, "", " ")
	if err != nil {
		return fmt.Errorf("keep what is trusted: %w", err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("keep what is trusted: %w", err)
	}
	return adopt.ReplaceFile(path, append(text, '\n'), 0o600)
}

// Forget drops what was agreed to for a configuration. It reports whether there was anything.
func (s *Store) Forget(cfg *config.Config) (bool, error) {
	path, _ := s.place(cfg)
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// place returns a configuration's file, which is named after the real paths of its folder and its lists of servers.
func (s *Store) place(cfg *config.Config) (string, kept) {
	k := kept{Version: 1, Folder: real(cfg.Dir)}
	for _, path := range cfg.Paths {
		k.Files = append(k.Files, real(path))
	}
	text, _ := json.Marshal(append([]string{k.Folder}, k.Files...)) // strings always can be
	sum := sha256.Sum256(text)
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json"), k
}

func real(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}
