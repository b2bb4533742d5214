package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The methods that the tap treats in a way of its own.
const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	methodListTools  = "tools/list"
	methodCallTool   = "tools/call"
	methodElicit     = "elicitation/create"
	methodCancelled  = "notifications/cancelled"
)

const (
	// maxReplies bounds how many answers to a server's own requests may wait to be sent.
	maxReplies = 64
	// replyTimeout bounds sending one of them.
	replyTimeout = 10 * time.Second
)

// tap stands between the SDK and the connection of a transport, whichever that is. It does three things:
//
//   - It keeps the raw result of a request whose context carries a capture, and hands the SDK an empty one instead. The
//     SDK would lose key order and digits, and fail on content it does not know.
//   - It answers a server's own requests itself: ping is answered, elicitation declined, the rest refused. The SDK would
//     parse their schemas, queue them without bound, and can be made to overflow its stack.
//   - It notes what the session has to know: the protocol version, when the connection is lost, and why.
type tap struct {
	inner mcp.Connection
	log   *slog.Logger
	hooks tapHooks

	mu      sync.Mutex
	pending map[jsonrpc.ID]*awaited

	replies   chan *jsonrpc.Response
	lost      chan struct{} // closed when no answer can come any more
	lostOnce  sync.Once
	lostErr   error // after lost
	replyOnce sync.Once

	// version is the agreed protocol version, for the HTTP header.
	version atomic.Pointer[string]
	// closingCancels says that ending an HTTP request is what cancels it, and no notification may follow.
	closingCancels atomic.Bool
	// handshake is the server's error to initialize.
	handshake atomic.Pointer[jsonrpc.Error]
}

// tapHooks tell of the probe; they may be nil.
type tapHooks struct {
	probeSent, probeAnswered func()
}

// awaited is a request on its way.
type awaited struct {
	method  string
	capture *capture // nil when the SDK is to see the result
}

// capture receives what a server answered to one request. It is read when the request has returned.
type capture struct {
	// cursor is what to send as the cursor of a tools/list, nil for none. The SDK cannot send an empty one.
	cursor *string
	// headers says that tools with x-mcp-header have to be made known to the SDK, which sends those headers.
	headers bool

	tap    *tap
	id     jsonrpc.ID
	raw    json.RawMessage
	answer *jsonrpc.Error // the server's error, as opposed to one of the SDK
}

type captureKey struct{}

func withCapture(ctx context.Context, c *capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

// release forgets the request, answered or not.
func (c *capture) release() {
	if c.tap == nil {
		return
	}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	delete(c.tap.pending, c.id)
}

// tapped is a transport whose connections go through a tap.
type tapped struct {
	inner mcp.Transport
	tap   *tap
}

// Connect connects the inner transport.
func (t *tapped) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.tap.inner = conn
	return t.tap, nil
}

func newTap(log *slog.Logger, hooks tapHooks) *tap {
	return &tap{log: log, hooks: hooks, pending: make(map[jsonrpc.ID]*awaited), replies: make(chan *jsonrpc.Response, maxReplies), lost: make(chan struct{})}
}

func (t *tap) SessionID() string { return t.inner.SessionID() }

// Close closes the connection below; for a process that means its end.
func (t *tap) Close() error {
	t.lose(io.EOF)
	return t.inner.Close()
}

// lose marks the session as lost, once.
func (t *tap) lose(err error) {
	t.lostOnce.Do(func() {
		t.lostErr = err
		close(t.lost)
	})
}

// isLost reports whether no answer can come any more.
func (t *tap) isLost() bool {
	select {
	case <-t.lost:
		return true
	default:
		return false
	}
}

// Write sends a message, and notes which request it is.
func (t *tap) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if ok && req.Method == methodCancelled && t.closingCancels.Load() {
		return nil
	}
	if !ok || !req.IsCall() {
		return t.inner.Write(ctx, msg)
	}
	entry := &awaited{method: req.Method}
	c, _ := ctx.Value(captureKey{}).(*capture)
	if c != nil && (req.Method == methodListTools || req.Method == methodCallTool) {
		entry.capture = c
		c.tap, c.id, c.raw, c.answer = t, req.ID, nil, nil
		if req.Method == methodListTools {
			var err error
			if req, err = setCursor(req, c.cursor); err != nil {
				return err
			}
		}
	}
	t.mu.Lock()
	t.pending[req.ID] = entry
	t.mu.Unlock()
	if req.Method == methodDiscover && t.hooks.probeSent != nil {
		t.hooks.probeSent()
	}
	err := t.inner.Write(ctx, req)
	if err != nil {
		t.mu.Lock()
		delete(t.pending, req.ID)
		t.mu.Unlock()
		if ctx.Err() == nil {
			t.noteRefusal(entry, err)
		}
	}
	return err
}

