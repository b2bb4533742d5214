package upstreamtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
)

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// peer is what the server can do to its client and itself while it answers.
type peer struct {
	// ask sends a request to the client and returns its result.
	ask func(method, params string) message
	// crash ends the server or the connection.
	crash func()
	// region is the Mcp-Param-Region header; overHTTP says whether there are headers at all.
	region   string
	overHTTP bool
	// gone is closed when the client is no longer interested.
	gone <-chan struct{}
	// notify sends a notification before the answer.
	notify func(method, params string)
	// tell sends a notification as part of the answer, which goes on.
	tell func(method, params string)
}

// fake is the server's state, without a transport.
type fake struct {
	mode  Mode
	hangs atomic.Int64 // calls that never end

	mu           sync.Mutex
	cancelled    int
	changes      int // of the tools
	visits       int
	lists        int
	hanging      bool
	capabilities json.RawMessage
	protocol     string
	pids         []int
	subscribers  map[string]func(method, params string) // to changes of the tools, by the id of their request
}

func newFake(mode Mode) *fake {
	return &fake{mode: mode, pids: []int{os.Getpid()}, capabilities: json.RawMessage(`null`)}
}

// reply is the answer to one request: a result or an error, both as JSON, or neither for silence.
type reply struct{ result, err string }

func failure(code int, text string) reply {
	return reply{err: fmt.Sprintf(`{"code":%d,"message":%q}`, code, text)}
}

// answer answers one request.
func (f *fake) answer(m message, p peer) reply {
	if f.silent(m.Method) {
		return reply{}
	}
	switch m.Method {
	case "server/discover":
		return f.discover(m)
	case "initialize":
		return f.initialize(m)
	case "ping":
		return reply{result: `{}`}
	case "tools/list":
		return f.list(m)
	case "tools/call":
		return f.call(m, p)
	}
	if r, ok := f.offers(m); ok {
		return r
	}
	if m.Method == "subscriptions/listen" && f.mode == Rich {
		return f.subscribe(m, p)
	}
	return failure(-32601, "method not found: "+m.Method)
}

// silent reports whether the mode says to answer nothing.
func (f *fake) silent(method string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mode == IgnoreProbe && method == "server/discover" {
		return true
	}
	if f.mode == HangAlways || f.mode == HangOnProbe && method == "server/discover" || f.mode == HangOnList && method == "tools/list" {
		f.hanging = true
	}
	return f.hanging
}

func (f *fake) discover(m message) reply {
	switch f.mode {
	case LegacyOnly, RichLegacy, SlowStartLegacy, HangOnProbe, ExitOnProbe, ForeignVersion:
		return failure(-32601, "method not found: server/discover")
	case SlowModern:
		time.Sleep(3 * time.Second)
	}
	var params struct {
		Meta struct {
			Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	f.met(modernVersion, params.Meta.Capabilities)
	return reply{result: `{"resultType":"complete","supportedVersions":["` + modernVersion + `"],"capabilities":` + f.declared() + `,"instructions":"be kind",` +
		`"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","title":"A fake","version":"1.2.3"}}}`}
}

func (f *fake) initialize(m message) reply {
	if f.mode == ModernOnly || f.mode == SlowModern {
		return failure(-32022, "only "+modernVersion+" is spoken here")
	}
	var params struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
	}
	_ = json.Unmarshal(m.Params, &params)
	f.met(legacyVersion, params.Capabilities)
	version := legacyVersion
	if f.mode == ForeignVersion {
		version = "1999-01-01"
	}
	return reply{result: `{"protocolVersion":"` + version + `","capabilities":` + f.declared() + `,"instructions":"be kind",` +
		`"serverInfo":{"name":"fake","title":"A fake","version":"1.2.3"}}`}
}

func (f *fake) met(protocol string, capabilities json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.protocol = protocol
	if capabilities != nil {
		f.capabilities = capabilities
	}
}

// list answers tools/list.
func (f *fake) list(m message) reply {
	var params struct {
		Cursor *string `json:"cursor"`
	}
	_ = json.Unmarshal(m.Params, &params)
	var tools []string
	for _, name := range ToolNames() {
		tools = append(tools, Definition(name))
	}
	f.mu.Lock()
	f.lists++
	if f.changes > 0 {
		tools[0] = strings.Replace(tools[0], "The tool", fmt.Sprintf("Changed %d times: the tool", f.changes), 1)
	}
	f.mu.Unlock()
	if list := f.behaviour().List; list != nil {
		return reply{result: list(params.Cursor)}
	}
	return reply{result: Page(tools)}
}

// behaviour is what the test defines for the mode.
func (f *fake) behaviour() Behaviour { return Behaviours[f.mode] }

// Definition is the definition of a tool: unsorted keys, and a number no float holds, so that lost bytes show.
func Definition(name string) string {
	output := ""
	if name == ToolEcho {
		output = `,"outputSchema":{"type":"object","additionalProperties":true}`
	}
	return `{"name":"` + name + `","description":"The tool ` + name + `.","inputSchema":{"type":"object","properties":` +
		`{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}},"additionalProperties":true}` + output + `}`
}

// Page makes a tools/list result, with a cursor if there is one.
func Page(tools []string, next ...string) string {
	cursor := ""
	if len(next) > 0 {
		text, _ := json.Marshal(next[0]) // a string always marshals
		cursor = `,"nextCursor":` + string(text)
	}
	return `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[` + strings.Join(tools, ",") + `]` + cursor + `}`
}
