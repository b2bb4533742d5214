package skill

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/skill/internal/frontmatter"
)

// Saved is a skill that was saved.
type Saved struct {
	*Skill
	Warnings []string // one line each
	Before   string   // the version it replaced; empty if the skill is new
}

// BrokenError reports that a skill is broken, and why.
type BrokenError struct {
	Name    string
	Reasons []Reason
}

func (e *BrokenError) Error() string {
	texts := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		texts[i] = r.Text
	}
	is := "is broken"
	if slices.ContainsFunc(e.Reasons, func(r Reason) bool { return r.Fatal }) {
		is = "cannot work"
	}
	return fmt.Sprintf("skill %q %s: %s", e.Name, is, strings.Join(texts, "; "))
}

// ExitCode returns 1.
func (e *BrokenError) ExitCode() int { return 1 }

// Save checks a skill and writes it to the writable folder. It replaces a skill of the same name, which is kept as an
// earlier version. The skill is written completely or not at all. The error is a *NameError, a *DraftError, or a
// *BrokenError if a script cannot be bundled or uses a tool that does not exist.
func (s *Store) Save(ctx context.Context, draft Draft) (*Saved, error) {
	name, err := Canonical(draft.Name)
	if err != nil {
		return nil, err
	}
	d, err := s.writable()
	if err != nil {
		return nil, err
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	before, err := s.replaceable(d, name, &draft)
	if err != nil {
		return nil, err
	}
	files, f, warnings, err := draft.complete(name, before)
	if err != nil {
		return nil, err
	}
	if s.limit != nil {
		more := int64(2 * frontmatter.MaxSize)
		for _, data := range files {
			more += 2 * int64(len(data))
		}
		if err := s.limit(more); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(d.Path, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of skills: %w", err)
	}
	root, err := d.openToWrite()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w := &writer{store: s, dir: d, root: root, name: name}
	saved, err := w.save(ctx, &draft, files, f, before)
	if err != nil {
		return nil, err
	}
	saved.Warnings = append(warnings, saved.Warnings...)
	return saved, nil
}

// Accept saves a skill as its folder stands, with the tools as they are now.
func (s *Store) Accept(ctx context.Context, name string) (*Saved, error) {
	k, err := s.LoadVersion(name, "")
	if err != nil {
		return nil, err
	}
	draft := Draft{Name: name, Author: k.Author, Files: map[string][]byte{}}
	for _, f := range k.Files() {
		if draft.Files[f.Path], err = k.Read(f.Path); err != nil {
			return nil, err
		}
	}
	return s.Save(ctx, draft)
}

// replaceable returns the skill that a draft would replace, or nil. It refuses to replace one that the author may not.
func (s *Store) replaceable(d Dir, name string, draft *Draft) (*Skill, error) {
	refuse := func(hint, format string, args ...any) (*Skill, error) {
		return nil, &DraftError{Name: draft.Name, Why: fmt.Sprintf(format, args...), hint: hint}
	}
	const other = "choose another name"
	before, err := s.find(name)
	if err != nil {
		return nil, err
	}
	all := s.names(d)
	for _, n := range all {
		if n != name && canonical(n) == name {
			return refuse("rename or remove the folder "+n, "there is a skill of that name in the folder %q, which is spelled differently", n)
		}
	}
	switch {
	case before == nil && len(all) >= MaxSkills:
		return refuse("remove one that is no longer needed", "there are %d skills already", len(all))
	case before == nil:
		if _, err := os.Lstat(filepath.Join(d.Path, name)); !errors.Is(err, fs.ErrNotExist) {
			return refuse(other, "there is a file or a folder %q already, which is not a skill", filepath.Join(d.Path, name))
		}
		return nil, nil
	case before.Path != filepath.Join(d.Path, name):
		if before.dir.order < d.order {
			return refuse(other, "there is one in %q, to which nothing is saved, and it would take precedence", before.dir.place())
		}
		if draft.Author != "" {
			return refuse(other, "there is one of that name that %s may not replace", authorText(draft.Author))
		}
		return nil, nil // a copy, which takes precedence over the original
	case draft.Author != "" && before.Author != AuthorScript && before.Author != AuthorAgent:
		return refuse(other, "a person saved the skill of that name; %s may not replace it", authorText(draft.Author))
	}
	return before, nil
}

// authorText returns the author with an article.
func authorText(author string) string {
	if author == AuthorAgent {
		return "an agent"
	}
	return "a script"
}

func (d Dir) place() string {
	if d.FS != nil {
		return "the program itself"
	}
	return d.Path
}

// writer saves one skill.
type writer struct {
	store *Store
	dir   Dir
	root  *os.Root
	name  string
}

func (w *writer) save(ctx context.Context, draft *Draft, files map[string][]byte, f *frontmatter.Front, before *Skill) (*Saved, error) {
	if err := prepareDataDir(w.root); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, w.dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w.sweep()
	stage := stagePrefix + rand.Text()
	defer func() { _ = w.root.RemoveAll(stage) }() // sweep removes what remains
	for p, data := range files {
		if p != File {
			if err := writeFile(w.root, stage+"/"+p, data); err != nil {
				return nil, err
			}
		}
	}
	types := w.store.opt.Check
	if draft.Author != "" {
		types = withTimeout(types)
	}
	found, err := w.store.inspect(ctx, w.name, newContent(files), filepath.Join(w.dir.Path, filepath.FromSlash(stage)), w.dir.Path, types)
	if err != nil {
		return nil, err
	}
	if len(found.reasons) > 0 && !draft.Force {
		return nil, &BrokenError{Name: w.name, Reasons: found.reasons}
	}
	c, err := w.record(draft, files, f, found, before)
	if err != nil {
		return nil, err
	}
	if err := writeFile(w.root, stage+"/"+File, c.files[File]); err != nil {
		return nil, err
	}
	if err := w.keep(c, found, before); err != nil {
		return nil, err
	}
	if err := install(w.root, stage, w.name); err != nil {
		return nil, fmt.Errorf("move skill %q into place: %w", w.name, err)
	}
	if w.store.opt.Check != nil && found.unchecked == nil && len(c.languages()) > 0 {
		kept := checked{Version: c.version(), Against: w.store.against(found.tools), Types: found.types, More: found.moreTypes}
		if err := w.store.keepChecks(w.dir, map[string]checked{w.name: kept}); err != nil {
			return nil, err
		}
	}
	k := &Skill{Name: w.name, Path: filepath.Join(w.dir.Path, w.name), Shipped: w.dir.Shipped, dir: w.dir}
	k.take(c)
	k.Reasons = append(k.Reasons, found.reasons...)
	w.store.evaluate(k)
	saved := &Saved{Skill: k, Warnings: found.warnings}
	missing, notInstalled := errors.AsType[*check.MissingError](found.unchecked)
	switch {
	case notInstalled && draft.Author == "": // a script or an agent can do nothing about it
		saved.Warnings = append(saved.Warnings, fmt.Sprintf("%v; %s", found.unchecked, missing.Hint()))
	case found.unchecked != nil && !notInstalled:
		saved.Warnings = append(saved.Warnings, oneLine(found.unchecked.Error(), 500))
	}
	for _, line := range k.Suspicious {
		saved.Warnings = append(saved.Warnings, "suspicious: "+line)
	}
	if before != nil {
		saved.Before = before.Version
	}
	return saved, nil
}

// record adds SKILL.md, with what we record in it, to the files.
func (w *writer) record(draft *Draft, files map[string][]byte, f *frontmatter.Front, found *findings, before *Skill) (*content, error) {
	given := ""
	if draft.Name != w.name {
		given = draft.Name
	} else if before != nil && draft.Author == "" {
		given = before.Given
	}
	taint := slices.Clone(draft.Taint)
	if before != nil && draft.Author != "" {
		taint = append(taint, before.Taint...)
	}
	slices.Sort(taint)
	taint = slices.Compact(taint)
	for _, version := range []string{"", "known"} {
		if version != "" {
			version = newContent(files).version()
		}
		texts := [][2]string{{keyGiven, given}, {keyVersion, version}, {keySkills, strings.Join(found.skills, " ")}}
		if len(taint) > 0 {
			list, err := json.Marshal(taint)
			if err != nil {
				return nil, err
			}
			texts = append(texts, [2]string{keyTaint, string(list)})
		}
		if draft.Author != "" {
			texts = append([][2]string{{keyAuthor, draft.Author}}, texts...)
		}
		for _, t := range found.tools {
			texts = append(texts, [2]string{keyTool + t.ID, t.Digest})
			if t.Learned != "" {
				texts = append(texts, [2]string{keyLearned + t.ID, t.Learned})
			}
		}
		f.SetMetadata(isRecord, texts)
		text, err := f.Text()
		if err != nil {
			return nil, err
		}
		if _, err := frontmatter.Parse(text); err != nil {
			return nil, &DraftError{Name: draft.Name, Why: fmt.Sprintf("%s: %v", File, err)}
		}
		files[File] = text
	}
	return newContent(files), nil
}

// isRecord reports whether a key of metadata is one that every save rewrites.
func isRecord(key string) bool {
	return strings.HasPrefix(key, keyTool) || strings.HasPrefix(key, keyLearned) || key == keyVersion || key == keyGiven || key == keySkills || key == keyTaint
}

// keep saves the version, the previous version unless it was saved before, and the definitions of the tools.
func (w *writer) keep(c *content, found *findings, before *Skill) error {
	if before != nil {
		if err := keepVersion(w.root, w.name, before.content); err != nil {
			return err
		}
	}
	if err := keepVersion(w.root, w.name, c); err != nil {
		return err
	}
	if err := prune(w.root, w.dir, w.name); err != nil {
		return err
	}
	if w.store.tools == nil {
		return nil
	}
	return w.store.keepDefinitions(w.root, found.tools)
}

// sweep removes what interrupted saves have left behind.
func (w *writer) sweep() {
	entries, err := fs.ReadDir(safeopen.FS(w.root), dataDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(dataDir+"/"+e.Name(), stagePrefix) && time.Since(info.ModTime()) > time.Hour {
			_ = w.root.RemoveAll(path.Join(dataDir, e.Name())) // the next save tries again
		}
	}
}

// Remove removes a skill that was saved, and its earlier versions. It does not remove links to it; see [Store.Unlink].
func (s *Store) Remove(name string) (*Skill, error) {
	k, err := s.Load(name)
	if err != nil {
		return nil, err
	}
	if k.ReadOnly {
		return nil, fmt.Errorf("remove skill %q: it is in %s, from which nothing is removed", k.Name, k.dir.place())
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	root, err := k.dir.openToWrite()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := prepareDataDir(root); err != nil {
		return nil, err
	}
	unlock, err := lock(context.Background(), k.dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	gone := stagePrefix + rand.Text() // rename it first: removing takes time
	if err := root.Rename(k.Name, gone); err != nil {
		return nil, fmt.Errorf("remove skill %q: %w", k.Name, err)
	}
	if err := errors.Join(root.RemoveAll(gone), root.RemoveAll(versionsDir+"/"+k.Name)); err != nil {
		return nil, fmt.Errorf("remove skill %q: %w", k.Name, err)
	}
	return k, nil
}

// install moves the folder stage to name, in place of what is there. The caller holds the lock of the folder of skills.
func install(root *os.Root, stage, name string) error {
	aside := stagePrefix + rand.Text()
	old := root.Rename(name, aside)
	if old != nil && !errors.Is(old, fs.ErrNotExist) {
		return old
	}
	if err := root.Rename(stage, name); err != nil {
		if old == nil {
			err = errors.Join(err, root.Rename(aside, name))
		}
		return err
	}
	_ = root.RemoveAll(aside) // sweep removes what remains
	return nil
}

// lock waits until no other process saves to the folder or removes from it. The data folder exists.
func lock(ctx context.Context, d Dir) (unlock func(), err error) {
	l := flock.New(filepath.Join(d.Path, filepath.FromSlash(lockFile)), flock.SetFlag(safeopen.LockFlag))
	if _, err := l.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the folder of skills: %w", err), l.Close())
	}
	return func() { _ = l.Close() }, nil
}
