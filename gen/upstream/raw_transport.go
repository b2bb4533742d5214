package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/httpclient"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

// cancelTime is how long the end of a session waits for cancellations to be sent.
const cancelTime = time.Second

// codeRejected is the SDK's marker for a failed write that leaves the connection usable.
const codeRejected = -32005

const (
	// maxReplies bounds how many answers to a server's own requests are sent at once.
	maxReplies = 64
	// maxOpen bounds the questions that a session of the older era has open at once.
	maxOpen = 8
)

// rawConn is a connection between the SDK and that of any transport. It does three things:
//
//   - It keeps the raw result of a request whose context carries a [capture], and hands an empty one to the SDK, which
//     would lose key order and digits, and fail on content that it does not know.
//   - It answers the server's own requests: see serverRequest. The SDK would parse their schemas, queue them without a
//     bound, and overflow its stack on a schema that refers to itself.
//   - It records the protocol version, and when and why the connection is lost.
type rawConn struct {
	inner    mcp.Connection
	log      *slog.Logger
	inflight *inflight

	lost context.Context // ends, with the reason as its cause, when no answer can come any more
	lose context.CancelCauseFunc

	mu      sync.Mutex
	pending map[jsonrpc.ID]*pendingRequest
	lastID  int64 // the highest id of a request; the SDK counts from 1
	owed    int   // requests whose cancellation was not sent yet

	changes      atomic.Int64           // how often the server may have changed its tools
	replies      chan struct{}          // an element for each reply that is being sent
	questions    chan struct{}          // an element for each question of the older era that is open
	subscription chan *jsonrpc.Response // the end of the subscription to changes

	// established is set when the session is; until then nothing is cancelled.
	established atomic.Bool
	// closingCancels says that ending an HTTP request cancels it, so that no notification may follow.
	closingCancels atomic.Bool
	// discovered is set when the server has answered server/discover.
	discovered atomic.Bool
	// version is the agreed protocol version; initializeError is the server's error to initialize.
	version         atomic.Pointer[string]
	initializeError atomic.Pointer[jsonrpc.Error]
}

// pendingRequest is a request that waits for its answer.
type pendingRequest struct {
	method  string
	capture *capture // nil if the SDK is to see the result
}

// capture receives a server's answer to one request. Read it after the request has returned.
type capture struct {
	httpclient.Exchange
	// set holds members of the parameters in place of what the SDK would send; a nil one removes a member.
	set map[string]json.RawMessage
	// headers says that tools with x-mcp-header are passed on to the SDK, which sends those headers.
	headers bool

	conn *rawConn
	sent bool // the server may have got it
	raw  json.RawMessage
}

type captureKey struct{}

func withCapture(ctx context.Context, c *capture) context.Context {
	return httpclient.WithExchange(context.WithValue(ctx, captureKey{}, c), &c.Exchange)
}

// release forgets the request. If it was not answered, the SDK sends its cancellation.
func (c *capture) release() {
	if c.conn == nil {
		return
	}
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if _, open := c.conn.pending[c.ID]; open {
		delete(c.conn.pending, c.ID)
		c.conn.owed++
	}
}

func newRawConn(log *slog.Logger, in *inflight) *rawConn {
	c := &rawConn{
		log: log, inflight: in, pending: make(map[jsonrpc.ID]*pendingRequest),
		replies: make(chan struct{}, maxReplies), questions: make(chan struct{}, maxOpen), subscription: make(chan *jsonrpc.Response, 1),
	}
	c.lost, c.lose = context.WithCancelCause(context.Background())
	return c
}

// rawTransport is a transport whose connection is a rawConn.
type rawTransport struct {
	inner mcp.Transport
	conn  *rawConn
}

// Connect connects the inner transport.
func (t *rawTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.conn.inner = inner
	return t.conn, nil
}

// SessionID returns the session id of HTTP.
func (c *rawConn) SessionID() string { return c.inner.SessionID() }

// Close closes the inner connection; for a started server that means its end.
func (c *rawConn) Close() error {
	c.lose(io.EOF)
	return c.inner.Close()
}

// isLost reports whether no answer can come any more.
func (c *rawConn) isLost() bool { return c.lost.Err() != nil }

// agreedVersion returns the protocol version that the server has agreed to, or "" before it has.
func (c *rawConn) agreedVersion() string {
	if v := c.version.Load(); v != nil {
		return *v
	}
	return ""
}

// sendCancellations waits, for at most cancelTime, until the server knows which requests were cancelled. Callers that
// cancel often close the session next.
func (c *rawConn) sendCancellations() {
	for end := time.Now().Add(cancelTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		owed := c.owed
		c.mu.Unlock()
		if owed <= 0 || c.isLost() {
			return
		}
	}
}

