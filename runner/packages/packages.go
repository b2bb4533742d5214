// Package packages gives scripts what they may import beside the standard library: packages that were installed once, from files that name
// each of them by version and hash, into a folder that nothing writes to afterwards. Start with [Install], then [Open].
//
// These files may come from a cloned repository, so they decide what is downloaded, and nothing else: they are read here, and what pip and
// npm get is written by this package, into a folder that is otherwise empty. Only wheels and registry packages are installed, and no code of theirs
// runs: pip only gets wheels, which are unpacked here. Scripts run it, in their sandbox.
package packages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Spec says what to install. The zero value is nothing.
type Spec struct {
	// Python is a requirements file with hashes, or a folder of wheels; JavaScript a package-lock.json. Each is an absolute path or empty.
	Python, JavaScript string
	// Dir is the absolute path of the project's folder. Files outside of it, also by a link, are not read. Empty: they may be anywhere.
	Dir string
	// Preload names Python modules that a waiting guest imports before its run, such as pandas.
	Preload []string
}

// empty reports whether nothing is to be installed.
func (s *Spec) empty() bool { return s.Python == "" && s.JavaScript == "" }

// Set is what is installed of a [Spec]: one folder, named by the digest of what it was installed from. Nothing in it is written to. A nil Set
// has no packages.
type Set struct {
	// Digest is in hexadecimal digits. Dir is the absolute path of the folder.
	Digest, Dir string
	// Packages are sorted by language, then by name.
	Packages []Package
	// Preload names Python modules that a waiting guest imports before its run.
	Preload []string
	// Pythons are the versions of Python that there are packages for, such as 3.11.
	Pythons []string
}

// Package is one installed package.
type Package struct {
	Language sandbox.Language `json:"language"`
	Name     string           `json:"name"`
	Version  string           `json:"version"`
	// Imports are the names that a script imports: yaml of PyYAML, @scope/name of an npm package.
	Imports []string `json:"imports"`
	// Native reports that it has machine code. The embedded sandbox takes only packages without.
	Native bool `json:"native,omitzero"`
	// Indirect reports that it is there only because another package needs it. It is known for npm packages.
	Indirect bool `json:"indirect,omitzero"`
}

// Python returns the folder of packages for a version of Python, such as 3.11. It belongs on sys.path, which runs no .pth file in it. It is
// empty if there is none.
func (s *Set) Python(version string) string {
	if s == nil || !slices.Contains(s.Pythons, version) {
		return ""
	}
	return filepath.Join(s.Dir, "python"+version)
}

// JavaScript returns the folder that holds node_modules. It is empty without JavaScript packages.
func (s *Set) JavaScript() string {
	if s == nil || !slices.ContainsFunc(s.Packages, func(p Package) bool { return p.Language == sandbox.LangTypeScript }) {
		return ""
	}
	return filepath.Join(s.Dir, javascriptDir)
}

const javascriptDir = "javascript"

// Error reports what is wrong with packages, or with a file that names them.
type Error struct {
	Place   string // the file, with a line or an entry if there is one; may be empty
	Problem string
	Remedy  string
}

func (e *Error) Error() string {
	if e.Place == "" {
		return e.Problem
	}
	return e.Place + ": " + e.Problem
}

// Hint returns what to do about the error.
func (e *Error) Hint() string { return e.Remedy }

const installCommand = `run "mcprun packages install"`

// Folder returns the folder of all sets below a cache folder.
func Folder(cache string) string { return filepath.Join(cache, "packages") }

// Open returns what is installed of a spec below the folder cache, and nil for an empty spec. It is an [*Error] if that is not installed, or
// if a file was changed, added or removed after the installation.
//
// Open compares each file's size, time of change and mode with what they were, and where these differ, its SHA-256. It does not notice a
// change that leaves size and time as they were, nor one by somebody who also changes the list of files in the set.
func Open(cache string, spec Spec) (*Set, error) {
	if spec.empty() {
		return nil, nil
	}
	src, err := read(&spec)
	if err != nil {
		return nil, err
	}
	dir, _ := newest(Folder(cache), src.digest)
	set, err := openDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Place: cmp.Or(spec.Python, spec.JavaScript), Problem: "the packages that it names are not installed, or it has changed since", Remedy: installCommand}
	}
	if err != nil {
		return nil, err
	}
	set.Digest, set.Preload = src.digest, spec.Preload
	return set, nil
}

// source is what a set is installed from.
type source struct {
	digest       string
	requirements []requirement
	wheels       string // the folder that has them, or empty: they come from an index
	lock         *lockFile
}

