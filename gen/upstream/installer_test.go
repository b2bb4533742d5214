package upstream

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
)

func TestInstallersGetTime(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"npx -y @a/b@1": installTime, "/usr/bin/npx x": installTime, `cmd /c npx -y x`: installTime, "npx.cmd -y x": installTime,
		"npm exec x": installTime, "npm --yes x y": installTime, "npm start": startTime, "pnpm dlx x": installTime, "pnpm start": startTime,
		"yarn dlx x": installTime, "bunx x": installTime, "bun x y": installTime, "uvx x": installTime, "uv tool run x": installTime,
		"uv --directory d run s": installTime, "pipx run x": installTime, "dnx x": installTime, "docker run -i --rm x": installTime,
		"docker exec -i x y": startTime, "node server.js run": startTime, "python -m run": startTime,
	} {
		words := strings.Fields(line)
		srv := config.Server{Transport: config.TransportStdio, Command: words[0], Args: words[1:]}
		if got := (&Options{}).connectTimeout(srv); got != want {
			t.Errorf("connectTimeout(%s) = %v, want %v", line, got, want)
		}
		srv.StartupTimeout = time.Second
		if got := (&Options{ConnectTimeout: time.Minute}).connectTimeout(srv); got != time.Second {
			t.Errorf("connectTimeout(%s) = %v with startup_timeout 1s, want %v", line, got, time.Second)
		}
	}
}

// npmServer is a server of the older protocol era.
const npmServer = `#!/usr/bin/env node
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "slow", version: "1.0.0" } },
    "tools/list": { tools: [{ name: "installed", inputSchema: { type: "object" } }] },
  }[method];
  const answer = result ? { result } : { error: { code: -32601, message: "method not found" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
`

// registry is an npm registry that has one package, "slow-server", and takes its time with each answer.
type registry struct {
	url       string
	tarball   []byte
	integrity string
	delay     time.Duration
	downloads atomic.Int64 // of the tarball, whole
}

func newRegistry(t *testing.T, delay time.Duration) *registry {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	for _, file := range []struct{ name, text string }{
		{"package/package.json", `{"name":"slow-server","version":"1.0.0","bin":{"slow-server":"server.js"}}`},
		{"package/server.js", npmServer},
	} {
		if err := files.WriteHeader(&tar.Header{Name: file.name, Mode: 0o755, Size: int64(len(file.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(file.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(packed.Bytes())
	r := &registry{tarball: packed.Bytes(), integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), delay: delay}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	select {
	case <-time.After(r.delay):
	case <-req.Context().Done():
		return
	}
	switch req.URL.Path {
	case "/slow-server":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"slow-server","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"slow-server","version":"1.0.0",`+
			`"bin":{"slow-server":"server.js"},"dist":{"tarball":"%s/slow-server/-/slow-server-1.0.0.tgz","integrity":"%s"}}}}`, r.url, r.integrity)
	case "/slow-server/-/slow-server-1.0.0.tgz":
		if _, err := w.Write(r.tarball); err == nil {
			r.downloads.Add(1)
		}
	default:
		http.NotFound(w, req)
	}
}

// TestFirstStartWithNpx installs a server with npx into an empty cache, which takes much longer than the probe.
func TestFirstStartWithNpx(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npx"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("npx is not installed")
		}
		t.Skip("npx is not installed")
	}
	reg := newRegistry(t, time.Second)
	srv := config.Server{
		Key: "slow", Transport: config.TransportStdio, Command: "npx", Args: []string{"-y", "slow-server"}, Dir: t.TempDir(),
		Env: map[string]string{"npm_config_registry": reg.url, "npm_config_cache": t.TempDir(), "npm_config_audit": "false", "npm_config_update_notifier": "false"},
	}
	var log record
	opts := testOptions()
	opts.Logger, opts.ProbeTimeout, opts.ConnectTimeout = log.logger(), 300*time.Millisecond, 2*time.Minute
	s, err := Connect(t.Context(), srv, opts)
	if err != nil {
		t.Fatalf("Connect: %v\n%s", err, log.String())
	}
	defer s.Close()
	tools, err := s.ListTools(testContext(t))
	if err != nil || len(tools) != 1 {
		t.Errorf("ListTools: %d tools, %v, want 1 and no error", len(tools), err)
	}
	if n := reg.downloads.Load(); n != 1 {
		t.Errorf("the package was downloaded %d times, want 1", n)
	}
	if n := strings.Count(log.String(), "server started"); n != 1 {
		t.Errorf("%d starts, want 1:\n%s", n, log.String())
	}
}
