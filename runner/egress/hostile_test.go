package egress_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/egress"
)

// tunnel asks the proxy for a connection to a host.
func (w *outside) tunnel(t *testing.T, hostPort string) net.Conn {
	t.Helper()
	conn := w.dial()
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", hostPort)
	res, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, int64(len("HTTP/1.1 200 Connection established\r\n\r\n")))), nil)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("CONNECT %s = %v, %v", hostPort, res, err)
	}
	return conn
}

// TestHugeHead: a head without an end is cut off, also where mcprun has ended the encryption.
func TestHugeHead(t *testing.T) {
	for _, host := range []string{"example.com:80", "api.example.com:443"} {
		w := start(t, "  allow: [{host: example.com, protocols: [http]}, {host: api.example.com, tls: inspect}]\n")
		conn := w.tunnel(t, host)
		if strings.HasSuffix(host, ":443") {
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(w.Bundle(nil))
			conn = tls.Client(conn, &tls.Config{ServerName: "api.example.com", RootCAs: roots})
		}
		got := make(chan string, 1)
		go func() {
			line, _ := bufio.NewReader(conn).ReadString('\n')
			got <- line
		}()
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
		sent, chunk := 0, []byte(strings.Repeat("a", 64<<10))
		for err := error(nil); err == nil && sent < 16<<20; sent += len(chunk) {
			_, err = conn.Write(chunk)
		}
		if sent > 4<<20 {
			t.Errorf("%s: the proxy took %d bytes of a head", host, sent)
		}
		if line := <-got; line != "" && !strings.Contains(line, "431") {
			t.Errorf("%s: the answer begins with %q, want 431", host, line)
		}
	}
}

// TestEchoOfASecret: an answer cannot show the secret by any part of it.
func TestEchoOfASecret(t *testing.T) {
	const canary = "canary-3b7e90aa"
	w := start(t, "  allow: [{host: api.example.com, tls: inspect, credentials: [{secret: \"${KEY}\", header: \"X-Key: {secret}\"}]}]\n", func(o *egress.Options) {
		o.Secret = func(context.Context, *config.Secret) (string, error) { return canary, nil }
	})
	w.secure.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch key := r.Header.Get("X-Key"); r.URL.Path {
		case "/reason":
			conn, _, _ := rw.(http.Hijacker).Hijack()
			fmt.Fprintf(conn, "HTTP/1.1 401 bad %s\r\nContent-Length: 0\r\n\r\n", key)
			conn.Close()
		case "/trailer":
			rw.Header().Set("Trailer", "X-End")
			fmt.Fprint(rw, "text")
			rw.Header().Set("X-End", key)
		case "/range":
			fmt.Fprintf(rw, "range=%q", r.Header.Get("Range"))
		case "/gzip":
			rw.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(rw, key)
		}
	})
	for path, want := range map[string]string{
		"/reason": "HTTP/1.1 401 Unauthorized\r\n", "/trailer": "text", "/range": `range=""`, "/gzip": "the answer is compressed",
	} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(w.Bundle(nil))
		conn := tls.Client(w.tunnel(t, "api.example.com:443"), &tls.Config{ServerName: "api.example.com", RootCAs: roots})
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: api.example.com\r\nRange: bytes=0-3\r\nTE: trailers\r\nConnection: close\r\n\r\n", path)
		all, err := io.ReadAll(conn)
		if text := string(all); err != nil || !strings.Contains(text, want) || strings.Contains(text, canary) {
			t.Errorf("%s = %q, %v; want %q and no secret", path, text, err, want)
		}
		r, _ := http.NewRequest("GET", "https://api.example.com"+path, nil)
		res := w.Do(r)
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if text := fmt.Sprint(res.Status, res.Header, string(body), res.Trailer); strings.Contains(text, canary) {
			t.Errorf("Do %s = %q, which has the secret", path, text)
		}
	}
}

