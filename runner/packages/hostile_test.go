package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestHostileRequirements: no line that makes pip run code, or read something else, gets to pip.
func TestHostileRequirements(t *testing.T) {
	hash := " --hash=sha256:" + strings.Repeat("a", 64)
	for line, want := range map[string]string{
		"--only-binary=:none:":             `the option "--only-binary" is not taken`,
		"--no-binary :all:":                "is not taken from this file; remove the line",
		"-i https://example.com/simple":    `the option "-i"`,
		"--index-url=https://example.com":  "PIP_INDEX_URL",
		"-r other.txt":                     `the option "-r"`,
		"-c constraints.txt":               `the option "-c"`,
		"-e .":                             `the option "-e"`,
		"--find-links=.":                   "is not taken",
		"--pre":                            "is not taken",
		"./evil":                           `"." is a file`,
		".":                                "is a file",
		"evil-1.0.tar.gz" + hash:           "is a file",
		"evil-1.0-py3-none-any.whl" + hash: "is a file",
		`..\evil` + hash:                   "is a file",
		"evil==1.0.tar.gz" + hash:          `"evil" has no exact version`,
		"evil==1.0.zip" + hash:             `"evil" has no exact version`,
		"evil==1.*" + hash:                 "has no exact version",
		"evil===1.0" + hash:                "evil",
		"evil>=1.0" + hash:                 "has no exact version",
		"evil":                             "has no exact version",
		"evil==1.0":                        "has no hash",
		"evil==1.0 --hash=md5:abc":         "is not name==version",
		"evil==1.0 --hash=sha256:abc":      "is not name==version",
		"evil==1.0" + hash + " --no-binary=:all:":       "is not name==version",
		"evil==1.0 --global-option=x" + hash:            "is not name==version",
		"evil==1.0 --config-settings=a=b" + hash:        "is not name==version",
		"evil==1.0 ; x --install-option=y" + hash:       "is not name==version",
		"evil==1.0 ; x -e ." + hash:                     "is not name==version",
		"evil==1.0,<2" + hash:                           "has no exact version",
		"evil==1.0 ; '${HOME}' == 'a'" + hash:           "is not name==version",
		"evil @ file:///tmp/evil" + hash:                "is installed from an address",
		"evil@file:.":                                   "is installed from an address",
		"git+https://example.com/evil":                  "is installed from an address",
		"evil==1.0 \\\n  -e .\\\n" + hash:               "is not name==version",
		"good==1.0" + hash + "\n\n# no\nbad":            `r.txt:4: "bad" has no exact version`,
		"good==1.0 \\\n" + hash + "\\\n" + hash + " -e": "r.txt:1: ",
		"":            "it names no package",
		"# a comment": "it names no package",
		"\x00":        "the entry has no exact version",
		"//registry.example.com/:_authToken=secret": "the entry is a file",
		"TOKEN=secret":                               `"TOKEN" has no exact version`,
		"git+https://secret@example.com/evil":        `"git" is installed from an address`,
		"--index-url=https://ann:secret@example.com": `the option "--index-url"`,
		"HOME=/root\x00PASSWORD=secret\x00":          `"HOME" is a file`,
		"a\rb==1" + hash:                             "r.txt:1",
	} {
		_, err := readRequirements(write(t, filepath.Join(t.TempDir(), "r.txt"), line))
		e, ok := err.(*Error)
		if !ok || !strings.Contains(e.Error()+"; "+e.Hint(), want) || e.Remedy == "" || strings.Contains(e.Error(), "secret") {
			t.Errorf("readRequirements(%q) = %v, want %q", line, err, want)
		}
	}
	for line, want := range map[string]string{
		"a==1.0" + hash: "a==1.0" + hash,
		"A.b_c[x, y] == 1!2.0rc1.post2.dev3+local.1" + hash:    "A.b_c[x,y]==1!2.0rc1.post2.dev3+local.1" + hash,
		"a==1.0 ; sys_platform == 'linux-gnu'" + hash:          "a==1.0 ; sys_platform == 'linux-gnu'" + hash,
		"a==1.0;python_version<\"3.12\" and (x)" + hash + hash: "a==1.0 ; python_version<\"3.12\" and (x)" + hash + hash,
		"\ufeffa==1.0 \\\r\n   " + hash + " # via b\r\n":       "a==1.0" + hash,
	} {
		got, err := readRequirements(write(t, filepath.Join(t.TempDir(), "r.txt"), line))
		if err != nil || len(got) != 1 || got[0].String() != want {
			t.Errorf("readRequirements(%q) = %v, %v, want %q", line, got, err, want)
		}
	}
}

