package interp

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// findNode finds node and its libraries. If node is a version manager's shim, it asks the shim for the real program.
func (f *Finder) findNode(ctx context.Context) (*Interpreter, error) {
	named, err := f.opts.LookPath(f.opts.Node)
	if err != nil {
		return nil, err
	}
	exe, err := filepath.EvalSymlinks(named)
	if err != nil {
		return nil, err
	}
	if name := filepath.Base(exe); !isELF(exe) || name != "node" && name != "nodejs" {
		out, err := ask(ctx, named, "-p", "process.execPath")
		if err != nil {
			return nil, err
		}
		if exe, err = filepath.EvalSymlinks(strings.TrimSpace(out)); err != nil {
			return nil, err
		}
	}
	in := &Interpreter{Host: exe, Inside: "/usr/bin/node"}
	if err := in.addPrograms(map[string]string{"/usr/bin/node": exe}); err != nil {
		return nil, err
	}
	// Debian's node reads parts of itself from here.
	for _, pkg := range []string{"acorn", "acorn-walk", "cjs-module-lexer", "undici", "minimatch"} {
		in.addIfThere("/usr/share/nodejs/" + pkg)
	}
	return in, nil
}

// pythonVersion returns the version in an interpreter's file name (python3.12, python3.14t), or "" if the name has none.
func pythonVersion(name string) string {
	version, ok := strings.CutPrefix(name, "python")
	version = strings.TrimSuffix(version, "t")
	minor, three := strings.CutPrefix(version, "3.")
	if _, err := strconv.ParseUint(minor, 10, 16); !ok || !three || err != nil {
		return ""
	}
	return version
}

// findPython finds python3, its standard library, and the libraries of its extension modules.
func (f *Finder) findPython(ctx context.Context) (*Interpreter, error) {
	named, err := f.opts.LookPath(f.opts.Python)
	if err != nil {
		return nil, err
	}
	exe, err := filepath.EvalSymlinks(named)
	if err != nil {
		return nil, err
	}
	version := pythonVersion(filepath.Base(exe))
	if version == "" || !isELF(exe) {
		// A shim, or a name without a version. In a virtual environment, the real executable is that of its base.
		out, err := ask(ctx, named, "-I", "-S", "-c",
			"import sys, os; p = os.path.realpath(getattr(sys, '_base_executable', '') or sys.executable); print(p); print('%d.%d' % sys.version_info[:2])")
		if err != nil {
			return nil, err
		}
		real, version, _ := strings.Cut(strings.TrimSpace(out), "\n")
		return pythonAt(real, strings.TrimSpace(version))
	}
	return pythonAt(exe, version)
}

func pythonAt(exe, version string) (*Interpreter, error) {
	_, minor, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(minor); err != nil || n < 11 {
		return nil, fmt.Errorf("%s is Python %s; 3.11 or newer is needed", exe, version)
	}
	in := &Interpreter{Host: exe, Inside: "/usr/bin/python3", Version: version}
	prefix := filepath.Dir(filepath.Dir(exe))
	programs := map[string]string{in.Inside: exe}
	found := false
	for _, lib := range []string{"lib", "lib64"} {
		host := filepath.Join(prefix, lib, "python"+version)
		if st, err := os.Stat(filepath.Join(host, "os.py")); err != nil || !st.Mode().IsRegular() {
			continue
		}
		found = true
		inside := "/usr/" + lib + "/python" + version
		in.Files = append(in.Files, File{Source: host, Target: inside})
		for _, installed := range []string{"site-packages", "dist-packages"} {
			if st, err := os.Stat(filepath.Join(host, installed)); err == nil && st.IsDir() {
				in.Hidden = append(in.Hidden, inside+"/"+installed)
			}
		}
		modules, _ := filepath.Glob(filepath.Join(host, "lib-dynload", "*.so"))
		for _, m := range modules {
			programs[m] = "" // the folder includes it; only its libraries are needed
		}
	}
	if !found {
		return nil, fmt.Errorf("the standard library of %s is not under %s", exe, prefix)
	}
	if err := in.addPrograms(programs); err != nil {
		return nil, err
	}
	in.addIfThere("/usr/share/zoneinfo")
	return in, nil
}

// addPrograms adds programs (path inside → host file) and every shared library they need. For a module that is already there, the key is
// the host file and the value is empty.
func (in *Interpreter) addPrograms(programs map[string]string) error {
	l := newLoader()
	for target, source := range programs {
		file := target
		if source != "" {
			file = source
			in.Files = append(in.Files, File{Source: source, Target: target})
		}
		if err := l.add(file); err != nil && source != "" {
			return err // a module whose libraries are not installed fails on import, as it does outside
		}
	}
	in.Files = append(in.Files, l.show()...)
	return nil
}

func (in *Interpreter) addIfThere(path string) {
	if _, err := os.Stat(path); err == nil {
		in.Files = append(in.Files, File{Source: path, Target: path})
	}
}

func isELF(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == elf.ELFMAG
}

// ask runs an interpreter on the host with our own code, which prints facts about the interpreter.
func ask(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", fmt.Errorf("ask %s for its path: it did not answer in time, perhaps because this machine is busy", program)
	}
	if err != nil {
		return "", fmt.Errorf("ask %s for its path: %w", program, errors.Join(err, errors.New(strings.TrimSpace(stderr.String()))))
	}
	return string(out), nil
}
