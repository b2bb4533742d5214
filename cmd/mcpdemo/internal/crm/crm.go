// Package crm is the demo server for a customer database in the manner of
// Salesforce: accounts, contacts, leads, opportunities and sales meetings, kept
// in SQLite. The data model in objects.go is the only source of table and
// column names, so no text of a client ever becomes SQL. Start at [New].
package crm

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/sqlitedb"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// New returns the server for the records in dir, which is created and filled
// if it does not exist.
func New(ctx context.Context, dir string) (*tool.Server, error) {
	db, err := sqlitedb.Open(ctx, dir, "crm", fill)
	if err != nil {
		return nil, err
	}
	s := tool.NewServer("mcpdemo-crm", "CRM",
		"Customer records in the manner of Salesforce: Account, Contact, Lead, Opportunity, SalesMeeting. Fields have CamelCase names; call describe_objects for them. Ids start with a prefix that tells the kind of record (001 Account, 003 Contact, 00Q Lead, 006 Opportunity, 00U SalesMeeting). Long texts go into Notes.")
	s.OnClose(db.Close)
	c := &crm{db: db, objects: objects(), now: time.Now}
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
	objects []object
	now     func() time.Time
}

func (c *crm) object(name string) (*object, error) {
	for i := range c.objects {
		if c.objects[i].Name == name {
			return &c.objects[i], nil
		}
	}
	return nil, fmt.Errorf("there is no kind of record %q", name) // the schema's enum says so first
}

func (c *crm) describe(ctx context.Context, in describeInput) (describeOutput, error) {
	out := describeOutput{Objects: []objectInfo{}}
	for _, o := range c.objects {
		if in.ObjectType != "" && in.ObjectType != o.Name {
			continue
		}
		info := objectInfo{Name: o.Name, Label: o.Label, IDPrefix: o.Prefix, Fields: []fieldInfo{}}
		if err := c.db.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+o.Name).Scan(&info.RecordCount); err != nil {
			return describeOutput{}, fmt.Errorf("count %s records: %w", o.Name, err)
		}
		for _, f := range o.Fields {
			described := fieldInfo{Name: f.Name, Type: string(f.Type), Label: f.Label, Required: f.Required, ReadOnly: f.ReadOnly, Values: f.Values}
			if f.Target != "" {
				described.References = &f.Target
			}
			info.Fields = append(info.Fields, described)
		}
		out.Objects = append(out.Objects, info)
	}
	return out, nil
}
