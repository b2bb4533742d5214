package integration

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// world is what scripts reach: servers on this machine that stand for others, by name.
type world struct {
	mu   sync.Mutex
	seen []*http.Request
}

const networkCanary = "canary-3b9f1c77e2"

// newWorld starts servers for names below example.com, with TLS and without, and lets the project's programs find them there.
func newWorld(t *testing.T, p *project, settings string) *world {
	t.Helper()
	w := &world{}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, r)
		w.mu.Unlock()
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(rw, r, to, http.StatusFound)
			return
		}
		fmt.Fprintf(rw, "%s %s %s %s", r.Method, r.Host, r.URL.Path, r.Header.Get("Authorization"))
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	var to []string
	for _, host := range []string{"example.com", "www.example.com", "api.example.com"} {
		to = append(to, host+":80:"+plain.Listener.Addr().String(), host+":443:"+secure.Listener.Addr().String())
	}
	p.env = append(p.env, "MCPRUN_NETWORK_CONNECT_TO="+strings.Join(to, ","), "SSL_CERT_FILE="+p.write("authorities.pem", string(certificate)), "TOKEN="+networkCanary)
	p.write("mcpgen.yaml", "version: 1\n"+settings)
	return w
}

const networkSettings = `network:
  allow:
    - example.com
    - host: www.example.com
      protocols: [http]
    - host: api.example.com
      tls: inspect
      methods: [GET]
      paths: ["/v1/**"]
      credentials: [{secret: "${TOKEN}", header: "Authorization: Bearer {secret}", variable: API_TOKEN}]
`

const networkTS = `
for (const url of process.argv.slice(2)) {
  try {
    const r = await fetch(url, { headers: url.includes("placeholder") ? { "X-Token": process.env.API_TOKEN! } : {} });
    console.log(url, r.status, (await r.text()).trim());
  } catch (e: any) { console.log(url, "failed", e.message, e.cause?.message); }
}
console.log(process.env.API_TOKEN);
`

const networkPy = `
import os, sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    request = urllib.request.Request(url, headers={"X-Token": os.environ["API_TOKEN"]} if "placeholder" in url else {})
    try:
        with urllib.request.urlopen(request) as r: print(url, r.status, r.read().decode())
    except urllib.error.HTTPError as e: print(url, e.code, e.read().decode().strip())
    except Exception as e: print(url, "failed", e)
print(os.environ.get("API_TOKEN"))
`

// TestNetwork makes ordinary requests in every sandbox and both languages.
func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newProject(t, map[string]server{})
			w := newWorld(t, p, networkSettings)
			code := networkTS
			if where.language == "python" {
				code = networkPy
			}
			script := p.write("network"+where.ext(), code)
			res := p.runJSON(t, where, 0, "--network", script, "--", "http://www.example.com/a", "https://example.com/b", "https://api.example.com/v1/c", "https://api.example.com/v2", "https://evil.example/",
				"http://169.254.169.254/", "http://2130706433/", "http://www.example.com/?to=http://10.0.0.5/", "http://www.example.com/?placeholder")
			for _, want := range []string{
				"http://www.example.com/a 200 GET www.example.com /a",
				"https://example.com/b 200 GET example.com /b",
				"https://api.example.com/v1/c 200 GET api.example.com /v1/c Bearer " + strings.Repeat("*", len(networkCanary)),
				"refused by allow list: network.allow[2] (mcpgen.yaml:7) does not allow GET /v2",
				"refused by allow list: no entry allows evil.example:443; an operator allows it below network.allow in mcpgen.yaml: - evil.example",
				"refused by blocked range: 169.254.169.254", "refused by blocked range: 127.0.0.1", "refused by blocked range: 10.0.0.5",
				"refused by credential: a placeholder", "mcprun-placeholder-",
			} {
				if !strings.Contains(res.Stdout, want) {
					t.Errorf("stdout has no %q:\n%s%s", want, res.Stdout, res.Stderr)
				}
			}
			whole := fmt.Sprintf("%+v", res)
			if strings.Contains(whole, networkCanary) {
				t.Errorf("the secret is in the result: %s", whole)
			}
			if out, err := exec.Command("grep", "-rl", networkCanary, p.dir).CombinedOutput(); err == nil {
				t.Errorf("the secret is in files: %s", out)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, r := range w.seen {
				if got := r.Header.Get("Authorization"); (r.Host == "api.example.com") != (got == "Bearer "+networkCanary) {
					t.Errorf("%s got Authorization %q", r.Host, got)
				}
			}
		})
	}
}

