package packages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// ImagePython is the version of Python in the image of the docker sandbox, whose C library is glibc 2.36.
const ImagePython = "3.11"

const imagePython = ImagePython + ".2" // in full

// oldestPython is the oldest version 3.x of this machine's Python that sandboxes use.
const oldestPython = 11

const (
	lockPause  = 200 * time.Millisecond // between two looks at whether another installation is done
	waitOutput = 5 * time.Second        // for the output of a program that was ended
	maxOutput  = 4000                   // bytes of a failed program's output in an error
)

// installation is the work of [Install].
type installation struct {
	source  *source
	options *InstallOptions
	work    string // a folder that is removed afterwards

	python, npm string   // programs; empty: not needed
	pip         []string // the Python that has pip, with its arguments
	targets     []target // what Python packages are installed for
}

// target is a Python that packages are installed for.
type target struct {
	version string
	foreign bool // it is not this machine's own
}

// complete reports whether a set has what this installation must give.
func (t *installation) complete(set *Set) bool {
	return !slices.ContainsFunc(t.targets, func(own target) bool { return !slices.Contains(set.Pythons, own.version) })
}

// findTools finds the programs that install, and the versions of Python that sandboxes have.
func (t *installation) findTools(ctx context.Context) error {
	if t.source.lock != nil {
		var err error
		if t.npm, err = t.options.LookPath("npm"); err != nil {
			return &Error{Problem: "npm was not found, which installs JavaScript packages", Remedy: "install Node.js, which has it: https://nodejs.org, or apt-get install npm"}
		}
	}
	if t.source.requirements == nil {
		return nil
	}
	named, err := t.options.LookPath("python3")
	if err != nil {
		return &Error{Problem: "python3 was not found, whose pip installs Python packages", Remedy: "install Python 3.11 or newer, with pip: apt-get install python3 python3-pip"}
	}
	// In the folder that mcprun was started in, as sandboxes ask it: a version manager decides by that. -I keeps Python from running files there.
	out, err := t.run(ctx, "", named, "-I", "-S", "-c", "import sys; print(sys.executable); print('%d.%d' % sys.version_info[:2])")
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", named, err)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(out, "\r", "")), "\n") // a version manager may have printed something before
	if len(lines) < 2 {
		return fmt.Errorf("ask %s for its version: it says %q", named, out)
	}
	version := lines[len(lines)-1]
	t.python = lines[len(lines)-2]
	minor := 0
	if _, err := fmt.Sscanf(version, "3.%d", &minor); err == nil && minor >= oldestPython && runtime.GOOS == "linux" {
		t.targets = append(t.targets, target{version: version})
	}
	if len(t.targets) == 0 || version != ImagePython {
		t.targets = append(t.targets, target{version: ImagePython, foreign: true})
	}
	t.pip = []string{t.python, "-I"}
	if _, err := t.run(ctx, t.work, t.python, "-I", "-m", "pip", "--version"); err != nil {
		uv, err := t.options.LookPath("uv") // it is optional
		if err != nil {
			return &Error{Problem: named + " has no pip, which gets Python packages, and uv was not found, which runs one", Remedy: "install pip: apt-get install python3-pip, or python3 -m ensurepip; or uv: https://docs.astral.sh/uv"}
		}
		t.pip = []string{uv, "run", "--no-config", "--no-project", "--no-progress", "--with=pip", "--python=" + t.python, "python", "-I"}
	}
	return nil
}

// install installs everything into a new folder and returns it. It takes over what a former set has, which may be nil, and returns "" if there
// would be no more than that.
func (t *installation) install(ctx context.Context, former *Set) (string, error) {
	dir := filepath.Join(t.work, "set")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	m := &manifest{}
	if err := t.installPythons(ctx, former, dir, m); err != nil {
		return "", err
	}
	if former != nil {
		if len(m.Pythons) == 0 {
			return "", nil
		}
		m.Pythons = append(m.Pythons, former.Pythons...)
		m.add(former.Packages)
		return dir, errors.Join(link(former.Dir, dir), m.seal(dir))
	}
	if t.source.lock != nil {
		t.options.Say("installing JavaScript packages")
		to := filepath.Join(dir, javascriptDir)
		if err := t.installJavaScript(ctx, to); err != nil {
			return "", err
		}
		found, err := t.source.lock.installed(to)
		if err != nil {
			return "", err
		}
		m.add(found)
	}
	return dir, m.seal(dir)
}

