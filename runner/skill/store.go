package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// Dir is a folder of skills.
type Dir struct {
	// Path is absolute. The folder may be missing; the first save creates it.
	Path string
	// FS is read instead of Path, for skills in the program itself.
	FS fs.FS
	// Link is the link that led to Path, or empty. Nothing is written through a link.
	Link string
	// Writable reports whether skills may be saved to the folder, Shipped whether they came with the program.
	Writable, Shipped bool

	order int // index in the store
}

// Options configure what skills are checked against. The zero value checks only their format.
type Options struct {
	// Tree is the absolute path of the generated tree that the scripts of skills import. Empty means none.
	Tree string
	// Catalog and Lock are those of the tree. If Lock is nil, both are read from Tree.
	Catalog *catalog.Catalog
	Lock    *catalog.Lock
	// Check finds type errors, like [check.Run]. Nil means that types are not checked.
	Check TypeCheck
	// Scripts bundles scripts, to find out whether they can be bundled. Nil bundles in this process; see [script.Bundler.Read]
	// for why a service should not.
	Scripts *script.Bundler
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// Checker returns a function for Options.Check that calls check.Run with opt.
func Checker(opt check.Options) TypeCheck {
	return func(ctx context.Context, src script.Source) ([]check.Problem, error) { return check.Run(ctx, src, opt) }
}

// Store is a list of folders of skills. If several folders have a skill of the same name, the first one counts. It is safe
// for concurrent use, also by several processes.
type Store struct {
	dirs  []Dir
	opt   Options
	log   *slog.Logger
	tools *tools // nil if there is no tree to check against

	saving  sync.Mutex
	listing sync.Mutex
	limit   func(more int64) error // may be nil
}

// Limit sets a function that is called before a skill is saved, with the number of bytes that its files and the version
// that is kept will take. If it returns an error, the skill is not saved. Limit must be called before the store is used.
func (s *Store) Limit(room func(more int64) error) { s.limit = room }

// Open returns a store. The folders may be missing. It returns an error if the tree cannot be read.
func Open(dirs []Dir, opt *Options) (*Store, error) {
	s := &Store{dirs: slices.Clone(dirs)}
	if opt != nil {
		s.opt = *opt
	}
	if s.log = s.opt.Logger; s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for i, d := range dirs {
		s.dirs[i].order = i
		if d.FS == nil && !filepath.IsAbs(d.Path) {
			return nil, fmt.Errorf("open the folder of skills %q: it is not an absolute path", d.Path)
		}
	}
	if s.opt.Lock == nil && s.opt.Tree != "" {
		cat, lock, err := catalog.LoadTree(s.opt.Tree)
		if err != nil {
			return nil, err
		}
		s.opt.Catalog, s.opt.Lock = cat, lock
	}
	if s.opt.Lock != nil {
		s.tools = newTools(s.opt.Lock, s.opt.Catalog)
		if err := s.tools.readLearned(s.opt.Tree); err != nil {
			s.log.Warn("read the learned types", "error", err) // a sync refuses them, and says what to do
		}
	}
	return s, nil
}

// MissingError reports that a skill does not exist.
type MissingError struct {
	Name string
	Near []string // similar names, or else all names, at most 20
	near bool
}

func (e *MissingError) Error() string {
	switch {
	case e.near:
		return fmt.Sprintf("there is no skill %.80q; did you mean %s?", e.Name, strings.Join(e.Near, " or "))
	case len(e.Near) > 0:
		return fmt.Sprintf("there is no skill %.80q; there are: %s", e.Name, strings.Join(e.Near, ", "))
	}
	return fmt.Sprintf("there is no skill %.80q; none has been saved yet", e.Name)
}

// Load returns a skill by its name, in any style. A broken skill is returned too, with the reasons. The error is a
// *MissingError if the skill does not exist.
func (s *Store) Load(name string) (*Skill, error) {
	canonical, err := Canonical(name)
	if err != nil {
		if !kebab.MatchString(name) {
			return nil, err
		}
		canonical = name // written by another program with other rules
	}
	found, err := s.find(canonical)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, s.missing(name)
	}
	s.evaluate(found)
	return found, nil
}

