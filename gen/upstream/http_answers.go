package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

// maxErrorBody bounds what is read of the body of an HTTP error, in bytes.
const maxErrorBody = 64 << 10

// sessionIDNeeded matches what servers that were restarted say of a session in a 400, in place of answering 404.
var sessionIDNeeded = regexp.MustCompile(`(?i)session[ -]id`)

// checkAnswer turns an HTTP error into an error of its request, and bounds the memory that a large answer takes.
func (t *httpTransport) checkAnswer(req *http.Request, resp *http.Response) (*http.Response, error) {
	if req.Method != http.MethodPost || t.sse || t.connecting.Load() {
		return resp, nil
	}
	c, _ := req.Context().Value(captureKey{}).(*capture)
	status := resp.StatusCode
	var err error
	switch {
	case t.forgotten.Load():
	case status >= 400:
		err = t.errorStatus(req, resp, c)
	case status >= 300, c == nil:
	case isMedia(resp, "text/event-stream"):
		resp.Body = &eventStream{Closer: resp.Body, in: bufio.NewReaderSize(resp.Body, 64<<10), capture: c}
	default:
		err = readHead(resp, c)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// errorStatus returns the error of a request that was answered with an HTTP error, and keeps the JSON-RPC error in it.
func (t *httpTransport) errorStatus(req *http.Request, resp *http.Response, c *capture) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the status counts
	if resp.StatusCode == http.StatusBadRequest && req.Header.Get(sessionHeader) != "" && sessionIDNeeded.Match(body) {
		t.forgotten.Store(true)
	}
	if c != nil {
		c.answer = errorIn(body)
	}
	r := &refusal{text: statusText(resp.StatusCode)}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		r.text = fmt.Sprintf("the server refused the request (%d %s); check what the credentials in its configuration, or its login, are allowed to do", resp.StatusCode, http.StatusText(resp.StatusCode))
	case http.StatusTooManyRequests:
		r.unsent = true
	case http.StatusBadGateway, http.StatusServiceUnavailable: // 504 may be about this call only
		r.down = true
	}
	return r
}

func statusText(status int) string {
	return fmt.Sprintf("the server answered with HTTP status %d %s", status, http.StatusText(status))
}

// errorIn returns the JSON-RPC error in a message, nil if there is none. Many servers do not name the request in it.
func errorIn(body []byte) *jsonrpc.Error {
	var message struct {
		Error struct {
			Code    int64
			Message string
			Data    json.RawMessage
		}
	}
	if json.Unmarshal(body, &message) != nil || message.Error.Code == 0 {
		return nil
	}
	return &jsonrpc.Error{Code: message.Error.Code, Message: message.Error.Message, Data: message.Error.Data}
}

// readHead reads the beginning of an answer and reserves memory if the answer is large. An answer that breaks off here, or a
// small one that is malformed, ends its request; the SDK would end the session.
func readHead(resp *http.Response, c *capture) error {
	var head bytes.Buffer
	size := int(min(resp.ContentLength, MaxMessage))
	if size < LargeAnswer {
		if _, err := head.ReadFrom(io.LimitReader(resp.Body, LargeAnswer)); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		if size = head.Len(); size == LargeAnswer {
			size = LargeGuess
		} else if c.answer = stdio.Malformed(head.Bytes()); c.answer != nil {
			return c.answer
		}
	}
	body := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&head, body), body}
	return c.reserveFor(size)
}

// eventStream is a stream of events. In place of a malformed message of less than [LargeAnswer] bytes it passes on an error
// of the request; the SDK would end the session. It reserves memory for an event that is larger.
type eventStream struct {
	io.Closer
	in      *bufio.Reader
	capture *capture
	event   []byte // what was read and not passed on yet
	err     error  // comes after event
	large   bool   // the rest of the stream is not checked
}

func (s *eventStream) Read(p []byte) (int, error) {
	if len(s.event) == 0 && s.err == nil {
		if s.large {
			return s.in.Read(p)
		}
		s.next()
	}
	n := copy(p, s.event)
	if s.event = s.event[n:]; n == 0 {
		return 0, s.err
	}
	return n, nil
}

// next reads an event, or the beginning of a large one.
func (s *eventStream) next() {
	s.event = nil
	for s.err == nil && !s.large {
		var part []byte
		part, s.err = s.in.ReadSlice('\n')
		if errors.Is(s.err, bufio.ErrBufferFull) {
			s.err = nil
		}
		s.event = append(s.event, part...)
		if s.large = len(s.event) >= LargeAnswer; s.large && s.err == nil {
			s.err = s.capture.reserveFor(LargeGuess)
		}
		if bytes.HasSuffix(s.event, []byte("\n\n")) || bytes.HasSuffix(s.event, []byte("\n\r\n")) {
			if !s.large {
				s.check()
			}
			return
		}
	}
}

// check replaces a malformed message.
func (s *eventStream) check() {
	var data []byte
	for line := range bytes.Lines(s.event) {
		field, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimSpace(value); string(field) {
		case "data":
			data = append(append(data, value...), '\n')
		case "event":
			if string(value) != "message" {
				return // not a message of MCP
			}
		}
	}
	if len(bytes.TrimSpace(data)) == 0 { // such as an id from which the stream can be resumed
		return
	}
	if bad := stdio.Malformed(data); bad != nil {
		text, _ := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: s.capture.id, Error: bad}) // a number and a text: cannot fail
		s.event = fmt.Appendf(nil, "data: %s\n\n", text)
	}
}
