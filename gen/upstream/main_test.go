package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	upstreamtest.Behaviours = behaviours()
	upstreamtest.Main()
	os.Exit(m.Run())
}

// Modes of the fake server for lists and floods.
const (
	pages            upstreamtest.Mode = "pages" // one tool per page, the cursor of the second page being the empty string
	repeatedCursor   upstreamtest.Mode = "repeated-cursor"
	endlessPages     upstreamtest.Mode = "endless-pages"
	nullTools        upstreamtest.Mode = "null-tools"
	duplicateNames   upstreamtest.Mode = "duplicate-names"
	manyTools        upstreamtest.Mode = "many-tools"
	tooManyTools     upstreamtest.Mode = "too-many-tools"
	hugeDescription  upstreamtest.Mode = "huge-description"
	toolsWithHeaders upstreamtest.Mode = "header-tools"
	badList          upstreamtest.Mode = "bad-list"
	badUTF8          upstreamtest.Mode = "bad-utf8"
	flood            upstreamtest.Mode = "flood"
	pingFlood        upstreamtest.Mode = "ping-flood"
	noteFlood        upstreamtest.Mode = "note-flood"
)

func behaviours() map[upstreamtest.Mode]upstreamtest.Behaviour {
	echo := upstreamtest.Definition(upstreamtest.ToolEcho)
	list := func(tools ...string) upstreamtest.Behaviour {
		return upstreamtest.Behaviour{List: func(*string) string { return upstreamtest.Page(tools) }}
	}
	numbered := func(n int) []string {
		tools := make([]string, n)
		for i := range tools {
			tools[i] = upstreamtest.Definition(fmt.Sprintf("tool_%05d", i))
		}
		return tools
	}
	writing := func(line string) upstreamtest.Behaviour {
		return upstreamtest.Behaviour{Call: func(write func(string)) {
			for {
				write(line)
			}
		}}
	}
	return map[upstreamtest.Mode]upstreamtest.Behaviour{
		pages: {List: func(cursor *string) string {
			all, i := upstreamtest.ToolNames(), 0
			if cursor != nil {
				i = 1
				_, _ = fmt.Sscan(*cursor, &i) // not for the empty cursor
			}
			tool := []string{upstreamtest.Definition(all[i])}
			switch i {
			case 0:
				return upstreamtest.Page(tool, "")
			case len(all) - 1:
				return upstreamtest.Page(tool)
			}
			return upstreamtest.Page(tool, fmt.Sprint(i+1))
		}},
		repeatedCursor: {List: func(*string) string { return upstreamtest.Page([]string{echo}, "again") }},
		endlessPages: {List: func(cursor *string) string {
			return upstreamtest.Page(nil, fmt.Sprint(time.Now().UnixNano()))
		}},
		nullTools:       list("null", `{"name":"null_schema","inputSchema":null}`, echo),
		duplicateNames:  list(echo, echo, upstreamtest.Definition("ECHO")),
		manyTools:       list(numbered(10_000)...),
		tooManyTools:    list(numbered(10_001)...),
		hugeDescription: list(`{"name":"huge","description":"` + strings.Repeat("all of it. ", 5_000_000/11) + `","inputSchema":{"type":"object"}}`),
		toolsWithHeaders: list(echo,
			`{"name":"region","inputSchema":{"type":"object","properties":{"where":{"type":"string","x-mcp-header":"Region"}}}}`,
			`{"name":"bad_header","inputSchema":{"type":"object","properties":{"where":{"type":"object","x-mcp-header":"No way"}}}}`),
		badList:   {List: func(*string) string { return `{"tools":"none"}` }},
		badUTF8:   list("{\"name\":\"odd\",\"description\":\"caf\xe9 \xf0\x9f\",\"inputSchema\":{\"type\":\"object\"}}"),
		flood:     writing("la la la"),
		pingFlood: writing(`{"jsonrpc":"2.0","id":"p","method":"ping"}`),
		noteFlood: writing(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"la la la"}}`),
	}
}

// testTime bounds what a test waits for; nothing comes near it unless it hangs.
const testTime = 2 * time.Minute

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
	return &Options{Lookup: os.LookupEnv, ProbeTimeout: testTime, ConnectTimeout: testTime}
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
