package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// wheelName matches the file name of a wheel: name, version, build, and what it is for.
var wheelName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._]*)-([^-]+)(?:-\d[^-]*)?-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+\.whl$`)

// readWheels returns a requirement for each package that a folder has wheels of, with their hashes.
func readWheels(dir string) ([]requirement, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, "python", err)
	}
	var out []requirement
	for _, e := range entries {
		place, m := filepath.Join(dir, e.Name()), wheelName.FindStringSubmatch(e.Name())
		switch {
		case !archive.MatchString(e.Name()):
			continue // notes, a script that fetches them
		case m == nil || !exactVersion.MatchString(m[2]) || !e.Type().IsRegular():
			return nil, &Error{Place: place, Problem: "it is not a wheel", Remedy: "only files NAME-VERSION-….whl are installed, because building a package would run its code: remove it, or build its wheel with pip wheel"}
		}
		hash, err := once(place, hashFile)
		if err != nil {
			return nil, unreadable(place, "python", err)
		}
		i := slices.IndexFunc(out, func(r requirement) bool { return sameName(r.name, m[1]) })
		switch {
		case i < 0:
			out = append(out, requirement{name: m[1], version: m[2], hashes: []string{hash}})
		case out[i].version != m[2]:
			return nil, &Error{Place: place, Problem: fmt.Sprintf("the folder also has version %s of it", out[i].version), Remedy: "remove one of the two"}
		default:
			out[i].hashes = append(out[i].hashes, hash)
		}
	}
	if len(out) == 0 {
		return nil, &Error{Place: dir, Problem: "the folder has no wheels", Remedy: "put files NAME-VERSION-….whl into it, for example with pip download --only-binary=:all:"}
	}
	return out, nil
}

var nameSeparators = regexp.MustCompile(`[-_.]+`)

// sameName reports whether two names are of one Python package.
func sameName(a, b string) bool {
	return strings.EqualFold(nameSeparators.ReplaceAllString(a, "-"), nameSeparators.ReplaceAllString(b, "-"))
}

// kept has what this process has read of files, by their paths.
var kept sync.Map // path → keptFile

type keptFile struct {
	size     int64
	modified time.Time
	content  any
}

// once reads a file, unless this process has read it and it has not changed since.
func once[T any](path string, read func(path string) (T, error)) (T, error) {
	info, err := os.Stat(path)
	if err != nil {
		return read(path) // which says why
	}
	if found, ok := kept.Load(path); ok {
		k := found.(keptFile)
		if content, ok := k.content.(T); ok && k.size == info.Size() && k.modified.Equal(info.ModTime()) {
			return content, nil
		}
	}
	content, err := read(path)
	if err == nil {
		kept.Store(path, keptFile{info.Size(), info.ModTime(), content})
	}
	return content, err
}

// hashFile returns the SHA-256 of a regular file in hexadecimal digits.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// copyWheels copies the wheels of a folder to a new one. What was changed since it was read has another hash than the one that is installed.
func copyWheels(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != ".":
			return fs.SkipDir
		case !e.Type().IsRegular() || !wheelName.MatchString(name):
			return nil
		}
		in, err := root.Open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.OpenFile(filepath.Join(to, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			out.Close()
			return err
		}
		return out.Close()
	})
}
