package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
)

const (
	// floodTime is how long an answer waits while maxReplies others are being sent.
	floodTime = 2 * time.Second
	// replyTimeout bounds sending one of them.
	replyTimeout = 10 * time.Second
)

// serverRequest handles a request or a notification of the server: ping is answered, elicitation goes to the requests in
// flight, and everything else is refused. by is our request whose answer carried it, or nil if it came by itself. An
// error means that the server does not read the answers, and ends the session.
func (c *rawConn) serverRequest(by *activeRequest, req *jsonrpc.Request) error {
	if !req.IsCall() {
		c.notified(req)
		return nil
	}
	resp := &jsonrpc.Response{ID: req.ID}
	switch req.Method {
	case "ping":
		resp.Result = json.RawMessage(`{}`)
	case methodElicit:
		select {
		case c.questions <- struct{}{}:
		default:
			if by != nil {
				by.declined(fmt.Sprintf("a question of the server was declined: %v", errTooMany))
			}
			resp.Result = (&elicit.Reply{Action: elicit.ActionDecline}).Result()
			return c.reply(resp)
		}
		go func() {
			defer func() { <-c.questions }()
			resp.Result = c.inflight.answerLegacy(by, req.Params)
			_ = c.reply(resp) // a lost session needs no answer
		}()
		return nil
	default:
		resp.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client offers nothing to call"}
	}
	return c.reply(resp)
}

// notified handles a notification.
func (c *rawConn) notified(req *jsonrpc.Request) {
	switch req.Method {
	case methodProgress:
		c.inflight.noteProgress(req.Params)
	case methodToolsChanged:
		c.changes.Add(1)
	default:
		c.log.Debug("notification from the server", "method", ident.Printable(req.Method, 100))
	}
}

// reply sends an answer to the server in the background: reading must not wait for a server that does not read.
func (c *rawConn) reply(resp *jsonrpc.Response) error {
	select {
	case c.replies <- struct{}{}:
	case <-c.lost.Done():
		return io.EOF
	case <-time.After(floodTime):
		return errors.New("the server floods the client with requests and does not read the answers")
	}
	go func() {
		defer func() { <-c.replies }()
		ctx, cancel := context.WithTimeout(c.lost, replyTimeout)
		defer cancel()
		if err := c.inner.Write(ctx, resp); err != nil {
			c.log.Debug("answer the server's request", "err", plain(err))
		}
	}()
	return nil
}
