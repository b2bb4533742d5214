// Package taint remembers, beyond the end of a run, which servers' data the files of a workspace may hold. Not every sandbox shows what a
// script reads, so the package is cautious: every file that a run wrote may hold the data of every server whose data the run had, and a run
// that can read a file has that file's data.
//
// A [Store] has one file for each workspace, in a folder that no script can write to: the labelled files, and the times of the runs that
// had data. It is on the machine of the workspaces, not in the state that machines share: it is about files on its disks, by the times of its
// file systems, and about processes that hold locks there. A file that was changed within such a time is labelled when the next run begins, even if mcprun was killed or the file has been
// renamed since. The label of a file is removed when the file is gone.
package taint

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	// tick is how far the clock of a file system may lag behind, and coarse is the same for times in whole seconds.
	tick   = 20 * time.Millisecond
	coarse = 2 * time.Second
	// lockWait bounds the wait for other processes that change the files.
	lockWait = 30 * time.Second
	// maxSpans is the maximum number of runs' times that are kept separately. Older ones are merged into one.
	maxSpans = 1000
	// maxDepth is how deep folders are read. Deeper files count as written by all runs.
	maxDepth = 64
)

// Origins maps servers, under both of their names, to descriptions of where their data is.
type Origins map[string]string

// Store keeps the labels of workspaces. It is safe for concurrent use, also by several processes.
type Store struct{ dir string }

// Open returns the store in a folder, which need not exist. The folder must not be inside a workspace.
func Open(dir string) *Store { return &Store{dir} }

// record is the file of a workspace.
type record struct {
	Folder string              `json:"folder"`
	Files  map[string][]string `json:"files,omitempty"` // servers by path, with slashes
	Spans  []span              `json:"runs,omitempty"`
}

// span is the time during which a run had data of servers.
type span struct {
	Run     string    `json:"run"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"` // zero if the run is in progress or mcprun was killed
	Servers []string  `json:"servers"`
}

// covers reports whether something that happened at a given time may have happened within the span.
func (s *span) covers(at time.Time) bool {
	grain := tick
	if at.Nanosecond() == 0 {
		grain = coarse
	}
	return at.Add(grain).After(s.Began) && (s.Ended.IsZero() || !at.After(s.Ended.Add(tick)))
}

