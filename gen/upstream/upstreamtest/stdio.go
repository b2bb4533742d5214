package upstreamtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// grandchildMode is the mode of the process that Grandchild starts.
const grandchildMode Mode = "the-grandchild"

// stdio is a fake over standard input and output.
type stdio struct {
	*fake
	out     sync.Mutex
	asked   atomic.Int64
	waiters sync.Map // id of a request of ours → chan message
	gone    chan struct{}
}

// serveStdio serves until the input ends and returns the exit status.
func serveStdio(mode Mode) int {
	if path := os.Getenv(StartsVariable); path != "" && mode != grandchildMode {
		if f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.WriteString("x")
			_ = f.Close()
		}
	}
	s := &stdio{fake: newFake(mode), gone: make(chan struct{})}
	switch mode {
	case ExitAtOnce:
		fmt.Fprintln(os.Stderr, "no licence found")
		return 7
	case Banner:
		fmt.Println("Server 1.0 starting …")
		fmt.Println("[info] reading {config}")
	case SlowStart, SlowStartLegacy:
		time.Sleep(5 * time.Second)
	case Stubborn:
		signal.Ignore(syscall.SIGTERM)
	case grandchildMode:
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute) // a bound for when the test fails; the group's end comes sooner
		return 0
	case Grandchild:
		if err := s.spawn(); err != nil {
			fmt.Fprintln(os.Stderr, "start the grandchild:", err)
			return 1
		}
	}
	s.read(os.Stdin)
	if mode == Stubborn {
		time.Sleep(time.Minute)
	}
	return 0
}

// spawn starts a process that holds on to our standard output.
func (s *stdio) spawn() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = []string{modeVariable + "=" + string(grandchildMode)}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	s.pids = append(s.pids, cmd.Process.Pid)
	return nil
}

func (s *stdio) read(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		var m message
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &m) == nil {
			s.receive(m)
			if s.deafAfter(m) {
				time.Sleep(time.Minute) // a bound for when the test fails
			}
		}
		if err != nil {
			return
		}
	}
}

// deafAfter reports whether nothing is to be read after this message.
func (s *stdio) deafAfter(m message) bool {
	if s.behaviour().Call != nil && m.Method == "tools/call" {
		return true
	}
	return s.mode == Deaf && (m.Method == "server/discover" || m.Method == "notifications/initialized")
}

func (s *stdio) receive(m message) {
	switch {
	case m.Method == "" && m.ID != nil:
		if ch, ok := s.waiters.LoadAndDelete(string(m.ID)); ok {
			ch.(chan message) <- m
		}
	case m.Method == "notifications/cancelled":
		s.mu.Lock()
		s.cancelled++
		s.mu.Unlock()
	case m.ID == nil:
	case m.Method == "server/discover" && s.mode == ExitOnProbe:
		os.Exit(1)
	default:
		go s.handle(m)
	}
}

func (s *stdio) handle(m message) {
	if call := s.behaviour().Call; call != nil && m.Method == "tools/call" {
		call(s.write)
	}
	r := s.answer(m, peer{ask: s.ask, crash: func() { os.Exit(3) }, gone: s.gone, notify: s.notify, tell: s.notify})
	if s.mode == Banner {
		s.write("handled one more")
	}
	if text := r.message(m.ID); text != "" {
		s.write(text)
	}
}

func (s *stdio) ask(method, params string) message {
	answer := make(chan message, 1)
	id := fmt.Sprintf(`"q%d"`, s.asked.Add(1))
	s.waiters.Store(id, answer)
	s.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return <-answer
}

func (s *stdio) notify(method, params string) {
	s.write(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}

func (s *stdio) write(text string) {
	s.out.Lock()
	defer s.out.Unlock()
	_, _ = io.WriteString(os.Stdout, text+"\n")
}
