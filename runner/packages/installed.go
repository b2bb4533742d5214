package packages

import (
	"archive/zip"
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	maxUnpacked = 32 << 30 // bytes of the files of all wheels together
	maxRatio    = 100      // a wheel's files may have that many times its size; those of real ones have three to ten times
)

// unpackWheels unpacks the wheels in a folder into another, and returns their packages. It takes only what Python imports, and no programs,
// headers and other data. Two packages may have the same file, as installers allow.
func unpackWheels(from, to string, requirements []requirement) ([]Package, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out []Package
	left := int64(maxUnpacked)
	for _, e := range entries {
		file := filepath.Join(from, e.Name())
		hash, err := hashFile(file)
		if err != nil {
			return nil, err
		}
		p := &Package{Language: sandbox.LangPython}
		if slices.ContainsFunc(requirements, func(r requirement) bool { return slices.Contains(r.hashes, hash) }) {
			err = p.unpack(file, root, &left)
		} else {
			err = errors.New("it has none of the hashes that are written down")
		}
		if err != nil {
			return nil, &Error{Place: e.Name(), Problem: err.Error(), Remedy: "remove the package, or take another version of it"}
		}
		out = append(out, *p)
	}
	return out, nil
}

// unpack unpacks a wheel, which may be hostile, and reads what package it is. left is how many bytes there is room for.
func (p *Package) unpack(wheel string, root *os.Root, left *int64) error {
	r, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := os.Stat(wheel)
	if err != nil {
		return err
	}
	room := min(*left, maxRatio*info.Size())
	*left -= room
	defer func() { *left += room }() // what is not used
	var names []string
	for _, f := range r.File {
		name := strings.TrimSuffix(f.Name, "/")
		if !filepath.IsLocal(name) || name != path.Clean(name) || strings.ContainsAny(name, "\\\x00") || !f.Mode().IsRegular() && !f.Mode().IsDir() {
			return fmt.Errorf("it has %q, which is a link or no name of a file in it", f.Name)
		}
		top, rest, _ := strings.Cut(name, "/")
		if strings.HasSuffix(top, ".data") {
			scheme, below, _ := strings.Cut(rest, "/")
			if scheme != "purelib" && scheme != "platlib" {
				continue
			}
			name = below
			top, rest, _ = strings.Cut(name, "/")
		}
		if f.Mode().IsDir() {
			continue
		}
		if module, _, _ := strings.Cut(top, "."); slices.Contains(ownModules, module) {
			return fmt.Errorf("it has a module %s, which scripts import from elsewhere", module)
		}
		if err := unpackFile(f, root, name, &room); err != nil {
			return fmt.Errorf("unpack %q: %w", f.Name, err)
		}
		if strings.HasSuffix(top, ".dist-info") && rest == "METADATA" {
			if p.Name != "" {
				return errors.New("it has the metadata of two packages")
			}
			if p.Name, p.Version, err = readMetadata(f); err != nil {
				return fmt.Errorf("read %q: %w", f.Name, err)
			}
		}
		names = append(names, name)
	}
	if p.Name == "" {
		return errors.New("it does not say which package it has")
	}
	p.describe(names)
	return nil
}

// ownModules are modules that are there in every run.
var ownModules = []string{"mcprun", "servers", "skills"}

func unpackFile(f *zip.File, root *os.Root, name string, left *int64) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, *left+1))
	if *left -= n; *left < 0 {
		err = fmt.Errorf("its files have more than %d times its size, or those of all packages more than %d bytes", maxRatio, int64(maxUnpacked))
	}
	return errors.Join(err, out.Close())
}

// readMetadata returns the name and the version in a package's metadata. What follows their first lines may be a part of its description.
func readMetadata(f *zip.File) (name, version string, err error) {
	in, err := f.Open()
	if err != nil {
		return "", "", err
	}
	defer in.Close()
	lines := bufio.NewScanner(io.LimitReader(in, maxText))
	lines.Buffer(nil, maxText)
	for lines.Scan() && lines.Text() != "" {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.ToLower(key) {
		case "name":
			name = cmp.Or(name, strings.TrimSpace(value))
		case "version":
			version = cmp.Or(version, strings.TrimSpace(value))
		}
	}
	return name, version, lines.Err()
}

var (
	moduleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	nativeFile = regexp.MustCompile(`\.(?:so|pyd|dylib|dll)(?:\.[0-9.]+)?$`)
)

// describe finds out from the names of a package's files what a script imports, and whether there is machine code.
func (p *Package) describe(files []string) {
	names := map[string]bool{}
	for _, file := range files {
		p.Native = p.Native || nativeFile.MatchString(file)
		top, _, inFolder := strings.Cut(file, "/")
		if !inFolder {
			if path.Ext(top) != ".py" && !nativeFile.MatchString(top) {
				continue
			}
			top, _, _ = strings.Cut(top, ".")
		}
		if moduleName.MatchString(top) && top != "__pycache__" {
			names[top] = true
		}
	}
	private := func(name string) bool { return strings.HasPrefix(name, "_") }
	p.Imports = append([]string{}, slices.Sorted(maps.Keys(names))...)
	if public := slices.DeleteFunc(slices.Clone(p.Imports), private); len(public) > 0 {
		p.Imports = public
	}
}

// installed returns the packages of the lock that a script can import from a folder with node_modules.
func (l *lockFile) installed(dir string) ([]Package, error) {
	var out []Package
	root := l.packages[""]
	for _, folder := range slices.Sorted(maps.Keys(l.packages)) {
		name := strings.TrimPrefix(folder, "node_modules/")
		at := filepath.Join(dir, filepath.FromSlash(folder))
		if _, err := os.Stat(at); folder == "" || strings.Contains(name, "node_modules/") || err != nil {
			continue // inside another package; or for another system
		}
		native, err := hasNative(at)
		if err != nil {
			return nil, err
		}
		_, direct := root.Dependencies[name]
		_, optional := root.OptionalDependencies[name]
		out = append(out, Package{
			Language: sandbox.LangTypeScript, Name: name, Version: l.packages[folder].Version, Imports: []string{name},
			Native: native, Indirect: !direct && !optional,
		})
	}
	return out, nil
}

// hasNative reports whether a package has machine code that node loads, itself or in a package inside it.
func hasNative(dir string) (bool, error) {
	native := false
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(path) == ".node" {
			native = true
			return fs.SkipAll
		}
		return err
	})
	return native, err
}