func (s *Store) path(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

func (s *Store) read(folder string) (*record, error) {
	r := &record{Folder: folder}
	if err := kept.Read(s.path(folder), r); err != nil {
		return nil, fmt.Errorf("read whose data the files of %s hold: %w", folder, err)
	}
	return r, nil
}

// change updates the record of a workspace if do reports that it changed the record.
func (s *Store) change(ctx context.Context, folder string, do func(r *record) (changed bool, err error)) error {
	wrap := func(err error) error {
		return fmt.Errorf("keep whose data the files of %s hold: %w; the folder %s must be writable for you", folder, err, s.dir)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return wrap(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockWait)
	defer cancel()
	unlock, err := kept.Lock(ctx, filepath.Join(s.dir, "lock"))
	if err != nil {
		return wrap(err)
	}
	defer unlock()
	r, err := s.read(folder)
	if err != nil {
		return err
	}
	changed, err := do(r)
	if err == nil && changed {
		if err = kept.Write(s.path(folder), r); err != nil {
			err = wrap(err)
		}
	}
	return err
}

// label adds servers to a file.
func (r *record) label(file string, servers []string) {
	if r.Files == nil {
		r.Files = map[string][]string{}
	}
	r.Files[file] = union(r.Files[file], servers)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// within returns the servers of all spans that cover one of the times.
func (r *record) within(times ...time.Time) (servers []string) {
	for i := range r.Spans {
		if slices.ContainsFunc(times, r.Spans[i].covers) {
			servers = union(servers, r.Spans[i].Servers)
		}
	}
	return servers
}

// Run is a run in a workspace.
type Run struct {
	store  *Store
	folder string
	id     string
	began  time.Time

	mu     sync.Mutex
	had    []string // servers whose data the run has received
	unlock func()   // unlocks the file that marks the run as in progress; nil while the run has no data
}

// Begin begins a run in a workspace, which is an absolute path without links. servers are those whose data the run already has. Begin
// returns the servers whose data the workspace holds. skip lists folders in it that no script writes to. The caller must call [Run.End].
func (s *Store) Begin(ctx context.Context, folder string, skip []string, servers []string) (*Run, Origins, error) {
	run := &Run{store: s, folder: folder, id: strings.ToLower(rand.Text()[:12]), began: time.Now()}
	found := Origins{}
	known, err := s.related(folder)
	if err != nil {
		return nil, nil, err
	}
	for _, of := range known {
		seen := Origins{}
		err := s.change(ctx, of, func(r *record) (bool, error) {
			s.close(r)
			err := r.walk(skip, seen)
			if below, inside := strings.CutPrefix(folder, of+string(filepath.Separator)); inside { // the files around the workspace cannot be read
				seen = Origins{}
				seen.add(r.below(filepath.ToSlash(below)))
			}
			return true, err
		})
		if err != nil {
			return nil, nil, err
		}
		for server, where := range seen {
			found[server] = cmp.Or(found[server], where)
		}
	}
	if all := union(servers, slices.Collect(maps.Keys(found))); len(all) > 0 {
		if err := run.Receive(all); err != nil {
			return nil, nil, err
		}
	}
	return run, found, nil
}

// related returns the known workspaces that share files with the given one: itself, and those above and below it.
func (s *Store) related(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, file := range files {
		var r record
		if err := kept.Read(file, &r); err != nil {
			return nil, fmt.Errorf("read whose data the files of a workspace hold: %w", err)
		}
		if within(folder, r.Folder) || within(r.Folder, folder) {
			out = append(out, r.Folder)
		}
	}
	return out, nil
}

// within reports whether a folder is equal to other or below it.
func within(folder, other string) bool {
	below, err := filepath.Rel(other, folder)
	return err == nil && filepath.IsLocal(below)
}

// below returns the labels of the files below a folder.
func (r *record) below(dir string) map[string][]string {
	out := map[string][]string{}
	for file, servers := range r.Files {
		if strings.HasPrefix(file, dir+"/") {
			out[file] = servers
		}
	}
	return out
}

// close ends the spans of runs whose mcprun was killed, and bounds their number.
func (s *Store) close(r *record) {
	for i := range r.Spans {
		if !r.Spans[i].Ended.IsZero() {
			continue
		}
		if unlock, free, err := kept.TryLock(s.alive(r.Spans[i].Run)); err == nil && free {
			r.Spans[i].Ended = time.Now()
			unlock()
			_ = os.Remove(s.alive(r.Spans[i].Run))
		}
	}
	for len(r.Spans) > maxSpans && !r.Spans[0].Ended.IsZero() && !r.Spans[1].Ended.IsZero() {
		a, b := r.Spans[0], r.Spans[1]
		if a.Began.After(b.Began) {
			a, b = b, a
		}
		if b.Ended.After(a.Ended) {
			a.Ended = b.Ended
		}
		a.Servers = union(a.Servers, b.Servers)
		r.Spans = append([]span{a}, r.Spans[2:]...)
	}
}

// alive returns the file that a run with data keeps locked while it is in progress.
func (s *Store) alive(run string) string { return filepath.Join(s.dir, path.Base(run)+".run") }

// walk labels the files that were changed within spans, removes the labels of files that are gone, and adds the data of all files to found.
func (r *record) walk(skip []string, found Origins) error {
	root, err := workspace.OpenLocked(r.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		r.Files = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("read workspace: %w", err)
	}
	defer root.Close()
	labels, folders := map[string][]string{}, map[string]fs.FileInfo{}
	see := func(file string, servers []string) {
		if servers = union(r.Files[file], servers); len(servers) > 0 {
			labels[file] = servers
		}
	}
	hidden := func(file string) error {
		for i := range r.Spans {
			see(file, union(labels[file], r.Spans[i].Servers))
		}
		return fs.SkipDir
	}
	err = fs.WalkDir(safeopen.FS(root), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && p == ".":
			return err
		case err != nil:
			return hidden(p) // a script may have made it unreadable, and may make it readable again
		case p == ".":
			return nil
		}
		delete(folders, path.Dir(p)) // the folder is not empty
		switch {
		case d.IsDir() && slices.Contains(skip, filepath.Join(r.Folder, filepath.FromSlash(p))):
			return fs.SkipDir
		case d.IsDir() && strings.Count(p, "/") >= maxDepth:
			return hidden(p)
		}
		info, err := d.Info()
		if err != nil {
			return nil // the file is gone
		}
		if d.IsDir() {
			folders[p] = info // the name of the folder may itself be data
			return nil
		}
		if !workspace.IsIgnore(root, p) {
			see(p, r.within(times(info)...))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read workspace: %w", err)
	}
	for p, info := range folders {
		if p != "servers" && p != "skills" { // folders on which sandboxes mount others
			see(p, r.within(times(info)...))
		}
	}
	r.Files = labels
	found.add(labels)
	return nil
}

func (o Origins) add(labels map[string][]string) {
	for _, file := range slices.Sorted(maps.Keys(labels)) {
		for _, server := range labels[file] {
			if o[server] == "" {
				o[server] = fmt.Sprintf("the file %s of the workspace", quoted(file))
			}
		}
	}
}

func quoted(name string) string { return fmt.Sprintf("%q", ident.Clip(name, 200)) }

// Receive records that the run is about to get data of servers.
func (r *Run) Receive(servers []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := union(r.had, servers)
	if len(all) == len(r.had) {
		return nil
	}
	if err := r.keep(all, time.Time{}, nil); err != nil {
		return err
	}
	r.had = all
	return nil
}

// keep writes the span of the run. The caller holds the run's lock.
func (r *Run) keep(servers []string, ended time.Time, files []string) error {
	return r.store.change(context.Background(), r.folder, func(rec *record) (bool, error) {
		if r.unlock == nil {
			unlock, free, err := kept.TryLock(r.store.alive(r.id))
			if err != nil || !free {
				return false, fmt.Errorf("note that the run is under way: %w", errors.Join(err, fs.ErrExist))
			}
			r.unlock = unlock
		}
		i := slices.IndexFunc(rec.Spans, func(s span) bool { return s.Run == r.id })
		if i < 0 {
			i, rec.Spans = len(rec.Spans), append(rec.Spans, span{Run: r.id, Began: r.began})
		}
		rec.Spans[i].Servers, rec.Spans[i].Ended = servers, ended
		for _, file := range files {
			rec.label(file, servers)
		}
		return true, nil
	})
}

// Inherited returns the servers whose data other runs in the workspace have received since this one began, because this run can read their
// files.
func (r *Run) Inherited() (map[string]string, error) {
	rec, err := r.store.read(r.folder)
	if err != nil {
		return nil, err
	}
	found := Origins{}
	var new []string
	for _, s := range rec.Spans {
		if s.Run != r.id && (s.Ended.IsZero() || s.Ended.After(r.began)) {
			new = union(new, s.Servers)
		}
	}
	for _, server := range new {
		found[server] = "the workspace, where another run with its data was under way"
	}
	return found, r.Receive(new)
}

// End ends the run. files lists the files that it wrote, below the workspace.
func (r *Run) End(files []string) error {
	_, err := r.Inherited()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unlock == nil {
		return err
	}
	err = errors.Join(err, r.keep(r.had, time.Now(), files))
	r.unlock()
	_ = os.Remove(r.store.alive(r.id))
	return err
}

// Of returns the servers whose data some files of a workspace hold.
func (s *Store) Of(folder string, files ...string) (Origins, error) {
	found := Origins{}
	rec, err := s.read(folder)
	if err != nil || len(rec.Files)+len(rec.Spans) == 0 {
		return found, err
	}
	root, err := safeopen.Root(folder)
	if err != nil {
		return nil, fmt.Errorf("read workspace: %w", err)
	}
	defer root.Close()
	labels := map[string][]string{}
	for _, file := range files {
		labels[file] = rec.Files[file]
		for _, look := range []func(string) (fs.FileInfo, error){root.Lstat, root.Stat} { // a link may lead to another file of the workspace
			if info, err := look(file); err == nil {
				labels[file] = union(labels[file], rec.within(times(info)...))
			}
		}
		if real, err := filepath.EvalSymlinks(filepath.Join(folder, filepath.FromSlash(file))); err == nil {
			if below, err := filepath.Rel(folder, real); err == nil {
				labels[file] = union(labels[file], rec.Files[filepath.ToSlash(below)])
			}
		}
	}
	found.add(labels)
	return found, nil
}

// Wrote records, before a file of a workspace is written, that the writer has data of servers.
func (s *Store) Wrote(ctx context.Context, folder, file string, servers []string) error {
	if len(servers) == 0 {
		return nil
	}
	return s.change(ctx, folder, func(r *record) (bool, error) {
		now := time.Now() // runs in progress can read it
		s.close(r)
		r.label(file, servers)
		r.Spans = append(r.Spans, span{Run: "file", Began: now, Ended: now, Servers: servers})
		return true, nil
	})
}
