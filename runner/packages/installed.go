package packages

import (
	"bufio"
	"encoding/csv"
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

// pythonPackages returns the packages in a folder that pip or uv installed into. Their programs are removed, because scripts do not start them.
func pythonPackages(dir string) ([]Package, error) {
	if err := os.RemoveAll(filepath.Join(dir, "bin")); err != nil {
		return nil, err
	}
	infos, err := filepath.Glob(filepath.Join(dir, "*.dist-info"))
	if err != nil {
		return nil, err
	}
	var out []Package
	for _, info := range infos {
		p := Package{Language: sandbox.LangPython, Imports: []string{}}
		if p.Name, p.Version, err = readMetadata(filepath.Join(info, "METADATA")); err != nil {
			return nil, fmt.Errorf("read what was installed: %w", err)
		}
		if err := p.readRecord(filepath.Join(info, "RECORD")); err != nil {
			return nil, fmt.Errorf("read the files of %s: %w", p.Name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// readMetadata returns the name and the version of an installed package.
func readMetadata(file string) (name, version string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxText))
	lines.Buffer(nil, maxText)
	for lines.Scan() && lines.Text() != "" {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.ToLower(key) {
		case "name":
			name = strings.TrimSpace(value)
		case "version":
			version = strings.TrimSpace(value)
		}
	}
	return name, version, lines.Err()
}

var (
	moduleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	nativeFile = regexp.MustCompile(`\.(?:so|pyd|dylib|dll)(?:\.[0-9.]+)?$`)
)

// readRecord finds out from the list of a package's files what a script imports, and whether there is machine code.
func (p *Package) readRecord(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	records := csv.NewReader(f)
	records.FieldsPerRecord = -1
	names := map[string]bool{}
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		p.Native = p.Native || nativeFile.MatchString(record[0])
		top, _, inFolder := strings.Cut(record[0], "/")
		if !inFolder {
			if path.Ext(top) != ".py" && !nativeFile.MatchString(top) {
				continue
			}
			top, _, _ = strings.Cut(top, ".")
		}
		if moduleName.MatchString(top) && top != "__pycache__" && top != "bin" {
			names[top] = true
		}
	}
	private := func(name string) bool { return strings.HasPrefix(name, "_") }
	p.Imports = slices.Sorted(maps.Keys(names))
	if public := slices.DeleteFunc(slices.Clone(p.Imports), private); len(public) > 0 {
		p.Imports = public
	}
	return nil
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
