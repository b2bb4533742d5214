package packages

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
)

// manifest says what a set has. It is in the set's folder, beside the list of files.
type manifest struct {
	Pythons  []string  `json:"pythons"`
	Packages []Package `json:"packages"`
}

const (
	manifestFile = "manifest.json"
	// listFile has a line for each file and folder: its SHA-256, or - for a folder; its size in bytes; its time of change in seconds; its
	// mode; its name, quoted.
	listFile = "files.txt"
)

// add adds packages that are not there yet.
func (m *manifest) add(packages []Package) {
	for _, p := range packages {
		if !slices.ContainsFunc(m.Packages, func(known Package) bool {
			return known.Language == p.Language && known.Name == p.Name && known.Version == p.Version
		}) {
			m.Packages = append(m.Packages, p)
		}
	}
	slices.SortFunc(m.Packages, func(a, b Package) int {
		return strings.Compare(string(a.Language)+" "+strings.ToLower(a.Name), string(b.Language)+" "+strings.ToLower(b.Name))
	})
}

// seal makes all files of a set read-only, gives them times in whole seconds, which copies keep, and writes the list of them. Links and other
// special files are an error.
func (m *manifest) seal(dir string) error {
	var list []byte
	var folders []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			folders = append(folders, rel)
			return nil
		}
		f, err := newFile(dir, rel, 0o444)
		if err != nil {
			return err
		}
		if f.hash, err = hashFile(path); err != nil {
			return err
		}
		list = f.append(list)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the installed packages: %w", err)
	}
	for _, rel := range slices.Backward(folders) {
		f, err := newFile(dir, rel, 0o555)
		if err != nil {
			return err
		}
		list = f.append(list)
	}
	text, err := json.Marshal(m, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, listFile), list, 0o444),
		os.WriteFile(filepath.Join(dir, manifestFile), text, 0o444),
		os.Chmod(dir, 0o755), // it is still to be moved
	)
}

// file is a file or folder of a set, as it was when it was last known to be as installed.
type file struct {
	name     string // below the set
	hash     string // empty for a folder
	size     int64  // 0 for a folder
	modified time.Time
	mode     fs.FileMode
}

// newFile returns the file of a name, after it has got a mode and a time in whole seconds.
func newFile(dir, name string, mode fs.FileMode) (*file, error) {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, &Error{Place: name, Problem: "a package has a link or a special file", Remedy: "remove the package"}
	}
	modified := info.ModTime().Truncate(time.Second)
	if err := errors.Join(os.Chtimes(path, modified, modified), os.Chmod(path, mode)); err != nil {
		return nil, err
	}
	if info, err = os.Lstat(path); err != nil {
		return nil, err
	}
	f := &file{name: name, modified: info.ModTime(), mode: info.Mode()}
	if !info.IsDir() {
		f.size = info.Size()
	}
	return f, nil
}

// append adds the file's line to a list.
func (f *file) append(list []byte) []byte {
	hash := f.hash
	if hash == "" {
		hash = "-"
	}
	return fmt.Appendf(list, "%s %d %d %d %s\n", hash, f.size, f.modified.Unix(), uint32(f.mode), strconv.Quote(filepath.ToSlash(f.name)))
}

// parseFile reads a line of a list.
func parseFile(line string) (file, error) {
	fields := strings.SplitN(line, " ", 5)
	if len(fields) != 5 {
		return file{}, errors.New("a line has too few fields")
	}
	size, err1 := strconv.ParseInt(fields[1], 10, 64)
	seconds, err2 := strconv.ParseInt(fields[2], 10, 64)
	mode, err3 := strconv.ParseUint(fields[3], 10, 32)
	name, err4 := strconv.Unquote(fields[4])
	name = filepath.FromSlash(name)
	if err := errors.Join(err1, err2, err3, err4); err != nil || !filepath.IsLocal(name) {
		return file{}, errors.Join(errors.New("a line is damaged"), err)
	}
	return file{name: name, hash: strings.TrimPrefix(fields[0], "-"), size: size, modified: time.Unix(seconds, 0), mode: fs.FileMode(mode)}, nil
}

