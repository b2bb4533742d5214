// Package crm is the demo server for a customer database in the manner of
// Salesforce: accounts, contacts, leads, opportunities and sales meetings, kept
// in SQLite. The data model in model.json is the only source of table and
// column names, so no text of a client ever becomes SQL. Start at [New].
package crm

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/sqlitedb"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

//go:embed crm.sql
var firstRecords string

//go:embed model.json
var modelJSON []byte

// New returns the server for the records in dir, which is created and filled
// if it does not exist.
func New(ctx context.Context, dir string) (*tool.Server, error) {
	db, err := sqlitedb.Open(ctx, dir, "crm", firstRecords)
	if err != nil {
		return nil, err
	}
	s := tool.NewServer("mcpdemo-crm", "CRM",
		"Customer records in the manner of Salesforce: Account, Contact, Lead, Opportunity, SalesMeeting. Fields have CamelCase names; call describe_objects for them. Ids start with a prefix that tells the kind of record (001 Account, 003 Contact, 00Q Lead, 006 Opportunity, 00U SalesMeeting). Long texts go into Notes.")
	s.OnClose(db.Close)
	c := &crm{db: db}
	if err := json.Unmarshal(modelJSON, &c.objects); err != nil {
		return nil, fmt.Errorf("read the data model: %w", err)
	}
	tool.Add(s, tool.Spec{Name: "describe_objects", Title: "Describe objects", Effect: tool.Reads,
		Description: "List the kinds of records with their fields: types, labels, which are required, and the values of picklists. Call this before creating or updating records."}, c.describe)
	tool.Add(s, tool.Spec{Name: "query_records", Title: "Query records", Effect: tool.Reads,
		Description: "Find records of one kind by conditions on their fields, sorted and in pages of up to 500. Long text fields such as Notes are left out unless named in fields. Example: object_type \"Opportunity\", filters [{\"field\": \"Amount\", \"operator\": \"gte\", \"value\": 50000}]."}, c.query)
	tool.Add(s, tool.Spec{Name: "get_record", Title: "Get record", Effect: tool.Reads,
		Description: "Get one record by its id, with all fields or only those asked for. Fails if there is no such record."}, c.get)
	tool.Add(s, tool.Spec{Name: "create_record", Title: "Create record", Effect: tool.Creates,
		Description: "Create a record and get its id. Every field is checked against the data model; references must point to existing records. Calling it twice creates two records."}, c.create)
	tool.Add(s, tool.Spec{Name: "update_record", Title: "Update record", Effect: tool.Updates,
		Description: "Change fields of one record; the others stay as they are, and null empties a field. Text fields such as Notes take up to 1,000,000 characters, so a whole meeting transcript fits. The answer does not repeat the values."}, c.update)
	tool.Add(s, tool.Spec{Name: "delete_record", Title: "Delete record", Effect: tool.Deletes,
		Description: "Delete one record for good. Fails while other records refer to it."}, c.deleteRecord)
	return s, nil
}

type crm struct {
	db      *sqlitedb.DB
	objects []objectInfo
}

func (c *crm) object(name string) (*objectInfo, error) {
	for i := range c.objects {
		if c.objects[i].Name == name {
			return &c.objects[i], nil
		}
	}
	return nil, fmt.Errorf("there is no kind of record %q", name) // the schema's enum refuses it first
}

func (o *objectInfo) field(name string) (*fieldInfo, error) {
	var names []string
	for i := range o.Fields {
		if o.Fields[i].Name == name {
			return &o.Fields[i], nil
		}
		names = append(names, o.Fields[i].Name)
	}
	return nil, fmt.Errorf("%s has no field %q; its fields are %s", o.Name, name, strings.Join(names, ", "))
}

func (c *crm) describe(ctx context.Context, in describeInput) (describeOutput, error) {
	out := describeOutput{Objects: []objectInfo{}}
	for _, o := range c.objects {
		if in.ObjectType != "" && in.ObjectType != o.Name {
			continue
		}
		if err := c.db.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+o.Name).Scan(&o.RecordCount); err != nil {
			return describeOutput{}, fmt.Errorf("count %s records: %w", o.Name, err)
		}
		out.Objects = append(out.Objects, o)
	}
	return out, nil
}