// Write sends a message, and notes a request.
func (c *rawConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if ok && !req.IsCall() { // the SDK sends the cancellation of a call in its context, when the call has returned
		ctx = httpclient.WithExchange(ctx, nil)
	}
	switch {
	case ok && req.Method == methodCancelled:
		defer func() {
			c.mu.Lock()
			c.owed--
			c.mu.Unlock()
		}()
		if c.closingCancels.Load() || !c.established.Load() {
			return nil
		}
		return c.inner.Write(ctx, msg)
	case !ok || !req.IsCall():
		return c.inner.Write(ctx, msg)
	}
	entry := &pendingRequest{method: req.Method}
	if captured, ok := ctx.Value(captureKey{}).(*capture); ok && stub(req.Method) != nil {
		var err error
		if req, err = setMembers(req, captured.set); err != nil {
			return err
		}
		entry.capture = captured
		captured.conn, captured.ID, captured.raw, captured.Answer, captured.Accepted, captured.sent = c, req.ID, nil, nil, false, true
	}
	c.mu.Lock()
	c.pending[req.ID] = entry
	if n, ok := req.ID.Raw().(int64); ok {
		c.lastID = max(c.lastID, n)
	}
	c.mu.Unlock()
	err := c.inner.Write(ctx, req)
	if err != nil {
		err = withoutContent(err)
		c.notWritten(ctx, req.ID, entry, err)
	}
	return err
}

// notWritten notes why a request could not be written. Over HTTP the answer may be the reason: the SDK reports a
// JSON-RPC error in the body of an HTTP error as a failed write.
func (c *rawConn) notWritten(ctx context.Context, id jsonrpc.ID, entry *pendingRequest, err error) {
	if errors.Is(err, stdio.ErrNotSent) { // its input is closed: it has ended, or will never read again
		c.lose(io.EOF)
		if entry.capture != nil {
			entry.capture.sent = false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	if ctx.Err() != nil {
		c.owed++ // the SDK cancels it
		return
	}
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) || answer.Code == codeRejected {
		return
	}
	if entry.capture != nil {
		entry.capture.Answer = answer
	} else if entry.method == methodInitialize {
		c.initializeError.Store(answer)
	}
}

// Read returns the next answer for the SDK. Requests and notifications of the server end here.
func (c *rawConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.inner.Read(ctx)
		var out jsonrpc.Message
		if err == nil {
			switch msg := msg.(type) {
			case *jsonrpc.Response:
				out, err = c.answered(msg)
			case *jsonrpc.Request:
				err = c.serverRequest(nil, msg)
			}
		}
		if err != nil {
			err = withoutContent(err)
			c.lose(err)
			return nil, err
		}
		if out != nil {
			return out, nil
		}
	}
}

// withoutContent returns an error that ends the session without quoting what the server sent, because requests of other
// callers fail with it. The SDK's errors about malformed messages do quote it.
func withoutContent(err error) error {
	if strings.Contains(err.Error(), "unmarshaling jsonrpc message") {
		return errors.New("the server sent a malformed message")
	}
	return err
}

// answered returns the response that the SDK is to see, or nil for a late one. The error, for an answer to a request
// that was never made, ends the session.
func (c *rawConn) answered(resp *jsonrpc.Response) (jsonrpc.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := resp.ID
	if id.Raw() == subscriptionID {
		select {
		case c.subscription <- resp:
		default:
		}
		return nil, nil
	}
	entry, ok := c.pending[id]
	if !ok {
		return nil, c.unexpected(resp)
	}
	delete(c.pending, id)
	switch entry.method {
	case methodDiscover:
		c.discovered.Store(true)
	case methodInitialize:
		c.noteInitialize(resp)
	}
	if entry.capture == nil {
		return resp, nil
	}
	entry.capture.raw = resp.Result
	errors.As(resp.Error, &entry.capture.Answer)
	if resp.Error != nil {
		return resp, nil
	}
	result := stub(entry.method)
	if entry.capture.headers {
		result = headerTools(resp.Result)
	}
	return &jsonrpc.Response{ID: id, Result: result}, nil
}

// unexpected returns nil for an answer to an earlier request, which may be late, and an error for any other.
func (c *rawConn) unexpected(resp *jsonrpc.Response) error {
	n, ok := resp.ID.Raw().(int64)
	if ok && n >= 1 && n <= c.lastID {
		c.log.Debug("a late answer was dropped", "id", resp.ID.Raw())
		return nil
	}
	raw := resp.ID.Raw()
	if text, isText := raw.(string); isText {
		raw = strconv.Quote(ident.Printable(text, 100)) // "7" is not 7
	}
	return fmt.Errorf("the server answered a request that was never made, with the id %v", raw)
}

// noteInitialize keeps what the answer to initialize says.
func (c *rawConn) noteInitialize(resp *jsonrpc.Response) {
	var answer *jsonrpc.Error
	if errors.As(resp.Error, &answer) {
		c.initializeError.Store(answer)
		return
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(resp.Result, &result) == nil {
		c.version.Store(&result.ProtocolVersion)
	}
}

// setMembers returns the request with these members of its parameters.
func setMembers(req *jsonrpc.Request, set map[string]json.RawMessage) (*jsonrpc.Request, error) {
	if len(set) == 0 {
		return req, nil
	}
	params := make(map[string]json.RawMessage)
	if len(req.Params) > 0 {
		if err := json.Unmarshal(req.Params, &params); err != nil {
			return nil, fmt.Errorf("set the parameters: %w", err)
		}
	}
	for name, value := range set {
		if params[name] = value; value == nil {
			delete(params, name)
		}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("set the parameters: %w", err)
	}
	return &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: raw, Extra: req.Extra}, nil
}