// installPythons installs the Python packages for each target that the former set has none for. If there are packages for one target at the
// end, it only says why another has none.
func (t *installation) installPythons(ctx context.Context, former *Set, dir string, m *manifest) error {
	failed := map[string]error{} // by version
	for _, target := range t.targets {
		if former != nil && slices.Contains(former.Pythons, target.version) {
			continue
		}
		t.options.Say(fmt.Sprintf("installing %d Python packages for Python %s", len(t.source.requirements), target.version))
		to := filepath.Join(dir, "python"+target.version)
		found, err := t.installPython(ctx, target, to)
		switch {
		case err == nil:
			m.Pythons = append(m.Pythons, target.version)
			m.add(found)
		case ctx.Err() != nil || len(t.targets) == 1:
			return err
		default:
			failed[target.version] = err
			if err := removeAll(to); err != nil {
				return err
			}
		}
	}
	if former == nil && len(failed) == len(t.targets) && len(failed) > 0 {
		return failed[t.targets[0].version] // usually for the same reason as the others
	}
	for _, target := range t.targets {
		if err := failed[target.version]; err != nil {
			t.options.Say(fmt.Sprintf("%s, which has Python %s, gets none: %s", target.owner(), target.version, exit.Hinted(err)))
		}
	}
	return nil
}

// owner returns what has the target's Python.
func (t target) owner() string {
	if t.foreign {
		return "the docker sandbox"
	}
	return "this machine"
}

// link gives a new set the folders of another. Their files are the same ones, because nothing writes to them.
func link(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.Mkdir(filepath.Join(to, rel), 0o700)
		case rel == listFile || rel == manifestFile:
			return nil
		}
		return os.Link(path, filepath.Join(to, rel))
	})
}

// installPython installs the requirements into a folder, and returns the packages.
func (t *installation) installPython(ctx context.Context, target target, to string) ([]Package, error) {
	empty, err := os.MkdirTemp(t.work, "python-") // what lies beside the requirements is not found here
	if err != nil {
		return nil, err
	}
	requirements := t.source.requirements
	if target.foreign {
		if requirements, err = t.applying(ctx, empty); err != nil {
			return nil, err
		}
	}
	var lines []string
	for _, r := range requirements {
		lines = append(lines, r.String())
	}
	if err := os.WriteFile(filepath.Join(empty, "requirements.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	args := append(slices.Clip(t.pip), "-m", "pip", "download", "--no-input", "--disable-pip-version-check", "--progress-bar=off",
		"--require-hashes", "--only-binary=:all:", "--dest=got", "--requirement=requirements.txt")
	if target.foreign {
		args = append(args, "--no-deps", "--implementation=cp", "--python-version="+target.version)
		for _, abi := range []string{"cp" + strings.ReplaceAll(target.version, ".", ""), "abi3", "none"} {
			args = append(args, "--abi="+abi)
		}
		for glibc := 36; glibc >= 5; glibc-- {
			args = append(args, fmt.Sprintf("--platform=manylinux_2_%d_%s", glibc, machine()))
		}
		args = append(args, "--platform=manylinux2014_"+machine())
	}
	if t.source.wheels != "" {
		if err := copyWheels(t.source.wheels, filepath.Join(empty, "wheels")); err != nil {
			return nil, fmt.Errorf("copy the wheels: %w", err)
		}
		args = append(args, "--no-index", "--find-links=wheels")
	}
	got := filepath.Join(empty, "got")
	if err := errors.Join(os.Mkdir(got, 0o700), os.Mkdir(to, 0o700)); err != nil {
		return nil, err
	}
	if _, err := t.run(ctx, empty, args[0], args[1:]...); err != nil {
		return nil, fmt.Errorf("get Python packages: %w", err)
	}
	found, err := unpackWheels(got, to, requirements)
	if err != nil {
		return nil, err
	}
	if !target.foreign {
		// It saves runs the time. What cannot be compiled fails when a script imports it.
		_, _ = t.run(ctx, empty, t.python, "-I", "-m", "compileall", "-q", to)
	}
	return found, ctx.Err()
}

// judgeMarkers is a program for a Python with pip, which judges markers as pip does, but for the Python of the image.
const judgeMarkers = `
import json
from pip._vendor.packaging.markers import Marker
with open("markers.json") as file:
    asked = json.load(file)
print(json.dumps([not m or Marker(m).evaluate(asked["environment"]) for m in asked["markers"]]))
`

// applying returns the requirements whose markers apply to the Python of the image, without them. pip would judge them for its own Python.
func (t *installation) applying(ctx context.Context, folder string) ([]requirement, error) {
	requirements := slices.Clone(t.source.requirements)
	if !slices.ContainsFunc(requirements, func(r requirement) bool { return r.marker != "" }) {
		return requirements, nil
	}
	var markers []string
	for _, r := range requirements {
		markers = append(markers, r.marker)
	}
	asked, err := json.Marshal(map[string]any{"markers": markers, "environment": map[string]string{
		"implementation_name": "cpython", "implementation_version": imagePython, "os_name": "posix", "platform_machine": machine(), "platform_python_implementation": "CPython",
		"platform_release": "", "platform_system": "Linux", "platform_version": "", "python_full_version": imagePython, "python_version": ImagePython, "sys_platform": "linux", "extra": "",
	}})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "markers.json"), asked, 0o600)
	}
	if err != nil {
		return nil, err
	}
	out, err := t.run(ctx, folder, t.pip[0], append(slices.Clone(t.pip[1:]), "-c", judgeMarkers)...)
	if err != nil {
		return nil, fmt.Errorf("judge the markers for Python %s: %w", ImagePython, err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var applies []bool
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &applies); err != nil || len(applies) != len(requirements) {
		return nil, fmt.Errorf("judge the markers for Python %s: the answer is %q", ImagePython, out)
	}
	var apply []requirement
	for i, r := range requirements {
		if applies[i] {
			r.marker = ""
			apply = append(apply, r)
		}
	}
	return apply, nil
}

