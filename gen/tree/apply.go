package tree

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"
)

// tempPrefix begins the names of files that are being written. They lie beside the commit file.
const tempPrefix = "tmp-"

// syncWriters is how many files are flushed to the disk at once; flushes of several files cost little more than one.
const syncWriters = 16

// manyFiles is from how many files on all of them are flushed with one call, where there is one: that costs as much as
// some dozens of flushes, and waits for what other programs have written.
const manyFiles = 200

func (o Options) temporary(p string) bool {
	return path.Dir(p) == path.Dir(o.Commit) && strings.HasPrefix(path.Base(p), tempPrefix)
}

// Apply does what the plan says. The folder should not have changed since the plan was made. When it fails, what it
// had done stays, and another sync completes it. Two at once in one folder are an error for the second.
func (p *Plan) Apply() (err error) {
	if p.Empty() && len(p.leftovers) == 0 {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the tree in %s: %w", p.root, err)
		}
	}()
	if err := os.MkdirAll(p.root, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	w := &writer{root: root, opts: p.opts, meta: path.Dir(p.opts.Commit)}
	if err := root.MkdirAll(w.meta, 0o755); err != nil {
		return err
	}
	unlock, err := lockDir(root, w.meta)
	if err != nil {
		return err
	}
	defer unlock()
	return w.apply(p)
}

type writer struct {
	root *os.Root
	opts Options
	meta string // the folder of the commit file
	dirs map[string]bool
}

func (w *writer) apply(p *Plan) error {
	for _, name := range p.leftovers {
		// The pending file stays until its files are settled: it says that they are ours.
		if name != w.opts.Pending {
			if err := w.remove(name); err != nil {
				return err
			}
		}
	}
	var writes []Step
	var commit *Step
	for _, s := range p.Steps {
		switch {
		case s.Path == w.opts.Commit:
			commit = &s
		case s.Action != Delete:
			writes = append(writes, s)
		}
	}
	if commit != nil && w.opts.Pending != "" {
		if err := w.replace(Step{Path: w.opts.Pending, New: commit.New}); err != nil {
			return err
		}
	}
	if err := w.writeAll(writes); err != nil {
		return err
	}
	for _, s := range p.Steps {
		if s.Action == Delete {
			if err := w.remove(s.Path); err != nil {
				return err
			}
			w.prune(path.Dir(s.Path))
		}
	}
	if err := w.syncDirs(); err != nil {
		return err
	}
	if commit != nil {
		if err := w.replace(*commit); err != nil {
			return err
		}
	}
	if w.opts.Pending != "" {
		if err := w.remove(w.opts.Pending); err != nil {
			return err
		}
	}
	return syncDir(w.root, w.meta)
}

// writeAll puts every file on the disk under a temporary name first, so that the renames, which are what a reader
// could notice, follow each other quickly, and that a full disk changes nothing.
func (w *writer) writeAll(steps []Step) error {
	temps, err := w.stageAll(steps)
	if err != nil {
		for _, temp := range temps {
			if temp != "" {
				_ = w.root.Remove(temp) // the first error is the one to report
			}
		}
		return err
	}
	w.dirs = map[string]bool{}
	for i, s := range steps {
		dir := path.Dir(s.Path)
		if !w.dirs[dir] {
			if err := w.root.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			w.dirs[dir] = true
		}
		if err := w.root.Rename(temps[i], s.Path); err != nil {
			return err
		}
	}
	return nil
}

// stageAll stages every file, and returns the names also of those that it had staged when it failed.
func (w *writer) stageAll(steps []Step) ([]string, error) {
	temps := make([]string, len(steps))
	inParallel := func(do func(i int) error) error {
		var group errgroup.Group
		group.SetLimit(syncWriters)
		for i := range steps {
			group.Go(func() error { return do(i) })
		}
		return group.Wait()
	}
	together := len(steps) >= manyFiles
	err := inParallel(func(i int) (err error) {
		temps[i], err = w.stage(steps[i].New, !together)
		return err
	})
	if err != nil || !together {
		return temps, err
	}
	if done, err := flushAll(w.root); done || err != nil {
		return temps, err
	}
	return temps, inParallel(func(i int) error { return w.flush(temps[i]) })
}

func (w *writer) flush(name string) error {
	f, err := w.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// stage writes a temporary file and returns its name. Unless it is to be flushed, that is the caller's work. On an
// error there is no file.
func (w *writer) stage(content []byte, flush bool) (name string, err error) {
	name = path.Join(w.meta, tempPrefix+rand.Text())
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil && flush {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = w.root.Remove(name)
		return "", err
	}
	return name, nil
}

// replace writes one file in one step.
func (w *writer) replace(s Step) error {
	temp, err := w.stage(s.New, true)
	if err != nil {
		return err
	}
	if err := w.root.Rename(temp, s.Path); err != nil {
		_ = w.root.Remove(temp)
		return err
	}
	return syncDir(w.root, path.Dir(s.Path))
}

func (w *writer) remove(name string) error {
	if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// prune removes a folder that has become empty, and those above it. One that isn't empty holds somebody's files.
func (w *writer) prune(dir string) {
	for ; dir != "." && dir != w.meta; dir = path.Dir(dir) {
		if w.root.Remove(dir) != nil {
			return
		}
		delete(w.dirs, dir)
	}
}

func (w *writer) syncDirs() error {
	for dir := range w.dirs {
		if err := syncDir(w.root, dir); err != nil {
			return err
		}
	}
	return nil
}
