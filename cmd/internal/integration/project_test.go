package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// commandTime bounds one command of a test, and runTime a script: longer than on the busiest machine, unless something hangs.
const (
	commandTime = 5 * time.Minute
	runTime     = "4m"
)

// project is a person's folder with a .mcp.json.
type project struct {
	t   testing.TB
	dir string
	env []string // on top of a few variables of this process

	mu  sync.Mutex
	own []process // of the commands that were started here
}

// server is an entry of .mcp.json.
type server struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// newProject creates a folder that is removed at the end of the test. Nothing may be left on the machine by then.
func newProject(t testing.TB, servers map[string]server) *project {
	t.Helper()
	// Not t.TempDir: the sandboxes' sockets are below it, and their names are bounded.
	dir, err := os.MkdirTemp("", "mcpgen-it-*-x") // no name begins with another
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: dir}
	t.Cleanup(func() {
		for _, left := range p.leftovers() {
			t.Errorf("left behind: %s", left)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(p.runtimeDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	p.writeJSON(".mcp.json", map[string]any{"mcpServers": servers})
	return p
}

// runtimeDir is the project's own XDG_RUNTIME_DIR.
func (p *project) runtimeDir() string { return filepath.Join(p.dir, "run") }

func (p *project) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *project) write(name, text string) string {
	p.t.Helper()
	path := p.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *project) writeJSON(name string, value any) string {
	p.t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		p.t.Fatal(err)
	}
	return p.write(name, string(text)+"\n")
}

// command prepares one of the built programs, in the project's folder, with little of our own environment.
func (p *project) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary(name), args...)
	cmd.Dir = p.dir
	cmd.WaitDelay = 20 * time.Second
	for _, name := range []string{"PATH", "HOME", "LANG", "DOCKER_HOST", "MCPRUN_IMAGE", "MCPRUN_NODE", "MCPRUN_PYTHON"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	// What a script prints is compared with what servers have, so personal data is not hidden.
	cmd.Env = append(append(cmd.Env, "XDG_RUNTIME_DIR="+p.runtimeDir(), "NO_COLOR=1", "MCPGEN_TRUST=1", "MCPRUN_PII=off", "MCPRUN_TIMEOUT="+runTime), p.env...)
	return cmd
}

// outcome is how a command ended.
type outcome struct {
	code           int
	stdout, stderr string
}

// start starts a prepared command and remembers it.
func (p *project) start(cmd *exec.Cmd) {
	p.t.Helper()
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	started, _ := readStat(cmd.Process.Pid) // it may have ended already
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own = append(p.own, started)
}

// run runs a program to its end.
func (p *project) run(name string, args ...string) outcome {
	p.t.Helper()
	return p.runIn(p.t, name, args...)
}

// runIn is run for a subtest.
func (p *project) runIn(t testing.TB, name string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := p.command(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p.start(cmd)
	err := cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%s %q did not end in %s\n%s%s", name, args, commandTime, stdout.String(), stderr.String())
	}
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// want fails the test unless the command ended with that exit code.
func (o outcome) want(t testing.TB, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.code, code, clip(o.stdout), clip(o.stderr))
	}
	return o
}

// sync generates the tree.
func (p *project) sync() {
	p.t.Helper()
	p.run("mcpgen", "sync").want(p.t, 0)
}

// result is what mcprun --json prints.
type result struct {
	ExitCode       int             `json:"exitCode"`
	Cause          string          `json:"cause"`
	Message        string          `json:"message"`
	Sandbox        string          `json:"sandbox"`
	Runtime        string          `json:"runtime"`
	DurationMS     float64         `json:"durationMs"`
	MaxMemoryBytes int64           `json:"maxMemoryBytes"`
	Stdout         string          `json:"stdout"`
	Stderr         string          `json:"stderr"`
	Value          json.RawMessage `json:"result"`
	Error          *struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	} `json:"error"`
	Calls []struct {
		Tool    string `json:"tool"`
		Outcome string `json:"outcome"`
	} `json:"calls"`
	CallCount int      `json:"callCount"`
	Warnings  []string `json:"warnings"`
	Files     []string `json:"files"`
	Tokens    struct {
		Used, Script, Wrappers, Output, Direct, Definitions, Arguments, Results, Saved int
		SavedPercent                                                                   float64
	} `json:"tokens"`
}

// runJSON runs a script with --json. The process and the object must have the same exit code.
func (p *project) runJSON(t testing.TB, where place, code int, args ...string) result {
	t.Helper()
	out := p.runIn(t, "mcprun", append([]string{"--json", "--sandbox", where.sandbox, "--workspace", p.workspace(where)}, args...)...).want(t, code)
	var res result
	if err := json.Unmarshal([]byte(out.stdout), &res); err != nil {
		t.Fatalf("--json is not an object: %v\n%s", err, clip(out.stdout))
	}
	if res.ExitCode != code || res.Sandbox != where.sandbox {
		t.Fatalf("--json says exit code %d in %s, want %d in %s", res.ExitCode, res.Sandbox, code, where.sandbox)
	}
	return res
}

// workspace is a folder of its own for each place, so that runs side by side don't see each other.
func (p *project) workspace(where place) string { return p.path("workspace-" + where.String()) }

// clip shortens what a failure shows.
func clip(s string) string {
	const most = 3000
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.TrimSpace(s)
}
