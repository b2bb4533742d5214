// Package testhost is the host's side of a bridge as small as tests of a guest need it. It believes the guest
// everything; the real one is package bridge.
package testhost

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Host answers a guest's calls.
type Host struct {
	Secret string
	// Answer gets each call and returns the reply's value, or else its error, as JSON. Nil: {"ok":true}.
	Answer func(tool string, args json.RawMessage) (value, err string)
	// Delay is waited before each answer.
	Delay time.Duration
	// Args are the script's arguments.
	Args []string
}

// Result is what the guest said.
type Result struct {
	Hello  bool
	Done   bool
	Result string
	Error  *Error
	Calls  []string // "tool args"
	// FirstCall is when the first call came.
	FirstCall time.Time
}

// Error is an uncaught error.
type Error struct{ Name, Message, Stack string }

// Serve gives the guest at the other end of conn a job and answers until the connection ends. An error says that the
// guest broke the protocol.
func (h Host) Serve(conn net.Conn, code string) (*Result, error) {
	defer conn.Close()
	s := &session{host: h, conn: conn, result: &Result{}}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		frame, err := ReadFrame(conn)
		if err != nil {
			return s.result, nil
		}
		if err := s.handle(frame, code, &running); err != nil {
			return s.result, err
		}
	}
}

type session struct {
	host   Host
	conn   net.Conn
	mu     sync.Mutex
	result *Result
}

func (s *session) handle(frame []byte, code string, running *sync.WaitGroup) error {
	var m struct {
		Type, Secret, Tool string
		ID                 int64
		Args, Result       json.RawMessage
		Error              *Error
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		return fmt.Errorf("the guest sent %.200q: %w", frame, err)
	}
	switch m.Type {
	case "hello":
		if m.Secret != s.host.Secret {
			return fmt.Errorf("hello with the secret %q", m.Secret)
		}
		s.result.Hello = true
		job, err := json.Marshal(map[string]any{"type": "job", "language": "typescript", "name": "script.ts", "code": code, "args": s.host.Args})
		if err != nil {
			return err
		}
		s.send(string(job))
	case "call":
		if s.result.FirstCall.IsZero() {
			s.result.FirstCall = time.Now()
		}
		s.result.Calls = append(s.result.Calls, fmt.Sprintf("%s %s", m.Tool, m.Args))
		running.Go(func() { s.answer(m.ID, m.Tool, m.Args) })
	case "done":
		s.result.Done, s.result.Result, s.result.Error = true, string(m.Result), m.Error
		s.send(`{"type":"bye"}`)
	default:
		return fmt.Errorf("the guest sent a frame of type %q", m.Type)
	}
	return nil
}

func (s *session) answer(id int64, tool string, args json.RawMessage) {
	time.Sleep(s.host.Delay)
	value, failed := `{"ok":true}`, ""
	if s.host.Answer != nil {
		value, failed = s.host.Answer(tool, args)
	}
	if failed != "" {
		s.send(fmt.Sprintf(`{"type":"reply","id":%d,"error":%s}`, id, failed))
		return
	}
	s.send(fmt.Sprintf(`{"type":"reply","id":%d,"value":%s}`, id, value))
}

func (s *session) send(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
}

// ReadFrame reads one frame.
func ReadFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}