// setCursor returns the request with exactly this cursor.
func setCursor(req *jsonrpc.Request, cursor *string) (*jsonrpc.Request, error) {
	params := make(map[string]json.RawMessage)
	if len(req.Params) > 0 {
		if err := json.Unmarshal(req.Params, &params); err != nil {
			return nil, fmt.Errorf("set the cursor: %w", err)
		}
	}
	delete(params, "cursor")
	if cursor != nil {
		text, err := json.Marshal(*cursor)
		if err != nil {
			return nil, fmt.Errorf("set the cursor: %w", err)
		}
		params["cursor"] = text
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("set the cursor: %w", err)
	}
	out := *req
	out.Params = raw
	return &out, nil
}

// noteRefusal finds a JSON-RPC error that came as the body of an HTTP error: the SDK reports it as a failed write,
// together with its own marker for "this request only", which is such an error too.
func (t *tap) noteRefusal(entry *awaited, err error) {
	if entry.method == methodDiscover && t.hooks.probeAnswered != nil {
		t.hooks.probeAnswered()
	}
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) || answer.Code == codeRejected {
		return
	}
	if entry.capture != nil {
		entry.capture.answer = answer
	} else if entry.method == methodInitialize {
		t.handshake.Store(answer)
	}
}

// codeRejected is the SDK's marker for a failed write that leaves the connection usable.
const codeRejected = -32005

// Read returns the next answer for the SDK. Requests and notifications of the server end here.
func (t *tap) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := t.inner.Read(ctx)
		if err != nil {
			t.lose(err)
			return nil, err
		}
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			if out := t.answered(msg); out != nil {
				return out, nil
			}
		case *jsonrpc.Request:
			if err := t.asked(msg); err != nil {
				t.lose(err)
				return nil, err
			}
		}
	}
}

// answered returns what the SDK is to see of a response: nil for one that nobody waits for.
func (t *tap) answered(resp *jsonrpc.Response) jsonrpc.Message {
	t.mu.Lock()
	entry, ok := t.pending[resp.ID]
	delete(t.pending, resp.ID)
	if ok && entry.capture != nil {
		entry.capture.raw = resp.Result
		errors.As(resp.Error, &entry.capture.answer)
	}
	t.mu.Unlock()
	if !ok {
		return nil
	}
	switch {
	case entry.method == methodDiscover && t.hooks.probeAnswered != nil:
		t.hooks.probeAnswered()
	case entry.method == methodInitialize:
		t.noteHandshake(resp)
	}
	if entry.capture == nil || resp.Error != nil {
		return resp
	}
	stub := json.RawMessage(`{"resultType":"complete","content":[]}`)
	if entry.method == methodListTools {
		stub = json.RawMessage(`{"resultType":"complete","tools":[]}`)
		if entry.capture.headers {
			stub = headerTools(resp.Result)
		}
	}
	return &jsonrpc.Response{ID: resp.ID, Result: stub}
}

// noteHandshake keeps what the answer to initialize says.
func (t *tap) noteHandshake(resp *jsonrpc.Response) {
	var answer *jsonrpc.Error
	if errors.As(resp.Error, &answer) {
		t.handshake.Store(answer)
		return
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if resp.Error == nil && json.Unmarshal(resp.Result, &result) == nil {
		t.version.Store(&result.ProtocolVersion)
	}
}

// headerTools reduces a tools/list result to the tools with x-mcp-header: the SDK drops those of them whose
// annotations are not allowed, and sends the headers of the others.
func headerTools(result json.RawMessage) json.RawMessage {
	type tool struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"inputSchema"`
	}
	out := struct {
		ResultType string `json:"resultType"`
		Tools      []tool `json:"tools"`
	}{ResultType: "complete", Tools: []tool{}}
	var page struct {
		Tools []json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(result, &page) // what is wrong with it is said where the result is read
	for _, raw := range page.Tools {
		var t tool
		if hasHeaders(raw) && json.Unmarshal(raw, &t) == nil {
			out.Tools = append(out.Tools, t)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`{"resultType":"complete","tools":[]}`)
	}
	return text
}

// hasHeaders reports whether a tool's definition mentions x-mcp-header at all.
func hasHeaders(tool json.RawMessage) bool { return bytes.Contains(tool, []byte(`"x-mcp-header"`)) }

// asked answers a request of the server. Notifications are dropped: nothing here depends on them.
func (t *tap) asked(req *jsonrpc.Request) error {
	if !req.IsCall() {
		t.log.Debug("notification from the server", "method", printable(req.Method, 100))
		return nil
	}
	resp := &jsonrpc.Response{ID: req.ID}
	switch req.Method {
	case "ping":
		resp.Result = json.RawMessage(`{}`)
	case methodElicit:
		t.log.Info("the server asked for input from a person; declined")
		resp.Result = json.RawMessage(`{"action":"decline"}`)
	default:
		resp.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client offers nothing to call"}
	}
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