// TestNetworkProxyAware: a client that reads HTTP_PROXY itself, as axios does in Node, speaks to the proxy, and the rules hold for what it asks for.
func TestNetworkProxyAware(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		if where.language == "python" || where.sandbox == "embedded" { // urllib is such a client; the embedded sandbox has no node:http
			continue
		}
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newProject(t, map[string]server{})
			newWorld(t, p, networkSettings)
			script := p.write("aware"+where.ext(), `
import http from "node:http";
const proxy = new URL(process.env.HTTP_PROXY!);
for (const url of ["http://www.example.com/a", "http://evil.example/"]) {
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get({ host: proxy.hostname, port: proxy.port, path: url, headers: { Host: new URL(url).host } }, resolve).on("error", reject);
  });
  let text = "";
  for await (const chunk of response) text += chunk;
  console.log(response.statusCode, text.trim());
}
`)
			res := p.runJSON(t, where, 0, "--network", script)
			if !strings.Contains(res.Stdout, "200 GET www.example.com /a") || !strings.Contains(res.Stdout, "403 mcprun: refused by allow list: no entry allows evil.example:80") {
				t.Errorf("stdout %q, want the answer of www.example.com and the refusal of evil.example\n%s", res.Stdout, res.Stderr)
			}
			if strings.Contains(fmt.Sprintf("%+v", res), "blocked range") {
				t.Errorf("the connection to the proxy counts as one to this machine: %+v", res)
			}
		})
	}
}

// TestNetworkOff: a script has no network without --network, and gets none with it if no rule allows a host.
func TestNetworkOff(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newProject(t, map[string]server{})
			w := newWorld(t, p, networkSettings)
			code := `try { await fetch("http://www.example.com/"); } catch (e: any) { console.log(e.message); }`
			if where.language == "python" {
				code = "import urllib.request\ntry:\n    urllib.request.urlopen('http://www.example.com/')\nexcept Exception as e:\n    print(e)\n"
			}
			script := p.write("off"+where.ext(), code)
			if dry := p.runJSON(t, where, 0, "--network", "--dry-run", script); !strings.Contains(strings.Join(dry.Warnings, "\n"), "a dry run has no network") {
				t.Errorf("a dry run warns of %q, want that it has no network", dry.Warnings)
			}
			res := p.runJSON(t, where, 0, script)
			if strings.Contains(res.Stdout, "200") || res.Stdout == "" || where.language != "python" && !strings.Contains(res.Stdout, "egress is off") {
				t.Errorf("stdout %q, want an error that says that the network is off", res.Stdout)
			}
			if err := os.Remove(filepath.Join(p.dir, "mcpgen.yaml")); err != nil {
				t.Fatal(err)
			}
			out := p.runIn(t, "mcprun", "--sandbox", where.sandbox, "--network", script).want(t, 126)
			if !strings.Contains(out.stderr, "the policy allows none") || !strings.Contains(out.stderr, "network: {allow: [api.example.com]}") {
				t.Errorf("stderr %q, want what an operator would write", out.stderr)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.seen) > 0 {
				t.Errorf("the servers got %d requests, want none", len(w.seen))
			}
		})
	}
}

