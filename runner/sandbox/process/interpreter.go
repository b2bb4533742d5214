package process

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
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// interpreter is what one runtime needs inside. Its files are shown at fixed places, so that no path of the machine
// is seen: the program in /usr/bin, libraries where the loader looks, Python's library in /usr/lib.
type interpreter struct {
	host   string // the program on this machine
	inside string // and in the jail
	mounts []jail.Mount
	hidden []string
}

const askTimeout = 10 * time.Second

// interpreter finds a runtime's interpreter once and remembers it as long as its file is there.
func (b *Backend) interpreter(ctx context.Context, rt sandbox.Runtime) (*interpreter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if in := b.known[rt]; in != nil {
		if _, err := os.Stat(in.host); err == nil {
			return in, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var in *interpreter
	var err error
	switch rt {
	case sandbox.Node:
		in, err = b.findNode(ctx)
	case sandbox.Python:
		in, err = b.findPython(ctx)
	default:
		return nil, fmt.Errorf("the process sandbox does not run %q", rt)
	}
	if err != nil {
		return nil, &MissingError{Runtime: rt, Err: err}
	}
	b.known[rt] = in
	return in, nil
}

// MissingError says that an interpreter is not on this machine, or can't be used.
type MissingError struct {
	Runtime sandbox.Runtime
	Err     error
}

func (e *MissingError) Error() string { return fmt.Sprintf("no usable %s: %v", e.Runtime, e.Err) }
func (e *MissingError) Unwrap() error { return e.Err }

// Hint tells what to do.
func (e *MissingError) Hint() string {
	if e.Runtime == sandbox.Python {
		return "install python 3.11 or newer, or use --sandbox docker"
	}
	return "install node 20 or newer, or use --sandbox embedded or docker"
}

// ExitCode is that of a shell that finds no command.
func (e *MissingError) ExitCode() int { return 127 }

// findNode finds node and its libraries. A shim (of a version manager) is asked for the real program.
func (b *Backend) findNode(ctx context.Context) (*interpreter, error) {
	named, err := b.opts.LookPath(b.opts.Node)
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
	in := &interpreter{host: exe, inside: "/usr/bin/node"}
	if err := in.addPrograms(map[string]string{"/usr/bin/node": exe}); err != nil {
		return nil, err
	}
	// Debian's node reads parts of itself from here.
	for _, pkg := range []string{"acorn", "acorn-walk", "cjs-module-lexer", "undici", "minimatch"} {
		in.addIfThere("/usr/share/nodejs/" + pkg)
	}
	return in, nil
}

// pythonName is the file name of an interpreter that says its version.
var pythonName = regexp.MustCompile(`^python(3\.(\d+))t?$`)

// findPython finds python3, its standard library, and the libraries of its extension modules.
func (b *Backend) findPython(ctx context.Context) (*interpreter, error) {
	named, err := b.opts.LookPath(b.opts.Python)
	if err != nil {
		return nil, err
	}
	exe, err := filepath.EvalSymlinks(named)
	if err != nil {
		return nil, err
	}
	if !pythonName.MatchString(filepath.Base(exe)) || !isELF(exe) {
		// A shim, or a name without a version. The real executable of a virtual environment is its base's.
		out, err := ask(ctx, named, "-I", "-S", "-c",
			"import sys, os; p = os.path.realpath(getattr(sys, '_base_executable', '') or sys.executable); print(p); print('%d.%d' % sys.version_info[:2])")
		if err != nil {
			return nil, err
		}
		real, version, _ := strings.Cut(strings.TrimSpace(out), "\n")
		return pythonAt(real, strings.TrimSpace(version))
	}
	return pythonAt(exe, pythonName.FindStringSubmatch(filepath.Base(exe))[1])
}

func pythonAt(exe, version string) (*interpreter, error) {
	_, minor, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(minor); err != nil || n < 11 {
		return nil, fmt.Errorf("%s is python %s, too old: 3.11 or newer is needed", exe, version)
	}
	in := &interpreter{host: exe, inside: "/usr/bin/python3"}
	prefix := filepath.Dir(filepath.Dir(exe))
	programs := map[string]string{in.inside: exe}
	found := false
	for _, lib := range []string{"lib", "lib64"} {
		host := filepath.Join(prefix, lib, "python"+version)
		if st, err := os.Stat(filepath.Join(host, "os.py")); err != nil || !st.Mode().IsRegular() {
			continue
		}
		found = true
		inside := "/usr/" + lib + "/python" + version
		in.mounts = append(in.mounts, jail.Mount{Source: host, Target: inside})
		for _, installed := range []string{"site-packages", "dist-packages"} {
			if st, err := os.Stat(filepath.Join(host, installed)); err == nil && st.IsDir() {
				in.hidden = append(in.hidden, inside+"/"+installed)
			}
		}
		modules, _ := filepath.Glob(filepath.Join(host, "lib-dynload", "*.so"))
		for _, m := range modules {
			programs[m] = "" // there already, with the folder; only its libraries are wanted
		}
	}
	if !found {
		return nil, fmt.Errorf("the standard library of %s is not below %s", exe, prefix)
	}
	if err := in.addPrograms(programs); err != nil {
		return nil, err
	}
	in.addIfThere("/usr/share/zoneinfo")
	return in, nil
}

// addPrograms adds programs and every shared library they need: place inside → host file. One without a host file is
// itself the host file of a module that is there already.
func (in *interpreter) addPrograms(programs map[string]string) error {
	l := newLoader()
	for target, source := range programs {
		file := target
		if source != "" {
			file = source
			in.mounts = append(in.mounts, jail.Mount{Source: source, Target: target})
		}
		if err := l.add(file); err != nil && source != "" {
			return err // a module whose libraries are not installed fails when it is imported, as outside
		}
	}
	in.mounts = append(in.mounts, l.mounts()...)
	return nil
}

func (in *interpreter) addIfThere(path string) {
	if _, err := os.Stat(path); err == nil {
		in.mounts = append(in.mounts, jail.Mount{Source: path, Target: path})
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

// ask runs an interpreter on the host, with a text of ours, to find out about itself.
func ask(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask %s where it is: %w", program, errors.Join(err, errors.New(strings.TrimSpace(stderr.String()))))
	}
	return string(out), nil
}
