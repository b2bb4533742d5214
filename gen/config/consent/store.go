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
	"reflect"
	"slices"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/gen/config"
)

// Store records what was agreed to: one file for each project, in a folder that only its owner can read. It contains names and digests, and
// the text of the policy. Other values are not stored, because they may be secrets.
type Store struct{ dir string }

// Open returns the store in an absolute folder, which need not exist.
func Open(dir string) *Store { return &Store{dir} }

// Change is the difference between a configuration and what was agreed to.
type Change struct {
	// First means that nothing in the project was agreed to.
	First bool
	// Added are new items, Changed are items with another value, and Removed are items that are gone. Removals count because an item may
	// have been a rule that denied a call.
	Added   []Item
	Changed []Changed
	Removed []Removed
}

// Changed is an item as it is now. Was is its previous value, or empty if that was not stored.
type Changed struct {
	Item
	Was string
}

// Removed is an item that is gone: its place and key, and its value, or empty if that was not stored.
type Removed struct{ Name, Was string }

// None reports whether everything was agreed to.
func (c *Change) None() bool { return len(c.Added)+len(c.Changed)+len(c.Removed) == 0 }

// kept is the content of a file.
type kept struct {
	Version int `json:"version"`
	// Folder and Files are for people who read the file.
	Folder string     `json:"folder"`
	Files  []string   `json:"files"`
	Items  []keptItem `json:"items"`
}

type keptItem struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// Text is the value of an item of the policy.
	Text string `json:"text,omitempty"`
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
		return &Change{First: true, Added: items}, nil // another program's, or damaged: the user is asked again about everything
	}
	left := map[string]int{} // how many of each there are
	for _, i := range old.Items {
		left[i.Digest]++
	}
	var unknown []Item
	for _, i := range items {
		if left[i.digest()] > 0 {
			left[i.digest()]--
		} else {
			unknown = append(unknown, i)
		}
	}
	var gone []keptItem
	for _, i := range old.Items {
		if left[i.Digest] > 0 {
			left[i.Digest]--
			gone = append(gone, i)
		}
	}
	return pair(unknown, gone), nil
}

// pair finds the items that only have another value: items that occur once before and after, rules that resemble each other, and items that
// cannot be matched because their text was not stored.
func pair(items []Item, gone []keptItem) *Change {
	out := &Change{}
	one := func(name string) bool {
		before, after := 0, 0
		for _, g := range gone {
			if g.Name == name {
				before++
			}
		}
		for _, i := range items {
			if i.name() == name {
				after++
			}
		}
		return before == 1 && after == 1
	}
	for _, isPair := range []func(Item, keptItem) bool{
		func(i Item, g keptItem) bool { return alike(i.Value, g.Text) },
		func(i Item, g keptItem) bool { return g.Text == "" || one(i.name()) },
	} {
		items = slices.DeleteFunc(slices.Clone(items), func(i Item) bool {
			at := slices.IndexFunc(gone, func(g keptItem) bool { return g.Name == i.name() && isPair(i, g) })
			if at < 0 {
				return false
			}
			out.Changed = append(out.Changed, Changed{i, gone[at].Text})
			gone = slices.Delete(gone, at, at+1)
			return true
		})
	}
	out.Added = items
	for _, g := range gone {
		out.Removed = append(out.Removed, Removed{g.Name, g.Text})
	}
	return out
}

// alike reports whether two texts are rules with the same name, or with the same effect on the same tools.
func alike(a, b string) bool {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return slices.ContainsFunc([]string{"name", "allow", "ask", "deny"}, func(key string) bool {
		return x[key] != nil && reflect.DeepEqual(x[key], y[key])
	})
}

// Agree records that a person has agreed to the items of a configuration.
func (s *Store) Agree(cfg *config.Config, items []Item) error {
	path, now := s.place(cfg)
	for _, i := range items {
		now.Items = append(now.Items, keptItem{i.name(), i.digest(), i.text()})
	}
	text, err := json.MarshalIndent(now, "", " ")
	if err != nil {
		return fmt.Errorf("keep what is trusted: %w", err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("keep what is trusted: %w", err)
	}
	return atomicfile.Write(path, append(text, '\n'), 0o600)
}

// Forget removes the consent to a configuration. It reports whether there was any.
func (s *Store) Forget(cfg *config.Config) (bool, error) {
	path, _ := s.place(cfg)
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// place returns a configuration's file in the store, which is named after the real paths of its folder and its lists of servers.
func (s *Store) place(cfg *config.Config) (string, kept) {
	k := kept{Version: 1, Folder: real(cfg.Dir)}
	for _, path := range cfg.Paths {
		k.Files = append(k.Files, real(path))
	}
	text, _ := json.Marshal(append([]string{k.Folder}, k.Files...)) // strings can always be marshalled
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
