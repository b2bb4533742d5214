package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/httpclient"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

// ErrConnection is matched by every [*ConnectionError]: the server could not be reached, or went away.
var ErrConnection = errors.New("no connection to the server")

// ErrCircuitOpen is matched by a [*ConnectionError], besides [ErrConnection], if a server has failed so often that no
// attempts are made for a while. RetryAt says until when.
var ErrCircuitOpen = errors.New("the server failed repeatedly and is left alone for a while")

var errConnectTimeout = errors.New("the server did not get ready in time")

// ConnectionError says why a server could not be reached, or how it was lost. A call that ends with it may or may not
// have been carried out, unless NotSent is set.
type ConnectionError struct {
	// Server is the configured name.
	Server string
	// Reason is readable text without secrets.
	Reason string
	// NotSent says that the server cannot have acted on the request.
	NotSent bool
	// Login says that a person has to log in first; Reason says how.
	Login bool
	// Slow says that the server used up all its time to start. Another start would likely take as long.
	Slow bool
	// Missing says that the program of the server does not exist. Another start would not find it either.
	Missing bool
	// RetryAt is when the server is tried again, for an [ErrCircuitOpen]; zero for any other error.
	RetryAt time.Time

	down bool // a gateway says that the server does not work
}

func (e *ConnectionError) Error() string { return fmt.Sprintf("server %q: %s", e.Server, e.Reason) }

// Is reports whether target is [ErrConnection], or [ErrCircuitOpen] if the error has a RetryAt.
func (e *ConnectionError) Is(target error) bool {
	return target == ErrConnection || target == ErrCircuitOpen && !e.RetryAt.IsZero()
}

// ProtocolError is a JSON-RPC error that the server answered, or an answer that is not what MCP says.
type ProtocolError struct {
	// Server is the configured name.
	Server string
	// Code is the code of the JSON-RPC error, or CodeBadAnswer for an answer that MCP does not allow.
	Code int
	// Message is the server's own text, bounded, with configured secrets removed. It is still hostile text.
	Message string
	// Data is the data of the JSON-RPC error, byte for byte; it may be nil.
	Data json.RawMessage
}

// CodeBadAnswer is the code of a [ProtocolError] that the server did not send.
const CodeBadAnswer = 0

func (e *ProtocolError) Error() string {
	if e.Code == CodeBadAnswer {
		return fmt.Sprintf("server %q does not answer as MCP says: %s", e.Server, ident.Printable(e.Message, 1024))
	}
	return fmt.Sprintf("server %q answered with error %d: %s", e.Server, e.Code, ident.Printable(e.Message, 1024))
}

// errorMaker turns errors of the SDK and the system into ours, without secrets.
type errorMaker struct {
	server string
	secret *redact.Redactor
}

// protocol makes the error for what a server answered.
func (m *errorMaker) protocol(code int64, message string, data json.RawMessage) *ProtocolError {
	return &ProtocolError{Server: m.server, Code: int(code), Message: m.secret.Clean(ident.Clip(message, 64<<10)), Data: data}
}

// badAnswer makes the error for an answer that is not what MCP says.
func (m *errorMaker) badAnswer(format string, args ...any) *ProtocolError {
	return m.protocol(CodeBadAnswer, fmt.Sprintf(format, args...), nil)
}

// connection makes the error for a server that cannot be reached.
func (m *errorMaker) connection(err error) *ConnectionError {
	return &ConnectionError{Server: m.server, Slow: errors.Is(err, errConnectTimeout), Missing: errors.Is(err, stdio.ErrNoProgram), Reason: m.secret.Clean(ident.Printable(plain(err), 1024))}
}

// plain shortens the errors of net/http: they hold the whole address, in which there may be a secret.
func plain(err error) string {
	var refused *httpclient.Refusal
	if errors.As(err, &refused) {
		return refused.Error()
	}
	var u *url.Error
	if errors.As(err, &u) {
		switch {
		case errors.Is(u.Err, io.EOF):
			return "the connection was closed before an answer came"
		case errors.Is(u.Err, io.ErrUnexpectedEOF):
			return "the connection was closed in the middle of the answer"
		case errors.Is(u.Err, syscall.ECONNRESET):
			return "the connection was reset before an answer came"
		case u.Err.Error() == "http: server gave HTTP response to HTTPS client":
			return "the server speaks http, not https: write http:// in its url, or the port where it speaks https"
		case errors.Is(u.Err, syscall.ECONNREFUSED):
			return u.Err.Error() + "; nothing listens there: start the server, or check its url"
		}
		return u.Err.Error()
	}
	return err.Error()
}

// interrupted returns the context's error, with its cause, if the context has ended.
func interrupted(ctx context.Context, doing string) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return &stopped{doing: doing, err: ctx.Err(), cause: cause}
	}
	return fmt.Errorf("%s: %w", doing, ctx.Err())
}

// stopped is a context's error with the text of its cause.
type stopped struct {
	doing      string
	err, cause error
}

func (e *stopped) Error() string   { return e.doing + ": " + e.cause.Error() }
func (e *stopped) Unwrap() []error { return []error{e.err, e.cause} }