// find returns a skill without its reasons for being broken. It returns nil if the skill does not exist.
func (s *Store) find(canonical string) (*Skill, error) {
	for _, d := range s.dirs {
		found, err := s.read(d, canonical)
		if err == nil {
			return found, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, nil
}

func (s *Store) missing(name string) error {
	var all []string
	for _, d := range s.dirs {
		for _, n := range s.names(d) {
			if kebab.MatchString(n) && !slices.Contains(all, n) { // others cannot be loaded
				all = append(all, n)
			}
		}
	}
	slices.Sort(all)
	e := &MissingError{Name: name}
	if e.Near = ident.Nearest(canonical(name), all, 3); len(e.Near) > 0 {
		e.near = true
	} else {
		e.Near = all[:min(len(all), 20)]
	}
	return e
}

// List returns all skills, sorted by name, each with the reasons why it is broken. It omits skills in the program itself
// that are broken, for example because this tree lacks their tools. The list does not hold the data of files; they are read
// again when needed, and reading them fails if they have changed.
func (s *Store) List() ([]*Skill, error) {
	s.listing.Lock() // scripts may request many lists at once
	defer s.listing.Unlock()
	byName := map[string]*Skill{}
	var all []*Skill
	for _, d := range s.dirs {
		for _, name := range s.names(d) {
			if byName[name] != nil {
				continue
			}
			found, err := s.read(d, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was removed in the meantime
			}
			if err != nil {
				return nil, err
			}
			found.content.drop()
			byName[name] = found
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b *Skill) int { return strings.Compare(a.Name, b.Name) })
	e := s.newEvaluation(byName)
	for _, each := range all {
		e.evaluate(each)
	}
	return slices.DeleteFunc(all, func(k *Skill) bool { return k.Broken && k.dir.FS != nil }), nil
}

// names returns the names of the skills in a folder, sorted.
func (s *Store) names(d Dir) []string {
	fsys, done, err := d.open()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("open the folder of skills", "folder", d.Path, "error", err)
		}
		return nil
	}
	defer done()
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		s.log.Warn("list the folder of skills", "folder", d.Path, "error", err)
		return nil
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() || e.Name()[0] == '.' || len(e.Name()) > 255 {
			continue
		}
		if info, err := fs.Stat(fsys, e.Name()+"/"+File); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if len(names) == MaxSkills {
			s.log.Warn("a folder has too many skills; the rest is ignored", "folder", d.Path, "most", MaxSkills)
			break
		}
		names = append(names, e.Name())
	}
	return names
}

// open opens the folder for reading. The caller must call done.
func (d Dir) open() (fsys fs.FS, done func(), err error) {
	if d.FS != nil {
		return d.FS, func() {}, nil
	}
	root, err := safeopen.Root(d.Path)
	if err != nil {
		return nil, nil, err
	}
	return safeopen.FS(root), func() { _ = root.Close() }, nil
}

// LinkedFolderError reports that a folder of skills is a link. Nothing is written through a link.
type LinkedFolderError struct{ Link, Path string }

func (e *LinkedFolderError) Error() string {
	return fmt.Sprintf("the folder of skills %q is a link to %q; skills are read through it, but neither saved nor removed", e.Link, e.Path)
}

// Hint returns what to do about the error.
func (e *LinkedFolderError) Hint() string {
	return fmt.Sprintf("name the folder itself: --skills %q", e.Path)
}

// openToWrite opens the folder for saving. It refuses a link, which may lead anywhere.
func (d Dir) openToWrite() (*os.Root, error) {
	if d.Link != "" {
		return nil, &LinkedFolderError{d.Link, d.Path}
	}
	info, err := os.Lstat(d.Path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		to, _ := os.Readlink(d.Path) // for the message
		return nil, &LinkedFolderError{d.Path, to}
	}
	root, err := safeopen.Root(d.Path)
	if err != nil {
		return nil, fmt.Errorf("open the folder of skills: %w", err)
	}
	return root, nil
}

// writable returns the folder that skills are saved to.
func (s *Store) writable() (Dir, error) {
	for _, d := range s.dirs {
		if d.Writable && d.FS == nil {
			return d, nil
		}
	}
	return Dir{}, errors.New("there is no folder that skills may be saved to")
}
