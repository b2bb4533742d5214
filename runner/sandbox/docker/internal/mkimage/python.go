package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// compilePython adds the compiled form of the standard library: nothing can be written in a sandbox, and without it
// every start would compile again what it imports. The image's own interpreter compiles, so that it fits. The compiled
// files are not tied to the times of their sources, which have none.
func (t *tree) compilePython(ctx context.Context) error {
	root, err := os.MkdirTemp("", "mkimage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	if err := t.unpack(root); err != nil {
		return err
	}
	lib, err := only(filepath.Join(root, "usr/lib/python3.*"))
	if err != nil {
		return err
	}
	loader, err := only(filepath.Join(root, "usr/lib*/ld-linux-*.so.*"), filepath.Join(root, "usr/lib/*/ld-linux-*.so.*"))
	if err != nil {
		return err
	}
	libs, err := only(filepath.Join(root, "usr/lib/*-linux-gnu*"))
	if err != nil {
		return err
	}
	_, err = output(ctx, root, "env", "-i", "PYTHONHOME="+filepath.Join(root, "usr"), "PYTHONHASHSEED=0", "LC_ALL=C.UTF-8",
		loader, "--library-path", libs, filepath.Join(root, "usr/bin/python3"), "-B", "-s", "-S", "-c", compileAll, lib, root)
	if err != nil {
		return fmt.Errorf("compile Python's library: %w", err)
	}
	return filepath.WalkDir(lib, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".pyc") {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		t.file(filepath.ToSlash(name), 0o644, data)
		return nil
	})
}

// compileAll compiles every file in the order of the names: compileall walks in the order of the disk, and what the
// interpreter remembers of one file shows in the compiled form of the next. A file that does not compile is one that
// is meant not to.
const compileAll = `
import os, py_compile, sys
lib, root = sys.argv[1:]
files = sorted(os.path.join(d, f) for d, _, fs in os.walk(lib) for f in fs if f.endswith(".py"))
for f in files:
    try:
        py_compile.compile(f, dfile=f.removeprefix(root), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    except py_compile.PyCompileError as e:
        print(e, file=sys.stderr)
`

// unpack writes the files that Python needs to run.
func (t *tree) unpack(root string) error {
	for _, name := range t.names() {
		if !strings.HasPrefix(name, "usr/lib") && !strings.HasPrefix(name, "usr/bin") && !strings.HasPrefix(name, "lib") {
			continue
		}
		e, to := t.entries[name], filepath.Join(root, filepath.FromSlash(name))
		var err error
		switch {
		case e.dir:
			err = os.MkdirAll(to, 0o755)
		case e.link != "":
			err = os.Symlink(e.link, to)
		default:
			err = os.WriteFile(to, e.data, os.FileMode(e.mode))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// only returns the first file that matches one of the patterns.
func only(patterns ...string) (string, error) {
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return "", err
		}
		for _, f := range found {
			if _, err := os.Stat(f); err == nil { // not a link that leads out of the unpacked tree
				return f, nil
			}
		}
	}
	return "", fmt.Errorf("nothing matches %s", strings.Join(patterns, " or "))
}
