package tools

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

const npm = "../../../../testdata/npm"

// TestPinned compares the table with what npm has locked.
func TestPinned(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(npm, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	for platform := range typescripts {
		goos, goarch, _ := strings.Cut(platform, "/")
		all := All(goos, goarch)
		if len(all) != 2 {
			t.Errorf("%s has %d tools, want 2", platform, len(all))
		}
		for _, tool := range all {
			locked := lock.Packages["node_modules/"+tool.Package]
			if tool.Version != locked.Version || tool.Integrity != locked.Integrity {
				t.Errorf("%s of %s is %s %s, want %s %s", tool.Package, platform, tool.Version, tool.Integrity, locked.Version, locked.Integrity)
			}
		}
	}
	for _, platform := range []string{"linux", "darwin", "windows"} { // those of a release
		for _, arch := range []string{"amd64", "arm64"} {
			if typescripts[platform+"/"+arch] == "" {
				t.Errorf("no TypeScript for %s/%s", platform, arch)
			}
		}
	}
	if all := All("plan9", "386"); len(all) != 1 || all[0].Name != "pyright" {
		t.Errorf("All(plan9, 386) = %+v, want pyright only", all)
	}
}

// pack makes the file of a package, from a folder or from texts.
func pack(t *testing.T, folder string, more map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	add := func(name string, data []byte) {
		err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data))})
		if _, wrote := archive.Write(data); err != nil || wrote != nil {
			t.Fatal(err, wrote)
		}
	}
	if folder != "" {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			rel, _ := filepath.Rel(folder, name)
			add("package/"+filepath.ToSlash(rel), data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range more {
		add(name, []byte(text))
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func hash(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// registry serves one file.
func registry(t *testing.T, address string, data []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != address {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// native is TypeScript for this machine, with what the tests have of it.
func native(t *testing.T) (Tool, string) {
	t.Helper()
	all := typescript(runtime.GOOS, runtime.GOARCH)
	folder := ""
	if len(all) > 0 {
		folder = filepath.Join(npm, "node_modules", filepath.FromSlash(all[0].Package))
	}
	if _, err := os.Stat(folder); len(all) == 0 || err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no TypeScript for this machine in testdata/npm")
		}
		t.Skip("no TypeScript for this machine; run `npm ci` in testdata/npm")
	}
	return all[0], folder
}

// TestInstall installs the real compiler, by several processes at once.
func TestInstall(t *testing.T) {
	tool, folder := native(t)
	data := pack(t, folder, nil)
	tool.Integrity = hash(data)
	from := registry(t, "/npm/@typescript/"+strings.TrimPrefix(tool.Package, "@typescript/")+"/-/"+tool.file(), data)
	dir := filepath.Join(t.TempDir(), "deep", "tools")
	var group sync.WaitGroup
	fresh := make([]bool, 3)
	for i := range fresh {
		group.Go(func() {
			var err error
			if fresh[i], err = tool.Install(t.Context(), dir, from+"/npm/"); err != nil {
				t.Errorf("Install() = %v", err)
			}
		})
	}
	group.Wait()
	n := 0
	for _, f := range fresh {
		if f {
			n++
		}
	}
	file, ok := tool.Installed(dir)
	info, err := os.Stat(file)
	if n != 1 || !ok || err != nil || runtime.GOOS != "windows" && info.Mode()&0o100 == 0 {
		t.Errorf("%d of 3 installed it; Installed() = %q, %t, %v", n, file, ok, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v; want one folder", left, err)
	}
	if again, err := tool.Install(t.Context(), dir, "http://127.0.0.1:1"); again || err != nil {
		t.Errorf("Install() of what is there = %t, %v", again, err)
	}
}

// TestRefused: whatever else a registry sends, nothing is installed.
func TestRefused(t *testing.T) {
	tool := Tool{Name: "tsc", Version: "1.0.0", Package: "@typescript/x", entry: "lib/tsc"}
	outside := filepath.Join(t.TempDir(), "outside")
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no entry":     {map[string]string{"package/README.md": "x"}, "it has no lib/tsc"},
		"above":        {map[string]string{"package/lib/tsc": "x", "package/../../../../above": "x", "package/a/../../../above": "x"}, ""},
		"absolute":     {map[string]string{"package/lib/tsc": "x", "/" + outside: "x"}, ""},
		"another hash": {map[string]string{"package/lib/tsc": "evil"}, "is not the file that this version of mcprun expects"},
	} {
		top := t.TempDir()
		dir := filepath.Join(top, "a", "tools")
		data := pack(t, "", tt.files)
		tool.Integrity = hash(data)
		if name == "another hash" {
			tool.Integrity = hash(nil)
		}
		from := registry(t, "/@typescript/x/-/x-1.0.0.tgz", data)
		_, err := tool.Install(t.Context(), dir, from)
		_, installed := tool.Installed(dir)
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "x-1.0.0.tgz") || installed) {
			t.Errorf("%s: Install() = %v, installed %t; want %q", name, err, installed, tt.want)
		}
		if left, _ := os.ReadDir(dir); tt.want != "" && len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
		for _, place := range []string{outside, filepath.Join(top, "above"), filepath.Join(top, "a", "above"), filepath.Join(dir, "above")} {
			if _, err := os.Stat(place); err == nil {
				t.Errorf("%s: %s was written: got no error, want an error", name, place)
			}
		}
	}
	from := registry(t, "/nothing", nil)
	dir := t.TempDir()
	for address, want := range map[string]string{
		from: "404", "http://127.0.0.1:1": "download tsc 1.0.0", "ftp://127.0.0.1": "not an http or https URL", "http://user:secret@127.0.0.1:1/%zz": "not an http or https URL",
	} {
		_, err := tool.Install(t.Context(), dir, address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Install() from %s = %v, want %q", address, err, want)
		}
		if h, ok := err.(interface{ Hint() string }); strings.HasPrefix(want, "download") && (!ok || !strings.Contains(h.Hint(), "--registry")) {
			t.Errorf("Install() from %s has no hint", address)
		}
	}
}

func TestBeside(t *testing.T) {
	top := t.TempDir()
	tool := Tool{Name: "tsc", Package: "@typescript/x", entry: "lib/tsc"}
	for _, tt := range []struct {
		program, at string
		want        bool
	}{
		{"node_modules/@mcpgen/linux-x64/bin", "node_modules/@typescript/x/lib", true},
		{"n/node_modules/@mcpgen/linux-x64/bin", "n/node_modules/@mcpgen/linux-x64/node_modules/@typescript/x/lib", true},
		{"other/bin/x/bin", "other/@typescript/x/lib", false},
		{"o/node_modules/@other/linux-x64/bin", "o/node_modules/@typescript/x/lib", false},
	} {
		at := filepath.Join(top, filepath.FromSlash(tt.at))
		if err := errors.Join(os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, "tsc"), []byte("x"), 0o755)); err != nil {
			t.Fatal(err)
		}
		if file, ok := tool.Beside(filepath.Join(top, filepath.FromSlash(tt.program))); ok != tt.want || ok && file != filepath.Join(at, "tsc") {
			t.Errorf("Beside(%s) = %q, %t, want %t", tt.program, file, ok, tt.want)
		}
	}
}

// TestNoRegistry: no registry is compiled in.
func TestNoRegistry(t *testing.T) {
	if at, err := (&Tool{Package: "pyright"}).address(""); err == nil || !strings.Contains(err.Error(), "--registry URL") {
		t.Errorf(`%v, error %v, want an error and "--registry URL" in it`, at, err)
	}
}
