package httpclient

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// LargeAnswer is the size in bytes from which an answer is large. LargeGuess stands for the size of a large answer whose
// size is not known.
const (
	LargeAnswer = 1 << 20
	LargeGuess  = 16 << 20
)

// Exchange is one JSON-RPC request of ours and its answer.
type Exchange struct {
	// ID is the request's.
	ID jsonrpc.ID
	// Name is the value of the header Mcp-Name, where the SDK sets none. Empty: none.
	Name string
	// Answer is the server's error, as opposed to one of the SDK, or nil if there is none.
	Answer *jsonrpc.Error
	// Accepted says that the server took the request, whatever became of the answer.
	Accepted bool
	// Asked handles a request that the server makes in the stream with which it answers; nil leaves it to the connection.
	Asked func(*jsonrpc.Request)
	// Reserve is called once before a large answer is read. It may be nil.
	Reserve func(bytes int) error

	reserved   bool
	reserveErr error
}

// nameHeader repeats what a request is about (SEP-2243).
const nameHeader = "Mcp-Name"

// headerValue returns a text as the value of a header: as it is, or in base64 if a header cannot hold it (SEP-2243).
func headerValue(text string) string {
	plain := strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?")
	for _, r := range text {
		plain = plain && r >= ' ' && r <= '~'
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

type exchangeKey struct{}

// WithExchange returns a context for the HTTP request that carries a JSON-RPC request. If the exchange is nil, nothing is
// recorded about it.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// ReserveFor reserves memory for an answer of the given size, if that is large.
func (x *Exchange) ReserveFor(bytes int) error {
	if x.Reserve != nil && !x.reserved && bytes >= LargeAnswer {
		x.reserved = true
		if err := x.Reserve(bytes); err != nil {
			x.reserveErr = fmt.Errorf("reserve memory for the answer: %w", err)
		}
	}
	return x.reserveErr
}
