package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrConnection is what every [*ConnectionError] is: the server could not be reached, or went away.
var ErrConnection = errors.New("no connection to the server")

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
	// RetryAt is when the server is tried again, of an [ErrCircuitOpen]; zero of any other.
	RetryAt time.Time

	down bool // see refusal
}

func (e *ConnectionError) Error() string { return fmt.Sprintf("server %q: %s", e.Server, e.Reason) }

// Is makes the error an [ErrConnection], and with RetryAt an [ErrCircuitOpen].
func (e *ConnectionError) Is(target error) bool {
	return target == ErrConnection || target == ErrCircuitOpen && !e.RetryAt.IsZero()
}

// ProtocolError is a JSON-RPC error that the server answered, or an answer that is not what MCP says.
type ProtocolError struct {
	// Server is the configured name.
	Server string
	// Code is that of the JSON-RPC error; CodeBadAnswer for an answer that MCP does not allow, which this side found.
	Code int
	// Message is the server's own text, bounded, with configured secrets removed. It is hostile text all the same.
	Message string
	// Data is the server's own, byte for byte; it may be nil.
	Data json.RawMessage
}

// CodeBadAnswer is the code of a [ProtocolError] that was found on this side: no server sends zero.
const CodeBadAnswer = 0

func (e *ProtocolError) Error() string {
	if e.Code == CodeBadAnswer {
		return fmt.Sprintf("server %q does not answer as MCP says: %s", e.Server, printable(e.Message, 1024))
	}
	return fmt.Sprintf("server %q answered with error %d: %s", e.Server, e.Code, printable(e.Message, 1024))
}

// reasons turns errors of the SDK and the system into ours.
type reasons struct {
	server string
	secret *redactor
}

// protocol makes the error for what a server answered.
func (r *reasons) protocol(code int64, message string, data json.RawMessage) *ProtocolError {
	return &ProtocolError{Server: r.server, Code: int(code), Message: r.secret.clean(cut(message, 64<<10)), Data: data}
}

// badAnswer makes the error for an answer that is not what MCP says.
func (r *reasons) badAnswer(format string, args ...any) *ProtocolError {
	return r.protocol(CodeBadAnswer, fmt.Sprintf(format, args...), nil)
}

// connection makes the error for a server that is not there.
func (r *reasons) connection(err error) *ConnectionError {
	return &ConnectionError{Server: r.server, Reason: r.secret.clean(printable(plain(err), 1024))}
}

// plain shortens what net/http says: its errors carry the whole address, which may hold a secret.
func plain(err error) string {
	var refused *refusal
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
		}
		return u.Err.Error()
	}
	return err.Error()
}

// unsupported is the error for a server that agrees on a protocol version which is not spoken here.
func unsupported(version string) error {
	spoken := strings.Join(mcp.SupportedProtocolVersions(), ", ")
	if version == "" {
		return fmt.Errorf("it answers initialize without a protocolVersion, which is not MCP; supported are %s; mend or update the server", spoken)
	}
	return fmt.Errorf("it speaks protocol version %q, which mcpgen does not; supported are %s; update the server, or mcpgen if that version is a newer one", printable(version, 100), spoken)
}

// interrupted returns the context's own error, with its cause, when that is why something failed.
func interrupted(ctx context.Context, doing string) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return &stopped{doing: doing, err: ctx.Err(), cause: cause}
	}
	return fmt.Errorf("%s: %w", doing, ctx.Err())
}

// stopped is a context's error that reads as its cause.
type stopped struct {
	doing      string
	err, cause error
}

func (e *stopped) Error() string   { return e.doing + ": " + e.cause.Error() }
func (e *stopped) Unwrap() []error { return []error{e.err, e.cause} }

// printable removes control characters, terminal escapes with them, and cuts the text to a number of bytes.
func printable(s string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029:
			return -1
		}
		return r
	}, s)
	return cut(clean, limit)
}

// cut shortens s to at most limit bytes of whole characters and says so.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
