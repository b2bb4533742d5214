package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	clientPackage, clientVersion       = "@modelcontextprotocol/client", "2.4.0"
	inspectorPackage, inspectorVersion = "@modelcontextprotocol/inspector", "2.12.0"
	serveToken                         = "a-token-for-the-tests-only"
)

// newNode returns the node of testdata/npm, because the system's node may be too old for what is installed there.
func newNode(t testing.TB) string {
	t.Helper()
	modules := needNPM(t, "@modelcontextprotocol")
	nodes, _ := filepath.Glob(filepath.Join(filepath.Dir(modules), "node-"+runtime.GOOS+"-*", "bin", "node"))
	if len(nodes) == 0 {
		need(t, fmt.Errorf("the node of testdata/npm is not installed: npm ci --prefix testdata/npm --ignore-scripts"))
	}
	return nodes[0]
}

// serveProject creates a project with servers to call, a skill and a tree.
func serveProject(t *testing.T) *project {
	t.Helper()
	p := newProject(t, map[string]server{
		"calculator": {Command: binary("mcpdemo"), Args: []string{"calculator"}},
		"everything": {Command: "node", Args: []string{entry(t, everythingPackage), "stdio"}},
	})
	p.sync()
	p.write("skills/greet/SKILL.md", "---\nname: greet\ndescription: Greets somebody by name.\n---\n\nSay hello.\n")
	return p
}

// serveHTTP starts the server and returns its URL. At the end of the test, SIGTERM must end it without an error.
func (p *project) serveHTTP(t *testing.T, args ...string) string {
	t.Helper()
	p.env = append(p.env, "MCPRUN_SERVE_TOKEN="+serveToken)
	cmd := p.command(context.Background(), "mcprun", append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start(cmd)
	lines := bufio.NewScanner(stderr)
	if !lines.Scan() {
		t.Fatal("the server says nothing")
	}
	_, url, ok := strings.Cut(lines.Text(), "serving MCP at ")
	if !ok {
		t.Fatalf("the server says %q", lines.Text())
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-drained
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server did not end well: %v", err)
		}
	})
	return url
}

// seenByClient is what testdata/serve.mjs prints.
type seenByClient struct {
	Progress, Asked, Tools []string
	Streamed               struct {
		Text       string
		Structured map[string]any
		IsError    bool
	}
	Failed struct {
		Text    string
		IsError bool
	}
	Asking  string
	NoImage struct{ IsError bool }
	Image   struct {
		Text string
		Same bool
	}
	Direct    map[string]any
	Cancelled string
	Soon      bool
	Runs      int
}

// TestServeOfficialClient runs the official TypeScript client in both eras, over both transports.
func TestServeOfficialClient(t *testing.T) {
	t.Parallel()
	needVersion(t, clientPackage, clientVersion)
	needSandbox(t, "process", "typescript")
	node := newNode(t)
	for _, era := range []string{"legacy", "modern"} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(era+"-"+transport, func(t *testing.T) {
				t.Parallel()
				p := serveProject(t)
				where := map[string]any{"command": binary("mcprun"), "args": []string{"serve", "--sandbox", "process"}, "cwd": p.dir}
				if transport == "http" {
					where = map[string]any{"url": p.serveHTTP(t, "--sandbox", "process", "--customer", "acme"), "token": serveToken}
				}
				target, _ := json.Marshal(where)
				ctx, cancel := context.WithTimeout(context.Background(), commandTime)
				defer cancel()
				cmd := exec.CommandContext(ctx, node, filepath.Join(root, "cmd", "internal", "integration", "testdata", "serve.mjs"), filepath.Dir(needNPM(t, "@modelcontextprotocol")), era, string(target))
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, 20*time.Second
				cmd.Env = p.command(ctx, "mcprun").Env
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
				}
				var seen seenByClient
				if err := json.Unmarshal(stdout.Bytes(), &seen); err != nil {
					t.Fatalf("%v\n%s", err, stdout.String())
				}
				seen.check(t)
			})
		}
	}
}

func (s *seenByClient) check(t *testing.T) {
	t.Helper()
	if len(s.Tools) != 3 || !slices.Contains(s.Tools, "execute_code") { // get_execution_stats is called below, by name
		t.Errorf(`tools %q, want len(s.Tools) 3 and "execute_code" in it`, s.Tools)
	}
	if s.Streamed.IsError || !strings.HasPrefix(s.Streamed.Text, "begun\n42\n") || s.Streamed.Structured["output"] != "begun\n42\n" || s.Streamed.Structured["calls"] != 1.0 {
		t.Errorf("streamed %+v", s.Streamed)
	}
	if !slices.Contains(s.Progress, "begun") {
		t.Errorf(`progress %q, want "begun" in it`, s.Progress)
	}
	if !s.Failed.IsError || !strings.Contains(s.Failed.Text, "no luck") {
		t.Errorf("failed %+v", s.Failed)
	}
	if len(s.Asked) != 1 || !strings.HasPrefix(s.Asked[0], "[everything] ") || !strings.Contains(s.Asking, "Ada") {
		t.Errorf(`asked %q; the script was told %q, want len(s.Asked) 1, "[everything] " at its start and "Ada" in it`, s.Asked, s.Asking)
	}
	if !s.NoImage.IsError || !s.Image.Same || !strings.Contains(s.Image.Text, "dot.png") {
		t.Errorf("no image %+v, image %+v", s.NoImage, s.Image)
	}
	if s.Direct["result"] != 3.0 {
		t.Errorf("direct %v, want 3.0", s.Direct)
	}
	if s.Cancelled != "rejected" || !s.Soon || s.Runs < 5 {
		t.Errorf("cancelled %q, soon %v, %d runs", s.Cancelled, s.Soon, s.Runs)
	}
}