// TestNetworkExplain shows what would happen, and which line decides.
func TestNetworkExplain(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]server{})
	newWorld(t, p, networkSettings)
	for _, tt := range []struct {
		url  string
		code int
		want string
	}{
		{"https://api.example.com/v1/x", 0, "allow, by network.allow[2] (mcpgen.yaml:7)\n  mcprun reads the request (tls: inspect)\n  puts ${TOKEN} into Authorization: can be read"},
		{"https://api.example.com/v2", 126, "deny, by allow list"},
		{"http://example.com/", 126, "example.com is allowed, but not its port 80"},
		{"evil.example", 126, "an operator allows it below network.allow in mcpgen.yaml: - evil.example"},
		{"https://[::ffff:10.0.0.1]/", 126, "deny, by blocked range"},
		{"tcp://db.example.com:5432", 126, "- {host: db.example.com, ports: [5432], protocols: [tcp]}"},
		{"http://db.example.com:8080", 126, "- {host: db.example.com, ports: [8080], protocols: [http]}"},
		{"wss://example.com/x", 0, "allow, by network.allow[0]"},
	} {
		out := p.runIn(t, "mcprun", "network", "explain", tt.url).want(t, tt.code)
		if !strings.Contains(out.stdout, tt.want) || strings.Contains(out.stdout+out.stderr, networkCanary) {
			t.Errorf("explain %s:\n%s\nwant %q", tt.url, out.stdout, tt.want)
		}
	}
}

// TestNetworkExplainReadsNothing: a repository that somebody cloned cannot make explain start a program, and a secret that cannot be read is a
// refusal.
func TestNetworkExplainReadsNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]server{})
	newWorld(t, p, "network:\n  allow:\n    - host: api.example.com\n      tls: inspect\n      credentials: [{secret: {command: [touch, ran]}, header: \"X-Key: {secret}\"}]\n")
	trusted := p.env
	p.env = append(slices.Clone(p.env), "MCPGEN_TRUST=")
	out := p.runIn(t, "mcprun", "network", "explain", "https://api.example.com/").want(t, 0)
	if _, err := os.Stat(p.path("ran")); err == nil || !strings.Contains(out.stdout, "puts the output of \"touch\" into X-Key: not read, because nobody has agreed") {
		t.Errorf("without trust, the program ran (%v), or explain does not say that it did not:\n%s", err, out.stdout)
	}
	p.env = trusted
	out = p.runIn(t, "mcprun", "network", "explain", "https://api.example.com/").want(t, 126)
	if !strings.Contains(out.stdout, "deny, by credential") || !strings.Contains(out.stdout, "it is empty") {
		t.Errorf("a secret that is empty is explained as\n%s", out.stdout)
	}
}

// TestNetworkOfLevels: a level alone gives no network, and it is a ceiling for what network has.
func TestNetworkOfLevels(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]server{})
	newWorld(t, p, "policy: {level: read_only}\n")
	for settings, want := range map[string]string{
		"": "deny, by allow list\n  the network allows no host", "network: {}\n": "allow, by level read_only", "network: {default: ask}\n": "allow, by level read_only",
	} {
		p.write("mcpgen.yaml", "version: 1\npolicy: {level: read_only}\n"+settings)
		if out := p.run("mcprun", "network", "explain", "https://api.anthropic.com/"); !strings.Contains(out.stdout, want) {
			t.Errorf("%q: api.anthropic.com is explained as\n%s\nwant %q", settings, out.stdout, want)
		}
		if out := p.runIn(t, "mcprun", "network", "explain", "https://example.com/").want(t, 126); strings.Contains(out.stdout, "ask") {
			t.Errorf("%q: example.com is explained as\n%s\nwant a refusal without a question", settings, out.stdout)
		}
	}
}