// machine returns this machine's architecture as Python names it.
func machine() string {
	if name, ok := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]; ok {
		return name
	}
	return runtime.GOARCH
}

// installJavaScript installs the packages of the lock into node_modules in a folder.
func (t *installation) installJavaScript(ctx context.Context, to string) error {
	manifest, err := t.source.lock.manifest()
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for name, text := range map[string][]byte{"package.json": manifest, "package-lock.json": t.source.lock.text} {
		if err := os.WriteFile(filepath.Join(to, name), text, 0o600); err != nil {
			return err
		}
	}
	cpu := runtime.GOARCH
	if cpu == "amd64" {
		cpu = "x64"
	}
	if _, err := t.run(ctx, to, t.npm, "ci", "--ignore-scripts", "--allow-git=none", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress",
		"--loglevel=error", "--no-bin-links", "--install-strategy=hoisted", "--omit=dev", "--include=optional", "--include=peer", "--package-lock", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=5000",
		"--os=linux", "--cpu="+cpu); err != nil {
		return fmt.Errorf("install JavaScript packages: %w", err)
	}
	return os.MkdirAll(filepath.Join(to, "node_modules"), 0o700)
}

// programError is the failure of a program, with what it printed.
type programError struct {
	error
	output string
}

// npmUsage begins the help that npm prints after some errors.
var npmUsage = regexp.MustCompile(`(?m)^npm \S+ Usage:`)

// Error returns the error with the end of the output. Help after the output is left out.
func (e *programError) Error() string {
	text := npmUsage.Split(e.output, 2)[0]
	return e.error.Error() + "\n" + ident.Tail(strings.TrimSpace(text), maxOutput)
}

func (e *programError) Unwrap() error { return e.error }

// Hint returns what to do about the error.
func (e *programError) Hint() string {
	for text, remedy := range map[string]string{
		"DO NOT MATCH":             "the index sent another file than the one that was pinned: find out why before you change the hash",
		"EINTEGRITY":               "the registry sent another file than the one that was locked: find out why before you change the hash",
		"No matching distribution": "no wheel of that version is for this Python and system, or the index has none; name your index with PIP_INDEX_URL",
		"Could not find a version": "no wheel of that version is for this Python and system, or the index has none; name your index with PIP_INDEX_URL",
		"in sync":                  "write the lock again: npm install --package-lock-only; a lock that was made with overrides in package.json cannot be installed: remove them first",
		"code E401":                "the registry wants to know who you are: npm's own configuration may name a token as ${NPM_TOKEN} or ${NODE_AUTH_TOKEN}, and these variables are passed on",
	} {
		if strings.Contains(e.output, text) {
			return remedy
		}
	}
	return "its output says why; a proxy is taken from HTTPS_PROXY, an index from PIP_INDEX_URL, a registry from npm's configuration"
}

// run runs a program in a folder and returns what it prints, errors included.
func (t *installation) run(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, slices.Clone(t.options.Environment), waitOutput
	cmd.Env = append(cmd.Env, "PIP_CONFIG_FILE="+os.DevNull)
	for pip, uv := range map[string]string{"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_EXTRA_INDEX_URL": "UV_INDEX"} { // uv gets pip from the same index
		value, set := "", false
		for _, v := range t.options.Environment {
			if is, ok := strings.CutPrefix(v, pip+"="); ok {
				value = is
			}
			set = set || strings.HasPrefix(v, uv+"=")
		}
		if value != "" && !set {
			cmd.Env = append(cmd.Env, uv+"="+value)
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", &programError{fmt.Errorf("%s: %w", filepath.Base(program), err), strings.ToValidUTF8(out.String(), "\ufffd")}
	}
	return out.String(), nil
}

// Passes reports whether a variable of the environment is passed to pip, uv and npm: where the user's own files, proxies, certificates,
// indexes and registries are. Nothing that the project sets is among them.
func Passes(name string) bool {
	return slices.Contains([]string{
		"PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_CERT", "PIP_CLIENT_CERT",
		"UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_NATIVE_TLS",
		"NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_CAFILE", "npm_config_cafile", "NPM_CONFIG_USERCONFIG", "NPM_TOKEN", "NODE_AUTH_TOKEN",
		"PYENV_ROOT", "PYENV_VERSION", // which python3 a version manager starts
		"SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "PATHEXT", "COMSPEC", // on Windows
	}, name)
}

// removeAll removes a folder whose folders are read-only. One that does not exist is removed.
func removeAll(dir string) error {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, os.RemoveAll(dir))
}
