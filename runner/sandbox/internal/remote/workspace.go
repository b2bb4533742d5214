package remote

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

const (
	maxPath  = 4000 // bytes; Linux allows at most 4,095, including the container's name for the workspace
	maxDepth = 255  // elements of a path
	page     = 4096
	// Slack and FileSlack are how many bytes and files a workspace in a container can hold beyond its limit, so that a guest that exceeds
	// the limit is killed before the file system is full.
	Slack     = 64 << 20
	FileSlack = 8192
	// entryBytes is an upper bound of what an archive needs for one file or folder in addition to its data.
	entryBytes = 6 << 10
)

// Limits bound what a workspace holds, in both directions.
type Limits struct {
	Bytes   int64 // of all files
	Files   int   // files, folders and links
	Largest int64 // bytes of one file that a script may write
	// Skip lists folders at the top of the workspace that do not belong to it and are left unchanged.
	Skip []string
}

// Workspace copies a folder into a container, and copies the script's changes back. Both directions use tar archives, as engines do. What
// comes back was written by a hostile script: it is bounded, nothing in it reaches outside the folder, and nothing is changed before all of
// it has arrived.
type Workspace struct {
	root    *os.Root
	lim     Limits
	packed  map[string]state
	largest int64 // bytes of the largest file at the beginning
	files   int   // files, folders and links that can be copied
	left    int   // things that cannot be copied: sockets, pipes, unreadable files, paths that are too long, links that lead out

	spool *os.File
	name  string // name of spool, if it could not be removed while open
}

// state describes a file, folder or link. Times are in seconds, as in archives.
type state struct {
	kind  byte // a tar.Type
	mode  fs.FileMode
	mtime int64
	sum   [sha256.Size]byte
	link  string
}

// TooLargeError reports that a workspace holds more than may be copied.
type TooLargeError struct{ Reason string }

func (e *TooLargeError) Error() string { return "the workspace " + e.Reason }

// OpenWorkspace opens a folder. It returns a *TooLargeError if the folder holds more than lim.
func OpenWorkspace(dir string, lim Limits) (*Workspace, error) {
	root, err := safeopen.Root(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	w := &Workspace{root: root, lim: lim, packed: map[string]state{}}
	bytes := int64(0)
	err = w.walk(func(_ string, st fs.FileInfo) error {
		if st.Mode().IsRegular() {
			bytes += (st.Size() + page - 1) / page * page
			w.largest = max(w.largest, st.Size())
		}
		w.files++
		switch {
		case bytes > lim.Bytes:
			return &TooLargeError{fmt.Sprintf("has more than %d bytes of files", lim.Bytes)}
		case w.files > lim.Files:
			return &TooLargeError{fmt.Sprintf("has more than %d files and folders", lim.Files)}
		}
		return nil
	}, func() { w.left++ })
	if err != nil {
		root.Close()
		return nil, err
	}
	return w, nil
}

// Empty reports whether there is nothing to copy into a container.
func (w *Workspace) Empty() bool { return w.files == 0 }

// Left returns how many things in the workspace cannot be copied.
func (w *Workspace) Left() int { return w.left }

// Pack writes the workspace as an archive whose files belong to user. It follows no symbolic link. A file that changes meanwhile is copied
// in one of its states or left out.
func (w *Workspace) Pack(ctx context.Context, user int, to io.Writer) error {
	t := tar.NewWriter(to)
	add := func(name string, s state, size int64) error {
		h := &tar.Header{Typeflag: s.kind, Name: name, Size: size, Mode: int64(s.mode), Uid: user, Gid: user, Linkname: s.link, Format: tar.FormatPAX}
		if s.kind == tar.TypeReg {
			h.ModTime = time.Unix(s.mtime, 0)
		}
		w.packed[name] = s
		return t.WriteHeader(h)
	}
	err := w.walk(func(name string, st fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case st.IsDir():
			return add(name, state{kind: tar.TypeDir, mode: st.Mode().Perm()}, 0)
		case st.Mode()&fs.ModeSymlink != 0:
			target, ok := readLink(w.root, name)
			if !ok {
				return nil
			}
			return add(name, state{kind: tar.TypeSymlink, link: target}, 0)
		}
		// A file that cannot be opened, or has been replaced by now, is left out.
		f, err := safeopen.File(w.root, filepath.FromSlash(name), os.O_RDONLY, 0)
		if err != nil {
			return nil
		}
		defer f.Close()
		now, err := f.Stat()
		if err != nil || !os.SameFile(now, st) {
			return nil
		}
		s := state{kind: tar.TypeReg, mode: now.Mode().Perm(), mtime: now.ModTime().Unix()}
		if err := add(name, s, now.Size()); err != nil {
			return err
		}
		// An archive states the size first, so a file that has become shorter is padded.
		sum := sha256.New()
		n, err := io.Copy(io.MultiWriter(t, sum), io.LimitReader(f, now.Size()))
		if err == nil && n < now.Size() {
			_, err = io.Copy(t, io.LimitReader(zeros{}, now.Size()-n))
		}
		s.sum = [sha256.Size]byte(sum.Sum(nil))
		w.packed[name] = s
		return err
	}, func() {})
	if err != nil {
		return err
	}
	return t.Close()
}