// TestFilesBesideRequirements: nothing that lies beside the file, or in the folder that mcprun is started in, is run or installed.
func TestFilesBesideRequirements(t *testing.T) {
	dir, served := t.TempDir(), wheels(t)
	ran := filepath.Join(dir, "ran")
	trap := fmt.Sprintf("open(%q, 'w')\n", ran)
	for _, name := range []string{"pip.py", "pip/__main__.py", "pip/__init__.py", "setup.py", "sitecustomize.py", "usercustomize.py", "sys.py", "site.py", "greetings.py", "greetings/setup.py", "greetings==2.1/setup.py"} {
		write(t, filepath.Join(dir, name), trap)
	}
	write(t, filepath.Join(dir, "pip.conf"), "[global]\nno-binary = :all:\n")
	write(t, filepath.Join(dir, "pyproject.toml"), "[build-system]\nrequires = []\nbuild-backend = 'greetings'\nbackend-path = ['.']\n")
	t.Chdir(dir)
	file := "greetings-2.1-py3-none-any.whl"
	set, err := Install(t.Context(), cacheDir(t), Spec{Python: write(t, filepath.Join(dir, "requirements.txt"), "greetings==2.1 --hash=sha256:"+hashOf(served[file]))},
		options(t, "PIP_INDEX_URL="+index(t, served), "PYTHONPATH="+dir))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(set.Python(set.Pythons[0]), "greetings.py")); string(text) != "import numbers_mod\n" || err != nil {
		t.Errorf("installed %q, %v", text, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a file of the project was run")
	}
}

// TestSourceArchive: an index that has a package's sources only.
func TestSourceArchive(t *testing.T) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	ran := filepath.Join(t.TempDir(), "ran")
	tarFile(t, w, "evil-1.0/setup.py", fmt.Sprintf("open(%q, 'w')", ran))
	tarFile(t, w, "evil-1.0/PKG-INFO", "Metadata-Version: 1.0\nName: evil\nVersion: 1.0\n")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Python: write(t, filepath.Join(t.TempDir(), "r.txt"), "evil==1.0 --hash=sha256:"+hashOf(packed.Bytes()))}
	_, err := Install(t.Context(), cacheDir(t), spec, options(t, "PIP_INDEX_URL="+index(t, map[string][]byte{"evil-1.0.tar.gz": packed.Bytes()})))
	if err == nil || !strings.Contains(err.Error(), "No matching distribution") {
		t.Errorf("Install() = %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("setup.py was run")
	}
}

