package tree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
)

// creators bounds how many files are created at once. The system creates the files in one folder one after another, and goroutines that
// wait for that keep a processor busy.
const creators = 4

// temporary reports whether a file is an incomplete one left by a killed process. Such files are in the folder of the commit file.
func (o Options) temporary(p string) bool {
	return path.Dir(p) == path.Dir(o.Commit) && strings.HasPrefix(path.Base(p), atomicfile.TempPrefix)
}

// Apply executes the plan. The folder should not have changed since [MakePlan]. If ctx ends before all files are written under temporary
// names, Apply changes nothing and returns the cause. After that it ignores ctx. If Apply fails, the changes made so far stay, and another
// sync completes them. If another Apply is writing to the folder, it returns an error.
func (p *Plan) Apply(ctx context.Context) (err error) {
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
	w := &writer{root: root, opts: p.opts, meta: path.Dir(p.opts.Commit), dirs: map[string]bool{}}
	if err := root.MkdirAll(w.meta, 0o755); err != nil {
		return err
	}
	unlock, err := lockDir(root, w.meta)
	if err != nil {
		return err
	}
	defer unlock()
	return w.apply(ctx, p)
}

type writer struct {
	root *os.Root
	opts Options
	meta string // the folder of the commit file
	dirs map[string]bool
}

func (w *writer) apply(ctx context.Context, p *Plan) (err error) {
	for _, name := range p.leftovers {
		if err := w.remove(name); err != nil {
			return err
		}
	}
	// The files beside the commit file describe the tree, so they change together with it, after all others.
	var writes, removes, meta, commit []Step
	for _, s := range p.Steps {
		switch {
		case s.Path == w.opts.Commit:
			commit = append(commit, s)
		case s.Action == Delete:
			removes = append(removes, s)
		case path.Dir(s.Path) == w.meta:
			meta = append(meta, s)
		default:
			writes = append(writes, s)
		}
	}
	meta = append(meta, commit...)
	all := slices.Concat(writes, meta)
	temps, err := w.stageAll(ctx, all)
	defer func() {
		if err != nil {
			for _, temp := range temps {
				_ = w.root.Remove(temp) // the first error is reported
			}
		}
	}()
	if err != nil {
		return err
	}
	if err := w.renameAll(temps, writes); err != nil {
		return err
	}
	for _, s := range removes {
		if err := w.remove(s.Path); err != nil {
			return err
		}
		w.prune(path.Dir(s.Path))
	}
	return w.renameAll(temps[len(writes):], meta)
}

// renameAll moves staged files to their paths. A reader could see a half-written tree meanwhile, so it does nothing slow.
func (w *writer) renameAll(temps []string, steps []Step) error {
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

// stageAll writes every file under a temporary name, so that a full disk changes nothing. It returns the names even if it fails, although
// not all of the files then exist. It does not wait for the disk: after a power failure, another sync completes the tree.
func (w *writer) stageAll(ctx context.Context, steps []Step) ([]string, error) {
	var temps []string
	var group errgroup.Group
	group.SetLimit(creators)
	for _, s := range steps {
		if ctx.Err() != nil {
			_ = group.Wait() // nothing of these files stays
			return temps, context.Cause(ctx)
		}
		temp := path.Join(w.meta, atomicfile.TempPrefix+rand.Text())
		temps = append(temps, temp)
		group.Go(func() error { return w.root.WriteFile(temp, s.New, 0o644) })
	}
	return temps, group.Wait()
}

func (w *writer) remove(name string) error {
	if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// prune removes dir and the folders above it if they are empty.
func (w *writer) prune(dir string) {
	for ; dir != "." && dir != w.meta; dir = path.Dir(dir) {
		if w.root.Remove(dir) != nil {
			return
		}
		delete(w.dirs, dir)
	}
}