func (c *crm) query(ctx context.Context, in queryInput) (queryOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return queryOutput{}, err
	}
	columns, err := o.columns(in.Fields, false)
	if err != nil {
		return queryOutput{}, err
	}
	where, args, err := o.where(in.Filters)
	if err != nil {
		return queryOutput{}, err
	}
	order := " ORDER BY Id"
	if in.OrderBy != nil {
		f, err := o.field(in.OrderBy.Field)
		if err != nil {
			return queryOutput{}, fmt.Errorf("order_by: %w", err)
		}
		order = " ORDER BY " + f.Name + " " + in.OrderBy.Direction + ", Id"
	}
	var out queryOutput
	if err := c.db.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+o.Name+where, args...).Scan(&out.Total); err != nil {
		return queryOutput{}, fmt.Errorf("count %s records: %w", o.Name, err)
	}
	out.Records, err = c.read(ctx, o, "SELECT "+columns+" FROM "+o.Name+where+order+" LIMIT ? OFFSET ?", append(args, in.Limit, in.Offset)...)
	if next := in.Offset + len(out.Records); next < out.Total && len(out.Records) > 0 {
		out.NextOffset = &next
	}
	return out, err
}

func (c *crm) get(ctx context.Context, in getInput) (recordOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return recordOutput{}, err
	}
	columns, err := o.columns(in.Fields, true)
	if err != nil {
		return recordOutput{}, err
	}
	records, err := c.read(ctx, o, "SELECT "+columns+" FROM "+o.Name+" WHERE Id = ?", in.RecordID)
	if err == nil && len(records) == 0 {
		err = notFound(o, in.RecordID)
	}
	if err != nil {
		return recordOutput{}, err
	}
	return recordOutput{ObjectType: o.Name, ID: in.RecordID, Record: records[0]}, nil
}

func notFound(o *objectInfo, id string) error {
	return fmt.Errorf("there is no %s with id %q (their ids start with %s); query_records finds records by their fields", o.Name, id, o.IDPrefix)
}

// read returns the records that a query finds.
func (c *crm) read(ctx context.Context, o *objectInfo, query string, args ...any) ([]map[string]tool.Scalar, error) {
	rows, err := c.db.Read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	records := []map[string]tool.Scalar{}
	for rows.Next() {
		record, err := sqlitedb.Row(rows)
		if err != nil {
			return nil, err
		}
		for _, f := range o.Fields { // SQLite has no booleans
			if n, ok := record[f.Name].(int64); ok && f.Type == "boolean" {
				record[f.Name] = n != 0
			}
		}
		records = append(records, record)
	}
	return records, rows.Err()
}

// columns returns the columns of the named fields with Id first, or of all.
func (o *objectInfo) columns(names []string, longTexts bool) (string, error) {
	columns := []string{"Id"}
	for _, name := range names {
		f, err := o.field(name)
		if err != nil {
			return "", err
		}
		columns = append(columns, f.Name)
	}
	if len(names) == 0 {
		for _, f := range o.Fields {
			if longTexts || f.Type != "text" {
				columns = append(columns, f.Name)
			}
		}
	}
	return strings.Join(columns, ", "), nil
}

// operators maps the tools' operators to SQL; %s is the column.
var operators = map[string]string{
	"": "%s IS ?", "eq": "%s IS ?", "ne": "%s IS NOT ?", "lt": "%s < ?", "lte": "%s <= ?", "gt": "%s > ?", "gte": "%s >= ?",
	"contains": "instr(lower(%s), lower(?)) > 0", "starts_with": "instr(lower(%s), lower(?)) = 1",
	"is_null": "%s IS NULL", "not_null": "%s IS NOT NULL",
}

func (o *objectInfo) where(filters []filter) (string, []any, error) {
	var conditions []string
	var args []any
	for i, flt := range filters {
		f, err := o.field(flt.Field)
		if err != nil {
			return "", nil, fmt.Errorf("filter %d: %w", i+1, err)
		}
		conditions = append(conditions, fmt.Sprintf(operators[flt.Operator], f.Name))
		switch flt.Operator {
		case "is_null", "not_null":
			continue
		case "contains", "starts_with":
			if _, ok := flt.Value.(string); !ok {
				return "", nil, fmt.Errorf("filter %d: %s needs a string as value", i+1, flt.Operator)
			}
		default: // so that a mistyped picklist value is an error and not an empty answer
			if err := f.check(flt.Value); err != nil {
				return "", nil, fmt.Errorf("filter %d: %w", i+1, err)
			}
		}
		args = append(args, flt.Value)
	}
	if len(conditions) == 0 {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), args, nil
}
