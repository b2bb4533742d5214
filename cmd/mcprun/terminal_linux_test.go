package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// pty opens a terminal of 80 columns: what a person sees and types on, and what a program gets.
func pty(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	raw, err := person.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			n, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if failed == nil {
			failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
		}
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// seen is what has appeared on a screen so far.
type seen struct {
	mu   sync.Mutex
	text strings.Builder
	grew chan struct{}
}

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	select {
	case s.grew <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.text.String(), "\r\n", "\n")
}

// wait waits until a text appears after the position from, and returns the position after the text.
func (s *seen) wait(t *testing.T, from int, want string) int {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		if i := strings.Index(s.String()[from:], want); i >= 0 {
			return from + i + len(want)
		}
		select {
		case <-s.grew:
		case <-deadline:
			t.Fatalf("%q never came:\n%s", want, s.String()[from:])
		}
	}
}

// deskProject is a folder with the desk server and its tree.
func deskProject(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mcprun", "deskmcp"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	scripts[".mcp.json"] = `{"mcpServers": {"desk": {"command": "./bin/deskmcp", "args": ["notes.txt"]}}}`
	scripts["mcpgen.yaml"] = "version: 1\nservers: {desk: {protocol: legacy, trusted: true}}\nrun: {sandbox: embedded}\n"
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	sync := exec.Command(filepath.Join(programs, "mcpgen"), "sync")
	sync.Dir = dir
	if out, err := sync.CombinedOutput(); err != nil {
		t.Fatalf("mcpgen sync: %v\n%s", err, out)
	}
	return dir
}

// session is mcprun on a terminal.
type session struct {
	*seen
	cmd    *exec.Cmd
	person *os.File
}

func onTerminal(t *testing.T, dir string, stdin io.Reader, args ...string) *session {
	t.Helper()
	person, program := pty(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "mcprun"), args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm", "NO_COLOR=1", "MCPGEN_TRUST=1"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, program, program
	if stdin == nil {
		cmd.Stdin = program
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &session{seen: &seen{grew: make(chan struct{}, 1)}, cmd: cmd, person: person}
	go func() { _, _ = io.Copy(s.seen, person) }()
	return s
}

func (s *session) typed(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.person, text); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end and returns the exit code.
func (s *session) ends(t *testing.T) int {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		t.Fatalf("it does not end:\n%s", s)
	}
	return s.cmd.ProcessState.ExitCode()
}

// TestTerminal checks that a person answers at a real terminal and sees progress, and that the script gets none of what is typed.
func TestTerminal(t *testing.T) {
	dir := deskProject(t, map[string]string{
		"order.ts": `import { order } from "./servers/desk";
import fs from "node:fs";
console.log("begun");
console.log(JSON.stringify(await order()));
console.log("read", JSON.stringify(fs.readFileSync(0, "utf8")));
`,
		"pay.ts":  `import { pay } from "./servers/desk"; console.log(JSON.stringify(await pay()));`,
		"wait.ts": `import { wait } from "./servers/desk"; console.log("begun"); console.log(await wait());`,
	})
	t.Run("form", func(t *testing.T) {
		t.Parallel()
		s := onTerminal(t, dir, nil, "order.ts")
		at := s.wait(t, 0, "begun\n")
		at = s.wait(t, at, "The server desk asks:\n  Where does it go?\n")
		at = s.wait(t, at, "[A]nswer, [d]ecline: ")
		s.typed(t, "\n")
		at = s.wait(t, at, "> ")
		s.typed(t, "O\n")
		at = s.wait(t, at, "it must have at least 2 characters\n> ")
		s.typed(t, "Oslo\n")
		at = s.wait(t, at, "default 1\n> ")
		s.typed(t, "\n")
		at = s.wait(t, at, "2  Fast (f)\n> ")
		s.typed(t, "2\n")
		at = s.wait(t, at, "[S]end, [c]hange, [d]ecline: ")
		s.typed(t, "s\n")
		at = s.wait(t, at, `{"action":"accept","content":{"city":"Oslo","count":1,"speed":"f"}}`+"\n")
		s.wait(t, at, `read ""`)
		if code := s.ends(t); code != 0 {
			t.Errorf("exit code %d, want 0\n%s", code, s)
		}
	})
	t.Run("elsewhere is the input", func(t *testing.T) {
		t.Parallel()
		s := onTerminal(t, dir, strings.NewReader("piped"), "order.ts")
		at := s.wait(t, 0, "[d]ecline: ")
		s.typed(t, "d\n")
		at = s.wait(t, at, `"action":"decline"`)
		s.wait(t, at, `read "piped"`)
		if code := s.ends(t); code != 0 {
			t.Errorf("exit code %d, want 0\n%s", code, s)
		}
	})
	t.Run("page", func(t *testing.T) {
		t.Parallel()
		s := onTerminal(t, dir, nil, "pay.ts")
		at := s.wait(t, 0, "of pay.example.com:\n  https://pay.example.com/7\n")
		at = s.wait(t, at, "[D]ecline, [o]pen, [v]isited: ")
		s.typed(t, "open\n")
		at = s.wait(t, at, "There is no browser here.")
		s.typed(t, "\n")
		s.wait(t, at, `"action":"accept"`)
		if code := s.ends(t); code != 0 {
			t.Errorf("exit code %d, want 0\n%s", code, s)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		s := onTerminal(t, dir, nil, "order.ts")
		at := s.wait(t, 0, "[d]ecline: ")
		s.typed(t, "\x03")
		s.wait(t, at, "interrupted")
		if code := s.ends(t); code != 130 {
			t.Errorf("exit code %d, want 130\n%s", code, s)
		}
	})
	t.Run("progress", func(t *testing.T) {
		t.Parallel()
		s := onTerminal(t, dir, nil, "wait.ts")
		at := s.wait(t, 0, "begun\n")
		at = s.wait(t, at, "desk__wait  ")
		at = s.wait(t, at, " % thinking") // the step that is seen, and after how many seconds, depends on the machine
		s.wait(t, at, "done\n")
		if code := s.ends(t); code != 0 {
			t.Errorf("exit code %d, want 0\n%s", code, s)
		}
		for text := s.String(); ; text = s.String() {
			if strings.HasSuffix(screen(text), "begun\ndone\n") {
				break
			}
			select {
			case <-s.grew:
			case <-time.After(30 * time.Second):
				t.Fatalf("the line is still there: %q, %q", text, cli.ClearLine)
			}
		}
	})
}

// screen returns what a terminal shows after these bytes. It understands only newlines and [cli.ClearLine].
func screen(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if at := strings.LastIndex(line, cli.ClearLine); at >= 0 {
			lines[i] = line[at+len(cli.ClearLine):]
		}
	}
	return strings.Join(lines, "\n")
}
