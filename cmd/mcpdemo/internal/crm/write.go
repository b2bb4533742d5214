package crm

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

func (c *crm) create(ctx context.Context, in createInput) (writeOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return writeOutput{}, err
	}
	for _, f := range o.Fields {
		if f.Required && in.Data[f.Name] == nil {
			return writeOutput{}, fmt.Errorf("a new %s needs the field %s (%s)", o.Name, f.Name, f.Label)
		}
	}
	now := timestamp()
	names, args, err := o.assignments(in.Data, now)
	if err != nil {
		return writeOutput{}, err
	}
	// Ids have 15 characters, as Salesforce's do: prefix, "5f" and a number.
	statement := fmt.Sprintf("INSERT INTO %s (%s, CreatedDate, Id) SELECT ?%s, printf('%s5f%%010d', coalesce(max(CAST(substr(Id, 6) AS INTEGER)), 0) + 1) FROM %[1]s RETURNING Id",
		o.Name, strings.Join(names, ", "), strings.Repeat(", ?", len(names)), o.IDPrefix)
	return c.write(ctx, o, "", names, statement, append(args, now)...)
}

func (c *crm) update(ctx context.Context, in updateInput) (writeOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return writeOutput{}, err
	}
	if len(in.Data) == 0 {
		return writeOutput{}, errors.New("data holds no fields to change")
	}
	names, args, err := o.assignments(in.Data, timestamp())
	if err != nil {
		return writeOutput{}, err
	}
	statement := "UPDATE " + o.Name + " SET " + strings.Join(names, " = ?, ") + " = ? WHERE Id = ? RETURNING Id"
	return c.write(ctx, o, in.RecordID, names, statement, append(args, in.RecordID)...)
}

func timestamp() string { return time.Now().UTC().Format(time.RFC3339) }

// assignments checks the fields to write and returns their columns and values,
// sorted by name, after LastModifiedDate.
func (o *objectInfo) assignments(data map[string]tool.Scalar, now string) (names []string, args []any, err error) {
	names, args = []string{"LastModifiedDate"}, []any{now}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		f, err := o.field(name)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case f.ReadOnly:
			return nil, nil, fmt.Errorf("field %s is set by the CRM and cannot be written", name)
		case f.Required && (data[name] == nil || data[name] == ""):
			return nil, nil, fmt.Errorf("field %s is required and cannot be empty", name)
		}
		if err := f.check(data[name]); err != nil {
			return nil, nil, err
		}
		names, args = append(names, f.Name), append(args, data[name])
	}
	return names, args, nil
}

// write runs a statement that returns the id of the one record it wrote.
func (c *crm) write(ctx context.Context, o *objectInfo, id string, names []string, statement string, args ...any) (writeOutput, error) {
	out := writeOutput{ObjectType: o.Name, Fields: names[1:], LastModifiedDate: args[0].(string)}
	err := c.db.Write.QueryRowContext(ctx, statement, args...).Scan(&out.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return writeOutput{}, notFound(o, id)
	case err != nil && strings.Contains(err.Error(), "FOREIGN KEY"):
		return writeOutput{}, errors.New("a reference holds an id that no record has; query_records finds records by their fields")
	}
	return out, err
}

func (c *crm) deleteRecord(ctx context.Context, in deleteInput) (deleteOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return deleteOutput{}, err
	}
	out := deleteOutput{ObjectType: o.Name, ID: in.RecordID}
	err = c.db.Write.QueryRowContext(ctx, "DELETE FROM "+o.Name+" WHERE Id = ? RETURNING Name", in.RecordID).Scan(&out.Name)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return deleteOutput{}, notFound(o, in.RecordID)
	case err != nil && strings.Contains(err.Error(), "FOREIGN KEY"):
		return deleteOutput{}, fmt.Errorf("%s %q cannot be deleted while other records refer to it", o.Name, in.RecordID)
	}
	return out, err
}

// check returns an error unless the field may have the value. Null is allowed.
func (f *fieldInfo) check(value tool.Scalar) error {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	_, isBoolean := value.(bool)
	ok, want := isText && len([]rune(text)) <= 255, "a string of up to 255 characters"
	switch f.Type {
	case "number":
		ok, want = isNumber, "a number"
	case "integer":
		ok, want = isNumber && number == math.Trunc(number), "a whole number"
	case "boolean":
		ok, want = isBoolean, "true or false"
	case "text":
		ok, want = isText && len([]rune(text)) <= 1_000_000, "a string of up to 1,000,000 characters"
	case "picklist":
		ok, want = slices.Contains(f.Values, text), "one of "+strings.Join(f.Values, ", ")
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		ok, want = err == nil, "a date such as 2026-07-31"
	case "datetime":
		at, err := time.Parse(time.RFC3339, text)
		ok, want = err == nil && at.Location() == time.UTC, "a time in UTC such as 2026-07-31T09:30:00Z"
	}
	if !ok && value != nil {
		return fmt.Errorf("field %s must be %s, not %.60q", f.Name, want, fmt.Sprint(value))
	}
	return nil
}
