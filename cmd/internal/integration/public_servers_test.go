package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Third-party servers, and the version that the expected answers belong to.
const (
	everythingPackage = "@modelcontextprotocol/server-everything"
	filesystemPackage = "@modelcontextprotocol/server-filesystem"
	serversVersion    = "2026.8.31"
)

// entry returns the program of a package.
func entry(t testing.TB, pkg string) string {
	t.Helper()
	needVersion(t, pkg, serversVersion)
	return needNPM(t, filepath.FromSlash(pkg), "dist", "index.js")
}

// secret is in the environment of mcpgen and mcprun, and must not reach any server or script.
const secret = "canary-4c1f7a"

// TestPublicServers syncs trees from public servers, checks their types, and calls most of their tools from both languages
// in every sandbox.
func TestPublicServers(t *testing.T) {
	t.Parallel()
	everything, filesystem := entry(t, everythingPackage), entry(t, filesystemPackage)
	files := t.TempDir()
	for _, tt := range []struct {
		key, name string // of the server; of the scripts
		server    server
		tools     int
	}{
		{"everything", "everything", server{Command: "node", Args: []string{everything, "stdio"}}, 15},
		{"everything-http", "everything", server{Type: "http", URL: startHTTP(t, everything)}, 15},
		{"filesystem", "filesystem", server{Command: "node", Args: []string{filesystem, files}}, 14},
	} {
		t.Run(tt.key, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]server{tt.key: tt.server})
			p.env = []string{"MCP_SECRET=" + secret}
			syncTwice(t, p, tt.tools)
			for _, ext := range []string{".ts", ".py"} {
				p.write(tt.name+ext, scriptFor(t, tt.name, tt.key, ext))
			}
			t.Run("types", func(t *testing.T) { p.checkTypes(t) })
			want := strings.ReplaceAll(testdata(t, tt.name+".json"), `"`+tt.name, `"`+tt.key)
			want = strings.ReplaceAll(want, `"`+tt.key+"__", `"`+strings.ReplaceAll(tt.key, "-", "_")+"__")
			for _, where := range places() {
				t.Run(where.String(), func(t *testing.T) {
					where.need(t)
					folder := filepath.Join(files, where.String())
					if err := os.MkdirAll(folder, 0o755); err != nil {
						t.Fatal(err)
					}
					res := p.runJSON(t, where, 0, "--allow", "filesystem__*", tt.name+where.ext(), "--", folder)
					checkRun(t, res, want)
				})
			}
		})
	}
}

// syncTwice generates the tree, and checks that a second sync changes nothing.
func syncTwice(t *testing.T, p *project, tools int) {
	t.Helper()
	var report struct {
		InSync   bool `json:"inSync"`
		Written  bool `json:"written"`
		ExitCode int  `json:"exitCode"`
		Servers  []struct {
			Status string `json:"status"`
			Tools  int    `json:"tools"`
		} `json:"servers"`
		Files    []any                 `json:"files"`
		Warnings []struct{ Note bool } `json:"warnings"`
	}
	out := p.runIn(t, "mcpgen", "sync", "--json").want(t, 0)
	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.ExitCode != 0 || !report.Written || len(report.Servers) != 1 || report.Servers[0].Tools != tools || slices.ContainsFunc(report.Warnings, func(w struct{ Note bool }) bool { return !w.Note }) {
		t.Errorf("the report of the first sync: %+v", report)
	}
	before := takeSnapshot(t, p.path("servers"))
	if len(before) < 2*tools {
		t.Errorf("%d tools have %d files only, want at least %d", tools, len(before), 2*tools)
	}
	p.runIn(t, "mcpgen", "sync").want(t, 0)
	if diff := cmp.Diff(before, takeSnapshot(t, p.path("servers"))); diff != "" {
		t.Errorf("the second sync changed something:\n%s", diff)
	}
	p.runIn(t, "mcpgen", "sync", "--check").want(t, 0)
	for _, text := range []string{secret, p.dir, root} {
		if found := before.holds(text); len(found) > 0 {
			t.Errorf("%q is in %q, want len(found) at most 0", text, found)
		}
	}
}

// checkRun compares the result of a script with want.
func checkRun(t *testing.T, res result, want string) {
	t.Helper()
	if res.Cause != "exit" || res.Error != nil || res.Stderr != "" {
		t.Errorf(`cause %q, error %v, stderr %q, want "exit", nil and ""`, res.Cause, res.Error, res.Stderr)
	}
	var expected, got any
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(res.Value, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("the result (- wanted, + is):\n%s", diff)
	}
	outcomes, tools := map[string]int{}, map[string]bool{}
	for _, c := range res.Calls {
		outcomes[c.Outcome]++
		tools[c.Tool] = true
	}
	if outcomes["tool"] != 1 || outcomes["argument"] != 1 || outcomes["ok"] != len(res.Calls)-2 || res.CallCount != len(res.Calls) {
		t.Errorf("%d calls with these outcomes: %v, want 1, 1, %v and %d", res.CallCount, outcomes, len(res.Calls)-2, len(res.Calls))
	}
	if len(tools) < 10 {
		t.Errorf("only %d tools were called, want at least 10", len(tools))
	}
}

// scriptFor reads a script of testdata for a server that is configured under another key.
func scriptFor(t *testing.T, name, key, ext string) string {
	t.Helper()
	dir := strings.ReplaceAll(key, "-", "_")
	text := testdata(t, name+ext)
	text = strings.ReplaceAll(text, "servers/"+name+"/", "servers/"+dir+"/")
	return strings.ReplaceAll(text, "servers."+name+" ", "servers."+dir+" ")
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startHTTP starts a node program that serves streamable HTTP on a free loopback port, and returns its address.
func startHTTP(t testing.TB, program string) string {
	t.Helper()
	front, err := filepath.Abs(filepath.Join("testdata", "front.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "--require", front, program, "streamableHttp")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PORT=0", "FRONT_HOST=127.0.0.1"}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	watchdog := time.AfterFunc(commandTime, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	lines, said := bufio.NewScanner(stderr), ""
	port := regexp.MustCompile(`^front: port (\d+)$`)
	for lines.Scan() {
		said += lines.Text() + "\n"
		if m := port.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return fmt.Sprintf("http://127.0.0.1:%s/mcp", m[1])
		}
	}
	t.Fatalf("the server did not come up:\n%s", clip(said))
	return ""
}
