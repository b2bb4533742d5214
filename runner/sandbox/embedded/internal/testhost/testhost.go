// Package testhost is a minimal host's side of a bridge for tests of guests. It trusts the guest in everything; the real one is package
// bridge.
package testhost

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Host answers a guest's calls.
type Host struct {
	Secret string
	// Answer gets each call and returns either the reply's value or its error, as JSON. Nil: {"ok":true}.
	Answer func(tool string, args json.RawMessage) (value, err string)
	// As returns the "as" member of a tool's reply. Nil: replies have none.
	As func(tool string) string
	// Ask gets each request, as Answer gets calls. Nil: null.
	Ask func(method string, params json.RawMessage) (value, err string)
	// Vars are the script's variables.
	Vars map[string]json.RawMessage
	// Delay is the wait before each answer.
	Delay time.Duration
	// Args are the script's arguments.
	Args []string
}

// Result is what the guest reported.
type Result struct {
	Hello  bool
	Done   bool
	Result string
	Error  *Error
	Calls  []string // "tool args", and the options if there are any
	// Cancelled lists the ids of the calls that the guest cancelled.
	Cancelled []int64
	// FirstCall is when the first call came.
	FirstCall time.Time
}

// Error is an uncaught error.
type Error struct{ Name, Message, Stack string }

// Serve gives the guest at the other end of conn a job and answers until the connection ends. An error means that the guest broke the
// protocol.
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
		Type, Secret, Tool, Method    string
		ID                            int64
		Args, Options, Params, Result json.RawMessage
		Error                         *Error
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
		job, err := json.Marshal(map[string]any{"type": "job", "language": "typescript", "name": "script.ts", "code": code, "args": s.host.Args, "vars": s.host.Vars})
		if err != nil {
			return err
		}
		s.send(string(job))
	case "call":
		if s.result.FirstCall.IsZero() {
			s.result.FirstCall = time.Now()
		}
		s.result.Calls = append(s.result.Calls, strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Tool, m.Args, m.Options)))
		running.Go(func() { s.answer(m.ID, m.Tool, m.Args) })
	case "request":
		running.Go(func() { s.respond(m.ID, m.Method, m.Params) })
	case "cancel":
		s.result.Cancelled = append(s.result.Cancelled, m.ID)
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
	as := ""
	if s.host.As != nil {
		as = s.host.As(tool)
	}
	s.reply(id, as, value, failed)
}

func (s *session) respond(id int64, method string, params json.RawMessage) {
	time.Sleep(s.host.Delay)
	value, failed := "null", ""
	if s.host.Ask != nil {
		value, failed = s.host.Ask(method, params)
	}
	s.reply(id, "", value, failed)
}

func (s *session) reply(id int64, as, value, failed string) {
	if as != "" {
		as = fmt.Sprintf(`"as":%q,`, as)
	}
	if failed != "" {
		s.send(fmt.Sprintf(`{"type":"reply","id":%d,"error":%s}`, id, failed))
		return
	}
	s.send(fmt.Sprintf(`{"type":"reply","id":%d,%s"value":%s}`, id, as, value))
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
