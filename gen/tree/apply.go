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

const (
	// creators is how many files are made at once. The system makes the names in one folder one after the other anyway,
	// and whoever waits for that keeps a processor busy.
	creators = 4
	// flushers is how many files are flushed to the disk at once; flushes of several files cost little more than one.
	flushers = 16
	// maxOpen is how many files are open at once.
	maxOpen = 192
)

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
			_ = w.root.Remove(temp) // the first error is the one to report
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
	for i := range temps {
		temps[i] = w.temporary()
	}
	for from := 0; from < len(steps); from += maxOpen {
		to := min(from+maxOpen, len(steps))
		if err := w.stage(temps[from:to], steps[from:to]); err != nil {
			return temps[:to], err
		}
	}
	return temps, nil
}

func (w *writer) temporary() string { return path.Join(w.meta, tempPrefix+rand.Text()) }

// stage writes temporary files. All of them are written before the first is flushed: a flush makes the file system
// record whatever has been done to it, and so the first one does much of the others' work. On an error some may be
// there.
func (w *writer) stage(temps []string, steps []Step) (err error) {
	files := make([]*os.File, len(steps))
	defer func() {
		for _, f := range files {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}()
	var writing, flushing errgroup.Group
	writing.SetLimit(creators)
	for i := range steps {
		writing.Go(func() (err error) {
			if files[i], err = w.root.OpenFile(temps[i], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
				return err
			}
			if _, err = files[i].Write(steps[i].New); err == nil {
				beginFlush(files[i])
			}
			return err
		})
	}
	if err := writing.Wait(); err != nil {
		return err
	}
	flushing.SetLimit(flushers)
	for _, f := range files {
		flushing.Go(f.Sync)
	}
	return flushing.Wait()
}

// replace writes one file in one step.
func (w *writer) replace(s Step) error {
	temp := w.temporary()
	err := w.stage([]string{temp}, []Step{s})
	if err == nil {
		err = w.root.Rename(temp, s.Path)
	}
	if err != nil {
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
	var group errgroup.Group
	group.SetLimit(flushers)
	for dir := range w.dirs {
		group.Go(func() error { return syncDir(w.root, dir) })
	}
	return group.Wait()
}