// TestNetworkOfCustomers: each customer of mcprun serve has its own hosts, and connections are in the result's metadata.
func TestNetworkOfCustomers(t *testing.T) {
	t.Parallel()
	p := serveProject(t)
	w := newWorld(t, p, "network:\n  customers: {acme: {allow: [example.com]}}\n")
	if err := os.Chmod(p.write("tokens.txt", "token-of-acme-for-tests acme\ntoken-of-globex-for-tests globex\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := p.serveHTTP(t, "--sandbox", "embedded", "--token-file", "tokens.txt")
	code := `console.log((await fetch("https://example.com/")).status);`
	for name, want := range map[string]string{"acme": "200", "globex": "the policy allows none"} {
		out, failed := remote{url, "token-of-" + name + "-for-tests"}.call(t, "execute_code", map[string]any{"code": code, "network": true})
		if failed != (name == "globex") || !strings.Contains(out, want) {
			t.Errorf("%s: %t %q, want %q", name, failed, out, want)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) != 1 {
		t.Errorf("the server got %d requests, want 1", len(w.seen))
	}
}

// TestNetworkParallel: more connections than may be open at once wait, and none fails.
func TestNetworkParallel(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		if where.sandbox == "docker" || where.sandbox == "gvisor" {
			continue // the guests are those of process
		}
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newProject(t, map[string]server{})
			newWorld(t, p, "network:\n  rate: 1000\n  allow: [example.com]\n")
			code := "const all = await Promise.all(Array.from({ length: 150 }, () => fetch(\"https://example.com/\").then(r => r.text()).then(() => 1, e => String(e.cause ?? e))));\nconsole.log(all.filter(x => x === 1).length, all.find(x => x !== 1));\n"
			if where.language == "python" {
				code = "import concurrent.futures, urllib.request\ndef get(_):\n    try: return len(urllib.request.urlopen('https://example.com/').read()) > 0\n    except Exception as e: return str(e)\nwith concurrent.futures.ThreadPoolExecutor(90) as pool: all = list(pool.map(get, range(150)))\nprint(all.count(True), next((x for x in all if x is not True), 'undefined'))\n"
			}
			if res := p.runJSON(t, where, 0, "--network", p.write("many"+where.ext(), code)); res.Stdout != "150 undefined\n" {
				t.Errorf("stdout %q, want 150 answers", res.Stdout)
			}
		})
	}
}

// TestNetworkAsk: a person is asked about a host that no rule allows, once for all connections to it.
func TestNetworkAsk(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"once", "run", "no"} {
		p := newProject(t, map[string]server{})
		newWorld(t, p, "policy: {unattended: [approve, approve_command]}\nnetwork:\n  default: ask\n")
		questions := p.path("questions")
		program := p.write("approve.sh", "#!/bin/sh\ncat >> "+questions+"\necho >> "+questions+"\necho '{\"answer\": \""+answer+"\", \"by\": \"ann\"}'\n")
		if err := os.Chmod(program, 0o700); err != nil {
			t.Fatal(err)
		}
		script := p.write("ask.ts", networkTS)
		res := p.runJSON(t, place{sandbox: "embedded", language: "typescript"}, 0, "--network", "--approve", "command", "--approve-command", program, script, "--",
			"https://example.com/a", "https://example.com/b", "http://10.0.0.5/")
		if got := strings.Count(res.Stdout, " 200 GET example.com"); got != map[string]int{"once": 2, "run": 2, "no": 0}[answer] {
			t.Errorf("answer %s: %d requests were made:\n%s", answer, got, res.Stdout)
		}
		if answer == "no" && !strings.Contains(res.Stdout, "and it was not approved by ann") {
			t.Errorf("stdout has no refusal by ann:\n%s", res.Stdout)
		}
		asked, err := os.ReadFile(questions)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(asked), `"tool":"network"`); n != 1 || !strings.Contains(string(asked), `"connection":"example.com:443"`) {
			t.Errorf("answer %s: %d questions, want one about example.com:\n%s", answer, n, asked)
		}
	}
}
