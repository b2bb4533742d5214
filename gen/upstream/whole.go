package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// peeked is how long an answer is, in bytes, that is read as the SDK will read it before the SDK gets it. Most are no
// longer; of others is only looked at whether they are there as a whole.
const peeked = 64 << 10

// confine turns an answer that would end the session into an error of its request: the SDK gives a connection up when one
// answer is no message, and with it what everybody else is waiting for.
func (g *guard) confine(req *http.Request, resp *http.Response) (*http.Response, error) {
	if req.Method != http.MethodPost || g.apart || g.connecting.Load() {
		return resp, nil
	}
	if resp.StatusCode == http.StatusBadRequest && req.Header.Get(sessionHeader) != "" {
		g.doubt(resp)
	}
	asked, _ := req.Context().Value(captureKey{}).(*capture)
	isJSON := isMedia(resp, "application/json")
	var err error
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden, g.forgotten.Load():
	case resp.StatusCode >= 400 && !isJSON:
		err = statusRefusal(resp)
	case resp.StatusCode >= 400:
		err = refusalOf(asked, resp)
	case resp.StatusCode >= 300 && follows(resp), asked == nil:
	case resp.StatusCode >= 300:
		err = statusRefusal(resp)
	case isJSON:
		err = peek(asked, resp)
	case isMedia(resp, "text/html"):
		err = &refusal{text: "the server answers with a web page, not with MCP"}
	case resp.Header.Get("Content-Type") == "":
		err = &refusal{text: fmt.Sprintf("the server sent no answer (HTTP status %d)", resp.StatusCode)}
	case isMedia(resp, "text/event-stream"):
		resp.Body = newEventBody(asked, resp)
	default:
		err = &refusal{text: fmt.Sprintf("the server answers with content of the type %.100q, not with MCP", resp.Header.Get("Content-Type"))}
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// peek reads an answer, and puts it back if it can be one. An answer that is cut off is an error of its own request.
func peek(asked *capture, resp *http.Response) error {
	var body bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= MaxMessage {
		if err := asked.await(int(n)); err != nil {
			return fmt.Errorf("wait for room for the answer: %w", err)
		}
		body.Grow(int(n) + bytes.MinRead) // what ReadFrom wants to be free
	} else if _, err := body.ReadFrom(io.LimitReader(resp.Body, LargeAnswer)); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	} else if body.Len() == LargeAnswer {
		if err := asked.await(LargeGuess); err != nil {
			return fmt.Errorf("wait for room for the answer: %w", err)
		}
	}
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer := asked.foreign(body.Bytes()); answer != nil {
		asked.answer = answer
		return &refusal{text: answer.Message}
	}
	if !isMessage(bytes.TrimSpace(body.Bytes())) {
		asked.answer = &jsonrpc.Error{Code: CodeBadAnswer, Message: "the answer is not a JSON-RPC message"}
		return &refusal{text: asked.answer.Message}
	}
	resp.Body = &putBack{Reader: &body, Closer: resp.Body}
	return nil
}

// isMessage tells whether the SDK will take an answer. A long one is read as the SDK will only where it may come to
// something else than to be looked at, which takes less time.
func isMessage(text []byte) bool {
	if len(text) < peeked || !namesVersion(text) || deeperThan(text, maxNesting) {
		_, err := jsonrpc.DecodeMessage(text)
		return err == nil
	}
	return text[0] == '{' && text[len(text)-1] == '}' && json.Valid(text)
}

// namesVersion tells whether a long text says at its beginning or its end that it is JSON-RPC, as messages do.
func namesVersion(text []byte) bool {
	for _, part := range [][]byte{text[:100], text[len(text)-100:]} {
		if bytes.Contains(part, []byte(`"jsonrpc"`)) && bytes.Contains(part, []byte(`"2.0"`)) {
			return true
		}
	}
	return false
}

// deeperThan tells whether JSON is nested deeper than most.
func deeperThan(text []byte, most int) bool {
	return bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > most && catalog.Depth(text) > most
}

// follows tells whether the HTTP client goes on to another address.
func follows(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// refusalOf is the error of a request that was refused with JSON; nil when the SDK makes one of it. An error that names no
// request is still the answer to this one.
func refusalOf(asked *capture, resp *http.Response) error {
	begin := lookAt(resp)
	if msg, err := jsonrpc.DecodeMessage(begin); err == nil {
		if answer, ok := msg.(*jsonrpc.Response); ok && answer.Error != nil {
			return nil
		}
	}
	var said struct {
		Error struct {
			Code    int64
			Message string
			Data    json.RawMessage
		}
	}
	if json.Unmarshal(begin, &said) == nil && said.Error.Code != 0 && asked != nil {
		asked.answer = &jsonrpc.Error{Code: said.Error.Code, Message: said.Error.Message, Data: said.Error.Data}
	}
	return statusRefusal(resp)
}

// statusRefusal is for an answer of which its status says all.
func statusRefusal(resp *http.Response) *refusal {
	r := &refusal{text: fmt.Sprintf("the server answered with HTTP status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		r.unsent = true
	case http.StatusBadGateway, http.StatusServiceUnavailable: // and not a gateway that has no patience with one call
		r.down = true
	}
	return r
}

// lookAt reads the beginning of a body and puts it back.
func lookAt(resp *http.Response) []byte {
	begin, _ := io.ReadAll(io.LimitReader(resp.Body, peeked)) // who reads on meets the same error
	resp.Body = &putBack{Reader: io.MultiReader(bytes.NewReader(begin), resp.Body), Closer: resp.Body}
	return begin
}

// doubt notes that a server may have forgotten the session. 400 can mean anything, but many servers that were started
// again answer so in place of 404, and say why. The call that met it is not made again, but the next one gets a session.
func (g *guard) doubt(resp *http.Response) {
	if bytes.Contains(bytes.ToLower(lookAt(resp)), []byte("session")) {
		g.doubted.Store(true)
	}
}

// putBack is a body of which something was read before.
type putBack struct {
	io.Reader
	io.Closer
}
