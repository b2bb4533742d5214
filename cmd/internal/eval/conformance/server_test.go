package conformance

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serverScenarios returns all of the suite's scenarios for servers, at each revision that it lists them for.
func (s *suite) serverScenarios(t *testing.T) (all []scenario) {
	t.Helper()
	list, _, found := strings.Cut(s.output(t, "list"), "Client scenarios")
	for _, m := range regexp.MustCompile(`(?m)^\s+- (\S+) \[(.+)\]$`).FindAllStringSubmatch(list, -1) {
		if m[2] == "extension" {
			all = append(all, scenario{name: m[1]})
			continue
		}
		for _, revision := range strings.Split(m[2], ",") {
			if revision != "2025-03-26" { // the suite no longer speaks it
				all = append(all, scenario{m[1], revision})
			}
		}
	}
	if !found || len(all) < 50 {
		t.Fatalf("the suite lists %d scenarios for servers", len(all))
	}
	return all
}

// outlook is the expected outcome of a scenario that does not pass.
type outlook struct {
	run    bool // it is run, and fails
	reason string
}

// outlooks reads what is expected.
func outlooks(t *testing.T) map[string]outlook {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "server-baseline.txt"))
	if err != nil {
		t.Fatal(err)
	}
	expected := map[string]outlook{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		name, reason, _ := strings.Cut(rest, " ")
		reason = strings.TrimSpace(reason)
		if _, twice := expected[name]; twice || reason == "" || word != "skip" && word != "fails" {
			t.Fatalf("server-baseline.txt:%d: want skip or fails, a scenario, named once, and the reason", i+1)
		}
		expected[name] = outlook{run: word == "fails", reason: reason}
	}
	return expected
}

// TestServer runs every scenario of the suite for servers that applies against mcprun serve.
func TestServer(t *testing.T) {
	s := need(t)
	expected := outlooks(t)
	all := s.serverScenarios(t)
	for name := range expected {
		if !slices.ContainsFunc(all, func(s scenario) bool { return s.String() == name || s.name == name }) {
			t.Errorf("the baseline names %q, which the suite does not have", name)
		}
	}
	url, tasks := s.serve(t), s.serveTasks(t)
	t.Run("scenarios", func(t *testing.T) {
		for _, sc := range all {
			want, odd := expected[sc.String()]
			if !odd {
				want, odd = expected[sc.name]
			}
			if odd && !want.run {
				continue
			}
			t.Run(sc.String(), func(t *testing.T) {
				t.Parallel()
				at := url
				if sc.isAboutTasks() {
					at = tasks
				}
				passed, said := s.against(t, at, sc)
				switch {
				case !passed && !odd:
					t.Errorf("failed:\n%s", said)
				case passed && odd:
					t.Errorf("passed, and the baseline says that it fails because %q: take it out", want.reason)
				case odd:
					t.Logf("fails as expected: %s", want.reason)
				}
			})
		}
	})
}

// serve starts the server in a project of its own, with one skill, and returns its URL.
func (s *suite) serve(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	skill := filepath.Join(dir, "skills", "greet")
	if err := os.MkdirAll(skill, 0o755); err != nil {
		t.Fatal(err)
	}
	const text = "---\nname: greet\ndescription: Greets somebody by name.\n---\n\nSay hello.\n"
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers": {}}`), 0o600); err != nil { // it is a project
		t.Fatal(err)
	}
	return s.start(t, dir)
}

// start starts the server in a folder, with more flags, and returns its URL.
func (s *suite) start(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	args := append([]string{"serve", "--http", "127.0.0.1:0", "--no-token", "--sandbox", "embedded", "--trust-config", "--state", filepath.Join(dir, "state.db")}, flags...)
	cmd := exec.Command(filepath.Join(s.bin, "mcprun"), args...)
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := make(chan string, 1)
	read := make(chan struct{})
	var said strings.Builder
	go func() {
		defer close(read)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
			select {
			case first <- lines.Text():
			default:
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server did not end well: %v\n%s", err, &said)
		}
	})
	select {
	case line := <-first:
		_, url, ok := strings.Cut(line, "serving MCP at ")
		if !ok {
			t.Fatalf("the server says %q", line)
		}
		return url
	case <-time.After(60 * time.Second):
		t.Fatal("the server did not start")
	}
	return ""
}

// against runs one scenario against a server and returns whether it passed, and its output.
func (s *suite) against(t *testing.T, url string, sc scenario) (bool, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	args := []string{s.index, "server", "--url", url, "--scenario", sc.name}
	if sc.revision != "" {
		args = append(args, "--spec-version", sc.revision)
	}
	cmd := exec.CommandContext(ctx, s.node, args...)
	cmd.Dir, cmd.WaitDelay = t.TempDir(), 5*time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("the suite itself: %v\n%s", err, out)
	}
	checked := regexp.MustCompile(`(?m)^Passed: \d+/[1-9]`).Match(out)
	return err == nil && checked, string(out)
}
