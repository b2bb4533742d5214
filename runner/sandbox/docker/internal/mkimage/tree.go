package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// tree is the image's file system: clean paths without a leading slash. Everything belongs to root, and nothing has a
// time, a set-user bit or an extended attribute.
type tree struct {
	entries map[string]entry
}

type entry struct {
	mode int64
	dir  bool
	link string // where a symbolic link points to; empty for others
	data []byte
}

func newTree() *tree { return &tree{entries: map[string]entry{}} }

func (t *tree) file(name string, mode int64, data []byte) {
	t.entries[name] = entry{mode: mode, data: data}
	t.parents(name)
}

func (t *tree) link(name, target string) {
	t.entries[name] = entry{mode: 0o777, link: target}
	t.parents(name)
}

func (t *tree) dir(name string, mode int64) {
	t.entries[name] = entry{mode: mode, dir: true}
	t.parents(name)
}

func (t *tree) parents(name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := t.entries[dir]; !ok {
			t.entries[dir] = entry{mode: 0o755, dir: true}
		}
	}
}

func (t *tree) names() []string { return slices.Sorted(maps.Keys(t.entries)) }

// addDeb takes what the image wants from a package. Packages are unpacked in memory: what they would run or own when
// installed plays no part.
func (t *tree) addDeb(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := t.addTar(stdout)
	_, drainErr := io.Copy(io.Discard, stdout)
	if err := errors.Join(readErr, drainErr, cmd.Wait()); err != nil {
		return fmt.Errorf("unpack %s: %w %s", file, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}

func (t *tree) addTar(r io.Reader) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := merged(h.Name)
		if !wanted(name) {
			continue
		}
		switch h.Typeflag {
		case tar.TypeReg:
			data, err := io.ReadAll(tr)
			if err != nil {
				return err
			}
			t.file(name, h.Mode&0o755, data)
		case tar.TypeSymlink:
			t.link(name, h.Linkname)
		case tar.TypeLink:
			first, ok := t.entries[merged(h.Linkname)]
			if !ok {
				return fmt.Errorf("%s is a link to %s, which is not in the image", h.Name, h.Linkname)
			}
			t.entries[name] = first
			t.parents(name)
		case tar.TypeDir: // made by what is in it
		default:
			return fmt.Errorf("%s: entry of type %c", h.Name, h.Typeflag)
		}
	}
}

// merged moves a path below /usr, as Debian's own systems do (/lib is a link to /usr/lib).
func merged(name string) string {
	name = path.Clean(strings.TrimPrefix(name, "./"))
	switch top, _, _ := strings.Cut(name, "/"); top {
	case "bin", "sbin", "lib", "lib64":
		return "usr/" + name
	}
	return name
}

// wanted says what of Debian's packages becomes part of the image.
func wanted(name string) bool {
	dir, base := path.Split(name)
	switch {
	case dir == "usr/bin/":
		return strings.HasPrefix(base, "python3") && !strings.Contains(base, "config")
	case strings.HasPrefix(name, "usr/share/doc/"):
		return base == "copyright"
	case strings.HasPrefix(name, "usr/share/zoneinfo/"):
		// localtime points to the machine's own zone.
		rest := strings.TrimPrefix(name, "usr/share/zoneinfo/")
		return rest != "localtime" && !strings.HasPrefix(rest, "right/") && !strings.HasPrefix(rest, "posix/")
	case strings.HasPrefix(name, "usr/lib/locale/C.utf8/"):
		return true
	case strings.HasPrefix(name, "usr/lib/python3."):
		return wantedPython(name, base)
	case strings.HasPrefix(name, "usr/lib64/"), strings.HasPrefix(dir, "usr/lib/") && strings.Count(dir, "/") == 3:
		// The loader, and the libraries of usr/lib/<machine>; not their plugin folders.
		return strings.Contains(base, ".so")
	}
	return false
}

func wantedPython(name, base string) bool {
	for _, part := range []string{"/test/", "/tests/", "/idlelib/", "/turtledemo/", "/pydoc_data/", "/config-", "/lib2to3/", "/__pycache__/"} {
		if strings.Contains(name, part) {
			return false
		}
	}
	// sitecustomize points out of the image; nis would bring Kerberos along and is gone from newer Pythons.
	return base != "sitecustomize.py" && !strings.HasPrefix(base, "nis.")
}

// addFixed adds what comes from no package: the merged folders, the mount points, and the few files that libraries ask for.
func (t *tree) addFixed() {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		t.dir("usr/"+name, 0o755)
		t.link(name, "usr/"+name)
	}
	for _, name := range []string{"dev", "mcp/guest", "mcp/servers", "proc", "run/mcprun", "sys"} {
		t.dir(name, 0o755)
	}
	// A file system in memory that is mounted there takes over the folder's mode.
	t.dir("tmp", 0o1777)
	t.dir("workspace", 0o1777)
	for name, text := range map[string]string{
		"etc/passwd":        "root:x:0:0:root:/tmp:/nonexistent\nnobody:x:65534:65534:nobody:/tmp:/nonexistent\n",
		"etc/group":         "root:x:0:\nnogroup:x:65534:\n",
		"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		t.file(name, 0o644, []byte(text))
	}
}

// check refuses an image that would not run or holds what it must not: every program and library has to find what it
// is linked with, every link its target, and there is neither a shell nor a package manager.
func (t *tree) check() error {
	var errs []error
	have := map[string]bool{}
	for name := range t.entries {
		have[path.Base(name)] = true
	}
	for _, name := range t.names() {
		e := t.entries[name]
		switch {
		case e.link != "":
			if !t.resolves(name, e.link) {
				errs = append(errs, fmt.Errorf("%s points to %s, which is not in the image", name, e.link))
			}
		case bytes.HasPrefix(e.data, []byte(elf.ELFMAG)):
			errs = append(errs, checkELF(name, e.data, have))
		}
	}
	for _, name := range []string{"sh", "bash", "dash", "busybox", "dpkg", "apt", "npm"} {
		if have[name] && t.entries["usr/bin/"+name].data != nil {
			errs = append(errs, fmt.Errorf("the image holds %s", name))
		}
	}
	for _, name := range []string{"usr/bin/python3", "usr/local/bin/node"} {
		if _, ok := t.entries[name]; !ok {
			errs = append(errs, fmt.Errorf("the image has no %s", name))
		}
	}
	return errors.Join(errs...)
}

func (t *tree) resolves(name, target string) bool {
	for range 8 {
		if path.IsAbs(target) {
			target = strings.TrimPrefix(target, "/")
		} else {
			target = path.Join(path.Dir(name), target)
		}
		target = merged(target)
		e, ok := t.entries[target]
		if !ok || e.link == "" {
			return ok
		}
		name, target = target, e.link
	}
	return false
}

func checkELF(name string, data []byte, have map[string]bool) error {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	libs, err := f.ImportedLibraries()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, lib := range libs {
		if !have[lib] {
			return fmt.Errorf("%s needs %s, which is not in the image", name, lib)
		}
	}
	return nil
}
