package chain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/call"
)

// TestManyUnknownTools: to find names that are alike takes long among thousands, so that a script does not get them for
// any number of calls.
func TestManyUnknownTools(t *testing.T) {
	server, _ := catalog.NewServer("drive", "", "", []json.RawMessage{json.RawMessage(`{"name":"get_document","inputSchema":{"type":"object"}}`)})
	known, err := catalog.New([]catalog.Server{server})
	if err != nil {
		t.Fatal(err)
	}
	resolve := (&Calls{chain: &Chain{catalog: known}}).resolve(nil)
	for i := range maxExplained + 1 {
		_, err := resolve(t.Context(), &request{Request: call.Request{Tool: "drive__get_documnt"}})
		var e *call.Error
		if !errors.As(err, &e) || e.Kind != call.KindArgument || !strings.Contains(e.Message, `unknown tool "drive__get_documnt"`) {
			t.Fatal(err)
		}
		if explained := strings.Contains(e.Message, "did you mean drive__get_document?"); explained != (i < maxExplained) {
			t.Fatalf("call %d: %s", i+1, e.Message)
		}
	}
}

func TestRespelled(t *testing.T) {
	for _, tt := range []struct{ schema, args, want string }{
		{`{"properties":{"document_id":{},"fields":{}}}`, `{"documentId":"a","fields":1.50}`, `{"document_id":"a","fields":1.50}`},
		{`{"properties":{"documentId":{}}}`, `{"document_id":9007199254740993}`, `{"documentId":9007199254740993}`},
		{`{"properties":{"page-size":{}}}`, `{"pageSize":1,"other":2}`, `{"other":2,"page-size":1}`},
		{`{"properties":{"document_id":{},"documentId":{}}}`, `{"DocumentID":1}`, ``}, // either may be meant
		{`{"properties":{"document_id":{}}}`, `{"documentId":1,"document_id":2}`, ``},
		{`{"properties":{"document_id":{}}}`, `{"documentId":1,"DocumentId":2}`, ``},
		{`{"properties":{"document_id":{}},"patternProperties":{"^d":{}}}`, `{"documentId":1}`, ``},
		{`{"properties":{"content_type":{}},"additionalProperties":true}`, `{"Content-Type":1}`, ``}, // a name of its own
		{`{"properties":{"content_type":{}},"additionalProperties":{"type":"string"}}`, `{"Content-Type":"a"}`, ``},
		{`{"properties":{"content_type":{}},"additionalProperties":false}`, `{"Content-Type":1}`, `{"content_type":1}`},
		{`{"properties":{"document_id":{}}}`, `{"document_id":1}`, ``},
		{`{"properties":{"document_id":{}}}`, `[1]`, ``},
		{`{}`, `{"documentId":1}`, ``},
		{`true`, `{"documentId":1}`, ``},
	} {
		got, changed := respelled(json.RawMessage(tt.args), validate.PropertySpellings(json.RawMessage(tt.schema)))
		if want := tt.want; changed != (want != "") || changed && string(got) != want {
			t.Errorf("respelled(%s) for %s = %s, %v, want %s", tt.args, tt.schema, got, changed, want)
		}
	}
}
