package docker_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dc "github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// An adopted guest has the run's workspace, its output, its limits, and leaves its changes.
func TestRemoteWarm(t *testing.T) {
	b := remoteBackend(t)
	for rt, code := range map[sandbox.Runtime]string{
		sandbox.Python: `print(open("in.txt").read(), open("servers/t.txt").read(), open("/mcp/skills/s.txt").read()); open("out.txt", "w").write("made")`,
		sandbox.Node:   `const fs = await import("node:fs"); console.log(fs.readFileSync("in.txt", "utf8"), fs.readFileSync("servers/t.txt", "utf8"), fs.readFileSync("/mcp/skills/s.txt", "utf8")); fs.writeFileSync("out.txt", "made");`,
	} {
		t.Run(string(rt), func(t *testing.T) {
			g := newGuest(t, rt, waiting[rt])
			folders(t, &g.Spec)
			exit := runWarm(t, b, g, code)
			if exit.Code != 0 || g.out.String() != "workspace tree skills\n" {
				t.Errorf("%+v, want Code 0 and g.out.String() %q\n%s%s", exit, "workspace tree skills\n", &g.out, &g.err)
			}
			if got, err := os.ReadFile(filepath.Join(g.Workspace, "out.txt")); err != nil || string(got) != "made" {
				t.Errorf(`what it made: %q, %v, want "made" and no error`, got, err)
			}
		})
	}
	t.Run("closed", func(t *testing.T) {
		g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
		idle, conn := warm(t, b, g)
		defer conn.Close()
		if err := idle.Close(); err != nil {
			t.Error(err)
		}
		nothingOf(t, g.ID)
	})
	t.Run("given up", func(t *testing.T) {
		g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
		ctx, cancel := context.WithCancel(t.Context())
		idle, err := b.Warm(ctx, g.Spec)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		select {
		case <-idle.Done():
		case <-time.After(30 * time.Second):
			t.Error("it has not ended")
		}
		if _, err := idle.Adopt(t.Context(), g.Spec); err == nil {
			t.Error("it was adopted all the same: got no error, want an error")
		}
		nothingOf(t, g.ID)
	})
}

// nothingOf fails when a container or a volume of the run is there.
func nothingOf(t *testing.T, id string) {
	t.Helper()
	for _, c := range containers(t, id) {
		t.Errorf("container %v is left: %s", c.Names, c.Status)
	}
	for _, v := range volumes(t, id) {
		t.Errorf("%s is left", v)
	}
}