func tarFile(t testing.TB, w *tar.Writer, name, text string) {
	t.Helper()
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// registry serves packages as an npm registry does, and returns its address and an entry for a lock of each.
func registry(t testing.TB, packages map[string]map[string]string) (address string, entries map[string]map[string]any) {
	t.Helper()
	files, entries := map[string][]byte{}, map[string]map[string]any{}
	for name, content := range packages {
		var packed bytes.Buffer
		zipped := gzip.NewWriter(&packed)
		w := tar.NewWriter(zipped)
		for file, text := range content {
			tarFile(t, w, "package/"+file, text)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := zipped.Close(); err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(packed.Bytes())
		files["/"+name+".tgz"] = packed.Bytes()
		entries["node_modules/"+name] = map[string]any{"version": "1.0.0", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, ok := files[r.URL.Path]; ok {
			_, _ = w.Write(content)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		entry, ok := entries["node_modules/"+name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{
			"1.0.0": map[string]any{"name": name, "version": "1.0.0", "dist": map[string]any{"tarball": s.URL + "/" + name + ".tgz", "integrity": entry["integrity"]}},
		}})
	})
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/", entries
}

// lockOf returns a package-lock.json.
func lockOf(t testing.TB, root map[string]any, entries map[string]map[string]any) string {
	t.Helper()
	all := map[string]any{"": root}
	for folder, e := range entries {
		all[folder] = e
	}
	text, err := json.Marshal(map[string]any{"name": "x", "lockfileVersion": 3, "packages": all})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestInstallJavaScript(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	touch := fmt.Sprintf(`{"name": "NAME", "version": "1.0.0", "bin": "run.js", "scripts": {"preinstall": "touch %[1]s", "install": "touch %[1]s", "postinstall": "touch %[1]s", "prepare": "touch %[1]s"}}`, ran)
	address, entries := registry(t, map[string]map[string]string{
		"left":  {"package.json": strings.Replace(touch, "NAME", "left", 1), "index.js": "exports.pad = require('right').pad", "run.js": ""},
		"right": {"package.json": `{"name": "right", "version": "1.0.0"}`, "index.js": "exports.pad = (s) => s + '.'"},
		"fast":  {"package.json": `{"name": "fast", "version": "1.0.0"}`, "fast.node": "ELF"},
		"apple": {"package.json": `{"name": "apple", "version": "1.0.0", "os": ["darwin"]}`},
		"tests": {"package.json": `{"name": "tests", "version": "1.0.0"}`},
	})
	entries["node_modules/left"]["dependencies"] = map[string]string{"right": "^1.0.0"}
	entries["node_modules/left"]["hasInstallScript"] = true
	entries["node_modules/apple"]["os"], entries["node_modules/apple"]["optional"] = []string{"darwin"}, true
	entries["node_modules/tests"]["dev"] = true
	dir, cache := t.TempDir(), cacheDir(t)
	root := map[string]any{"dependencies": map[string]string{"left": "^1.0.0", "fast": "1.0.0"}, "optionalDependencies": map[string]string{"apple": "*"}, "devDependencies": map[string]string{"tests": "*"}, "scripts": map[string]string{"install": "touch " + ran}}
	spec := Spec{JavaScript: write(t, filepath.Join(dir, "package-lock.json"), lockOf(t, root, entries))}
	write(t, filepath.Join(dir, ".npmrc"), "ignore-scripts=false\nregistry=http://127.0.0.1:1/\n")
	write(t, filepath.Join(dir, "package.json"), touch)
	set, err := Install(t.Context(), cache, spec, options(t, "npm_config_registry="+address))
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{
		{Language: sandbox.LangTypeScript, Name: "fast", Version: "1.0.0", Imports: []string{"fast"}, Native: true},
		{Language: sandbox.LangTypeScript, Name: "left", Version: "1.0.0", Imports: []string{"left"}},
		{Language: sandbox.LangTypeScript, Name: "right", Version: "1.0.0", Imports: []string{"right"}, Indirect: true},
	}
	if diff := cmp.Diff(want, set.Packages); diff != "" || len(set.Pythons) != 0 {
		t.Errorf("Install() = %+v (-want +got):\n%s", set, diff)
	}
	if _, err := os.Stat(filepath.Join(set.JavaScript(), "node_modules", "left", "index.js")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a script of a package was run")
	}
	entries["node_modules/right"]["integrity"] = entries["node_modules/left"]["integrity"]
	write(t, spec.JavaScript, lockOf(t, root, entries))
	if _, err := Install(t.Context(), cache, spec, options(t, "npm_config_registry="+address)); err == nil || !strings.Contains(err.Error(), "EINTEGRITY") {
		t.Errorf("Install() with another hash = %v", err)
	}
	if hint := (&programError{output: "npm error code E401"}).Hint(); !strings.Contains(hint, "NODE_AUTH_TOKEN") {
		t.Errorf("the hint without a login is %q", hint)
	}
}

// TestLockOfOverrides: the reason for npm's refusal is shown, without the help that npm prints after it.
func TestLockOfOverrides(t *testing.T) {
	_, entries := registry(t, map[string]map[string]string{"left": {}})
	spec := Spec{JavaScript: write(t, filepath.Join(t.TempDir(), "package-lock.json"), lockOf(t, map[string]any{"dependencies": map[string]string{"left": "*"}}, entries))}
	npm := fake(t, "npm", "cat <<'END'\n"+`npm error code EUSAGE
npm error
npm error `+"`npm ci` can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync. Please update your lock file with `npm install` before continuing."+`
npm error
npm error Invalid: lock file's right@2.0.0 does not satisfy right@1.0.0
npm error
npm error Clean install a project
npm error
npm error Usage:
npm error npm ci
`+strings.Repeat("npm error [--install-strategy <hoisted|nested|shallow|linked>] [--legacy-bundling]\n", 60)+"END\nexit 1")
	o := options(t)
	o.LookPath = func(string) (string, error) { return npm, nil }
	_, err := Install(t.Context(), cacheDir(t), spec, o)
	if err == nil || !strings.Contains(err.Error(), "right@2.0.0 does not satisfy") || strings.Contains(err.Error(), "Usage:") {
		t.Fatalf("Install() = %v, want the reason without the help", err)
	}
	if hint := exit.Hint(err); !strings.Contains(hint, "overrides") {
		t.Errorf("Install() = %s, want what to do about overrides", hint)
	}
}

// TestHostileLocks: no entry that npm would take from elsewhere than a registry gets to npm.
func TestHostileLocks(t *testing.T) {
	good := func() map[string]any {
		return map[string]any{"version": "1.0.0", "resolved": "https://registry.example.com/a/-/a-1.0.0.tgz", "integrity": "sha512-" + strings.Repeat("A", 86) + "=="}
	}
	for _, c := range []struct {
		name, folder, key string
		value             any
		want              string
	}{
		{"a link", "node_modules/a", "link", true, "a folder of the project"},
		{"a folder of the project", "packages/a", "version", "1.0.0", "a folder of the project"},
		{"a folder above", "node_modules/../../a", "version", "1.0.0", "a folder of the project"},
		{"a folder above, below", "node_modules/a/node_modules/..", "version", "1.0.0", "a folder of the project"},
		{"an absolute folder", "/node_modules/a", "version", "1.0.0", "a folder of the project"},
		{"a git address", "node_modules/a", "resolved", "git+ssh://git@example.com/a.git#0123", "not an https address of a registry"},
		{"a git address over https", "node_modules/a", "resolved", "git+https://example.com/a.git#0123", "not an https address of a registry"},
		{"a file", "node_modules/a", "resolved", "file:a.tgz", "not an https address of a registry"},
		{"a path", "node_modules/a", "resolved", "../a.tgz", "not an https address of a registry"},
		{"plain http", "node_modules/a", "resolved", "http://example.com/a.tgz", "not an https address of a registry"},
		{"a password", "node_modules/a", "resolved", "https://ann:secret@example.com/a.tgz", "not an https address of a registry"},
		{"a token", "node_modules/a", "resolved", "git+ssh://secret@example.com/a.git#0123", "not an https address of a registry"},
		{"a token in a version", "node_modules/a", "version", "git+https://secret@example.com/a", `"git" is not the exact version`},
		{"a token in a dependency", "node_modules/a", "dependencies", map[string]string{"b": "https://secret@example.com/b"}, `it wants "b" as "https"`},
		{"a token as a list", "node_modules/a", "dependencies", []string{"secret"}, "it is not a package-lock.json"},
		{"no hash", "node_modules/a", "integrity", "", "it has no hash"},
		{"a weak hash", "node_modules/a", "integrity", "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "it has no hash"},
		{"a git version", "node_modules/a", "version", "git+https://example.com/a", "is not the exact version"},
		{"a version with a path", "node_modules/a", "version", "file:../a", "is not the exact version"},
		{"another name", "node_modules/a", "name", "../a", "is not the exact version"},
		{"in a bundle", "node_modules/a", "inBundle", true, "inside another package"},
		{"a git dependency", "node_modules/a", "dependencies", map[string]string{"b": "git+https://example.com/b"}, `it wants "b" as "git"`},
		{"a GitHub dependency", "node_modules/a", "optionalDependencies", map[string]string{"b": "ann/b"}, `it wants "b"`},
		{"a dependency on a file", "node_modules/a", "peerDependencies", map[string]string{"b": "file:b"}, `it wants "b"`},
		{"a dependency with an odd name", "node_modules/a", "dependencies", map[string]string{"../b": "1"}, `it wants ".."`},
		{"an alias for git", "node_modules/a", "dependencies", map[string]string{"b": "npm:c@git+https://example.com/c"}, `it wants "b"`},
		{"workspaces", "", "workspaces", []string{"packages/*"}, "workspaces are not installed"},
		{"git in the root", "", "dependencies", map[string]string{"b": "github:ann/b"}, `it wants "b"`},
		{"scripts as a list", "node_modules/a", "dependencies", []string{"b"}, "it is not a package-lock.json"},
	} {
		entries := map[string]map[string]any{"": {}, "node_modules/z": good()}
		if entries[c.folder] == nil {
			entries[c.folder] = good()
		}
		entries[c.folder][c.key] = c.value
		_, err := readLock(write(t, filepath.Join(t.TempDir(), "package-lock.json"), lockOf(t, entries[""], entries)))
		e, ok := err.(*Error)
		if !ok || !strings.Contains(e.Error(), c.want) || e.Remedy == "" || strings.Contains(e.Error(), "secret") {
			t.Errorf("%s: readLock() = %v, want %q", c.name, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"":   "not a package-lock.json",
		"[]": "not a package-lock.json",
		"{}": "version 2 or 3",
		`{"lockfileVersion": 1, "dependencies": {"a": {"version": "1.0.0"}}}`:              "version 2 or 3",
		`{"lockfileVersion": 3, "packages": {"": {}, "node_modules/a": null}}`:             "it has no value",
		`{"lockfileVersion": 3, "packages": {"": {}}, "packages": {"node_modules/a": {}}}`: "duplicate",
	} {
		if _, err := readLock(write(t, filepath.Join(t.TempDir(), "package-lock.json"), text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readLock(%s) = %v, want %q", text, err, want)
		}
	}
	// An alias and a package without an address are taken, and nothing that was not checked.
	entries := map[string]map[string]any{"node_modules/@s/a": good(), "node_modules/a/node_modules/b": good()}
	delete(entries["node_modules/@s/a"], "resolved")
	entries["node_modules/@s/a"]["name"], entries["node_modules/@s/a"]["scripts"] = "other", map[string]string{"install": "x"}
	root := map[string]any{"dependencies": map[string]string{"@s/a": "npm:other@^1.0.0"}}
	read := func() (*lockFile, error) {
		return readLock(write(t, filepath.Join(t.TempDir(), "package-lock.json"), lockOf(t, root, entries)))
	}
	lock, err := read()
	if err != nil || strings.Contains(string(lock.text), "install") || !strings.Contains(string(lock.text), `"name":"other"`) {
		t.Fatalf("readLock() = %+v, %v", lock, err)
	}
	// Development dependencies are not installed, so they may come from anywhere, and change nothing.
	root["devDependencies"] = map[string]string{"tool": "git+https://example.com/tool"}
	entries["node_modules/tool"] = map[string]any{"dev": true, "version": "1.0.0", "resolved": "git+ssh://git@example.com/tool.git#0123"}
	if with, err := read(); err != nil || string(with.text) != string(lock.text) {
		t.Errorf("readLock() with a development dependency = %+v, %v, want the same as without", with, err)
	}
}

// fake makes a program that is a shell script.
func fake(t *testing.T, name, text string) string {
	t.Helper()
	file := write(t, filepath.Join(t.TempDir(), name), "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(file, 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// fakePython makes a Python that says it has another version, and runs pip with the end of a script.
func fakePython(t *testing.T, version, pip string) string {
	return fake(t, "python3", fmt.Sprintf("case \"$*\" in *sys.executable*) echo \"$0\"; echo %s; exit;; *pip*) ;; *) exit 9;; esac\n%s", version, pip))
}

// TestPrograms takes another Python than the machine's for the docker sandbox, and has uv run pip.
func TestPrograms(t *testing.T) {
	served := wheels(t)
	address := index(t, served)
	spec := Spec{Python: write(t, filepath.Join(t.TempDir(), "r.txt"), "greetings==2.1 --hash=sha256:"+hashOf(served["greetings-2.1-py3-none-any.whl"]))}
	real := options(t, "PIP_INDEX_URL="+address)
	pip, err := real.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, version string
		pip, uv       bool
		want          []string // versions
		err           string
	}{
		{name: "another version", version: "3.13", pip: true, uv: true, want: []string{"3.13", ImagePython}},
		{name: "an old version", version: "3.9", pip: true, want: []string{ImagePython}},
		{name: "uv", version: ImagePython, uv: true, want: []string{ImagePython}},
		{name: "neither", version: ImagePython, err: "has no pip"},
	} {
		said := filepath.Join(t.TempDir(), "said")
		has := "exit 1"
		if c.pip {
			has = fmt.Sprintf("exec %q \"$@\"", pip)
		}
		python := fakePython(t, c.version, has)
		uv := fake(t, "uv", fmt.Sprintf("echo \"$UV_DEFAULT_INDEX\" \"$@\" >>%q\nwhile [ \"$1\" != python ]; do shift; done\nshift\nexec %q \"$@\"", said, pip))
		o := real
		o.LookPath = func(name string) (string, error) {
			if name == "uv" && !c.uv {
				return "", os.ErrNotExist
			}
			return map[string]string{"python3": python, "uv": uv}[name], nil
		}
		set, err := Install(t.Context(), cacheDir(t), spec, o)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: Install() = %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || !slices.Equal(set.Pythons, c.want) {
			t.Errorf("%s: Install() = %+v, %v, want packages for %q", c.name, set, err, c.want)
			continue
		}
		for _, version := range c.want {
			if _, err := os.Stat(path.Join(set.Python(version), "greetings.py")); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		text, _ := os.ReadFile(said)
		if want := address + " run --no-config --no-project --no-progress --with=pip --python=" + python + " python -I -m pip download "; strings.HasPrefix(string(text), want) == c.pip {
			t.Errorf("%s: uv got %q, want %q", c.name, text, want)
		}
	}
}

// TestOtherPythons: a Python that got no packages is tried again, and those for former ones are kept.
func TestOtherPythons(t *testing.T) {
	served, cache, allowed := wheels(t), cacheDir(t), filepath.Join(t.TempDir(), "allowed")
	spec := Spec{Python: write(t, filepath.Join(t.TempDir(), "r.txt"), "greetings==2.1 --hash=sha256:"+hashOf(served["greetings-2.1-py3-none-any.whl"]))}
	o := options(t, "PIP_INDEX_URL="+index(t, served))
	pip, err := o.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	o.Say = func(line string) { said += line + "\n" }
	install := func(version string, want ...string) *Set {
		t.Helper()
		python := fakePython(t, version, fmt.Sprintf("case \"$*\" in *--python-version*) [ -e %q ] || { echo No matching distribution; exit 1; };; esac\nexec %q \"$@\"", allowed, pip))
		o.LookPath = func(string) (string, error) { return python, nil }
		said = ""
		set, err := Install(t.Context(), cache, spec, o)
		if err != nil || !slices.Equal(set.Pythons, want) {
			t.Fatalf("Install() with Python %s = %+v, %v, want packages for %q", version, set, err, want)
		}
		for _, version := range want {
			if _, err := os.Stat(filepath.Join(set.Python(version), "greetings.py")); err != nil {
				t.Error(err)
			}
		}
		return set
	}
	first := install("3.13", "3.13")
	if why := "has Python 3.11, gets none: "; !strings.Contains(said, why) || !strings.Contains(said, "No matching distribution; no wheel of that version") {
		t.Errorf("it says %q, want %q with what to do about it", said, why)
	}
	if again := install("3.13", "3.13"); again.Dir != first.Dir || !strings.Contains(said, "gets none") {
		t.Errorf("the second time, the set is in %s and it says %q, want %s and why there is no more", again.Dir, said, first.Dir)
	}
	write(t, allowed, "")
	if install("3.13", "3.11", "3.13"); strings.Contains(said, "for Python 3.13") {
		t.Errorf("it says %q, but those for 3.13 are there", said)
	}
	install("3.12", "3.12", "3.11", "3.13")
	if left, _ := os.ReadDir(Folder(cache)); len(left) != 2 {
		t.Errorf("in the folder are %v, want the lock and one set", left)
	}
}

// TestOneOfTwoPythons: packages that are only there for one Python are installed for that one, whichever it is.
func TestOneOfTwoPythons(t *testing.T) {
	served := wheels(t)
	spec := Spec{Python: write(t, filepath.Join(t.TempDir(), "r.txt"), "greetings==2.1 --hash=sha256:"+hashOf(served["greetings-2.1-py3-none-any.whl"]))}
	o := options(t, "PIP_INDEX_URL="+index(t, served))
	pip, err := o.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	const refuse = "echo No matching distribution; exit 1"
	for _, c := range []struct {
		name, image, machine string // what pip does for each
		want, said           string
	}{
		{"the image's", ":", refuse, ImagePython, "this machine, which has Python 3.13, gets none: "},
		{"the machine's", refuse, ":", "3.13", "the docker sandbox, which has Python 3.11, gets none: "},
		{"neither", refuse, refuse, "", "No matching distribution"},
	} {
		python := fakePython(t, "3.13", fmt.Sprintf("case \"$*\" in *--python-version*) %s;; *download*) %s;; esac\nexec %q \"$@\"", c.image, c.machine, pip))
		o.LookPath = func(string) (string, error) { return python, nil }
		said := ""
		o.Say = func(line string) { said += line + "\n" }
		set, err := Install(t.Context(), cacheDir(t), spec, o)
		switch {
		case c.want == "":
			if err == nil || !strings.Contains(err.Error(), c.said) || strings.Contains(said, "gets none") {
				t.Errorf("%s: Install() = %v, and it says %q, want an error with %q alone", c.name, err, said, c.said)
			}
		case err != nil || !slices.Equal(set.Pythons, []string{c.want}) || !strings.Contains(said, c.said) || !strings.Contains(said, "; no wheel of that version"):
			t.Errorf("%s: Install() = %+v, %v, and it says %q, want packages for %s and %q", c.name, set, err, said, c.want, c.said)
		}
	}
}

// TestMarkers judges markers for the Python of the image, whatever this machine has.
func TestMarkers(t *testing.T) {
	o := options(t)
	python, err := o.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	i := &installation{source: &source{}, options: &o, pip: []string{python, "-I"}}
	var want, got []string
	for _, c := range []struct {
		marker  string
		applies bool
	}{
		{"", true},
		{"python_version < '3.12' and python_version > '3.9'", true},
		{"python_version == '3.13'", false},
		{"python_full_version >= '3.11.1'", true},
		{"sys_platform == 'win32' or platform_system == 'Darwin'", false},
		{"implementation_name == 'cpython' and platform_machine == '" + machine() + "'", true},
		{"extra == 'x'", false},
	} {
		i.source.requirements = append(i.source.requirements, requirement{name: c.marker, marker: c.marker})
		if c.applies {
			want = append(want, c.marker)
		}
	}
	apply, err := i.applying(t.Context(), t.TempDir())
	for _, r := range apply {
		got = append(got, r.name+r.marker)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("applying() = %q, %v, want %q", got, err, want)
	}
}

// TestHostileWheels: a wheel gets no file outside of its folder, and no link.
func TestHostileWheels(t *testing.T) {
	for file, want := range map[string]string{
		"../evil.py":                       "is a link or no name",
		"a/../../evil.py":                  "is a link or no name",
		"/tmp/evil.py":                     "is a link or no name",
		`a\..\..\evil.py`:                  "is a link or no name",
		"./evil.py":                        "is a link or no name",
		"x-1.0.data/purelib/../../evil.py": "is a link or no name",
		"x-1.0.data/scripts/../../evil.py": "is a link or no name",
		"x-1.0.data/purelib":               "unpack",
		"servers/__init__.py":              "it has a module servers",
		"skills.py":                        "it has a module skills",
		"x-1.0.data/platlib/mcprun/a.py":   "it has a module mcprun",
		"y-1.0.dist-info/METADATA":         "two packages",
		"x-1.0.dist-info/METADATA":         "it does not say which package it has",
		"evil":                             "is a link or no name",
	} {
		text := map[string]string{"evil": "->/etc", "y-1.0.dist-info/METADATA": "Name: y\nVersion: 1.0\n"}[file]
		from, above := t.TempDir(), t.TempDir()
		wheel := wheelOf(t, "x", "1.0", map[string]string{file: text, "x.py": ""})
		write(t, filepath.Join(from, "x-1.0-py3-none-any.whl"), string(wheel))
		to := filepath.Join(above, "to")
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if found, err := unpackWheels(from, to, []requirement{{hashes: []string{hashOf(wheel)}}}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x-1.0-py3-none-any.whl: ") {
			t.Errorf("%s: unpackWheels() = %v, %v, want %q", file, found, err, want)
		}
		if found, err := unpackWheels(from, to, []requirement{{hashes: []string{hashOf(nil)}}}); err == nil || !strings.Contains(err.Error(), "none of the hashes") {
			t.Errorf("%s: unpackWheels() with another hash = %v, %v", file, found, err)
		}
		if there, _ := os.ReadDir(above); len(there) != 1 {
			t.Errorf("%s: beside the folder are %v", file, there)
		}
	}
	dir := t.TempDir()
	wheel := write(t, filepath.Join(dir, "x.whl"), string(wheelOf(t, "x", "1.0", map[string]string{"x.py": strings.Repeat("x", 10_000)})))
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	left := int64(5_000)
	if err := new(Package).unpack(wheel, root, &left); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("unpack() of a large file = %v", err)
	}
	wheel = write(t, filepath.Join(dir, "y.whl"), string(wheelOf(t, "y", "1.0", map[string]string{"y.py": strings.Repeat("x", 1<<20)})))
	left = maxUnpacked
	if err := new(Package).unpack(wheel, root, &left); err == nil || !strings.Contains(err.Error(), "100 times its size") {
		t.Errorf("unpack() of a small wheel with a large file = %v", err)
	}
}

// TestEntryPoints: nothing is written for the programs that a wheel has or names. Installers take their names for paths.
func TestEntryPoints(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "x-1.0-py3-none-any.whl"), string(wheelOf(t, "x", "1.0", map[string]string{
		"x-1.0.dist-info/entry_points.txt": "[console_scripts]\n" + filepath.Join(outside, "evil") + " = os:getcwd\n../../evil = os:getcwd\nevil = os:getcwd\n",
		"x-1.0.dist-info/METADATA":         "Metadata-Version: 2.1\nName: x\nVersion: 1.0\nName: y\nVersion: 2\n\nName: z\n",
		"x-1.0.data/scripts/evil":          "#!python\n",
		"x-1.0.data/data/evil":             "",
		"x-1.0.data/headers/evil.h":        "",
		"x-1.0.data/purelib/inner.py":      "",
		"x/__init__.py":                    "",
	})))
	cache := cacheDir(t)
	set, err := Install(t.Context(), cache, Spec{Python: dir}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{{Language: sandbox.LangPython, Name: "x", Version: "1.0", Imports: []string{"inner", "x"}}}
	if diff := cmp.Diff(want, set.Packages); diff != "" {
		t.Errorf("Install() (-want +got):\n%s", diff)
	}
	for _, where := range []string{outside, cache} {
		err := filepath.WalkDir(where, func(path string, e fs.DirEntry, err error) error {
			if strings.Contains(e.Name(), "evil") || e.Name() == "bin" {
				t.Errorf("there is %s", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(set.Python(set.Pythons[0]), "inner.py")); err != nil {
		t.Error(err)
	}
}

// TestImagePython: the version is the one that the docker sandbox has.
func TestImagePython(t *testing.T) {
	lock, err := os.ReadFile("../sandbox/docker/image.lock.json")
	if err != nil || !strings.Contains(string(lock), `"python`+ImagePython+`"`) {
		t.Errorf("the image has no python%s (%v)", ImagePython, err)
	}
}
