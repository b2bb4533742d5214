package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxReplies bounds how many answers to a server's own requests may wait to be sent.
	maxReplies = 64
	// replyTimeout bounds sending one of them.
	replyTimeout = 10 * time.Second
)

// asked takes a request or a notification of the server. It never waits. The error ends the session.
func (t *tap) asked(req *jsonrpc.Request) error {
	if !req.IsCall() {
		t.notified(req)
		return nil
	}
	resp := &jsonrpc.Response{ID: req.ID}
	switch req.Method {
	case "ping":
		resp.Result = json.RawMessage(`{}`)
	case methodElicit:
		if !t.desk.enter() {
			resp.Result = answerOf(&Reply{Action: ActionDecline})
			break
		}
		go func() {
			defer t.desk.leave()
			resp.Result = t.desk.askFor(req.ID, req.Params)
			_ = t.reply(resp) // a session that is lost needs no answer
		}()
		return nil
	default:
		resp.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client offers nothing to call"}
	}
	return t.reply(resp)
}

// notified takes a notification.
func (t *tap) notified(req *jsonrpc.Request) {
	switch req.Method {
	case methodProgress:
		t.desk.noteProgress(req.Params)
	case methodToolsChanged:
		t.changes.Add(1)
	case methodCancelled:
		t.desk.withdraw(req.Params)
	case methodVisited:
		t.desk.noteVisited(req.Params)
	default:
		t.log.Debug("notification from the server", "method", printable(req.Method, 100))
	}
}

// reply queues an answer to the server.
func (t *tap) reply(resp *jsonrpc.Response) error {
	t.replyOnce.Do(func() { go t.sendReplies() })
	select {
	case t.replies <- resp:
		return nil
	default:
		return errors.New("the server floods the client with requests and does not read the answers")
	}
}

// sendReplies sends answers in the background: reading must not wait for a server that does not read.
func (t *tap) sendReplies() {
	for {
		select {
		case <-t.lost:
			return
		case resp := <-t.replies:
			ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
			if err := t.inner.Write(ctx, resp); err != nil {
				t.log.Debug("answer the server's request", "err", plain(err))
			}
			cancel()
		}
	}
}