// zeros reads as zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// walk visits everything that can be copied, folders before their contents, and calls left for everything else.
func (w *Workspace) walk(visit func(name string, st fs.FileInfo) error, left func()) error {
	return fs.WalkDir(safeopen.FS(w.root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == "." && err != nil:
			return fmt.Errorf("read the workspace: %w", err)
		case name == ".":
			return nil
		case w.skips(name):
			return skip(d)
		case err != nil, !okPath(name): // a folder that cannot be read has already been visited
			left()
			return skip(d)
		}
		st, err := d.Info()
		if err != nil || !st.IsDir() && !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0 {
			left()
			return nil
		}
		if st.Mode()&fs.ModeSymlink != 0 {
			if _, ok := readLink(w.root, name); !ok {
				left()
				return nil
			}
		}
		return visit(name, st)
	})
}

// readLink returns the target of a symbolic link, and whether it can be copied. Docker refuses a whole archive because of one relative link
// that leads out of the folder. An absolute link is copied, and leads to a place in the container.
func readLink(root *os.Root, name string) (target string, ok bool) {
	target, err := root.Readlink(filepath.FromSlash(name))
	if err != nil || len(target) > maxPath {
		return "", false
	}
	target = filepath.ToSlash(target)
	return target, filepath.IsAbs(target) || filepath.IsLocal(filepath.Join(filepath.Dir(filepath.FromSlash(name)), target))
}

func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// skips reports whether name is one of the Skip folders, or below one.
func (w *Workspace) skips(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(w.lim.Skip, top)
}

// okPath reports whether name is a path below the workspace in canonical form, on this system too.
func okPath(name string) bool {
	return name == path.Clean(name) && name != "." && len(name) <= maxPath && strings.Count(name, "/") < maxDepth && !strings.ContainsRune(name, 0) &&
		filepath.IsLocal(filepath.FromSlash(name)) && (filepath.Separator == '/' || !strings.ContainsRune(name, filepath.Separator))
}

// errTooMuch reports that a container returned more than its workspace may hold.
var errTooMuch = errors.New("the container returned more than its workspace may hold")

// Receive stores an archive of the changed workspace until Apply.
func (w *Workspace) Receive(from io.Reader) error {
	// It is in the workspace, because the changes need space there. The file has no name while it is open.
	name := ".mcprun-" + rand.Text()
	f, err := w.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("save the changes to the workspace: %w", err)
	}
	w.spool = f
	if w.root.Remove(name) != nil { // not every system can
		w.name = name
	}
	most := w.lim.Bytes + Slack + int64(w.lim.Files+FileSlack)*entryBytes
	n, err := io.Copy(f, io.LimitReader(from, most+1))
	switch {
	case err != nil:
		return fmt.Errorf("save the changes to the workspace: %w", err)
	case n > most:
		return errTooMuch
	}
	return nil
}

