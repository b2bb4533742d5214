package httpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/gen/upstream/internal/message"
)

// maxErrorBody bounds what is read of the body of an HTTP error, in bytes.
const maxErrorBody = 64 << 10

// unknownSession matches how restarted servers report an unknown session with a status other than 404: the SDKs for
// TypeScript and Python answer 400 "No valid session ID provided" or "Server not initialized".
var unknownSession = regexp.MustCompile(`(?i)session[ _-]?id\b|\b(no|invalid|unknown|expired|missing)( valid| such| active)? (mcp )?session\b|` +
	`\bsession( \S+)? (was |is |has )?(not found|not initialized|unknown|invalid|expired|terminated|does not exist)|\bserver not initialized`)

// checkAnswer turns an HTTP error into an error of its request, and bounds the memory that a large answer takes.
func (c *Client) checkAnswer(req *http.Request, resp *http.Response) (*http.Response, error) {
	if c.SSE || !c.established.Load() {
		return resp, nil
	}
	x := exchangeOf(req.Context())
	if x != nil && req.Method == http.MethodPost && resp.StatusCode < 300 {
		x.Accepted = true
	}
	var err error
	switch status := resp.StatusCode; {
	case status < 300 && x != nil && isMedia(resp, "text/event-stream"): // of a POST, or of a GET that resumes its stream
		resp.Body = newAnswerStream(resp.Body, x)
	case req.Method != http.MethodPost:
		if x != nil && status >= 400 { // the SDK ends the session
			body := readError(resp)
			c.noteForgotten(req, resp, body)
			resp.Body = bodyOf(bytes.NewReader(body), resp.Body)
		}
	case status >= 400:
		err = c.errorStatus(req, resp, x)
	case status < 300 && x != nil:
		err = readHead(resp, x)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// errorStatus returns the error of a request that was answered with an HTTP error, and keeps the JSON-RPC error in it.
func (c *Client) errorStatus(req *http.Request, resp *http.Response, x *Exchange) error {
	body := readError(resp)
	c.noteForgotten(req, resp, body)
	if x != nil {
		x.Answer = errorIn(body)
	}
	r := &Refusal{text: StatusText(resp.StatusCode)}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		r.text = fmt.Sprintf("the server refused the request (%d %s); check what the credentials in its configuration, or its login, are allowed to do", resp.StatusCode, http.StatusText(resp.StatusCode))
	case http.StatusTooManyRequests:
		r.Unsent = true
	case http.StatusBadGateway, http.StatusServiceUnavailable: // 504 may be about this call only
		r.Down = true
	}
	return r
}

// readError returns the body of an HTTP error. A part of it will do: the status counts.
func readError(resp *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	return body
}

// noteForgotten notes whether an HTTP error means that the server does not know the session. By the specification 404 does.
func (c *Client) noteForgotten(req *http.Request, resp *http.Response, body []byte) {
	if req.Header.Get(sessionHeader) != "" && (resp.StatusCode == http.StatusNotFound || !isRefusal(resp.StatusCode) && unknownSession.Match(body)) {
		c.forgotten.Store(true)
	}
}

// StatusText describes an HTTP status that the server answered with.
func StatusText(status int) string {
	return fmt.Sprintf("the server answered with HTTP status %d %s", status, http.StatusText(status))
}

// errorIn returns the JSON-RPC error in a message, or nil. Many servers do not name the request in it.
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
func readHead(resp *http.Response, x *Exchange) error {
	var head bytes.Buffer
	size := int(min(resp.ContentLength, message.Max))
	if size < LargeAnswer {
		if _, err := head.ReadFrom(io.LimitReader(resp.Body, LargeAnswer)); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		if size = head.Len(); size == LargeAnswer {
			size = LargeGuess
		} else if x.Answer = message.Check(head.Bytes()); x.Answer != nil {
			return x.Answer
		}
	}
	resp.Body = bodyOf(&head, resp.Body)
	return x.ReserveFor(size)
}

// bodyOf returns a body whose head was read.
func bodyOf(head io.Reader, rest io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(head, rest), rest}
}
