package crm

import (
	"context"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tooltest"
)

func TestFieldCheck(t *testing.T) {
	var model []objectInfo
	if err := json.Unmarshal(modelJSON, &model); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range model {
		names = append(names, o.Name)
	}
	// The enums in the schemas cannot be computed; they must follow the model.
	for _, in := range []any{describeInput{}, queryInput{}, getInput{}, createInput{}, updateInput{}, deleteInput{}} {
		f, _ := reflect.TypeOf(in).FieldByName("ObjectType")
		if got := f.Tag.Get("enum"); got != strings.Join(names, ",") {
			t.Errorf("%T has the enum %s for %v, want %s", in, got, names, strings.Join(names, ","))
		}
	}
	opportunity := model[3]
	for _, tc := range []struct {
		field string
		value tool.Scalar
		want  string // part of the error, or empty
	}{
		{"Name", "x", ""}, {"Name", "", "cannot be empty"}, {"Name", nil, "cannot be empty"}, {"Name", strings.Repeat("ä", 256), "up to 255"},
		{"Name", 5.0, "must be a string"}, {"Amount", 5.5, ""}, {"Amount", "5", "must be a number"}, {"Amount", nil, ""},
		{"Probability", 50.0, ""}, {"Probability", 50.5, "whole number"}, {"StageName", "Discovery", ""}, {"StageName", "Lost", "one of Prospecting"},
		{"CloseDate", "2026-02-28", ""}, {"CloseDate", "28.2.2026", "a date such as"}, {"Notes", strings.Repeat("x", 1_000_000), ""},
		{"Notes", strings.Repeat("x", 1_000_001), "up to 1,000,000"}, {"Id", "x", "cannot be written"},
	} {
		_, _, err := opportunity.assignments(map[string]tool.Scalar{tc.field: tc.value}, "")
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s = %.20v: got %v, want %q", tc.field, tc.value, err, tc.want)
		}
	}
}

type obj = map[string]any

func TestServer(t *testing.T) {
	srv, err := New(context.Background(), filepath.Join(t.TempDir(), "crm"))
	if err != nil {
		t.Fatal(err)
	}
	const lead, harbor = "00Q5f0000000001", "0015f0000000008"
	on := func(kind, id string, data obj) obj {
		m := obj{"object_type": kind}
		if id != "" {
			m["record_id"] = id
		}
		if data != nil {
			m["data"] = data
		}
		return m
	}
	where := func(kind, field, operator string, value any) obj {
		return obj{"object_type": kind, "filters": []any{obj{"field": field, "operator": operator, "value": value}}}
	}
	tooltest.Tour(t, srv, []tooltest.Call{
		{Tool: "describe_objects", Want: `"id_prefix":"00U"`},
		{Tool: "describe_objects", Args: obj{"object_type": "Lead"}, Want: `"record_count":60`},
		{Tool: "query_records", Args: where("Account", "Name", "starts_with", "harbor"), Want: `"Id":"` + harbor + `"`},
		{Tool: "query_records", Args: where("Opportunity", "AccountId", "eq", harbor), Want: "scheduling rollout, 14 depots"},
		{Tool: "query_records", Args: where("SalesMeeting", "Name", "contains", "discovery workshop"), Want: `"total":1`},
		{Tool: "query_records", Args: where("Lead", "Name", "contains", "%"), Want: `{"next_offset":null,"records":[],"total":0}`},
		{Tool: "query_records", Args: obj{"object_type": "Lead", "fields": []string{"Score"}, "limit": 1, "order_by": obj{"field": "Score", "direction": "desc"}}, Want: `"next_offset":1,"records":[{"Id":"00Q`},
		{Tool: "query_records", Args: obj{"object_type": "Contact", "filters": []any{obj{"field": "OptedOut", "value": true}}, "limit": 1}, Want: `"OptedOut":true`},
		{Tool: "query_records", Args: where("Lead", "Status", "eq", "Hot"), Fails: true, Want: "must be one of New"},
		{Tool: "query_records", Args: where("Lead", "Id; DROP TABLE Lead", "eq", "x"), Fails: true, Want: "has no field"},
		{Tool: "query_records", Args: where("Lead", "Score", "contains", 5), Fails: true, Want: "needs a string"},
		{Tool: "get_record", Args: on("Lead", lead, nil), Want: `"Notes":null`},
		{Tool: "get_record", Args: on("Lead", harbor, nil), Fails: true, Want: "ids start with 00Q"},
		{Tool: "update_record", Args: on("Lead", lead, obj{"Notes": strings.Repeat("long ", 100_000), "Score": 77}), Want: `"fields":["Notes","Score"]`},
		{Tool: "get_record", Args: obj{"object_type": "Lead", "record_id": lead, "fields": []string{"Score"}}, Want: `"record":{"Id":"00Q5f0000000001","Score":77}`},
		{Tool: "update_record", Args: on("Lead", lead, obj{}), Fails: true, Want: "no fields"},
		{Tool: "update_record", Args: on("Lead", "00Q5f9999999999", obj{"Score": 1}), Fails: true, Want: "there is no Lead"},
		{Tool: "create_record", Args: on("Lead", "", obj{"Name": "A"}), Fails: true, Want: "needs the field Company"},
		{Tool: "create_record", Args: on("Lead", "", obj{"Name": "A", "Company": "B", "Status": "New"}), Want: `"id":"00Q5f0000000061"`},
		{Tool: "create_record", Args: on("Contact", "", obj{"Name": "A", "AccountId": "0010"}), Fails: true, Want: "no record has"},
		{Tool: "delete_record", Args: on("Account", harbor, nil), Fails: true, Want: "other records refer to it"},
		{Tool: "delete_record", Args: on("Lead", "00Q5f0000000061", nil), Want: `"name":"A"`},
		{Tool: "delete_record", Args: on("Lead", "00Q5f0000000061", nil), Fails: true, Want: "there is no Lead"},
	})
}
