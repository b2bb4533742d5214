package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

func TestMain(m *testing.M) {
	upstreamtest.Main()
	os.Exit(m.Run())
}

// testTime bounds what a test waits for; nothing comes near it unless it hangs.
const testTime = 30 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	t.Cleanup(cancel)
	return ctx
}

// record is a writer and a log handler's output that may be read while it is written.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func (r *record) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func testOptions() *Options {
	return &Options{Lookup: os.LookupEnv, ProbeTimeout: 5 * time.Second, ConnectTimeout: testTime}
}

// open connects and closes with the test.
func open(t *testing.T, srv config.Server, opts *Options) *Session {
	t.Helper()
	s, err := Connect(testContext(t), srv, opts)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustCall(t *testing.T, s *Session, tool, args string) *CallResult {
	t.Helper()
	res, err := s.Call(testContext(t), tool, json.RawMessage(args), nil)
	if err != nil {
		t.Fatalf("Call(%s): %v", tool, err)
	}
	return res
}

// field decodes one field of a structured result.
func field[T any](t *testing.T, res *CallResult, name string) T {
	t.Helper()
	var fields map[string]json.RawMessage
	var out T
	if err := json.Unmarshal(res.Structured, &fields); err != nil {
		t.Fatalf("structured %s: %v", res.Structured, err)
	}
	if err := json.Unmarshal(fields[name], &out); err != nil {
		t.Fatalf("field %s of %s: %v", name, res.Structured, err)
	}
	return out
}

func wantConnectionError(t *testing.T, err error, text string) {
	t.Helper()
	var gone *ConnectionError
	if !errors.Is(err, ErrConnection) || !errors.As(err, &gone) {
		t.Fatalf("error %v (%T), want a connection error", err, err)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("error %q does not say %q", err, text)
	}
}

func wantProtocolError(t *testing.T, err error, code int, text string) *ProtocolError {
	t.Helper()
	var p *ProtocolError
	if !errors.As(err, &p) {
		t.Fatalf("error %v (%T), want a protocol error", err, err)
	}
	if p.Code != code || !strings.Contains(err.Error(), text) {
		t.Errorf("error %q with code %d, want %d and %q", err, p.Code, code, text)
	}
	return p
}

func names(t *testing.T, tools []json.RawMessage) []string {
	t.Helper()
	var out []string
	for _, tool := range tools {
		out = append(out, toolName(tool))
	}
	return out
}
