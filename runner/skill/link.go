package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// copyMark is the file that marks a folder as a copy of a skill, made if the system does not support links. It names the skill.
const copyMark = ".mcprun-copy"

// Linked is a skill that is visible in a host's folder.
type Linked struct {
	Path   string `json:"path"` // absolute
	Copied bool   `json:"copied,omitempty"`
	Made   bool   `json:"made"` // false if it existed already
}

// LinkError reports that a skill cannot be made visible in a folder.
type LinkError struct {
	Path string
	Why  string
}

func (e *LinkError) Error() string { return fmt.Sprintf("link %q: %s", e.Path, e.Why) }

// Link makes a skill visible in a folder where a host looks for skills, such as .claude/skills. It creates a relative link,
// or a copy if links are not supported or the skill is in the program itself; it replaces an earlier copy. The error is a
// *LinkError if something else has that name, and a *BrokenError if the skill is broken. The folder is absolute and is
// created if it is missing.
func (s *Store) Link(name, folder string) (*Linked, error) {
	k, err := s.Load(name)
	if err != nil {
		return nil, err
	}
	if k.Broken {
		return nil, &BrokenError{Name: k.Name, Reasons: k.Reasons}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder for links: %w", err)
	}
	at := filepath.Join(folder, k.Name)
	kind, err := s.ownerOf(k, at)
	if err != nil {
		return nil, err
	}
	switch kind {
	case foreign:
		return nil, &LinkError{at, "something else has that name"}
	case itself:
		return nil, &LinkError{at, "this is the folder of the skill itself"}
	case link:
		return &Linked{Path: at}, nil
	}
	if k.dir.FS == nil && kind == nothing {
		target, err := relativeTo(folder, k.Path)
		if err == nil {
			err = os.Symlink(target, at)
		}
		if err == nil {
			return &Linked{Path: at, Made: true}, nil
		}
		if errors.Is(err, fs.ErrExist) {
			return nil, &LinkError{at, "something else has that name"}
		}
	}
	if err := copyTo(k, folder, kind == copied); err != nil {
		return nil, err
	}
	return &Linked{Path: at, Copied: true, Made: true}, nil
}

// Unlink removes a link or copy that Link created. It returns false if there is none.
func (s *Store) Unlink(k *Skill, folder string) (bool, error) {
	at := filepath.Join(folder, k.Name)
	kind, err := s.ownerOf(k, at)
	if err != nil {
		return false, err
	}
	switch kind {
	case link:
		err = os.Remove(at)
	case copied:
		err = os.RemoveAll(at)
	default:
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove the link %q: %w", at, err)
	}
	return true, nil
}

// IsLinked reports whether a skill is visible in a folder by a link or a copy that Link created.
func (s *Store) IsLinked(k *Skill, folder string) bool {
	kind, err := s.ownerOf(k, filepath.Join(folder, k.Name))
	return err == nil && (kind == link || kind == copied)
}

// owner is what exists at the path of a link.
type owner int

const (
	nothing owner = iota
	foreign
	link   // ours, to this skill
	copied // ours, of this skill
	itself
)

// ownerOf returns what exists at a path. A link is ours if it leads to the skill's path, even if the skill does not exist.
func (s *Store) ownerOf(k *Skill, at string) (owner, error) {
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nothing, nil
	case err != nil:
		return foreign, fmt.Errorf("examine %q: %w", at, err)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(at)
		if err != nil {
			return foreign, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(resolved(filepath.Dir(at)), target)
		}
		if k.dir.FS == nil && samePath(target, k.Path) {
			return link, nil
		}
		return foreign, nil
	case !info.IsDir():
		return foreign, nil
	case k.dir.FS == nil && samePath(at, k.Path):
		return itself, nil
	}
	text, err := os.ReadFile(filepath.Join(at, copyMark))
	if err == nil && strings.TrimSpace(string(text[:min(len(text), 4096)])) == markOf(k) {
		return copied, nil
	}
	return foreign, nil
}

// markOf returns the text of a copy's mark. It holds no path of the machine.
func markOf(k *Skill) string { return "a copy of the skill " + k.Name + ", made by mcprun skill link" }

// samePath reports whether two paths are the same. Their last elements may not exist.
func samePath(a, b string) bool {
	at := func(p string) string { return filepath.Join(resolved(filepath.Dir(p)), filepath.Base(p)) }
	return at(a) == at(b) || resolved(a) == resolved(b)
}

func resolved(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return filepath.Clean(p)
}

// relativeTo returns the relative path from a folder, with links resolved, to a path.
func relativeTo(folder, path string) (string, error) {
	return filepath.Rel(resolved(folder), filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path)))
}

// copyTo copies a skill to a folder, and replaces an earlier copy.
func copyTo(k *Skill, folder string, replace bool) error {
	root, err := safeopen.Root(folder)
	if err != nil {
		return fmt.Errorf("open the folder for links: %w", err)
	}
	defer root.Close()
	stage := ".mcprun-" + k.Name
	err = root.RemoveAll(stage)
	for _, info := range k.content.infos {
		if err == nil {
			err = writeFile(root, stage+"/"+info.Path, k.content.files[info.Path])
		}
	}
	if err == nil {
		err = writeFile(root, stage+"/"+copyMark, []byte(markOf(k)+"\n"))
	}
	if err == nil && replace {
		err = root.RemoveAll(k.Name)
	}
	if err == nil {
		err = root.Rename(stage, k.Name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy skill %q: %w", k.Name, err), root.RemoveAll(stage))
	}
	return nil
}