// opened is a set that this process has opened, with the state of its files.
type opened struct {
	mu    sync.Mutex
	stamp string // of the list of files
	files []file
	set   Set
	times int    // how often it was verified
	watch *watch // since it was verified; may be nil
}

var sets sync.Map // folder → *opened

// openDir opens the set in a folder. The error matches [fs.ErrNotExist] if the folder does not exist.
func openDir(dir string) (*Set, error) {
	info, err := os.Lstat(filepath.Join(dir, listFile))
	if err != nil {
		return nil, err
	}
	found, _ := sets.LoadOrStore(dir, &opened{})
	o := found.(*opened)
	o.mu.Lock()
	defer o.mu.Unlock()
	if stamp := fmt.Sprint(info.ModTime().UnixNano(), info.Size()); stamp != o.stamp {
		if err := o.read(dir); err != nil {
			return nil, &Error{Place: filepath.Join(dir, listFile), Problem: "the list of installed files is damaged: " + err.Error(), Remedy: installCommand + ", which installs them again"}
		}
		o.stamp, o.times = stamp, 0
	} else if o.watch != nil && o.watch.quiet() {
		set := o.set
		return &set, nil
	}
	o.watchFolders(dir)
	if err := o.verify(dir); err != nil {
		o.times = 0
		o.watchFolders(dir) // stop watching
		return nil, err
	}
	o.times++
	set := o.set
	return &set, nil
}

// read reads the manifest and the list of files.
func (o *opened) read(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, listFile))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	files := make([]file, 0, bytes.Count(list, []byte("\n")))
	for line := range strings.Lines(string(list)) {
		f, err := parseFile(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	o.files, o.set = files, Set{Dir: dir, Packages: m.Packages, Pythons: m.Pythons}
	return nil
}

// watchFolders begins to watch the set for changes, so that it need not be verified again until there is one. A process that opens a set once
// watches nothing.
func (o *opened) watchFolders(dir string) {
	if o.watch != nil {
		o.watch.close()
		o.watch = nil
	}
	if o.times == 0 {
		return
	}
	var folders []string
	for i := range o.files {
		if o.files[i].hash == "" {
			folders = append(folders, filepath.Join(dir, o.files[i].name))
		}
	}
	o.watch, _ = newWatch(folders) // without one, each opening verifies it
}

// verify returns an error for a file that is not as it was installed.
func (o *opened) verify(dir string) error {
	var group errgroup.Group
	part := len(o.files)/runtime.GOMAXPROCS(0) + 1
	for files := range slices.Chunk(o.files, part) {
		group.Go(func() error {
			for i := range files {
				if err := o.verifyFile(dir, &files[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (o *opened) verifyFile(dir string, f *file) error {
	path := filepath.Join(dir, f.name)
	wrong := func(what string) error {
		return &Error{Place: path, Problem: "it was " + what + " after the packages were installed", Remedy: installCommand + ", which installs them again"}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wrong("removed")
	case err != nil:
		return err
	case info.Mode().Type() != f.mode.Type():
		return wrong("replaced")
	case info.ModTime().Equal(f.modified) && info.Mode() == f.mode && (f.hash == "" || info.Size() == f.size):
		return nil
	}
	if f.hash == "" {
		added, err := o.added(dir, f.name)
		if err != nil {
			return err
		}
		if added != "" {
			path = added
			return wrong("added")
		}
	} else if hash, err := hashFile(path); err != nil || hash != f.hash {
		return errors.Join(err, wrong("changed"))
	}
	f.modified, f.mode = info.ModTime(), info.Mode()
	return nil
}

// added returns the name of a file in a folder that was not installed, or "".
func (o *opened) added(dir, folder string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil {
		return "", err
	}
	known := map[string]bool{}
	for i := range o.files {
		if filepath.Dir(o.files[i].name) == folder {
			known[filepath.Base(o.files[i].name)] = true
		}
	}
	for _, e := range entries {
		if !known[e.Name()] {
			return filepath.Join(dir, folder, e.Name()), nil
		}
	}
	return "", nil
}
