package upstreamtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

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
