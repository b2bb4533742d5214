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
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/egress"
)

// settings reads the key network of an mcpgen.yaml.
func settings(t testing.TB, text string) *config.Network {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"mcpgen.yaml": "version: 1\nnetwork:\n" + text, ".mcp.json": `{"mcpServers":{}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(dir, ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	return &cfg.Settings.Network
}

// outside is a proxy with servers that stand for the world.
type outside struct {
	*egress.Proxy
	mu     sync.Mutex
	events []egress.Event
	alerts []egress.Alert
	opt    egress.Options
	web    *httptest.Server // plain
	secure *httptest.Server // with TLS
	seen   []*http.Request
}

// start starts a proxy with the rules in text. The hosts in names are at the servers: names with TLS at 443, without at 80.
func start(t testing.TB, text string, change ...func(*egress.Options)) *outside {
	t.Helper()
	w := &outside{}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the proxy has broken the request off
		}
		w.mu.Lock()
		w.seen = append(w.seen, r)
		w.mu.Unlock()
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(rw, r, to, http.StatusFound)
			return
		}
		fmt.Fprintf(rw, "%s %s %s %s", r.Method, r.Host, r.URL.RequestURI(), body)
		for _, name := range []string{"Authorization", "X-Key"} {
			if v := r.Header.Get(name); v != "" {
				fmt.Fprintf(rw, " %s=%s", name, v)
				rw.Header().Set("Echo", v)
			}
		}
	})
	w.web, w.secure = httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	w.secure.StartTLS()
	t.Cleanup(w.web.Close)
	t.Cleanup(w.secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(w.secure.Certificate())
	w.opt = egress.Options{
		Run: "run-1", Roots: roots, ConnectTo: map[string]string{},
		Watch: func(e egress.Event) { w.mu.Lock(); defer w.mu.Unlock(); w.events = append(w.events, e) },
		Alert: func(a egress.Alert) { w.mu.Lock(); defer w.mu.Unlock(); w.alerts = append(w.alerts, a) },
	}
	for _, host := range []string{"example.com", "api.example.com", "www.example.com", "other.example.com", "evil.example"} {
		w.opt.ConnectTo[host+":80"], w.opt.ConnectTo[host+":443"] = w.web.Listener.Addr().String(), w.secure.Listener.Addr().String()
	}
	ropt := egress.RulesOptions{Network: settings(t, text), File: "mcpgen.yaml"}
	var err error
	if w.opt.Rules, err = egress.NewRules(ropt); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&w.opt)
	}
	if w.Proxy, err = egress.New(w.opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// dial connects to the proxy as a program in the sandbox does.
func (w *outside) dial() net.Conn {
	ours, theirs := net.Pipe()
	w.Serve(theirs)
	return ours
}

// client is a program in the sandbox that uses the variables of the proxy. It trusts the test's server, and the run's authority.
func (w *outside) client() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.Bundle(nil))
	if w.secure != nil {
		roots.AddCert(w.secure.Certificate())
	}
	return &http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return w.dial(), nil },
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		DisableKeepAlives: true,
	}}
}

// get requests a URL. A refused CONNECT is an error, whose text it returns.
func (w *outside) get(t testing.TB, address string) (status int, text string) {
	t.Helper()
	return w.do(t, "GET", address, "", nil)
}

func (w *outside) do(t testing.TB, method, address, body string, header http.Header) (status int, text string) {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if header != nil {
		r.Header = header
	}
	res, err := w.client().Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, err.Error()
	}
	return res.StatusCode, string(all)
}

// last returns the last event, after all connections have ended.
func (w *outside) last() egress.Event {
	w.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		return egress.Event{}
	}
	return w.events[len(w.events)-1]
}

func TestAllowList(t *testing.T) {
	const text = `  allow:
    - host: api.example.com
      ports: [443]
      protocols: [https]
    - host: "*.example.com"
      protocols: [http]
`
	for _, tt := range []struct {
		url    string
		status int
		text   string
		check  egress.Check
	}{
		{"https://api.example.com/x?y=1", 200, "GET api.example.com /x?y=1", ""},
		{"http://www.example.com/", 200, "GET www.example.com /", ""},
		{"http://API.example.COM./", 200, "GET", ""},
		{"https://www.example.com/", 0, "allow list: www.example.com is allowed, but not its port 443; an operator allows it below network.allow in mcpgen.yaml: - www.example.com", egress.ByAllowList},
		{"http://example.com/", 403, "no entry allows example.com:80", egress.ByAllowList},
		{"http://example.com.evil.example/", 403, "no entry allows", egress.ByAllowList},
		{"http://xexample.com/", 403, "no entry allows", egress.ByAllowList},
		{"http://api.example.com:8080/", 403, "not its port 8080", egress.ByAllowList},
		{"http://127.0.0.1/", 403, "blocked range: 127.0.0.1", egress.ByRange},
		{"https://10.0.0.5/", 0, "blocked range: 10.0.0.5", egress.ByRange},
	} {
		w := start(t, text)
		status, got := w.get(t, tt.url)
		if status != tt.status || !strings.Contains(got, tt.text) {
			t.Errorf("GET %s = %d %q, want %d and %q in it", tt.url, status, got, tt.status, tt.text)
		}
		e := w.last()
		if e.Check != tt.check || e.Allowed != (tt.check == "") || e.Run != "run-1" || e.Time.IsZero() || (e.Rule == "") != (tt.check != "") {
			t.Errorf("GET %s: event %+v, want check %q", tt.url, e, tt.check)
		}
		if tt.check == "" && e.Received == 0 {
			t.Errorf("GET %s: event %+v, want the bytes received", tt.url, e)
		}
	}
}

// TestUnicodeNames: a name may be written in Unicode, in an entry, a level and a URL.
func TestUnicodeNames(t *testing.T) {
	n := settings(t, "  allow: [Bücher.example, \"*.müller.example\", xn--fa-hia.example]\n")
	r, err := egress.NewRules(egress.RulesOptions{Network: n, File: "mcpgen.yaml", Level: "own", Hosts: []string{"*.example", "straße.test"}})
	if err != nil {
		t.Fatal(err)
	}
	for url, rule := range map[string]string{
		"https://xn--bcher-kva.example/": "network.allow[0]", "https://bücher.example/": "network.allow[0]", "https://www.xn--mller-kva.example/": "network.allow[1]",
		"https://faß.example/": "network.allow[2]", "https://xn--strae-oqa.test/": "level own", "https://bucher.test/": "",
	} {
		if x := r.Explain("GET", url); !strings.HasPrefix(x.Rule, rule) || (x.Refused == nil) != (rule != "") {
			t.Errorf("Explain(%s) = %+v, want the rule %q", url, x, rule)
		}
	}
}

// TestOff: without rules nothing is reached.
func TestOff(t *testing.T) {
	w := start(t, "  default: deny\n")
	if status, text := w.get(t, "https://api.example.com/"); status != 0 || !strings.Contains(text, "the network allows no host") {
		t.Errorf("GET = %d %q, want a refusal", status, text)
	}
	if len(w.seen) > 0 {
		t.Errorf("the server got %d requests, want none", len(w.seen))
	}
}

// TestBlockedRanges dials spellings of addresses that are never reached, although everything is allowed.
func TestBlockedRanges(t *testing.T) {
	for _, host := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "127.0.0.1", "127.1.2.3", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"100.64.0.1", "192.0.0.1", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "127.1", "127.0.1", "10.1", "3232235521", "0xa9fea9fe", "①②⑦.⓪.⓪.①", "127。0。0。1",
		"::1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1", "5f00::1", "3fff::1",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost",
	} {
		w := start(t, "  allow: [{host: \"*\", protocols: [http, https, tcp], ports: [80, 443]}]\n")
		written := host
		if strings.Contains(host, ":") {
			written = "[" + host + "]"
		}
		for _, port := range []string{"80", "443"} {
			conn := w.dial()
			fmt.Fprintf(conn, "CONNECT %s:%s HTTP/1.1\r\nHost: x\r\n\r\n", written, port)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("CONNECT %s: %v", host, err)
			}
			if res.StatusCode != 403 && res.StatusCode != 400 {
				t.Errorf("CONNECT %s:%s = %s, want 403", host, port, res.Status)
			}
			conn.Close()
		}
		if e := w.last(); e.Check != egress.ByRange {
			t.Errorf("%s: event %+v, want blocked range", host, e)
		}
		if len(w.alerts) == 0 || w.alerts[0].Kind != "blocked range" {
			t.Errorf("%s: alerts %v, want one of a blocked range", host, w.alerts)
		}
	}
}

// TestRedirect: a redirect to a blocked or foreign host is judged as any request.
func TestRedirect(t *testing.T) {
	for _, tt := range []struct{ to, want string }{
		{"http://169.254.169.254/latest/meta-data", "blocked range"},
		{"http://evil.example/", "no entry allows evil.example:80"},
		{"http://[::ffff:127.0.0.1]/", "blocked range"},
		{"http://2130706433/", "blocked range"},
	} {
		w := start(t, "  allow: [{host: www.example.com, protocols: [http]}]\n")
		if status, text := w.get(t, "http://www.example.com/?to="+url.QueryEscape(tt.to)); status != 403 || !strings.Contains(text, tt.want) {
			t.Errorf("redirect to %s = %d %q, want 403 and %q", tt.to, status, text, tt.want)
		}
	}
}

// TestResolve: what an allowed name resolves to is judged when it is dialled, and a name that is not allowed is not looked up.
func TestResolve(t *testing.T) {
	names := newNames(t, map[string]string{"inside.example.com.": "10.0.0.5", "meta.example.com.": "169.254.169.254", "mapped.example.com.": "::ffff:127.0.0.1", "secret.evil.example.": "8.8.8.8"})
	resolve := func(o *egress.Options) { o.Resolver = names.resolver() }
	for _, host := range []string{"inside.example.com", "meta.example.com", "mapped.example.com"} {
		w := start(t, "  allow: [{host: \"*.example.com\", protocols: [http]}]\n", resolve)
		status, text := w.get(t, "http://"+host+"/")
		if status != 403 || !strings.Contains(text, "blocked range") {
			t.Errorf("GET %s = %d %q, want 403 and the blocked range", host, status, text)
		}
		if e := w.last(); e.Check != egress.ByRange {
			t.Errorf("GET %s: event %+v, want blocked range", host, e)
		}
	}
	w := start(t, "  allow: [{host: \"*.example.com\", protocols: [http]}]\n", resolve)
	if status, text := w.get(t, "http://secret.evil.example/"); status != 403 || !strings.Contains(text, "no entry") {
		t.Errorf("GET = %d %q, want a refusal by the allow list", status, text)
	}
	if asked := names.asked("secret.evil.example."); asked {
		t.Error("a name that is not allowed was looked up, want no question")
	}
}

func TestRate(t *testing.T) {
	w := start(t, "  allow: [{host: \"*.example.com\", protocols: [http]}]\n  rate: 3\n")
	for i := range 4 {
		status, text := w.get(t, "http://api.example.com/")
		if i < 3 && status != 200 || i == 3 && (status != 403 || !strings.Contains(text, "refused by rate: the rate of 3 requests a minute to api.example.com")) {
			t.Errorf("request %d = %d %q", i+1, status, text)
		}
	}
	if status, text := w.get(t, "http://www.example.com/"); status != 200 {
		t.Errorf("another host = %d %q, want 200", status, text)
	}
}

// TestRateEnds: after a minute the host may be reached again.
func TestRateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := egress.New(egress.Options{Rules: rules(t, "  rate: 2\n  allow: [{host: x.example, protocols: [http]}]\n"), ConnectTo: map[string]string{"x.example:80": "127.0.0.1:1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		request := func() int {
			r, _ := http.NewRequest("GET", "http://x.example/", nil)
			res := p.Do(r)
			defer res.Body.Close()
			return res.StatusCode
		}
		got := []int{request(), request(), request()}
		time.Sleep(61 * time.Second)
		got = append(got, request())
		if fmt.Sprint(got) != "[502 502 403 502]" {
			t.Errorf("statuses %v, want the third refused and the fourth tried", got)
		}
	})
}

func rules(t testing.TB, text string) *egress.Rules {
	t.Helper()
	r, err := egress.NewRules(egress.RulesOptions{Network: settings(t, text), File: "mcpgen.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBytes(t *testing.T) {
	w := start(t, "  allow: [{host: www.example.com, protocols: [http]}]\n  bytes: 1000B\n")
	if status, _ := w.do(t, "POST", "http://www.example.com/", strings.Repeat("x", 100), nil); status != 200 {
		t.Errorf("a small request = %d, want 200", status)
	}
	if status, text := w.do(t, "POST", "http://www.example.com/", strings.Repeat("x", 5000), nil); status == 200 && !strings.Contains(text, "exchanged") {
		t.Errorf("a large request = %d %.100q, want a refusal", status, text)
	}
	if status, text := w.get(t, "http://www.example.com/"); status != 403 || !strings.Contains(text, "network.bytes") {
		t.Errorf("after it = %d %q, want 403 and the key to change", status, text)
	}
}

func TestVolumeAlert(t *testing.T) {
	w := start(t, "  allow: [{host: www.example.com, protocols: [http]}]\n", func(o *egress.Options) { o.Volume = 1000 })
	for range 3 {
		w.do(t, "POST", "http://www.example.com/", strings.Repeat("x", 2000), nil)
	}
	w.Close()
	if len(w.alerts) != 1 || w.alerts[0].Kind != "volume" || w.alerts[0].Bytes < 1000 || w.alerts[0].Event.Host != "www.example.com" {
		t.Errorf("alerts %+v, want one of volume", w.alerts)
	}
}

// TestSSH: host, ports and protocols of an entry are combined.
func TestSSH(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "SSH-2.0-test\r\n")
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	to := func(o *egress.Options) {
		for _, port := range []string{"22", "9418"} {
			o.ConnectTo["github.com:"+port] = l.Addr().String()
		}
		o.ConnectTo["github.com:443"] = o.ConnectTo["example.com:443"]
	}
	for _, tt := range []struct {
		port, say, want string
	}{
		{"22", "SSH-2.0-client\r\n", "SSH-2.0-test"},
		{"22", "GET / HTTP/1.1\r\n\r\n", ""},
		{"9418", "0032git-upload-pack", "403"},
	} {
		w := start(t, "  allow: [{host: github.com, ports: [443, 22], protocols: [https, ssh]}]\n", to)
		conn := w.dial()
		fmt.Fprintf(conn, "CONNECT github.com:%s HTTP/1.1\r\nHost: github.com:%s\r\n\r\n", tt.port, tt.port)
		in := bufio.NewReader(conn)
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if tt.want == "403" {
			if !strings.Contains(line, "403") {
				t.Errorf("port %s: %q, want 403", tt.port, line)
			}
			continue
		}
		in.ReadString('\n')
		fmt.Fprint(conn, tt.say)
		answer, _ := in.ReadString('\n')
		if strings.TrimSpace(answer) != tt.want {
			t.Errorf("port %s, %q: got %q, want %q", tt.port, tt.say, answer, tt.want)
		}
		conn.Close()
		if e := w.last(); e.Allowed != (tt.want != "") || tt.want != "" && e.Protocol != egress.SSH || tt.want == "" && e.Check != egress.ByProtocol {
			t.Errorf("port %s, %q: event %+v", tt.port, tt.say, e)
		}
	}
	w := start(t, "  allow: [{host: github.com, ports: [443, 22], protocols: [https, ssh]}]\n", to)
	if status, text := w.client().Get("https://github.com/"); text != nil && !strings.Contains(text.Error(), "certificate") {
		t.Errorf("https = %v %v, want a connection", status, text)
	}
}

// TestServerName: a tunnel is only for the server that was asked for.
func TestServerName(t *testing.T) {
	for _, inspect := range []string{"", ", tls: inspect"} {
		w := start(t, "  allow: [{host: api.example.com"+inspect+"}]\n")
		conn := w.dial()
		fmt.Fprint(conn, "CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n")
		in := bufio.NewReader(conn)
		for range 2 {
			in.ReadString('\n')
		}
		err := tls.Client(conn, &tls.Config{ServerName: "other.example.com", InsecureSkipVerify: true}).Handshake()
		if err == nil {
			t.Errorf("%q: another server name was passed on, want an error", inspect)
		}
		conn.Close()
		if e := w.last(); e.Check != egress.ByProtocol || !strings.Contains(e.Reason, "other.example.com") {
			t.Errorf("%q: event %+v, want a refusal that names the server", inspect, e)
		}
		if len(w.seen) > 0 {
			t.Errorf("%q: the server got a request, want none", inspect)
		}
	}
}

func TestInspect(t *testing.T) {
	const text = `  allow:
    - host: api.example.com
      tls: inspect
      methods: [get]
      paths: ["/repos/**", "/user"]
    - host: api.example.com
      tls: inspect
      methods: POST
      paths: /issues
`
	for _, tt := range []struct {
		method, url string
		status      int
	}{
		{"GET", "https://api.example.com/repos/a/b?x=1", 200}, {"GET", "https://api.example.com/user", 200}, {"POST", "https://api.example.com/issues", 200},
		{"POST", "https://api.example.com/user", 403}, {"GET", "https://api.example.com/users", 403}, {"GET", "https://api.example.com/repos/../admin", 403},
		{"GET", "https://api.example.com/repos/%2e%2e/admin", 403}, {"GET", "https://api.example.com/repos/..%2fadmin", 403}, {"GET", "https://api.example.com/repos//x", 403},
		{"DELETE", "https://api.example.com/repos/a", 403}, {"GET", "https://api.example.com", 403},
	} {
		w := start(t, text)
		status, got := w.do(t, tt.method, tt.url, "", nil)
		if status != tt.status {
			t.Errorf("%s %s = %d %q, want %d", tt.method, tt.url, status, got, tt.status)
		}
		if e := w.last(); e.Method != tt.method || e.Allowed != (tt.status == 200) || strings.Contains(e.Path, "?") || e.Protocol != egress.HTTPS || tt.status == 200 && e.Status != 200 {
			t.Errorf("%s %s: event %+v", tt.method, tt.url, e)
		}
	}
}

// TestFronting: a request inside an inspected connection cannot name another host.
func TestFronting(t *testing.T) {
	w := start(t, "  allow: [{host: api.example.com, tls: inspect}, {host: other.example.com, tls: inspect}]\n")
	r, _ := http.NewRequest("GET", "https://api.example.com/", nil)
	r.Host = "other.example.com"
	res, err := w.client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 403 || len(w.seen) > 0 {
		t.Errorf("status %d, the servers got %d requests; want 403 and none", res.StatusCode, len(w.seen))
	}
}

// timelessConn is a connection whose writes no deadline ends.
type timelessConn struct{ net.Conn }

func (timelessConn) SetWriteDeadline(time.Time) error { return nil }
func (c timelessConn) SetDeadline(t time.Time) error  { return c.SetReadDeadline(t) }

func TestCloseWhileClientDoesNotRead(t *testing.T) {
	w := start(t, "  allow: [{host: api.example.com, tls: inspect}]\n")
	ours, theirs := net.Pipe()
	defer ours.Close()
	w.Serve(timelessConn{theirs})
	_, _ = io.WriteString(ours, "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReader(ours), nil); err != nil {
		t.Fatal(err)
	}
	client := tls.Client(ours, &tls.Config{ServerName: "api.example.com", InsecureSkipVerify: true})
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: api.example.com\r\n"); err != nil {
		t.Fatal(err)
	}
	w.Close() // waits forever if it waits for the client
}

func TestCredentials(t *testing.T) {
	const canary = "canary-9f2c41d7"
	const text = `  allow:
    - host: api.example.com
      protocols: [https, http]
      tls: inspect
      credentials: [{secret: "${TOKEN}", header: "Authorization: Bearer {secret}", variable: API_TOKEN}]
    - host: other.example.com
      protocols: [https, http]
      tls: inspect
    - host: www.example.com
      tls: inspect
      credentials: [{secret: {command: [get-secret]}, basic: ann}]
`
	asked := 0
	secrets := func(o *egress.Options) {
		o.Secret = func(_ context.Context, s *config.Secret) (string, error) {
			asked++
			if s.Text != "${TOKEN}" && len(s.Command) == 0 {
				return "", errors.New("no such secret")
			}
			return canary, nil
		}
	}
	w := start(t, text, secrets)
	env := w.Environment("127.0.0.1:1", "/ca.pem")
	placeholder := env["API_TOKEN"]
	if placeholder == "" || strings.Contains(fmt.Sprint(env), canary) {
		t.Fatalf("Environment() = %v, want a placeholder and no secret", env)
	}
	if got := env["HTTPLIB2_CA_CERTS"]; got != "/ca.pem" {
		t.Errorf("HTTPLIB2_CA_CERTS = %q, want the bundle", got)
	}
	sent := func() http.Header { w.mu.Lock(); defer w.mu.Unlock(); return w.seen[len(w.seen)-1].Header }
	for _, tt := range []struct {
		name, method, url, body string
		header                  http.Header
		status                  int
		authorization           string
	}{
		{"no header", "GET", "https://api.example.com/", "", nil, 200, "Bearer " + canary},
		{"a placeholder", "GET", "https://api.example.com/", "", http.Header{"Authorization": {"token " + placeholder}}, 200, "token " + canary},
		{"its own", "GET", "https://api.example.com/", "", http.Header{"Authorization": {"Bearer mine"}}, 200, "Bearer mine"},
		{"basic", "GET", "https://www.example.com/", "", nil, 200, "Basic YW5uOmNhbmFyeS05ZjJjNDFkNw=="},
		{"to another host", "GET", "https://other.example.com/", "", http.Header{"Authorization": {"Bearer " + placeholder}}, 403, ""},
		{"another header", "GET", "https://api.example.com/", "", http.Header{"X-Key": {placeholder}}, 403, ""},
		{"in a URL", "GET", "https://other.example.com/?key=" + placeholder, "", nil, 403, ""},
		{"in a body", "POST", "https://other.example.com/", strings.Repeat("x", 70_000) + placeholder, nil, 403, ""},
		{"in a body to its host", "POST", "https://api.example.com/", placeholder, nil, 403, ""},
		{"without TLS", "GET", "http://api.example.com/", "", http.Header{"Authorization": {"Bearer " + placeholder}}, 403, ""},
		{"without TLS and header", "GET", "http://api.example.com/", "", nil, 200, ""},
	} {
		status, got := w.do(t, tt.method, tt.url, tt.body, tt.header)
		if status != tt.status {
			t.Errorf("%s: %d %.200q, want %d", tt.name, status, got, tt.status)
			continue
		}
		if tt.status == 200 && sent().Get("Authorization") != tt.authorization {
			t.Errorf("%s: the server got %q, want %q", tt.name, sent().Get("Authorization"), tt.authorization)
		}
		if strings.Contains(got, canary) || strings.Contains(got, "YW5uOmNhbmFyeS05ZjJjNDFkNw==") {
			t.Errorf("%s: the script sees the secret that the server repeated: %q", tt.name, got)
		}
	}
	w.Close()
	if asked != 2 {
		t.Errorf("secrets were read %d times, want 2", asked)
	}
	if all := fmt.Sprintf("%+v", w.events); strings.Contains(all, canary) || strings.Contains(all, placeholder) {
		t.Errorf("a secret or placeholder is in the events: %s", all)
	}
}

// TestSecretUnreadable: a secret that cannot be read is refused without its reason, which may hold it.
func TestSecretUnreadable(t *testing.T) {
	w := start(t, "  allow: [{host: api.example.com, tls: inspect, credentials: [{secret: {file: x}, header: \"X-Key: {secret}\"}]}]\n", func(o *egress.Options) {
		o.Secret = func(context.Context, *config.Secret) (string, error) { return "", errors.New("canary") }
	})
	if status, text := w.get(t, "https://api.example.com/"); status != 403 || strings.Contains(text, "canary") || !strings.Contains(text, "cannot be read") {
		t.Errorf("GET = %d %q, want 403", status, text)
	}
}

func TestAsk(t *testing.T) {
	asked := 0
	for _, yes := range []bool{true, false} {
		w := start(t, "  default: ask\n", func(o *egress.Options) {
			o.Ask = func(context.Context, egress.Target) (string, error) {
				if asked++; yes {
					return "ann", nil
				}
				return "", errors.New("refused by ann")
			}
		})
		asked = 0
		var status int
		var text string
		for range 3 {
			status, text = w.get(t, "http://www.example.com/")
		}
		if asked != 1 || yes != (status == 200) || !yes && !strings.Contains(text, "refused by ann") {
			t.Errorf("yes %t: asked %d times, %d %q", yes, asked, status, text)
		}
		if e := w.last(); yes && e.By != "ann" || e.Allowed != yes {
			t.Errorf("yes %t: event %+v", yes, e)
		}
	}
}

// TestDials: whoever must know of a connection knows it before, and may refuse it.
func TestDials(t *testing.T) {
	var told int
	var refuses error
	w := start(t, "  allow: [{host: www.example.com, protocols: [http, https]}, {host: other.example.com, protocols: [http, https]}, {host: api.example.com, tls: inspect}]\n", func(o *egress.Options) {
		o.Dials = func(context.Context) error { told++; return refuses }
	})
	if status, _ := w.get(t, "http://evil.example/"); status != 403 || told != 0 {
		t.Errorf("a request that is refused: %d, told %d times, want 403 and 0", status, told)
	}
	for i, address := range []string{"http://www.example.com/", "https://www.example.com/", "https://api.example.com/"} {
		if status, text := w.get(t, address); status != 200 || told != i+1 {
			t.Errorf("%s: %d %s, told %d times, want 200 and %d", address, status, text, told, i+1)
		}
	}
	refuses = errors.New("canary")
	w.mu.Lock()
	seen := len(w.seen)
	w.mu.Unlock()
	for _, address := range []string{"http://other.example.com/", "https://other.example.com/"} {
		if status, text := w.get(t, address); status == 200 || strings.Contains(text, "canary") {
			t.Errorf("%s: %d %s", address, status, text)
		}
	}
	if len(w.seen) != seen {
		t.Errorf("%d requests were made", len(w.seen)-seen)
	}
}

func TestLevels(t *testing.T) {
	n := settings(t, "  allow: [www.example.com, api.example.com]\n  levels: {read_only: {allow: [other.example.com]}}\n  customers: {acme: {allow: [acme.example.com]}}\n")
	for _, tt := range []struct {
		level    string
		hosts    []string
		customer string
		host     string
		allowed  bool
		reason   string
	}{
		{"", nil, "", "www.example.com", true, ""},
		{"", nil, "", "acme.example.com", false, "no entry"},
		{"", nil, "acme", "acme.example.com", true, ""},
		{"", nil, "", "other.example.com", false, "no entry"},
		{"read_only", []string{"api.openai.com"}, "", "other.example.com", true, ""},
		{"read_only", []string{"api.openai.com"}, "", "api.openai.com", true, ""},
		{"read_only", []string{"api.openai.com"}, "", "www.example.com", false, "but the level read_only reaches only other.example.com, api.openai.com"},
		{"read_only", []string{"*.example.com"}, "", "www.example.com", true, ""},
	} {
		r, err := egress.NewRules(egress.RulesOptions{Network: n, File: "mcpgen.yaml", Customer: tt.customer, Level: tt.level, Hosts: tt.hosts})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Explain("GET", "https://"+tt.host+"/")
		if (got.Refused == nil) != tt.allowed || !tt.allowed && !strings.Contains(got.Refused.Reason, tt.reason) {
			t.Errorf("level %q, customer %q, %s: %+v, want allowed %t", tt.level, tt.customer, tt.host, got, tt.allowed)
		}
	}
}

// TestBoundedLevel: an entry with methods or paths bounds its host, also if the level allows all of it.
func TestBoundedLevel(t *testing.T) {
	const text = "  allow: [{host: api.example.com, tls: inspect, methods: [GET], paths: [/v1]}, {host: www.example.com, tls: inspect}]\n"
	w := start(t, text, func(o *egress.Options) {
		var err error
		o.Rules, err = egress.NewRules(egress.RulesOptions{Network: settings(t, text), File: "mcpgen.yaml", Level: "reports", Hosts: []string{"*.example.com"}})
		if err != nil {
			t.Fatal(err)
		}
	})
	for _, tt := range []struct {
		method, url string
		status      int
		text        string
	}{
		{"GET", "https://api.example.com/v1", 200, "GET api.example.com"},
		{"DELETE", "https://api.example.com/v1", 403, "network.allow[0] (mcpgen.yaml:3) does not allow DELETE /v1"},
		{"GET", "https://api.example.com/v2", 403, "does not allow GET /v2"},
		{"DELETE", "http://api.example.com/v1", 403, "api.example.com is allowed, but not its port 80"},
		{"DELETE", "https://www.example.com/v1", 200, "DELETE www.example.com"},
		{"DELETE", "http://www.example.com/v1", 200, "DELETE www.example.com"},
		{"DELETE", "http://other.example.com/v1", 200, "DELETE other.example.com"},
	} {
		if status, got := w.do(t, tt.method, tt.url, "", nil); status != tt.status || !strings.Contains(got, tt.text) {
			t.Errorf("%s %s = %d %q, want %d and %q", tt.method, tt.url, status, got, tt.status, tt.text)
		}
		if x := w.opt.Rules.Explain(tt.method, tt.url); (x.Refused == nil) != (tt.status == 200) || x.Refused != nil && !strings.Contains(x.Refused.Reason, tt.text) {
			t.Errorf("Explain(%s, %s) = %+v, want the decision of the request", tt.method, tt.url, x)
		}
	}
}

// TestClose ends what is open.
func TestClose(t *testing.T) {
	w := start(t, "  allow: [{host: www.example.com, ports: [443], protocols: [tcp]}]\n")
	conn := w.dial()
	fmt.Fprint(conn, "CONNECT www.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("CONNECT = %q, %v", line, err)
	}
	idle := w.dial()
	w.Close()
	for _, c := range []net.Conn{conn, idle} {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadAll(c); err != nil {
			t.Errorf("after Close: %v, want the end of the connection", err)
		}
	}
}

// TestUpgrade: a request that would continue in a protocol that nobody reads is made without that.
func TestUpgrade(t *testing.T) {
	w := start(t, "  allow: [{host: api.example.com, tls: inspect, methods: [GET]}]\n")
	for given, want := range map[string]string{"h2c": "", "websocket": "websocket"} {
		if status, text := w.do(t, "GET", "https://api.example.com/", "", http.Header{"Connection": {"Upgrade"}, "Upgrade": {given}}); status != 200 {
			t.Errorf("Upgrade: %s = %d %q, want 200", given, status, text)
			continue
		}
		w.mu.Lock()
		if got := w.seen[len(w.seen)-1].Header.Get("Upgrade"); got != want {
			t.Errorf("Upgrade: %s reached the server as %q, want %q", given, got, want)
		}
		w.mu.Unlock()
	}
}

// TestWebSocket: both directions of a connection that was upgraded work, its bytes count, and the client sees its end.
func TestWebSocket(t *testing.T) {
	for _, url := range []string{"http://example.com/", "https://api.example.com/"} {
		w := start(t, "  allow: [{host: example.com, protocols: [http]}, {host: api.example.com, tls: inspect}]\n")
		echo := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			conn, in, err := rw.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			line, _ := in.ReadString('\n')
			io.WriteString(conn, strings.ToUpper(line))
		})
		w.web.Config.Handler, w.secure.Config.Handler = echo, echo
		r, _ := http.NewRequest("GET", url, nil)
		r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
		res, err := w.client().Do(r)
		if err != nil || res.StatusCode != 101 {
			t.Errorf("GET %s = %v, %v; want 101", url, res, err)
			continue
		}
		both := res.Body.(io.ReadWriteCloser)
		timer := time.AfterFunc(10*time.Second, func() { both.Close() }) // so that a connection that does not end fails the test
		io.WriteString(both, "hello\n")
		if all, err := io.ReadAll(both); string(all) != "HELLO\n" || err != nil {
			t.Errorf("%s: got %q, %v; want HELLO, and the end when the server ends", url, all, err)
		}
		timer.Stop()
		both.Close()
		if e := w.last(); e.Sent <= 6 || e.Received < 6 || e.Status != 101 {
			t.Errorf("%s: event %+v, want at least 6 bytes in each direction", url, e)
		}
	}
}