// TestBrokenAnswer: a program does not take a part of an answer for the whole.
func TestBrokenAnswer(t *testing.T) {
	for _, tt := range []struct {
		url, settings string
		end           func(io.Writer)
		reason        string
	}{
		{"http://example.com/", "", func(io.Writer) {}, ""},
		{"https://api.example.com/", "", func(io.Writer) {}, ""},
		{"http://example.com/", "  bytes: 2KB\n", func(w io.Writer) {
			for range 20 {
				fmt.Fprintf(w, "400\r\n%s\r\n", strings.Repeat("y", 1024))
			}
			fmt.Fprint(w, "0\r\n\r\n")
		}, "all that it may"},
	} {
		w := start(t, tt.settings+"  allow: [{host: example.com, protocols: [http]}, {host: api.example.com, tls: inspect}]\n")
		breaks := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, _ := rw.(http.Hijacker).Hijack()
			defer conn.Close()
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n")
			tt.end(conn)
		})
		w.web.Config.Handler, w.secure.Config.Handler = breaks, breaks
		res, err := w.client().Get(tt.url)
		if err != nil {
			t.Errorf("GET %s: %v", tt.url, err)
			continue
		}
		if text, err := io.ReadAll(res.Body); err == nil || !strings.HasPrefix(string(text), "part") {
			t.Errorf("GET %s = %.20q, %v; want a part and an error", tt.url, text, err)
		}
		res.Body.Close()
		if e := w.last(); !e.Allowed || !strings.Contains(e.Error, tt.reason) {
			t.Errorf("GET %s: event %+v, want the error %q", tt.url, e, tt.reason)
		}
	}
}

// TestParts: a response without a length is passed on as it comes.
func TestParts(t *testing.T) {
	w := start(t, "  allow: [{host: example.com, protocols: [http]}, {host: api.example.com, tls: inspect}]\n")
	next := make(chan bool)
	slow := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(rw, "first")
		rw.(http.Flusher).Flush()
		select {
		case <-next:
		case <-r.Context().Done():
		}
	})
	w.web.Config.Handler, w.secure.Config.Handler = slow, slow
	for _, url := range []string{"http://example.com/", "https://api.example.com/"} {
		res, err := w.client().Get(url)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(res.Body).ReadString('\n'); line != "first\n" {
			t.Errorf("%s: got %q, %v before the end of the response; want its first line", url, line, err)
		}
		next <- true
		res.Body.Close()
	}
}

// TestHeadCounts: data in headers and URLs counts like data in bodies.
func TestHeadCounts(t *testing.T) {
	w := start(t, "  bytes: 10KB\n  allow: [{host: example.com, protocols: [http]}]\n")
	if status, text := w.do(t, "GET", "http://example.com/", "", http.Header{"X-Data": {strings.Repeat("x", 20_000)}}); status != 403 || !strings.Contains(text, "10000 bytes") {
		t.Errorf("20,000 bytes in a header = %d %q, want 403", status, text)
	}
	w.mu.Lock()
	if len(w.seen) != 0 {
		t.Error("the request was sent")
	}
	w.mu.Unlock()
	if e := w.last(); e.Sent < 20_000 || e.Allowed {
		t.Errorf("event %+v, want 20,000 bytes and a refusal", e)
	}
}

// TestAlertsAreBounded: a script cannot start programs on the host as often as it likes.
func TestAlertsAreBounded(t *testing.T) {
	w := start(t, "  allow: [example.com]\n")
	for range 10 {
		w.get(t, "http://10.0.0.5/")
	}
	w.mu.Lock()
	if len(w.alerts) != 1 {
		t.Errorf("%d alerts for one host, want 1", len(w.alerts))
	}
	w.mu.Unlock()
	for i := range 40 {
		w.get(t, fmt.Sprintf("http://10.0.1.%d/", i))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.alerts) != 20 {
		t.Errorf("%d alerts in a run, want 20", len(w.alerts))
	}
}

// TestQuestionsAreBounded: nobody is asked about what the level does not reach, or about any number of hosts.
func TestQuestionsAreBounded(t *testing.T) {
	asked := 0
	ask := func(o *egress.Options) {
		o.Ask = func(context.Context, egress.Target) (string, error) { asked++; return "", errors.New("no") }
	}
	w := start(t, "  default: ask\n", ask, func(o *egress.Options) {
		n := settings(t, "  default: ask\n  allow: [api.example.com]\n")
		var err error
		if o.Rules, err = egress.NewRules(egress.RulesOptions{Network: n, Level: "read_only", Hosts: []string{"www.example.com"}}); err != nil {
			t.Fatal(err)
		}
	})
	for url, want := range map[string]string{
		"https://api.example.com/": "the level read_only reaches only www.example.com", "https://evil.example/": "no entry allows", "https://www.example.com:8443/": "and no",
	} {
		if _, text := w.get(t, url); !strings.Contains(text, want) {
			t.Errorf("%s = %q, want %q", url, text, want)
		}
	}
	if asked != 1 {
		t.Errorf("%d questions, want one, about the host that the level reaches", asked)
	}
	asked = 0
	w = start(t, "  default: ask\n", ask)
	for i := range 60 {
		w.get(t, fmt.Sprintf("https://made-up-%d.example/", i))
	}
	if w.Close(); asked != 50 {
		t.Errorf("%d questions about 60 hosts, want 50", asked)
	}
}

