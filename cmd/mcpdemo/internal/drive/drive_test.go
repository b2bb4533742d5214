package drive

import (
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tooltest"
)

type obj = map[string]any

func TestServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drive")
	srv, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	columns := []any{obj{"name": "Name", "type": "string"}, obj{"name": "Count", "type": "number"}, obj{"name": "Day", "type": "date"}, obj{"name": "Done", "type": "boolean"}}
	tooltest.Tour(t, srv, []tooltest.Call{
		{Tool: "list_documents", Want: `"document_id":"harbor-pine-discovery-transcript"`},
		{Tool: "list_documents", Args: obj{"limit": 1}, Want: `"next_cursor":"discovery-workshop-guide"`},
		{Tool: "list_documents", Args: obj{"limit": 3, "cursor": "discovery-workshop-guide"}, Want: `"next_cursor":null`},
		{Tool: "list_documents", Args: obj{"label": "Meeting", "query": "HARBOR"}, Want: `"labels":["meeting","transcript"]`},
		{Tool: "get_document", Args: obj{"document_id": "harbor-pine-discovery-transcript"}, Want: "[02:"},
		{Tool: "get_document", Args: obj{"document_id": "harbor-pine-discovery-transcript", "fields": []string{"title"}}, Want: `{"document_id":"harbor-pine-discovery-transcript","title":"Harbor \u0026 Pine`},
		{Tool: "get_document", Args: obj{"document_id": "../crm"}, Fails: true, Want: "list_documents"},
		{Tool: "get_document", Args: obj{"document_id": "nope"}, Fails: true, Want: "there is no id"},
		{Tool: "create_document", Args: obj{"title": "Café — Größe!", "content": "one two"}, Want: `"document_id":"cafe-gro-e"`},
		{Tool: "create_document", Args: obj{"title": "café größe", "content": ""}, Want: `"document_id":"cafe-gro-e-2"`},
		{Tool: "create_document", Args: obj{"title": "日本", "content": ""}, Want: `"document_id":"documents"`},
		{Tool: "update_document", Args: obj{"document_id": "cafe-gro-e", "content": " three", "mode": "append"}, Want: `"word_count":3`},
		{Tool: "update_document", Args: obj{"document_id": "cafe-gro-e"}, Fails: true, Want: "title, content or both"},
		{Tool: "get_document", Args: obj{"document_id": "cafe-gro-e", "fields": []string{"content"}}, Want: `"content":"one two three"`},
		{Tool: "delete_document", Args: obj{"document_id": "cafe-gro-e"}, Want: `"title":"Café — Größe!"`},
		{Tool: "delete_document", Args: obj{"document_id": "cafe-gro-e"}, Fails: true, Want: "there is no id"},
		{Tool: "list_sheets", Want: `"row_count":10000`},
		{Tool: "get_sheet", Args: obj{"sheet_id": "orders-2026", "range": "A2:B2", "format": "values"}, Want: `"values":[["SO-260001","2026-01-01"]]`},
		{Tool: "get_sheet", Args: obj{"sheet_id": "orders-2026", "range": "A:A", "format": "csv"}, Want: "Order ID\\nSO-260001\\n"},
		{Tool: "get_sheet", Args: obj{"sheet_id": "orders-2026", "range": "A20000:B20001", "format": "records"}, Want: `"records":[],"row_count":0`},
		{Tool: "get_sheet", Args: obj{"sheet_id": "orders-2026", "range": "A1"}, Want: `"row_count":0`},
		{Tool: "get_sheet", Args: obj{"sheet_id": "orders-2026", "range": "ZZ1"}, Fails: true, Want: "last of 11 columns"},
		{Tool: "get_sheet", Args: obj{"sheet_id": "orders-2026", "range": "B1:A1"}, Fails: true, Want: "ends before it starts"},
		{Tool: "get_sheet", Args: obj{"sheet_id": "orders-2026", "range": "1:2"}, Fails: true, Want: "range"},
		{Tool: "get_sheet", Args: obj{"sheet_id": "rollout-plan"}, Want: `"Go-live":null`},
		{Tool: "create_sheet", Args: obj{"title": "Things", "columns": columns, "rows": []any{[]any{"a,\"b\"\n", 1.5, "2026-01-01", true}, []any{nil, nil, nil, nil}}}, Want: `"sheet_id":"things"`},
		{Tool: "create_sheet", Args: obj{"title": "Things", "columns": columns, "rows": []any{[]any{1, 1, nil, nil}}}, Fails: true, Want: `row 1: column "Name" takes a string`},
		{Tool: "create_sheet", Args: obj{"title": "Things", "columns": columns, "rows": []any{[]any{1}}}, Fails: true, Want: "1 cells for 4 columns"},
		{Tool: "create_sheet", Args: obj{"title": "Things", "columns": []any{columns[0], columns[0]}}, Fails: true, Want: "two columns"},
		{Tool: "append_rows", Args: obj{"sheet_id": "things", "records": []any{obj{"Name": "c", "Count": 2}}}, Want: `"row_count":3`},
		{Tool: "append_rows", Args: obj{"sheet_id": "things", "records": []any{obj{"Nam": "c"}}}, Fails: true, Want: `no column "Nam"`},
		{Tool: "get_sheet", Args: obj{"sheet_id": "things"}, Want: `"records":[{"Count":1.5,"Day":"2026-01-01","Done":true,"Name":"a,\"b\"\n"},{"Count":null`},
	})
}

// TestOrders checks what the filter example relies on.
func TestOrders(t *testing.T) {
	srv, err := New(filepath.Join(t.TempDir(), "drive"))
	if err != nil {
		t.Fatal(err)
	}
	client := tooltest.Connect(t, srv)
	sheet := tooltest.Decode[struct {
		RowCount int `json:"row_count"`
		Records  []struct {
			Status string
			Amount float64
			Price  float64 `json:"Unit Price"`
			Number float64 `json:"Quantity"`
		} `json:"records"`
	}](t, client, "get_sheet", obj{"sheet_id": "orders-2026"})
	if sheet.RowCount != 10_000 || len(sheet.Records) != 10_000 {
		t.Fatalf("%d rows, want 10_000 and len(sheet.Records) 10_000", sheet.RowCount)
	}
	pending, large := 0, 0
	for _, r := range sheet.Records {
		if diff := r.Amount - r.Price*r.Number; diff > 0.005 || diff < -0.005 || r.Number < 1 {
			t.Fatalf("wrong amount: %+v", r)
		}
		if r.Status == "pending" {
			pending++
			if r.Amount > 10_000 {
				large++
			}
		}
	}
	if large != 5 || pending < 500 {
		t.Errorf("%d pending orders, %d of them above %d, want 5 and at least 500", pending, large, 10_000)
	}
}
