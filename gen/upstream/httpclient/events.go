package httpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/gen/upstream/internal/message"
)

// events reads a stream of server-sent events.
type events struct{ in *bufio.Reader }

func newEvents(r io.Reader) events { return events{bufio.NewReaderSize(r, 64<<10)} }

// next returns the next event as it was sent; after the last one, an error and perhaps a part of an event. For an event
// of [LargeAnswer] bytes or more, it returns only the beginning and sets large.
func (e events) next() (text []byte, large bool, err error) {
	for err == nil {
		var part []byte
		part, err = e.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		text = append(text, part...)
		if len(text) >= LargeAnswer {
			return text, true, err
		}
		if bytes.HasSuffix(text, []byte("\n\n")) || bytes.HasSuffix(text, []byte("\n\r\n")) {
			return text, false, err
		}
	}
	return text, false, err
}

// dataOf returns the data of an event, or nil if it is not an MCP message.
func dataOf(event []byte) []byte {
	var data []byte
	for line := range bytes.Lines(event) {
		field, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimSpace(value); string(field) {
		case "data":
			data = append(append(data, value...), '\n')
		case "event":
			if string(value) != "message" {
				return nil
			}
		}
	}
	if len(bytes.TrimSpace(data)) == 0 { // such as an id from which the stream can be resumed
		return nil
	}
	return data
}

// answerStream is the stream with which the server answers a request. It hands the server's own requests to the exchange
// instead of passing them on. In place of a malformed message of less than [LargeAnswer] bytes it passes on an error of
// the request; the SDK would end the session. It reserves memory for an event that is larger.
type answerStream struct {
	io.Closer
	events   events
	exchange *Exchange
	event    []byte // what was read and not passed on yet
	err      error  // comes after event
	large    bool   // the rest of the stream is passed on as it is
}

func newAnswerStream(body io.ReadCloser, x *Exchange) *answerStream {
	return &answerStream{Closer: body, events: newEvents(body), exchange: x}
}

func (s *answerStream) Read(p []byte) (int, error) {
	for len(s.event) == 0 && s.err == nil {
		if s.large {
			return s.events.in.Read(p)
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
func (s *answerStream) next() {
	if s.event, s.large, s.err = s.events.next(); s.large {
		if s.err == nil {
			s.err = s.exchange.ReserveFor(LargeGuess)
		}
		return
	}
	data := dataOf(s.event)
	if s.err != nil || data == nil {
		return
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		text, _ := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: s.exchange.ID, Error: message.Malformed(data)}) // a number and a text: cannot fail
		s.event = fmt.Appendf(nil, "data: %s\n\n", text)
		return
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && s.exchange.Asked != nil {
		s.exchange.Asked(req)
		s.event = withoutData(s.event)
	}
}

// withoutData returns an event without its data: its id stays, from which the stream can be resumed.
func withoutData(event []byte) []byte {
	var out []byte
	for line := range bytes.Lines(event) {
		if !bytes.HasPrefix(line, []byte("data:")) {
			out = append(out, line...)
		}
	}
	return out
}

// Listen opens the server's own stream, of the session with this id, and reads it to its end. It calls opened when the
// server has answered, and handle with each request and notification. heard reports whether something came, more whether
// the stream may be opened again. The error is that of handle.
func (c *Client) Listen(ctx context.Context, session string, opened func(), handle func(*jsonrpc.Request) error) (heard, more bool, err error) {
	defer opened()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server.URL, nil)
	if err != nil {
		return false, false, nil
	}
	req.Header.Set("Accept", "text/event-stream")
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	resp, err := c.HTTP().Do(req)
	if err != nil {
		var refused *Refusal
		return false, !errors.As(err, &refused), nil
	}
	opened()
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !isMedia(resp, "text/event-stream") {
		return false, resp.StatusCode >= 500, nil
	}
	for in := newEvents(resp.Body); ; {
		event, large, err := in.next()
		if large {
			return heard, false, nil // no question and no notification is that large
		} else if err != nil {
			return heard, true, nil
		}
		data := dataOf(event)
		if data == nil {
			continue
		}
		heard = true
		msg, err := jsonrpc.DecodeMessage(data)
		if req, ok := msg.(*jsonrpc.Request); ok && err == nil { // others may be signs of life
			if err := handle(req); err != nil {
				return true, false, err
			}
		}
	}
}