// A remote guest ends with its host, and its container and volumes with it.
func TestRemoteSweep(t *testing.T) {
	dir, address := shortDir(t), overTCP(t)
	t.Setenv("DOCKER_HOST", address)
	killedHost(t, "remote-killed", dir, stubborn)
	startHost(t, "remote-living", dir, stubborn)
	deadline := time.Now().Add(30 * time.Second)
	for len(containers(t, "remote-killed")) > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the guest has not ended with its host")
		}
		time.Sleep(50 * time.Millisecond)
	}
	nothingOf(t, "remote-killed")
	if n, v := len(containers(t, "remote-living")), len(volumes(t, "remote-living")); n != 1 || v == 0 {
		t.Errorf("of the living host %d containers and %d volumes are there", n, v)
	}
	for _, c := range containers(t, "remote-living") {
		if err := pool(t).Client.RemoveContainer(dc.RemoveContainerOptions{ID: c.ID, Force: true, RemoveVolumes: true}); err != nil {
			t.Error(err)
		}
	}
	for len(volumes(t, "remote-living")) > 0 { // the host removes them, as after any run
		if time.Now().After(deadline) {
			t.Fatal("the volumes are left")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// The connection to the engine breaks: the run fails with words that say so, and does not hang.
func TestRemoteConnectionBreaks(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cut, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(cut, func() { conn.Close() })
			go forward(conn.(halfCloser), host())
		}
	}()
	t.Cleanup(func() { l.Close() })
	b := newBackend(t, func(o *docker.Options) { o.Host = "tcp://" + l.Addr().String() })
	g := newGuest(t, sandbox.Python, stubborn)
	g.Workspace = openDir(t)
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l.Close()
	cancel()
	began := time.Now()
	exit, err := p.Wait()
	if err == nil || !strings.Contains(err.Error(), "went away while the script was running") {
		t.Errorf(`%+v, %v, want an error and "went away while the script was running" in it`, exit, err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v to notice, want at most %v", took, 15*time.Second)
	}
	deadline := time.Now().Add(30 * time.Second)
	for len(containers(t, g.ID)) > 0 { // the guest ends without its host
		if time.Now().After(deadline) {
			t.Fatal("the guest lives on")
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, v := range volumes(t, g.ID) { // this process lives, so no sweep may touch them
		if err := pool(t).Client.RemoveVolumeWithOptions(dc.RemoveVolumeOptions{Name: strings.TrimPrefix(v, "volume ")}); err != nil && !errors.Is(err, dc.ErrNoSuchVolume) {
			t.Error(err)
		}
	}
}

// An engine that does not see this machine's folders gets archives from the first run on.
func TestEngineThatSeesOtherFolders(t *testing.T) {
	refused := 0
	path := front(t, func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/containers/create") {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte(`"Type":"bind"`)) {
				refused++
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"message":"invalid mount config for type \"bind\": bind source path does not exist: /somewhere"}`)
				return true
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return false
	})
	b := newBackend(t, func(o *docker.Options) { o.Host = "unix://" + path })
	for range 2 {
		g := newGuest(t, sandbox.Python, `print(open("servers/t.txt").read()); open("out", "w").write("x")`)
		g.Workspace, g.Tree = openDir(t), openDir(t)
		write(t, filepath.Join(g.Tree, "t.txt"), "tree")
		if out := g.ok(t, b); out != "tree\n" {
			t.Errorf("%q, want %q", out, "tree\n")
		}
		if _, err := os.Stat(filepath.Join(g.Workspace, "out")); err != nil {
			t.Error(err)
		}
	}
	if refused != 1 {
		t.Errorf("the engine was asked %d times to show a folder, want 1", refused)
	}
}

// An engine behind TLS proves itself and asks for proof.
func TestRemoteTLS(t *testing.T) {
	certs := t.TempDir()
	config := certificates(t, certs)
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	forwardAll(t, l, host())
	address := "tcp://" + l.Addr().String()
	b := newBackend(t, func(o *docker.Options) { o.Host, o.CertDir = address, certs })
	g := newGuest(t, sandbox.Python, `open("out", "w").write("x"); print("over TLS")`)
	g.Workspace = openDir(t)
	if out := g.ok(t, b); out != "over TLS\n" {
		t.Errorf("%q, want %q", out, "over TLS\n")
	}
	// Another authority's engine is not spoken to, and neither is one without TLS.
	other := t.TempDir()
	certificates(t, other)
	for name, o := range map[string]docker.Options{
		"another authority": {Host: address, CertDir: other, RuntimeDir: shortDir(t)},
		"no certificates":   {Host: address, RuntimeDir: shortDir(t)},
	} {
		b := docker.New(o)
		defer b.Close()
		if st := b.Probe(t.Context()); st.Usable || st.Remedy == "" {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// certificates makes an authority, writes a client's certificates to dir, and returns what a server needs.
func certificates(t *testing.T, dir string) *tls.Config {
	t.Helper()
	sign := func(serial int64, template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(serial), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		if parent == nil {
			parent, by = template, key
		}
		raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	save := func(name, kind string, raw []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca, caKey := sign(1, &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	server, serverKey := sign(2, &x509.Certificate{Subject: pkix.Name{CommonName: "engine"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, ca, caKey)
	client, clientKey := sign(3, &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ca, caKey)
	save("ca.pem", "CERTIFICATE", ca.Raw)
	save("cert.pem", "CERTIFICATE", client.Raw)
	raw, err := x509.MarshalECPrivateKey(clientKey)
	if err != nil {
		t.Fatal(err)
	}
	save("key.pem", "EC PRIVATE KEY", raw)
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{server.Raw}, PrivateKey: serverKey}},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
}

// What a guest said last is not lost when it has ended, also when nobody has listened until then.
func TestRemoteLastWordsArrive(t *testing.T) {
	b := remoteBackend(t)
	g := newGuest(t, sandbox.Python, "import socket\nsocket.socket(fileno=3).sendall(b'x' * 60_000)\nprint('y' * 60_000)")
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if exit, err := p.Wait(); err != nil || exit.Code != 0 || g.out.Len() != 60_001 {
		t.Errorf("%+v, %v, %d bytes of output, want Code 0, 60_001 and no error", exit, err, g.out.Len())
	}
	if got, err := io.ReadAll(conn); err != nil || len(got) != 60_000 {
		t.Errorf("%d bytes came over the bridge, %v, want 60_000 and no error", len(got), err)
	}
}

// front serves the engine at another socket, and returns its path. answers reports whether it has answered a request itself.
func front(t *testing.T, answers func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	path := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	network, address, _ := strings.Cut(host(), "://")
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "engine"}) },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}},
		FlushInterval: -1,
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			proxy.ServeHTTP(w, r)
		}
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return path
}
