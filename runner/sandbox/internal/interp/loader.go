package interp

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// loader finds shared libraries where the machine's dynamic loader does, without running it: in a program's run path, then in
// the standard folders.
type loader struct {
	dirs   []string          // standard folders
	files  map[string]string // library name → file, found so far
	interp string            // the dynamic loader itself
	seen   map[string]bool   // files examined
	within string            // a folder of others' files, which name no folder outside of it; empty: files of the machine
}

// Libraries lists the shared libraries that a program needs, at the paths where it looks for them, or nil for a static program.
func Libraries(program string) ([]File, error) {
	l := newLoader()
	if err := l.add(program); err != nil {
		return nil, err
	}
	return l.show(), nil
}

func newLoader() *loader {
	triple := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	return &loader{
		dirs:  []string{"/lib/" + triple, "/usr/lib/" + triple, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"},
		files: make(map[string]string),
		seen:  make(map[string]bool),
	}
}

// add finds the libraries of file and, in turn, of each of them.
func (l *loader) add(file string) error {
	if l.seen[file] {
		return nil
	}
	l.seen[file] = true
	f, err := elf.Open(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	defer f.Close()
	if s := f.Section(".interp"); s != nil && l.interp == "" {
		text, err := s.Data()
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		l.interp = strings.TrimRight(string(text), "\x00")
	}
	needed, err := dynamicStrings(f, elf.DT_NEEDED)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	places := runPath(f, file)
	if l.within != "" {
		places = slices.DeleteFunc(places, func(dir string) bool { return !inside(l.within, filepath.Clean(dir)) })
	}
	if l.interp != "" && len(needed) > 0 {
		needed = append(needed, optional)
	}
	for _, name := range needed {
		if l.files[name] != "" || name == filepath.Base(l.interp) || l.within != "" && name != filepath.Base(name) {
			continue
		}
		found := l.find(name, places)
		if found == "" {
			if name == optional {
				continue
			}
			return fmt.Errorf("%s needs the library %s, which is not in a standard library folder", file, name)
		}
		l.files[name] = found
		if err := l.add(found); err != nil {
			return err
		}
	}
	return nil
}

// optional is loaded by name when a thread is cancelled.
const optional = "libgcc_s.so.1"

func (l *loader) find(name string, dirs []string) string {
	if filepath.IsAbs(name) {
		return existing(name)
	}
	for _, dir := range append(dirs[:len(dirs):len(dirs)], l.dirs...) {
		if f := existing(filepath.Join(dir, name)); f != "" {
			return f
		}
	}
	return ""
}

func existing(file string) string {
	if file == "" {
		return ""
	}
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// dynamicStrings returns the strings of a tag in file's dynamic section. It reads only those strings, because the names of node's exports
// take many megabytes.
func dynamicStrings(f *elf.File, tag elf.DynTag) ([]string, error) {
	section := f.SectionByType(elf.SHT_DYNAMIC)
	if section == nil {
		return nil, nil // linked statically
	}
	offsets, err := f.DynValue(tag)
	if err != nil {
		return nil, err
	}
	if int(section.Link) >= len(f.Sections) {
		return nil, errors.New("its dynamic section has no strings")
	}
	var all []string
	for _, at := range offsets {
		buf := make([]byte, 4096) // a path, or several
		n, err := f.Sections[section.Link].ReadAt(buf, int64(at))
		text, _, found := bytes.Cut(buf[:n], []byte{0})
		if !found {
			return nil, errors.Join(err, errors.New("a name in its dynamic section has no end"))
		}
		all = append(all, string(text))
	}
	return all, nil
}

// runPath returns the folders in which file says that its libraries are.
func runPath(f *elf.File, file string) []string {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		values, err := dynamicStrings(f, tag)
		if err != nil {
			continue
		}
		for _, v := range values {
			for dir := range strings.SplitSeq(v, ":") {
				real, err := filepath.EvalSymlinks(file)
				if err != nil {
					real = file
				}
				origin := filepath.Dir(real)
				dir = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir)
				if filepath.IsAbs(dir) {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	return dirs
}

// librariesOf lists the libraries of the machine that the machine code in a folder of packages needs. Packages are others' files: they get
// only what lies in a standard folder under a plain name.
func librariesOf(folder string) ([]File, error) {
	l := newLoader()
	var err error
	if l.within, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(l.within, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(d.Name(), ".so") {
			_ = l.add(path) // what cannot be read, or lacks a library, fails when it is imported
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for name, file := range l.files {
		if inside(l.within, file) || !isELF(file) {
			delete(l.files, name)
		}
	}
	l.interp = ""
	return l.show(), nil
}

// inside reports whether file is below dir.
func inside(dir, file string) bool {
	rel, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(rel)
}

// show shows every library found under its name in the one folder where this machine keeps its C library. The loader in the sandbox looks
// for them there, without a cache or variable.
func (l *loader) show() []File {
	dir := "/lib"
	if libc := l.files["libc.so.6"]; libc != "" {
		dir = filepath.Dir(libc)
	}
	var list []File
	if l.interp != "" {
		list = append(list, File{Source: l.interp, Target: l.interp})
	}
	for name, file := range l.files {
		target := name
		if !filepath.IsAbs(name) {
			target = filepath.Join(dir, name)
		}
		if target != l.interp {
			list = append(list, File{Source: file, Target: target})
		}
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Target, b.Target) })
	return list
}
