package crm

import "github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"

type describeInput struct {
	ObjectType string `json:"object_type,omitempty" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"Only this kind of record; absent means all."`
}

type fieldInfo struct {
	Name       string   `json:"name" jsonschema:"The field's name, as the other tools take it."`
	Type       string   `json:"type" enum:"id,reference,string,text,number,integer,boolean,date,datetime,picklist" jsonschema:"What it holds. string is up to 255 characters, text up to 1,000,000."`
	Label      string   `json:"label" jsonschema:"What it means."`
	Required   bool     `json:"required" jsonschema:"Whether a new record must have it."`
	ReadOnly   bool     `json:"read_only" jsonschema:"Whether only the CRM sets it."`
	Values     []string `json:"values,omitempty" jsonschema:"The allowed values; only for a picklist."`
	References *string  `json:"references" jsonschema:"The kind of record a reference points to, or null."`
}

type objectInfo struct {
	Name        string      `json:"name" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of record."`
	Label       string      `json:"label" jsonschema:"What such a record is."`
	IDPrefix    string      `json:"id_prefix" jsonschema:"What the ids of its records start with."`
	RecordCount int         `json:"record_count" min:"0" jsonschema:"How many records there are."`
	Fields      []fieldInfo `json:"fields" jsonschema:"The fields, in order."`
}

type describeOutput struct {
	Objects []objectInfo `json:"objects" jsonschema:"The kinds of records."`
}

type filter struct {
	Field    string      `json:"field" minlen:"1" maxlen:"60" example:"StageName" jsonschema:"The field to compare."`
	Operator string      `json:"operator,omitempty" enum:"eq,ne,lt,lte,gt,gte,contains,starts_with,is_null,not_null" default:"eq" jsonschema:"How to compare. contains and starts_with ignore case; is_null and not_null take no value. Dates compare in order of time."`
	Value    tool.Scalar `json:"value,omitempty" jsonschema:"What to compare with."`
}

type orderBy struct {
	Field string `json:"field" minlen:"1" maxlen:"60" jsonschema:"The field to sort by."`
	// No default in the schema: the SDK would create order_by just to hold it.
	Direction string `json:"direction,omitempty" enum:"asc,desc" jsonschema:"Ascending (when absent) or descending; null values come first when ascending."`
}

type queryInput struct {
	ObjectType string   `json:"object_type" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of records to search."`
	Filters    []filter `json:"filters,omitempty" maxitems:"20" jsonschema:"Conditions that must all hold. Absent or empty means all records."`
	Fields     []string `json:"fields,omitempty" maxitems:"30" jsonschema:"Only these fields; Id always comes along. Absent means all but the long text fields."`
	OrderBy    *orderBy `json:"order_by,omitempty" jsonschema:"The order of the records; by Id when absent or null."`
	Limit      int      `json:"limit,omitempty" default:"50" min:"1" max:"500" jsonschema:"Return at most this many records."`
	Offset     int      `json:"offset,omitempty" default:"0" min:"0" jsonschema:"Skip this many records; next_offset of the last answer continues it."`
}

type queryOutput struct {
	Records    []map[string]tool.Scalar `json:"records" jsonschema:"The records, each with the fields asked for."`
	Total      int                      `json:"total" min:"0" jsonschema:"How many records match altogether."`
	NextOffset *int                     `json:"next_offset" jsonschema:"Pass this as offset for the next records, or null when there are none."`
}

type getInput struct {
	ObjectType string   `json:"object_type" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of record."`
	RecordID   string   `json:"record_id" minlen:"3" maxlen:"18" example:"0065f0000000001" jsonschema:"The record's id."`
	Fields     []string `json:"fields,omitempty" maxitems:"30" jsonschema:"Only these fields; Id always comes along. Absent means all, long texts too."`
}

type recordOutput struct {
	ObjectType string                 `json:"object_type" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of record."`
	ID         string                 `json:"id" jsonschema:"The record's id."`
	Record     map[string]tool.Scalar `json:"record" jsonschema:"The fields and their values; absent values are null."`
}

type createInput struct {
	ObjectType string                 `json:"object_type" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of record."`
	Data       map[string]tool.Scalar `json:"data" jsonschema:"The fields of the new record. describe_objects says which are required and what they take."`
}

type updateInput struct {
	ObjectType string                 `json:"object_type" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of record."`
	RecordID   string                 `json:"record_id" minlen:"3" maxlen:"18" jsonschema:"The record's id."`
	Data       map[string]tool.Scalar `json:"data" jsonschema:"The fields to change, for example {\"Notes\": \"…\"}. Others stay as they are; null empties a field."`
}

type writeOutput struct {
	ObjectType       string   `json:"object_type" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of record."`
	ID               string   `json:"id" jsonschema:"The record's id."`
	Fields           []string `json:"fields" jsonschema:"The fields that were written, sorted."`
	LastModifiedDate string   `json:"last_modified_date" format:"date-time" jsonschema:"When the record was changed (RFC 3339, UTC)."`
}

type deleteInput struct {
	ObjectType string `json:"object_type" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of record."`
	RecordID   string `json:"record_id" minlen:"3" maxlen:"18" jsonschema:"The record's id."`
}

type deleteOutput struct {
	ObjectType string `json:"object_type" enum:"Account,Contact,Lead,Opportunity,SalesMeeting" jsonschema:"The kind of record."`
	ID         string `json:"id" jsonschema:"The id of the record that was deleted."`
	Name       string `json:"name" jsonschema:"The name it had."`
}