// TestForeignAuthority: a program that does not trust the run's authority leaves an event.
func TestForeignAuthority(t *testing.T) {
	w := start(t, "  allow: [{host: api.example.com, tls: inspect}]\n")
	conn := tls.Client(w.tunnel(t, "api.example.com:443"), &tls.Config{ServerName: "api.example.com", RootCAs: x509.NewCertPool()})
	if err := conn.Handshake(); err == nil {
		t.Error("the certificate is trusted")
	}
	if e := w.last(); !strings.Contains(e.Error, "did not accept the certificate") {
		t.Errorf("event %+v, want that the certificate was not accepted", e)
	}
}

// TestForeignServer: the reason why a server is not trusted is told, and no secret was sent to it.
func TestForeignServer(t *testing.T) {
	w := start(t, "  allow: [{host: api.example.com, tls: inspect, credentials: [{secret: \"${KEY}\", header: \"X-Key: {secret}\"}]}]\n", func(o *egress.Options) {
		o.Roots = x509.NewCertPool()
		o.Secret = func(context.Context, *config.Secret) (string, error) { return "canary-19ad", nil }
	})
	if status, text := w.get(t, "https://api.example.com/"); status != 502 || !strings.Contains(text, "SSL_CERT_FILE") {
		t.Errorf("GET = %d %q, want 502 and what to do", status, text)
	}
	if e := w.last(); e.Credential || !strings.Contains(e.Error, "certificate") {
		t.Errorf("event %+v, want the certificate as the error, and no credential", e)
	}
}

// TestPathsThatServersReadDifferently are refused where paths count.
func TestPathsThatServersReadDifferently(t *testing.T) {
	w := start(t, "  allow: [{host: example.com, protocols: [http], paths: [\"/v1/**\"]}]\n")
	for _, path := range []string{"/v1/%c0%ae%c0%ae/secret", "/v1/..%2fsecret", "/v1/%2e%2e/secret", "/v1//secret", "/v1/a;b", "/v1/%5c..%5csecret"} {
		r, err := http.NewRequest("GET", "http://example.com"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res := w.Do(r)
		if res.Body.Close(); res.StatusCode != 403 {
			t.Errorf("%s = %d, want 403", path, res.StatusCode)
		}
	}
}

// TestReplacedRequest: a header that has another method or path is refused where these count, and only there.
func TestReplacedRequest(t *testing.T) {
	for entry, want := range map[string]int{
		"{host: example.com, protocols: [http], methods: [GET]}": 403, "{host: example.com, protocols: [http], paths: [/v1]}": 403,
		"{host: example.com, protocols: [http]}": 200,
	} {
		w := start(t, "  allow: ["+entry+"]\n")
		for name, values := range map[string][]string{
			"X-HTTP-Method-Override": {"DELETE"}, "X-Original-URL": {"/admin"}, "x-rewrite-url": {"/admin"},
			"X-HTTP-Method": {"", "DELETE"}, "X_HTTP_Method_Override": {"DELETE"}, "X-Original-Method": {"DELETE"}, "X-Forwarded-Method": {"DELETE"},
			"X-Forwarded-Uri": {"/admin"},
		} {
			status, text := w.do(t, "GET", "http://example.com/v1", "", http.Header{http.CanonicalHeaderKey(name): values})
			if header := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")); status != want || want == 403 && !strings.Contains(text, "from its header "+header) {
				t.Errorf("%s with %s = %d %q, want %d", entry, name, status, text, want)
			}
		}
	}
}

// TestBlockedEntry: an entry that can never work is an error.
func TestBlockedEntry(t *testing.T) {
	for _, host := range []string{"10.0.0.5", "localhost", "169.254.169.254"} {
		_, err := egress.NewRules(egress.RulesOptions{Network: settings(t, "  allow: ["+host+"]\n"), File: "mcpgen.yaml"})
		if err == nil || !strings.Contains(err.Error(), "network.allow[0] (mcpgen.yaml:3): no script ever reaches "+host) {
			t.Errorf("an entry for %s = %v, want an error with its place", host, err)
		}
	}
}
