package upstream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// eventBody is the body of an answer that comes as a stream of events. An event that is no message would end the session;
// in its place the SDK reads an error of this request, and the end.
type eventBody struct {
	io.Closer
	from  *bufio.Reader
	asked *capture
	event []byte // what has come of the event that comes
	out   []byte // what the SDK has yet to read
	err   error  // what follows on that
}

func newEventBody(asked *capture, resp *http.Response) *eventBody {
	return &eventBody{Closer: resp.Body, from: bufio.NewReaderSize(resp.Body, 32<<10), asked: asked}
}

func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.fill()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// fill reads one event, or what there is before the end.
func (b *eventBody) fill() {
	b.event = b.event[:0]
	if cap(b.event) > 1<<20 {
		b.event = nil // few events are as large as the largest
	}
	start := 0 // of the line
	for {
		part, err := b.from.ReadSlice('\n')
		b.event = append(b.event, part...)
		if len(b.event) >= LargeAnswer {
			if waited := b.asked.await(LargeGuess); waited != nil {
				b.out, b.err = nil, waited
				return
			}
		}
		switch {
		case err == bufio.ErrBufferFull && len(b.event) <= MaxMessage:
			continue
		case err == bufio.ErrBufferFull || len(b.event) > MaxMessage:
			b.out, b.err = b.event, nil // too large, as the SDK will find with the next byte
			return
		}
		over := len(bytes.TrimRight(b.event[start:], "\r\n")) == 0
		start = len(b.event)
		if err == nil && !over {
			continue
		}
		b.out, b.err = b.event, err
		if err != nil && err != io.EOF { // the connection broke; the SDK knows how to go on
			return
		}
		data, ok := message(b.event)
		switch foreign := b.asked.foreign(data); {
		case ok && foreign == nil:
		case err == io.EOF: // no event, as long as no empty line follows
			b.out = nil
		case foreign != nil:
			b.out, b.err = b.instead(foreign), io.EOF
		default:
			b.out, b.err = b.instead(&jsonrpc.Error{Code: CodeBadAnswer, Message: "the answer is not a JSON-RPC message"}), io.EOF
		}
		return
	}
}

// instead is the event that takes the place of one that is none.
func (b *eventBody) instead(answer *jsonrpc.Error) []byte {
	text, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: b.asked.id, Error: answer})
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "data: %s\n\n", text)
}

// message returns the message of an event, if it has one, and whether the SDK will take the event.
func message(event []byte) (data []byte, ok bool) {
	lines := 0
	for line := range bytes.Lines(event) {
		line = bytes.TrimRight(line, "\r\n")
		field, value, found := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case len(line) == 0:
		case !found:
			return nil, false
		case string(field) == "event" && string(value) != "message":
			return nil, true // the SDK passes over it
		case string(field) == "data":
			if lines++; lines == 1 {
				data = value
			} else {
				data = append(append(data[:len(data):len(data)], '\n'), value...)
			}
		}
	}
	return data, len(data) == 0 || isMessage(data)
}
