package upstream

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// nested is a list of tools of which the second is that deep, with brackets and quotation marks where they mean nothing.
func nested(levels int) string {
	return `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"[[\"{"},{"name":"deep","inputSchema":` +
		strings.Repeat(`{"items":`, levels) + `{"description":"]}\\"}` + strings.Repeat("}", levels) + `},{"name":"z"}]}}`
}

// TestDeepToolsAlone decodes lists with a tool that is nested deeper than the SDK decodes.
func TestDeepToolsAlone(t *testing.T) {
	for _, levels := range []int{10, 890, 900, 1000, 2000, 20_000} {
		raw := nested(levels)
		msg, err := decodeMessage([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		resp, _ := msg.(*jsonrpc.Response)
		if resp == nil || resp.Error != nil {
			t.Fatalf("%d levels: %+v", levels, msg)
		}
		p, err := parsePage(resp.Result, listing{method: methodListTools, member: "tools"})
		tools := p.items
		if err != nil || len(tools) != 3 || toolName(tools[1]) != "deep" || toolName(tools[2]) != "z" {
			t.Errorf("%d levels: %v, %d tools", levels, err, len(tools))
		}
		body := &shallowBody{ReadCloser: io.NopCloser(iotest.OneByteReader(strings.NewReader(raw)))}
		read, err := io.ReadAll(body)
		if err != nil || !json.Valid(read) || (levels < 895) != (string(read) == raw) {
			t.Errorf("%d levels over HTTP: %v, %d of %d bytes", levels, err, len(read), len(raw))
		}
	}
	// Of the answer to a call nothing may be missing.
	deep := `{"jsonrpc":"2.0","id":1,"result":{"content":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`
	if msg, _ := decodeMessage([]byte(deep)); msg == nil || msg.(*jsonrpc.Response).Error == nil {
		t.Errorf("%+v", msg)
	}
}
