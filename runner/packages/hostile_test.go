package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestHostileRequirements: no line that makes pip run code, or read something else, gets to pip.
func TestHostileRequirements(t *testing.T) {
	hash := " --hash=sha256:" + strings.Repeat("a", 64)
	for line, want := range map[string]string{
		"--only-binary=:none:":             `the option "--only-binary=:none:" is not taken`,
		"--no-binary :all:":                "is not taken from this file; remove the line",
		"-i https://example.com/simple":    `the option "-i"`,
		"--index-url=https://example.com":  "PIP_INDEX_URL",
		"-r other.txt":                     `the option "-r"`,
		"-c constraints.txt":               `the option "-c"`,
		"-e .":                             `the option "-e"`,
		"--find-links=.":                   "is not taken",
		"--pre":                            "is not taken",
		"./evil":                           `"./evil" is a file`,
		".":                                "is a file",
		"evil-1.0.tar.gz" + hash:           "is a file",
		"evil-1.0-py3-none-any.whl" + hash: "is a file",
		`..\evil` + hash:                   "is a file",
		"evil==1.0.tar.gz" + hash:          `"1.0.tar.gz" is not an exact version`,
		"evil==1.0.zip" + hash:             `"1.0.zip" is not an exact version`,
		"evil==1.*" + hash:                 "is not an exact version",
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
		"evil==1.0,<2" + hash:                           "is not an exact version",
		"evil==1.0 ; '${HOME}' == 'a'" + hash:           "is not name==version",
		"evil @ file:///tmp/evil" + hash:                "is installed from an address",
		"evil@file:.":                                   "is installed from an address",
		"git+https://example.com/evil":                  "is installed from an address",
		"evil==1.0 \\\n  -e .\\\n" + hash:               "is not name==version",
		"good==1.0" + hash + "\n\n# no\nbad":            `r.txt:4: "bad" has no exact version`,
		"good==1.0 \\\n" + hash + "\\\n" + hash + " -e": "r.txt:1: ",
		"":               "it names no package",
		"# a comment":    "it names no package",
		"\x00":           "has no exact version",
		"a\rb==1" + hash: "r.txt:1",
	} {
		_, err := readRequirements(write(t, filepath.Join(t.TempDir(), "r.txt"), line))
		e, ok := err.(*Error)
		if !ok || !strings.Contains(e.Error()+"; "+e.Hint(), want) || e.Remedy == "" {
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
		{"a git address", "node_modules/a", "resolved", "git+ssh://git@example.com/a.git#0123", "not from an https address"},
		{"a git address over https", "node_modules/a", "resolved", "git+https://example.com/a.git#0123", "not from an https address"},
		{"a file", "node_modules/a", "resolved", "file:a.tgz", "not from an https address"},
		{"a path", "node_modules/a", "resolved", "../a.tgz", "not from an https address"},
		{"plain http", "node_modules/a", "resolved", "http://example.com/a.tgz", "not from an https address"},
		{"a password", "node_modules/a", "resolved", "https://ann:secret@example.com/a.tgz", `"https://ann:xxxxx@example.com/a.tgz"`},
		{"no hash", "node_modules/a", "integrity", "", "it has no hash"},
		{"a weak hash", "node_modules/a", "integrity", "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "it has no hash"},
		{"a git version", "node_modules/a", "version", "git+https://example.com/a", "is not the exact version"},
		{"a version with a path", "node_modules/a", "version", "file:../a", "is not the exact version"},
		{"another name", "node_modules/a", "name", "../a", "is not the exact version"},
		{"in a bundle", "node_modules/a", "inBundle", true, "inside another package"},
		{"a git dependency", "node_modules/a", "dependencies", map[string]string{"b": "git+https://example.com/b"}, `it wants "b" as "git+https://example.com/b"`},
		{"a GitHub dependency", "node_modules/a", "optionalDependencies", map[string]string{"b": "ann/b"}, `it wants "b"`},
		{"a dependency on a file", "node_modules/a", "peerDependencies", map[string]string{"b": "file:b"}, `it wants "b"`},
		{"a dependency with an odd name", "node_modules/a", "dependencies", map[string]string{"../b": "1"}, `it wants "../b"`},
		{"an alias for git", "node_modules/a", "dependencies", map[string]string{"b": "npm:c@git+https://example.com/c"}, `it wants "b"`},
		{"workspaces", "", "workspaces", []string{"packages/*"}, "workspaces are not installed"},
		{"git in the root", "", "devDependencies", map[string]string{"b": "github:ann/b"}, `it wants "b"`},
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
	lock, err := readLock(write(t, filepath.Join(t.TempDir(), "package-lock.json"), lockOf(t, map[string]any{"dependencies": map[string]string{"@s/a": "npm:other@^1.0.0"}}, entries)))
	if err != nil || strings.Contains(string(lock.text), "install") || !strings.Contains(string(lock.text), `"name":"other"`) {
		t.Errorf("readLock() = %s, %v", lock.text, err)
	}
}

// TestPython takes another Python than the machine's for the docker sandbox, and uv in place of pip.
func TestPrograms(t *testing.T) {
	served := wheels(t)
	spec := Spec{Python: write(t, filepath.Join(t.TempDir(), "r.txt"), "greetings==2.1 --hash=sha256:"+hashOf(served["greetings-2.1-py3-none-any.whl"]))}
	real := options(t, "PIP_INDEX_URL="+index(t, served))
	pip, err := real.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, version string
		pip, uv       bool
		want          []string // versions
		args          string   // of uv, in part
		err           string
	}{
		{name: "another version", version: "3.13", pip: true, want: []string{"3.13", ImagePython}},
		{name: "another version, and uv", version: "3.13", pip: true, uv: true, want: []string{"3.13", ImagePython}, args: "--python-version=" + ImagePython + " --python-platform=" + machine() + "-manylinux_2_28 --require-hashes"},
		{name: "an old version", version: "3.9", pip: true, want: []string{ImagePython}},
		{name: "uv alone", version: ImagePython, uv: true, want: []string{ImagePython}, args: "--compile-bytecode --python-version=" + ImagePython + " --require-hashes --only-binary=:all:"},
		{name: "neither", version: ImagePython, err: "has no pip"},
	} {
		bin, said := t.TempDir(), filepath.Join(t.TempDir(), "said")
		program := func(name, text string) string {
			file := write(t, filepath.Join(bin, name), "#!/bin/sh\n"+text)
			if err := os.Chmod(file, 0o700); err != nil {
				t.Fatal(err)
			}
			return file
		}
		has := "exit 1"
		if c.pip {
			has = fmt.Sprintf("exec %q \"$@\"", pip)
		}
		python := program("python3", fmt.Sprintf("case \"$*\" in *sys.executable*) echo %q; echo %s;; *pip*) %s;; *) exit 9;; esac\n", filepath.Join(bin, "python3"), c.version, has))
		uv := program("uv", fmt.Sprintf("echo \"$@\" >>%q\nfor a; do case $a in --target=*) t=$a;; esac; done\nexec %q -I -m pip install \"$t\" --require-hashes -r requirements.txt\n", said, pip))
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
		if !strings.Contains(string(text), c.args) || (c.args == "") != (len(text) == 0) {
			t.Errorf("%s: uv got %q, want %q", c.name, text, c.args)
		}
	}
}

// TestImagePython: the version is the one that the docker sandbox has.
func TestImagePython(t *testing.T) {
	lock, err := os.ReadFile("../sandbox/docker/image.lock.json")
	if err != nil || !strings.Contains(string(lock), `"python`+ImagePython+`"`) {
		t.Errorf("the image has no python%s (%v)", ImagePython, err)
	}
}
