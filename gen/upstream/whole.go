package upstream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// peeked is how much of an answer, in bytes, is looked at before the SDK gets it. Most are no longer.
const peeked = 64 << 10

// confine turns an answer that would end the session into an error of its request: the SDK gives a connection up when one
// answer is no message, and with it what everybody else is waiting for.
func (g *guard) confine(req *http.Request, resp *http.Response) (*http.Response, error) {
	if req.Method != http.MethodPost || g.apart || g.connecting.Load() {
		return resp, nil
	}
	asked, _ := req.Context().Value(captureKey{}).(*capture)
	json := isMedia(resp, "application/json")
	var err error
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden, g.forgotten.Load():
	case resp.StatusCode >= 400 && !json:
		err = &refusal{
			text:   fmt.Sprintf("the server answered with HTTP status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)),
			unsent: resp.StatusCode == http.StatusTooManyRequests,
		}
	case resp.StatusCode >= 300 || asked == nil:
	case json:
		err = peek(asked, resp)
	case isMedia(resp, "text/html"):
		err = &refusal{text: "the server answers with a web page, not with MCP"}
	case resp.Header.Get("Content-Type") == "":
		err = &refusal{text: fmt.Sprintf("the server sent no answer (HTTP status %d)", resp.StatusCode)}
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// peek reads the beginning of an answer, and puts it back if it can be one.
func peek(asked *capture, resp *http.Response) error {
	begin, err := io.ReadAll(io.LimitReader(resp.Body, peeked))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	rest := resp.Body
	if len(begin) < peeked {
		if _, err := jsonrpc.DecodeMessage(begin); err != nil && !isList(bytes.TrimSpace(begin)) {
			asked.answer = &jsonrpc.Error{Code: CodeBadAnswer, Message: "the answer is not a JSON-RPC message"}
			return &refusal{text: asked.answer.Message}
		}
	}
	resp.Body = &putBack{Reader: io.MultiReader(bytes.NewReader(begin), rest), Closer: rest}
	return nil
}

// putBack is a body of which something was read before.
type putBack struct {
	io.Reader
	io.Closer
}