func read(spec *Spec) (*source, error) {
	src := &source{}
	sum := sha256.New()
	fmt.Fprintf(sum, "packages 1 %s\n", runtime.GOARCH)
	if spec.Python != "" {
		if err := spec.inside(spec.Python, "python"); err != nil {
			return nil, err
		}
		info, err := os.Stat(spec.Python)
		if err != nil {
			return nil, unreadable(spec.Python, "python", err)
		}
		if info.IsDir() {
			src.wheels = spec.Python
			src.requirements, err = readWheels(spec.Python)
		} else {
			src.requirements, err = once(spec.Python, readRequirements)
		}
		if err != nil {
			return nil, err
		}
		for _, r := range src.requirements {
			fmt.Fprintf(sum, "%q\n", r.String())
		}
	}
	if spec.JavaScript != "" {
		err := spec.inside(spec.JavaScript, "javascript")
		if err != nil {
			return nil, err
		}
		if src.lock, err = once(spec.JavaScript, readLock); err != nil {
			return nil, err
		}
		fmt.Fprintf(sum, "%q\n", src.lock.text)
	}
	src.digest = hex.EncodeToString(sum.Sum(nil))[:32]
	return src, nil
}

// inside returns an error for a file outside of the project's folder: a cloned project may name any, and what is wrong with it is shown.
func (s *Spec) inside(path, key string) error {
	if s.Dir == "" {
		return nil
	}
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		return unreadable(s.Dir, key, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return unreadable(path, key, err)
	}
	if rel, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(rel) {
		return &Error{Place: path, Problem: "it is outside of the project's folder " + s.Dir, Remedy: "copy it into that folder, and correct run.packages." + key + " in mcpgen.yaml"}
	}
	return nil
}

// unreadable reports that a file of run.packages cannot be read.
func unreadable(path, key string, err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return &Error{Place: path, Problem: "it cannot be read: " + err.Error(), Remedy: "correct run.packages." + key + " in mcpgen.yaml, or create the file"}
}

// maxText bounds a requirements file and a package-lock.json, in bytes.
const maxText = 32 << 20

// readText reads a file that may be hostile.
func readText(path, key string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxText) {
		err = fmt.Errorf("it is not a regular file of at most %d bytes", maxText)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, unreadable(path, key, err)
	}
	return text, nil
}

// InstallOptions says with what to install.
type InstallOptions struct {
	// LookPath finds python3, uv and npm, as exec.LookPath does.
	LookPath func(name string) (string, error)
	// Environment is what pip, uv and npm get of variables, as KEY=VALUE. See [Passes].
	Environment []string
	// Say is told what is being done, in one line. Nil: nobody.
	Say func(line string)
}

// Install installs what a spec names below the folder cache, unless it is there and complete. A set with a changed file is replaced, which
// scripts that are running with it may notice. Several processes may install at once: one works, the others wait.
func Install(ctx context.Context, cache string, spec Spec, o InstallOptions) (*Set, error) {
	if spec.empty() {
		return nil, nil
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	folder := Folder(cache)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of packages: %w", err)
	}
	lock := flock.New(filepath.Join(folder, ".lock"))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		o.Say("waiting for another installation of packages to end")
		_, err = lock.TryLockContext(ctx, lockPause)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for another installation: %w", err)
	}
	defer lock.Close()
	src, err := read(&spec)
	if err != nil {
		return nil, err
	}
	t := &installation{source: src, options: &o}
	if err := t.findTools(ctx); err != nil {
		return nil, err
	}
	former, _ := Open(cache, spec) // nil: missing or damaged
	if former != nil && t.complete(former) {
		return former, nil
	}
	if left, err := filepath.Glob(filepath.Join(folder, ".new-*")); err == nil { // of installations that were killed
		for _, dir := range left {
			_ = removeAll(dir) // it is tried again the next time
		}
	}
	if t.work, err = os.MkdirTemp(folder, ".new-"); err != nil {
		return nil, fmt.Errorf("make a folder for packages: %w", err)
	}
	defer removeAll(t.work)
	made, err := t.install(ctx, former)
	if err != nil {
		return nil, err
	}
	if made == "" {
		return former, nil
	}
	_, n := newest(folder, src.digest)
	if err := os.Rename(made, filepath.Join(folder, fmt.Sprintf("%s-%d", src.digest, n+1))); err != nil {
		return nil, fmt.Errorf("install packages: %w", err)
	}
	for ; n > 0; n-- {
		if err := removeAll(filepath.Join(folder, fmt.Sprintf("%s-%d", src.digest, n))); err != nil {
			return nil, fmt.Errorf("remove the former packages: %w", err)
		}
	}
	return Open(cache, spec)
}

// newest returns the last installation of a digest and its number, which are counted from 1. Each has a folder of its own, because guests that wait
// may have the former one mounted. Without a former one, the folder does not exist.
func newest(folder, digest string) (dir string, n int) {
	entries, _ := os.ReadDir(folder) // a missing folder has no entries
	for _, e := range entries {
		if number, ok := strings.CutPrefix(e.Name(), digest+"-"); ok {
			if found, err := strconv.Atoi(number); err == nil {
				n = max(n, found)
			}
		}
	}
	return filepath.Join(folder, fmt.Sprintf("%s-%d", digest, n)), n
}