// Close releases the workspace.
func (w *Workspace) Close() error {
	var errs []error
	if w.spool != nil {
		w.spool.Close()
		if w.name != "" {
			if err := w.root.Remove(w.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(append(errs, w.root.Close())...)
}

// IsTooMuch reports whether Receive or Apply failed because a script left more than its workspace may hold.
func IsTooMuch(err error) bool { return errors.Is(err, errTooMuch) }

// DamagedError reports that a container returned an incomplete or malformed archive.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string {
	return "the changes to the workspace are damaged: " + e.Err.Error()
}

// Unwrap returns what is wrong with the archive.
func (e *DamagedError) Unwrap() error { return e.Err }

// entries calls visit for everything in the received archive. The name is a path in the workspace; data is the content of a file.
func (w *Workspace) entries(res *Result, visit func(name string, h *tar.Header, data io.Reader) error) error {
	if _, err := w.spool.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the changes to the workspace: %w", err)
	}
	t := tar.NewReader(bufio.NewReaderSize(w.spool, 256<<10))
	bytes, files := int64(0), 0
	sizes := map[string]int64{}
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return &DamagedError{err}
		}
		name := path.Clean(h.Name)
		if name == "." || w.skips(name) {
			continue
		}
		sizes[name] = h.Size
		if h.Typeflag == tar.TypeLink { // it becomes a file of its own
			sizes[name] = sizes[linked(h)]
		}
		if files, bytes = files+1, bytes+sizes[name]; files > w.lim.Files+FileSlack || bytes > w.lim.Bytes+Slack || h.Size > max(w.lim.Largest, w.largest) {
			return errTooMuch
		}
		known := slices.Contains([]byte{tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink}, h.Typeflag)
		switch {
		case !okPath(name), !known:
			res.leave(name)
		default:
			if err := visit(name, h, t); err != nil {
				return err
			}
		}
	}
}

// linked returns the name under which the file of a hard link first appears in its archive.
func linked(h *tar.Header) string { return path.Clean(h.Linkname) }

// checkComplete returns an error if the end of the archive is missing, because missing files would count as removed.
func (w *Workspace) checkComplete() error {
	const trailer = 1024
	st, err := w.spool.Stat()
	if err != nil {
		return err
	}
	end := make([]byte, trailer)
	if _, err := w.spool.ReadAt(end, max(st.Size()-trailer, 0)); err != nil || [trailer]byte(end) != [trailer]byte{} {
		return &DamagedError{io.ErrUnexpectedEOF}
	}
	return nil
}

// states reads the archive and returns the state of everything in it.
func (w *Workspace) states() (map[string]state, error) {
	if err := w.checkComplete(); err != nil {
		return nil, err
	}
	now := map[string]state{}
	return now, w.entries(&Result{}, func(name string, h *tar.Header, data io.Reader) error {
		s := state{kind: h.Typeflag, mode: fs.FileMode(h.Mode) & fs.ModePerm}
		switch h.Typeflag {
		case tar.TypeReg:
			sum := sha256.New()
			if _, err := io.Copy(sum, data); err != nil {
				return &DamagedError{err}
			}
			s.mtime, s.sum = h.ModTime.Unix(), [sha256.Size]byte(sum.Sum(nil))
		case tar.TypeLink: // another name of an earlier file
			first, ok := now[linked(h)]
			if !ok || first.kind != tar.TypeReg {
				first = w.packed[name] // it stays as it is
			}
			s = first
		case tar.TypeSymlink:
			s.mode, s.link = 0, h.Linkname
		}
		now[name] = s
		return nil
	})
}

// Result is the result of Apply.
type Result struct {
	// Left counts what was not copied to this machine: symbolic links that lead out of the workspace, paths that are too long or too deep,
	// names that this system does not allow, pipes and sockets.
	Left int
	// Example is the path of one of them.
	Example string
	// Largest is the size of the largest file that has changed, in bytes.
	Largest int64
}

func (r *Result) leave(name string) {
	if r.Left == 0 {
		r.Example = name
	}
	r.Left++
}
