package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain lets the test binary be mcpdemo itself, so that the end-to-end tests
// run real processes without a build of their own.
func TestMain(m *testing.M) {
	if os.Getenv("MCPDEMO_TEST_RUN_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// start runs mcpdemo as a process; it is killed with the test if it still runs.
func start(t *testing.T, args ...string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout, stderr io.ReadCloser) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "MCPDEMO_TEST_RUN_MAIN=1")
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := cmd.Start(); err != nil || err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err, err1, err2, err3)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended already unless the test failed
		_ = cmd.Wait()
	})
	return cmd, stdin, stdout, stderr
}

// wait fails the test unless the process ends in time with status 0.
func wait(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the process ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the process did not end")
	}
}

// TestStdio speaks the protocol by hand in its legacy era, checks that stdout
// carries nothing else, and ends the server by closing its input.
func TestStdio(t *testing.T) {
	cmd, stdin, stdout, stderr := start(t, "calculator")
	go func() { _, _ = io.Copy(os.Stderr, stderr) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evaluate","arguments":{"expression":"6*7"}}}`,
	} {
		if _, err := io.WriteString(stdin, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(nil, 1<<20)
	var answers []string
	for len(answers) < 2 && scanner.Scan() {
		answers = append(answers, scanner.Text())
	}
	if len(answers) != 2 || !strings.Contains(answers[0], `"protocolVersion":"2025-06-18"`) || !strings.Contains(answers[1], `"result":42`) {
		t.Fatalf("got %q, want len(answers) 2, %q in it and %q in it", answers, `"protocolVersion":"2025-06-18"`, `"result":42`)
	}
	_ = stdin.Close()
	for scanner.Scan() {
		t.Errorf("unexpected on stdout: %s", scanner.Text())
	}
	wait(t, cmd)
}

// TestStdioSDK connects the SDK's client in its newest era to every server, all
// of them starting at once on one empty folder, twice each.
func TestStdioSDK(t *testing.T) {
	data := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, name := range []string{"calculator", "weather", "filesystem", "database", "drive", "crm"} {
		for range 2 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
				defer cancel()
				cmd := exec.Command(exe, name, "--data", data)
				cmd.Env = append(os.Environ(), "MCPDEMO_TEST_RUN_MAIN=1")
				client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
				session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				defer session.Close()
				if list, err := session.ListTools(ctx, nil); err != nil || len(list.Tools) < 4 {
					t.Errorf("%s: %v, want len(list.Tools) at least 4 and no error", name, err)
				}
				if v := session.InitializeResult().ProtocolVersion; v != "2026-07-28" {
					t.Errorf(`%s speaks %s, want "2026-07-28"`, name, v)
				}
			})
		}
	}
	wg.Wait()
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 4 {
		t.Errorf("the data folder holds %v, %v, want len(entries) 4 and no error", entries, err)
	}
}

// TestSignal ends a stdio server that is waiting for input.
func TestSignal(t *testing.T) {
	cmd, stdin, stdout, _ := start(t, "calculator")
	// An answer shows that the server is up and its signal handler installed.
	if _, err := io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wait(t, cmd)
}

func TestCommandErrors(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"unknown command": {"nope"},
		"unknown flag":    {"calculator", "--latency", "1s"},
		"not a directory": {"drive", "--data", blocked},
	} {
		var stdout, stderr bytes.Buffer
		cmd := newCommand(io.NopCloser(strings.NewReader("")), nopCloser{&stdout}, &stderr)
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
		if stdout.Len() > 0 {
			t.Errorf("%v wrote to stdout: %s, want stdout.Len() at most 0", args, &stdout)
		}
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
