package chain

import (
	"encoding/json"
	"testing"

	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

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
