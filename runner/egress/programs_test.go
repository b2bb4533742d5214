package egress_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/egress"
)

// listen offers the proxy on a port, as a guest does, and returns the environment of programs that use it.
func (w *outside) listen(t *testing.T) []string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.Serve(c)
		}
	}()
	bundle := filepath.Join(t.TempDir(), "certificates.pem")
	if err := os.WriteFile(bundle, w.Bundle(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.secure.Certificate().Raw})), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	for name, value := range w.Environment(l.Addr().String(), bundle) {
		env = append(env, name+"="+value)
	}
	return env
}

// needProgram returns the path of a program, which make test installs.
func needProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const goProgram = `package main

import ("fmt"; "io"; "net/http"; "os")

func main() {
	for _, url := range os.Args[1:] {
		res, err := http.Get(url)
		if err != nil { fmt.Println(err); continue }
		text, _ := io.ReadAll(res.Body)
		fmt.Println(res.StatusCode, string(text))
	}
}
`

// TestPrograms runs ordinary programs with no setting but the environment.
func TestPrograms(t *testing.T) {
	const rules = "  allow:\n    - host: example.com\n      protocols: [https, http]\n    - host: api.example.com\n      tls: inspect\n"
	const urls = `["http://example.com/plain", "https://example.com/tunnel", "https://api.example.com/inspected", "https://evil.example/"]`
	list := strings.Split(strings.Trim(strings.ReplaceAll(urls, `"`, ""), "[]"), ", ")
	dir := t.TempDir()
	program := filepath.Join(dir, "fetch.go")
	if err := os.WriteFile(program, []byte(goProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	curl := func(url string) string {
		return fmt.Sprintf("curl -sS -w ' %%{http_code}' %s 2>&1; echo;", url)
	}
	shell := ""
	for _, url := range list {
		shell += curl(url)
	}
	for name, command := range map[string][]string{
		"curl":    {"sh", "-c", shell},
		"python3": {"python3", "-c", "import urllib.request as u\nfor url in " + urls + ":\n  try: print(u.urlopen(url, timeout=20).read().decode())\n  except Exception as e: print(e)\n"},
		"go":      append([]string{"go", "run", program}, list...),
	} {
		t.Run(name, func(t *testing.T) {
			needProgram(t, name)
			w := start(t, rules)
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = w.listen(t)
			if name == "go" { // it is built without the proxy
				built := filepath.Join(dir, "fetch")
				if out, err := exec.Command("go", "build", "-o", built, program).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				cmd.Path, cmd.Args = built, append([]string{built}, list...)
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if text := string(out); !strings.Contains(text, "403") && !strings.Contains(text, "refused by allow list") {
				t.Errorf("the output has no refusal:\n%s", text)
			}
			for _, want := range []string{"GET example.com /plain", "GET example.com /tunnel", "GET api.example.com /inspected"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("the output has no %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestGit clones a repository through an inspected connection.
func TestGit(t *testing.T) {
	git := needProgram(t, "git")
	dir := t.TempDir()
	run := func(env []string, args ...string) string {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	plain := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	run(plain, "init", "-q", "r")
	run(plain, "-C", "r", "commit", "-q", "--allow-empty", "-m", "first")
	run(plain, "clone", "-q", "--bare", "r", "r.git")
	run(plain, "-C", "r.git", "update-server-info")
	w := start(t, "  allow:\n    - host: example.com\n      tls: inspect\n      paths: [\"/r.git/**\"]\n")
	files := http.FileServer(http.Dir(dir))
	w.secure.Config.Handler = files
	env := w.listen(t)
	run(env, "clone", "-q", "https://example.com/r.git", "clone")
	if out := run(plain, "-C", "clone", "log", "--format=%s"); out != "first\n" {
		t.Errorf("git log = %q, want first", out)
	}
}

// TestPackageManagers: pip, requests (which pip has inside) and npm read an index that only a credential of the host opens.
func TestPackageManagers(t *testing.T) {
	var wheel bytes.Buffer
	archive := zip.NewWriter(&wheel)
	for name, text := range map[string]string{
		"tiny.py": "", "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n", "tiny-1.0.dist-info/RECORD": "",
		"tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	} {
		f, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	index := http.NewServeMux()
	index.HandleFunc("/simple/tiny/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>`)
	})
	index.HandleFunc("/tiny-1.0-py3-none-any.whl", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel.Bytes()) })
	index.HandleFunc("/tiny", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"name":"tiny","dist-tags":{"latest":"2.0.0"},"versions":{"2.0.0":{"name":"tiny","version":"2.0.0","dist":{"tarball":"https://example.com/tiny-2.0.0.tgz"}}}}`)
	})
	const canary = "canary-51d0aa3c"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); secret != canary {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		index.ServeHTTP(w, r)
	})
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"pip":      {[]string{"python3", "-m", "pip", "download", "--no-cache-dir", "--disable-pip-version-check", "--no-deps", "-i", "https://example.com/simple/", "tiny"}, "tiny-1.0-py3-none-any.whl"},
		"requests": {[]string{"python3", "-c", "from pip._vendor import requests\nprint(requests.get('https://example.com/simple/tiny/').text)"}, "tiny-1.0-py3-none-any.whl"},
		"npm":      {[]string{"npm", "view", "tiny", "version", "--registry", "https://example.com/"}, "2.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			needProgram(t, c.command[0])
			w := start(t, "  allow:\n    - host: example.com\n      tls: inspect\n      methods: [GET]\n      credentials: [{secret: \"${TOKEN}\", basic: ann}]\n", func(o *egress.Options) {
				o.Secret = func(context.Context, *config.Secret) (string, error) { return canary, nil }
			})
			w.secure.Config.Handler = handler
			cmd := exec.Command(c.command[0], c.command[1:]...)
			cmd.Dir, cmd.Env = t.TempDir(), w.listen(t)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v prints\n%s\n%v; want %q", c.command, out, err, c.want)
			}
		})
	}
}

// TestNotAProxyRequest: a request of another kind is told how to use the proxy.
func TestNotAProxyRequest(t *testing.T) {
	w := start(t, "  allow: [example.com]\n")
	conn := w.dial()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	if text, err := io.ReadAll(conn); err != nil || !strings.Contains(string(text), "400 Bad Request") || !strings.Contains(string(text), "HTTPS_PROXY") {
		t.Errorf("a request that is not meant for a proxy = %q, %v; want 400 and the variables", text, err)
	}
}
