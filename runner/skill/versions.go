package skill

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// Version is a saved version of a skill.
type Version struct {
	Version string    `json:"version"`
	Saved   time.Time `json:"saved"`
	Current bool      `json:"current,omitempty"`
}

// Versions returns the saved versions of a skill, the newest first. The current version is among them, unless it was never
// saved.
func (s *Store) Versions(name string) ([]Version, error) {
	k, err := s.Load(name)
	if err != nil {
		return nil, err
	}
	all, err := versionsIn(k.dir, k.Name)
	for i := range all {
		all[i].Current = all[i].Version == k.Version
	}
	return all, err
}

func versionsIn(d Dir, name string) ([]Version, error) {
	if d.FS != nil {
		return nil, nil
	}
	root, err := safeopen.Root(d.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(safeopen.FS(root), versionsDir+"/"+name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the versions of %q: %w", name, err)
	}
	var all []Version
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() {
			all = append(all, Version{Version: e.Name(), Saved: info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b Version) int {
		return cmp.Or(b.Saved.Compare(a.Saved), strings.Compare(a.Version, b.Version))
	})
	return all, nil
}

// LoadVersion returns a version of a skill. The first six or more digits of the version are enough; an empty version is the
// current one.
func (s *Store) LoadVersion(name, version string) (*Skill, error) {
	k, err := s.Load(name)
	if err != nil {
		return nil, err
	}
	if version == "" || len(version) >= 6 && strings.HasPrefix(k.Version, version) {
		return k, nil
	}
	all, err := versionsIn(k.dir, k.Name)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(v Version) bool { return len(version) < 6 || !strings.HasPrefix(v.Version, version) })
	if len(found) != 1 {
		return nil, fmt.Errorf("skill %q has no unique version %.70q; the saved versions are: %s", k.Name, version, shortList(all))
	}
	fsys, done, err := k.dir.open()
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := readContent(fsys, versionPath(k.Name, found[0].Version))
	if err != nil {
		return nil, fmt.Errorf("read version %.12s of %q: %w", found[0].Version, k.Name, err)
	}
	old := &Skill{Name: k.Name, Path: k.Path, Shipped: k.Shipped, ReadOnly: true, dir: k.dir}
	old.take(c)
	if old.Version != found[0].Version {
		return nil, fmt.Errorf("read version %.12s of %q: its files have changed", found[0].Version, k.Name)
	}
	s.evaluate(old)
	return old, nil
}

func shortList(all []Version) string {
	if len(all) == 0 {
		return "none"
	}
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = fmt.Sprintf("%.12s", v.Version)
	}
	return strings.Join(texts, ", ")
}

// versionPath returns the folder of a version.
func versionPath(name, version string) string { return versionsDir + "/" + name + "/" + version }

// keepVersion saves the files of a skill as a version.
func keepVersion(root *os.Root, name string, c *content) error {
	at := versionPath(name, c.version())
	now := time.Now()
	if _, err := root.Stat(at); err == nil {
		return root.Chtimes(at, now, now) // it is the newest version again
	}
	stage := stagePrefix + rand.Text()
	for _, info := range c.infos {
		if err := writeFile(root, stage+"/"+info.Path, c.files[info.Path]); err != nil {
			return fmt.Errorf("save a version of %q: %w", name, err)
		}
	}
	if err := errors.Join(root.MkdirAll(path.Dir(at), 0o755), root.Rename(stage, at)); err != nil {
		return fmt.Errorf("save a version of %q: %w", name, err)
	}
	return nil
}

// prune removes the oldest versions beyond maxVersions.
func prune(root *os.Root, d Dir, name string) error {
	all, err := versionsIn(d, name)
	if err != nil {
		return err
	}
	var errs []error
	for _, v := range all[min(len(all), maxVersions+1):] {
		errs = append(errs, root.RemoveAll(versionPath(name, v.Version)))
	}
	return errors.Join(errs...)
}