// TestServeInspector runs the Inspector's command line, strict, in both eras.
func TestServeInspector(t *testing.T) {
	t.Parallel()
	needVersion(t, inspectorPackage, inspectorVersion)
	node := newNode(t)
	launcher := needNPM(t, filepath.FromSlash(inspectorPackage), "clients", "launcher", "build", "index.js")
	p := serveProject(t)
	inspect := func(t *testing.T, era string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), commandTime)
		defer cancel()
		args = append([]string{launcher, "--cli", binary("mcprun"), "serve", "--trust-config", "--sandbox", "embedded", "--tools", "all", "--protocol-era", era}, args...)
		cmd := exec.CommandContext(ctx, node, args...)
		cmd.Dir, cmd.WaitDelay = p.dir, 20*time.Second
		cmd.Env = append(p.command(ctx, "mcprun").Env, "MCP_CATALOG_PATH="+p.path("catalog-"+era+".json"))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%q: %v\n%s%s", args, err, stdout.String(), stderr.String())
		}
		return stdout.String()
	}
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			if out := inspect(t, era, "--method", "tools/list", "--strict"); strings.Count(out, `"inputSchema"`) != 15 {
				t.Errorf("tools: %s, want 15", clip(out))
			}
			if out := inspect(t, era, "--method", "skills/list", "--verify", "--require-digests"); !strings.Contains(out, `"name":"greet"`) || strings.Contains(out, `"ok":false`) {
				t.Errorf("skills: %s, want %q in it and no %q in it", clip(out), `"name":"greet"`, `"ok":false`)
			}
			if out := inspect(t, era, "--method", "tools/call", "--tool-name", "execute_code", "--tool-arg", "code=console.log(6*7)"); !strings.Contains(out, `"output": "42\n"`) {
				t.Errorf("a run: %s, want %q in it", clip(out), `"output": "42\n"`)
			}
		})
	}
}

// TestServeEnds checks that a server that is told to end, or left by its client, soon ends everything that it has started.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	needSandbox(t, "process", "python")
	for _, how := range []string{"input", "signal"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := serveProject(t)
			ctx, cancel := context.WithTimeout(context.Background(), commandTime)
			defer cancel()
			cmd := p.command(ctx, "mcprun", "serve", "--sandbox", "process")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			p.start(cmd)
			code, _ := json.Marshal("open('begun', 'w').close()\nimport time\ntime.sleep(600)")
			fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
			fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"language":"python","timeout_seconds":600,"code":%s}}}`+"\n", code)
			for _, err := os.Stat(p.path("workspace/begun")); err != nil; _, err = os.Stat(p.path("workspace/begun")) {
				if ctx.Err() != nil {
					t.Fatalf("the run did not begin: %s", stderr.String())
				}
				time.Sleep(20 * time.Millisecond)
			}
			if how == "input" {
				_ = stdin.Close()
			} else {
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, stderr.String())
			}
		})
	}
}

// TestServeOutlivesPlantedPipes runs scripts that put pipes where the server writes large results and images, eight at once. Each
// run has its result, and the server ends when it is told to.
func TestServeOutlivesPlantedPipes(t *testing.T) {
	t.Parallel()
	needSandbox(t, "process", "python")
	p := serveProject(t)
	for i := range 8 { // given to the scripts, which may make none
		if err := errors.Join(os.MkdirAll(p.path("workspace"), 0o777), syscall.Mkfifo(p.path(fmt.Sprintf("workspace/pipe-%d", i)), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := p.command(ctx, "mcprun", "serve", "--sandbox", "process", "--max-result", "10", "--max-output", "500")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	p.start(cmd)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range 8 {
		place := []string{".mcprun/results", ".mcprun/output", ".mcprun/images", ".mcprun"}[i%4]
		code, _ := json.Marshal(fmt.Sprintf(`import os, shutil
from servers.everything import echo
place = %q
try: shutil.rmtree(place)
except OSError: pass
os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
try: os.rename("pipe-%d", place)
except OSError: pass  # another script was faster
for _ in range(5): echo(message="x" * 5000)
print("y" * 1000)`, place, i))
		fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_code","arguments":{"language":"python","timeout_seconds":30,"code":%s}}}`+"\n", i, code)
	}
	answers := map[string]bool{}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	for len(answers) < 9 && lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
		}
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Result != nil {
			answers[string(m.ID)] = true
		}
	}
	if len(answers) != 9 {
		t.Errorf("only %d of 8 runs were answered: %s, want len(answers) 9", len(answers)-1, stderr.String())
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server did not end well: %v: %s", err, stderr.String())
	}
}
